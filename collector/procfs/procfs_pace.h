/*
 * What reading /proc costs, and how often it is read for that.
 */
#ifndef COLLECTOR_PROCFS_PACE_H
#define COLLECTOR_PROCFS_PACE_H

#include "collector/base/governor.h"

struct batch;
struct config;
struct meter;

struct procfs_pace {
	struct governor governor;
	int64_t slot_ns, asked_ns; /* as configured */
	int64_t interval_ns;       /* between two readings, now */
	struct governor_window window;
	char slow[160];            /* why it is not as configured; "": it is */
};

void procfs_pace_begin(struct procfs_pace *p, const struct config *config);
/* At the end of each slot: measures, stores it, and changes the interval when
 * need be. */
void procfs_pace_judge(struct procfs_pace *p, struct meter *m, uint64_t slot,
    struct batch *b);

#endif
