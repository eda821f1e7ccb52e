/*
 * The daemon's measurements of itself.  They are a source like the others;
 * what the daemon alone can know is handed in through self_watch().
 *
 *	memlens_up                                1
 *	memlens_self_cpu_seconds_total{process}   memlensd, its children,
 *	                                          memlens-scrape, and
 *	                                          "memlens-fcgi POOL": those of
 *	                                          our store and our socket
 *	memlens_self_resident_bytes{process}
 *	memlens_self_private_bytes{process}       of those what is no file's
 *	memlens_store_bytes, memlens_store_files
 *	memlens_store_batches_total, _duplicates_total, _refused_total,
 *	_damaged_records_total, _late_blocks_total, _lost_slots_total
 *	memlens_store_full                        1 while the disk is full
 *	memlens_socket_{batches,refused,connections,turned_away,timeouts,
 *	starved,abandoned}_total
 *	memlens_slots_skipped_total, memlens_batches_lost_total
 *	memlens_readings_dropped_total
 *	memlens_services, memlens_processes, memlens_services_overflowed_total,
 *	memlens_processes_untracked_total, memlens_processes_untold_total
 */
#ifndef COLLECTOR_SELF_H
#define COLLECTOR_SELF_H

#include <stdint.h>

#include "collector/ipc/intake.h"
#include "store/store.h"

/* What only the daemon knows, as of now. */
struct self_view {
	struct store_writer_stats store;
	struct intake_stats intake;
	uint64_t slots_skipped, batches_lost;
	const struct intake *door; /* or NULL */
	const char *directory;     /* of the store */
};

typedef void self_fn(void *arg, struct self_view *out);

/* Has source_self ask `fn` at every reading; `source` may be NULL. */
void self_watch(void *source, self_fn *fn, void *arg);

#endif
