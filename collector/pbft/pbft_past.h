/*
 * What replicas had counted that are gone, so that one that comes back goes on
 * from there.  What a cluster had counted is past when all of it began anew.
 */
#ifndef COLLECTOR_PBFT_PAST_H
#define COLLECTOR_PBFT_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/pbft/pbft_cluster.h"
#include "collector/probe/pbft_probe.h"

struct pbft_who {
	char service[64], instance[16];
	char cluster[PBFT_CLUSTER_MAX];
};

struct pbft_past {
	struct pbft_gone {
		struct pbft_who who;
		uint64_t states[PBFT_STATES];
	} all[PBFT_REPLICAS]; /* the oldest first, and left out where full */
	size_t n;
};

void pbft_past_keep(struct pbft_past *p, const struct pbft_who *who,
    const uint64_t states[PBFT_STATES]);
/* Takes out what that one had; false: nothing is known of it. */
bool pbft_past_take(struct pbft_past *p, const struct pbft_who *who,
    uint64_t states[PBFT_STATES]);
bool pbft_past_is_cluster(const struct pbft_who *a, const struct pbft_who *b);
/* Forgets a cluster, of whichever replica of it. */
void pbft_past_drop(struct pbft_past *p, const struct pbft_who *who);

#endif
