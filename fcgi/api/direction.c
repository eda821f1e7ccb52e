/*
 * A table of names; the first that fits wins.
 */
#include "fcgi/api/direction.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "store/model/series.h"

/* pattern of the name (shell's), label and value or NULL, the better way */
static const struct {
	const char *name, *label, *value;
	enum direction better;
} directions[] = {
    /* waiting, errors and losses */
    {"node_cpu_seconds_total", "mode", "iowait", DIRECTION_DOWN},
    {"node_cpu_seconds_total", "mode", "steal", DIRECTION_DOWN},
    {"node_cpu_seconds_total", "mode", "idle", DIRECTION_UP},
    {"node_pressure_*", NULL, NULL, DIRECTION_DOWN},
    {"node_schedstat_waiting_seconds_total", NULL, NULL, DIRECTION_DOWN},
    {"node_disk_*_time_seconds_total", NULL, NULL, DIRECTION_DOWN},
    {"node_disk_io_time_weighted_seconds_total", NULL, NULL, DIRECTION_DOWN},
    {"node_disk_io_now", NULL, NULL, DIRECTION_DOWN},
    {"node_procs_blocked", NULL, NULL, DIRECTION_DOWN},
    {"node_load*", NULL, NULL, DIRECTION_DOWN},
    {"node_vmstat_pgmajfault", NULL, NULL, DIRECTION_DOWN},
    {"node_vmstat_oom_kill", NULL, NULL, DIRECTION_DOWN},
    {"node_vmstat_pswp*", NULL, NULL, DIRECTION_DOWN},
    {"namedprocess_namegroup_major_page_faults_total", NULL, NULL,
        DIRECTION_DOWN},
    {"namedprocess_namegroup_memory_bytes", "memtype", "swapped",
        DIRECTION_DOWN},
    {"namedprocess_namegroup_memory_bytes", "memtype", "resident",
        DIRECTION_DOWN},
    /* room */
    {"node_memory_MemAvailable_bytes", NULL, NULL, DIRECTION_UP},
    {"node_memory_SwapFree_bytes", NULL, NULL, DIRECTION_UP},
    {"node_filesystem_avail_bytes", NULL, NULL, DIRECTION_UP},
    {"node_filesystem_files_free", NULL, NULL, DIRECTION_UP},
    /* LevelDB */
    {"leveldb_cache_hit_ratio", NULL, NULL, DIRECTION_UP},
    {"leveldb_level_compaction_seconds_total", NULL, NULL, DIRECTION_DOWN},
    {"leveldb_*resident_memory_bytes", NULL, NULL, DIRECTION_DOWN},
    {"leveldb_up", NULL, NULL, DIRECTION_UP},
    /* our own cost */
    {"memlens_self_*", NULL, NULL, DIRECTION_DOWN},
    {"memlens_bpf_run_seconds_total", NULL, NULL, DIRECTION_DOWN},
    /* what names say by custom, wherever they come from */
    {"*error*", NULL, NULL, DIRECTION_DOWN},
    {"*_errs_total", NULL, NULL, DIRECTION_DOWN},
    {"*_fail*", NULL, NULL, DIRECTION_DOWN},
    {"*_dropped*", NULL, NULL, DIRECTION_DOWN},
    {"*_drop_total", NULL, NULL, DIRECTION_DOWN},
    {"*_lost*", NULL, NULL, DIRECTION_DOWN},
    {"*_refused*", NULL, NULL, DIRECTION_DOWN},
    {"*_broken_total", NULL, NULL, DIRECTION_DOWN},
    {"*_skipped_total", NULL, NULL, DIRECTION_DOWN},
    {"*[Rr]etrans*", NULL, NULL, DIRECTION_DOWN},
    {"*_timeouts_total", NULL, NULL, DIRECTION_DOWN},
    {"*latency*", NULL, NULL, DIRECTION_DOWN},
    {"*_duration_seconds*", NULL, NULL, DIRECTION_DOWN},
    {"*_hits_total", NULL, NULL, DIRECTION_UP},
    {"*_misses_total", NULL, NULL, DIRECTION_DOWN},
    {"*_hit_ratio", NULL, NULL, DIRECTION_UP},
    {"*_requests_total", NULL, NULL, DIRECTION_UP},
    {"*_transactions_total", NULL, NULL, DIRECTION_UP},
    {"*_operations_total", NULL, NULL, DIRECTION_UP},
    {"*_up", NULL, NULL, DIRECTION_UP},
};

enum direction
direction_of(const struct series_desc *d)
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
	return DIRECTION_UNKNOWN;
}

const char *
direction_name(enum direction d)
{
	static const char *const names[] = {NULL, "up", "down"};

	return names[d];
}
