/*
 * What services.c (processes as /proc shows them) and services_of.c (which
 * service each is of) share.
 */
#ifndef COLLECTOR_SERVICES_PRIVATE_H
#define COLLECTOR_SERVICES_PRIVATE_H

#include <dirent.h>

#include "collector/process/services.h"

struct instances;

struct service_name {
	char name[64];
	uint32_t processes; /* 0: free */
};

struct services {
	const struct config *config;
	struct services_rules *rules;
	struct instances *instances;
	const char *path; /* "/proc" */
	DIR *proc;
	int proc_fd;
	struct processes *table;
	struct service_name names[SERVICES_MAX];
	struct services_stats stats;
	uint64_t sweep, next_serial;
	int ancestors; /* that are being looked at for the sake of a child */
	int64_t slot; /* of the last sweep */
	bool watched, stirred; /* one may have begun or ended since then */
	size_t fds, fds_max;
	int64_t slot_ns;
	int64_t boot_wall_ns; /* wall time at boot */
	services_origin_fn *origin;
	void *origin_arg;
};

/* The process that /proc shows now; the one that was known under the pid has
 * ended, or could not be read for a moment. */
void services_add(struct services *s, int32_t pid);

/* Says which service it is of, at first sight and when it has changed. */
void services_classify(struct services *s, struct process *p);

/* The process is of its service no more. */
void services_release(struct services *s, const struct process_read *r);

/* Is it so young that it may be its parent's? */
bool services_is_young(const struct services *s, const struct process *p);

#endif
