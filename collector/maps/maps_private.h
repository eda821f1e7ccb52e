/*
 * What maps.c (when mappings are read) and maps_then.c (what was mapped at a
 * moment) share.
 */
#ifndef COLLECTOR_MAPS_PRIVATE_H
#define COLLECTOR_MAPS_PRIVATE_H

#include "collector/maps/maps.h"
#include "collector/maps/maps_changes.h"
#include "store/base/buf.h"

struct maps_process {
	int32_t pid, reader; /* reader: whose /proc entry shows memory */
	int32_t parent;      /* in whose root its files are when it has gone */
	uint32_t image;      /* of the process, that the list is of */
	int64_t read_ns, again_ns, used_ns;
	int64_t wait_ns; /* between reads for unknown addresses */
	int64_t cost_ns; /* CPU time of the last read */
	int64_t list_ns; /* when the list was as it is */
	uint64_t turns, turns_end; /* where one has taken another's place */
	struct maps_list list;
	struct maps_process *then; /* what was mapped once, in any order */
};

struct maps {
	struct processes *table;
	const char *proc;
	size_t n; /* processes that have a list */
	uint64_t reads;
	struct buf text; /* of the file being read */
	struct maps_changes changes;
	struct maps_process nobody; /* stands in when out of memory */
};

/* Files that a user's program serves are not opened. */
void maps_find_foreign(struct maps *m, struct maps_process *p);

#endif
