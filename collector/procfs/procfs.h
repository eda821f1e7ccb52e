/*
 * Inside source_procfs: what its parts share.  The parts are
 *
 *	procfs.c          when to read, and the source's interface
 *	procfs_host.c     the files of /proc that are about the whole host
 *	procfs_devices.c  those with a line for each disk or interface
 *	procfs_mounts.c   file systems
 *	procfs_process.c  /proc/PID/{io,status,fd,task}
 *	procfs_groups.c   sums over the processes of a service
 *	procfs_allocator.c  which allocator a process has
 *	procfs_limits.c   what control groups leave a service
 *	procfs_files.c    what the files of a service take
 *	procfs_pace.c     what that costs, and how often it is done for that
 *
 * Names, labels and units are node_exporter's and process-exporter's.
 */
#ifndef COLLECTOR_PROCFS_H
#define COLLECTOR_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

struct meter;

/* One reading of everything. */
struct procfs_reading {
	struct meter *meter;
	int64_t now_ns;         /* wall: when what comes next was read */
	int64_t (*clock)(void); /* that tells it anew; NULL: it stays */
};

/* Before each file, for a busy host may keep us waiting between two.  Before
 * and not after, for it is a system call's end that it likes for that. */
void procfs_begin(struct procfs_reading *r);

/* A metric's fixed part, for tables. */
struct procfs_metric {
	const char *name, *unit;
	enum series_kind kind;
	uint8_t scale;
};

#define GAUGE(name, unit, scale) {name, unit, SERIES_GAUGE, scale}
#define COUNTER(name, unit, scale) {name, unit, SERIES_COUNTER, scale}

/* The next number in *p, small enough to be scaled; false at the end of the
 * line. */
bool procfs_number(char **p, int64_t *value);

/* One value.  `value` is scaled already; labels are sorted by name. */
void procfs_put(const struct procfs_reading *r,
    const struct procfs_metric *m, const struct label *labels,
    size_t n_labels, int64_t value);

/* ---- procfs_host.c ---- */

struct procfs_host;

/* `proc` is "/proc", or a copy of it for tests. */
struct procfs_host *procfs_host_new(const char *proc);
void procfs_host_free(struct procfs_host *h);

/* Reads every file; the number of those that could not be read. */
size_t procfs_host_read(struct procfs_host *h,
    const struct procfs_reading *r);

/* Parsers of single files, for tests; they write into `text`. */
typedef void procfs_parse_fn(const struct procfs_reading *r, char *text);
procfs_parse_fn procfs_parse_stat, procfs_parse_meminfo,
    procfs_parse_vmstat, procfs_parse_loadavg, procfs_parse_diskstats,
    procfs_parse_netdev, procfs_parse_filenr, procfs_parse_netstat,
    procfs_parse_schedstat, procfs_parse_pressure_cpu, procfs_parse_pressure_io,
    procfs_parse_pressure_memory, procfs_parse_pressure_irq;

/* ---- procfs_mounts.c ---- */

/* File systems on local block devices: size, free, available. */
void procfs_mounts_read(const struct procfs_reading *r);

/* Is this line of /proc/mounts one of them?  Fills device, mountpoint and
 * type, unescaped in place. */
bool procfs_mount_parse(char *line, const char **device, const char **point,
    const char **type);

#endif
