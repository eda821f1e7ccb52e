/*
 * A table of names; the first that fits wins.
 */
#include "fcgi/api/better.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "store/model/series.h"

/* pattern of the name (shell's), label and value or NULL, the better way */
static const struct {
	const char *name, *label, *value;
	enum better better;
} directions[] = {
    /* waiting, errors and losses */
    {"node_cpu_seconds_total", "mode", "iowait", BETTER_DOWN},
    {"node_cpu_seconds_total", "mode", "steal", BETTER_DOWN},
    {"node_cpu_seconds_total", "mode", "idle", BETTER_UP},
    {"node_pressure_*", NULL, NULL, BETTER_DOWN},
    {"node_schedstat_waiting_seconds_total", NULL, NULL, BETTER_DOWN},
    {"node_disk_*_time_seconds_total", NULL, NULL, BETTER_DOWN},
    {"node_disk_io_time_weighted_seconds_total", NULL, NULL, BETTER_DOWN},
    {"node_disk_io_now", NULL, NULL, BETTER_DOWN},
    {"node_procs_blocked", NULL, NULL, BETTER_DOWN},
    {"node_load*", NULL, NULL, BETTER_DOWN},
    {"node_vmstat_pgmajfault", NULL, NULL, BETTER_DOWN},
    {"node_vmstat_oom_kill", NULL, NULL, BETTER_DOWN},
    {"node_vmstat_pswp*", NULL, NULL, BETTER_DOWN},
    {"namedprocess_namegroup_major_page_faults_total", NULL, NULL,
        BETTER_DOWN},
    {"namedprocess_namegroup_memory_bytes", "memtype", "swapped",
        BETTER_DOWN},
    {"namedprocess_namegroup_memory_bytes", "memtype", "resident",
        BETTER_DOWN},
    /* room */
    {"node_memory_MemAvailable_bytes", NULL, NULL, BETTER_UP},
    {"node_memory_SwapFree_bytes", NULL, NULL, BETTER_UP},
    {"node_filesystem_avail_bytes", NULL, NULL, BETTER_UP},
    {"node_filesystem_files_free", NULL, NULL, BETTER_UP},
    /* LevelDB */
    {"leveldb_cache_hit_ratio", NULL, NULL, BETTER_UP},
    {"leveldb_level_compaction_seconds_total", NULL, NULL, BETTER_DOWN},
    {"leveldb_*resident_memory_bytes", NULL, NULL, BETTER_DOWN},
    {"leveldb_up", NULL, NULL, BETTER_UP},
    /* our own cost */
    {"memlens_self_*", NULL, NULL, BETTER_DOWN},
    {"memlens_bpf_run_seconds_total", NULL, NULL, BETTER_DOWN},
    /* what names say by custom, wherever they come from */
    {"*error*", NULL, NULL, BETTER_DOWN},
    {"*_errs_total", NULL, NULL, BETTER_DOWN},
    {"*_fail*", NULL, NULL, BETTER_DOWN},
    {"*_dropped*", NULL, NULL, BETTER_DOWN},
    {"*_drop_total", NULL, NULL, BETTER_DOWN},
    {"*_lost*", NULL, NULL, BETTER_DOWN},
    {"*_refused*", NULL, NULL, BETTER_DOWN},
    {"*_broken_total", NULL, NULL, BETTER_DOWN},
    {"*_skipped_total", NULL, NULL, BETTER_DOWN},
    {"*[Rr]etrans*", NULL, NULL, BETTER_DOWN},
    {"*_timeouts_total", NULL, NULL, BETTER_DOWN},
    {"*latency*", NULL, NULL, BETTER_DOWN},
    {"*_duration_seconds*", NULL, NULL, BETTER_DOWN},
    {"*_hits_total", NULL, NULL, BETTER_UP},
    {"*_misses_total", NULL, NULL, BETTER_DOWN},
    {"*_hit_ratio", NULL, NULL, BETTER_UP},
    {"*_requests_total", NULL, NULL, BETTER_UP},
    {"*_transactions_total", NULL, NULL, BETTER_UP},
    {"*_operations_total", NULL, NULL, BETTER_UP},
    {"*_up", NULL, NULL, BETTER_UP},
};

enum better
better_of(const struct series_desc *d)
{
	for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]);
	     i++) {
		const char *value;

		if (fnmatch(directions[i].name, d->name, 0) != 0)
			continue;
		if (directions[i].label == NULL)
			return directions[i].better;
		value = label_find(d->labels, d->n_labels,
		    directions[i].label);
		if (value != NULL && strcmp(value, directions[i].value) == 0)
			return directions[i].better;
	}
	return BETTER_UNKNOWN;
}

const char *
better_name(enum better d)
{
	static const char *const names[] = {NULL, "up", "down"};

	return names[d];
}
