/*
 * Of each service, in one source: how many samples were stored, how many of
 * their stacks are not whole, and why; how many were lost that were known to
 * be its own.  What the BPF program or the ring has lost belongs to nobody.
 *
 *	memlens_service_samples_total{service,source}
 *	memlens_service_stacks_broken_total{reason,service,source}
 *	memlens_service_samples_lost_total{reason,service,source}
 *	memlens_service_lost_bytes_total{reason,service,source}
 *	memlens_service_lost_objects_total{reason,service,source}
 *
 * They are told of the slots in which the service had any; a reason from its
 * first time on.  At most SERVICE_FAULTS_MAX services at a time: one that had
 * nothing for longest makes room, and its counters begin anew.
 */
#ifndef COLLECTOR_SERVICE_FAULTS_H
#define COLLECTOR_SERVICE_FAULTS_H

#include <stdint.h>

#include "collector/objects/objects.h"
#include "store/model/broken.h"

#define SERVICE_FAULTS_MAX 512 /* a slot has SERVICES_MAX at most */

struct batch;
struct service_faults;

enum service_lost {
	LOST_HELD_FULL,
	LOST_AGGREGATE_FULL,
	LOST_LOCKS_FULL,
	LOST_TABLE_UNREAD,
	LOST_REASONS
};

/* Counts since the start. */
struct service_counts {
	uint64_t samples, broken[BROKEN_REASONS], lost[LOST_REASONS];
	struct objects_weight lost_of[LOST_REASONS]; /* of memory */
};

/* `source` is borrowed.  NULL when out of memory. */
struct service_faults *service_faults_new(const char *source);
void service_faults_free(struct service_faults *f);

/* The counts of a service, to be added to; valid until the next call. */
struct service_counts *service_faults_of(struct service_faults *f,
    const char *service);

/* The end of a slot; time_ns: of the counters. */
void service_faults_put(struct service_faults *f, struct batch *b,
    uint64_t slot, int64_t time_ns);

#endif
