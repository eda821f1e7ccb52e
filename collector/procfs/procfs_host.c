/*
 * Files of /proc about the whole host.  They stay open and are read from
 * offset 0: for the hot ones, opening costs more than reading.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/procfs/procfs.h"
#include "store/batch/meter.h"

#define FILE_BYTES 65536
#define NUMBER_MAX (INT64_MAX / 1024)

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

void
procfs_begin(struct procfs_reading *r)
{
	if (r->clock != NULL)
		r->now_ns = r->clock();
}

void
procfs_put(const struct procfs_reading *r, const struct procfs_metric *m,
    const struct label *labels, size_t n_labels, int64_t value)
{
	struct series_desc d = {m->kind, m->name, m->unit, 0, m->scale,
	    labels, n_labels};

	if (m->kind == SERIES_COUNTER)
		meter_counter(r->meter, &d, r->now_ns, value);
	else
		meter_gauge(r->meter, &d, r->now_ns, value);
}

bool
procfs_number(char **p, int64_t *value)
{
	char *end;

	*value = strtoll(*p, &end, 10);
	if (end == *p || *value < 0 || *value > NUMBER_MAX)
		return false;
	*p = end;
	return true;
}

/* ---- /proc/stat ---- */

/* In the order of the columns; guest times are in user and nice already. */
static const struct {
	const char *metric, *mode;
} cpu_columns[] = {
    {"node_cpu_seconds_total", "user"},
    {"node_cpu_seconds_total", "nice"},
    {"node_cpu_seconds_total", "system"},
    {"node_cpu_seconds_total", "idle"},
    {"node_cpu_seconds_total", "iowait"},
    {"node_cpu_seconds_total", "irq"},
    {"node_cpu_seconds_total", "softirq"},
    {"node_cpu_seconds_total", "steal"},
    {"node_cpu_guest_seconds_total", "user"},
    {"node_cpu_guest_seconds_total", "nice"},
};

/* "cpu0 TICKS TICKS ...": idle and iowait may go back a little. */
static void
parse_cpu(const struct procfs_reading *r, char *line)
{
	char *p = strchr(line, ' ');
	int64_t ticks;

	if (p == NULL || p == line + 3)
		return; /* the sum over all */
	*p++ = '\0';
	for (size_t i = 0; i < LENGTH(cpu_columns) && procfs_number(&p, &ticks);
	    i++) {
		struct label labels[] = {{"cpu", line + 3},
		    {"mode", cpu_columns[i].mode}};
		struct series_desc d = {SERIES_COUNTER, cpu_columns[i].metric,
		    "seconds", 0, 2, labels, 2};

		meter_counter_steady(r->meter, &d, r->now_ns, ticks);
	}
}

static const struct stat_line {
	const char *key;
	struct procfs_metric metric;
} stat_lines[] = {
    {"intr", COUNTER("node_intr_total", "", 0)},
    {"ctxt", COUNTER("node_context_switches_total", "", 0)},
    {"processes", COUNTER("node_forks_total", "", 0)},
    {"procs_running", GAUGE("node_procs_running", "", 0)},
    {"procs_blocked", GAUGE("node_procs_blocked", "", 0)},
    {"btime", GAUGE("node_boot_time_seconds", "seconds", 0)},
};

void
procfs_parse_stat(const struct procfs_reading *r, char *text)
{
	char *line, *p;
	int64_t value;

	while ((line = readfile_line(&text)) != NULL) {
		if (strncmp(line, "cpu", 3) == 0) {
			parse_cpu(r, line);
			continue;
		}
		if ((p = strchr(line, ' ')) == NULL)
			continue;
		*p++ = '\0';
		for (size_t i = 0; i < LENGTH(stat_lines); i++) {
			if (strcmp(stat_lines[i].key, line) == 0 &&
			    procfs_number(&p, &value))
				procfs_put(r, &stat_lines[i].metric, NULL, 0,
				    value);
		}
	}
}

/* ---- /proc/meminfo ---- */

/* "Active(anon):   123 kB" is node_memory_Active_anon_bytes. */
static void
parse_meminfo_line(const struct procfs_reading *r, char *line, char *value)
{
	struct procfs_metric m = GAUGE(NULL, "", 0);
	char name[96];
	int64_t number;
	bool kilobytes;
	size_t n;

	if (!procfs_number(&value, &number))
		return;
	kilobytes = strcmp(value, " kB") == 0;
	n = (size_t)snprintf(name, sizeof(name), "node_memory_%.60s%s", line,
	    kilobytes ? "_bytes" : "");
	for (size_t i = 0, to = 0; i <= n; i++) {
		if (name[i] == ')')
			continue;
		name[to++] = name[i] == '(' ? '_' : name[i];
	}
	m.name = name;
	m.unit = kilobytes ? "bytes" : "";
	procfs_put(r, &m, NULL, 0, kilobytes ? number * 1024 : number);
}

void
procfs_parse_meminfo(const struct procfs_reading *r, char *text)
{
	char *line, *colon;

	while ((line = readfile_line(&text)) != NULL) {
		if ((colon = strchr(line, ':')) == NULL)
			continue;
		*colon = '\0';
		parse_meminfo_line(r, line, colon + 1);
	}
}

/* ---- /proc/vmstat ---- */

/* Those that only grow; a name that ends in * is a prefix. */
static const char *const vmstat_keys[] = {"pgfault", "pgmajfault", "pgpgin",
    "pgpgout", "pswpin", "pswpout", "oom_kill", "allocstall_*",
    "pgscan_direct", "pgscan_kswapd", "pgsteal_direct", "pgsteal_kswapd",
    "thp_fault_alloc", "thp_fault_fallback", "compact_stall",
    "workingset_refault_*", "drop_pagecache"};

static bool
vmstat_wanted(const char *name)
{
	for (size_t i = 0; i < LENGTH(vmstat_keys); i++) {
		size_t n = strlen(vmstat_keys[i]);

		if (vmstat_keys[i][n - 1] == '*' ?
		    strncmp(vmstat_keys[i], name, n - 1) == 0 :
		    strcmp(vmstat_keys[i], name) == 0)
			return true;
	}
	return false;
}

void
procfs_parse_vmstat(const struct procfs_reading *r, char *text)
{
	struct procfs_metric m = COUNTER(NULL, "", 0);
	char *line, *p, name[96];
	int64_t value;

	while ((line = readfile_line(&text)) != NULL) {
		if ((p = strchr(line, ' ')) == NULL)
			continue;
		*p++ = '\0';
		if (!vmstat_wanted(line) || !procfs_number(&p, &value))
			continue;
		snprintf(name, sizeof(name), "node_vmstat_%.60s", line);
		m.name = name;
		procfs_put(r, &m, NULL, 0, value);
	}
}

/* ---- /proc/loadavg, /proc/sys/fs/file-nr ---- */

/* "0.52 0.40 0.31 1/150 4321": the fractions have two digits. */
void
procfs_parse_loadavg(const struct procfs_reading *r, char *text)
{
	static const struct procfs_metric loads[] = {
	    GAUGE("node_load1", "", 2), GAUGE("node_load5", "", 2),
	    GAUGE("node_load15", "", 2)};
	int64_t whole, hundredths;

	for (size_t i = 0; i < LENGTH(loads); i++) {
		if (!procfs_number(&text, &whole) || *text++ != '.' ||
		    !procfs_number(&text, &hundredths))
			return;
		procfs_put(r, &loads[i], NULL, 0, whole * 100 + hundredths);
	}
}

void
procfs_parse_filenr(const struct procfs_reading *r, char *text)
{
	static const struct procfs_metric
	    allocated = GAUGE("node_filefd_allocated", "", 0),
	    maximum = GAUGE("node_filefd_maximum", "", 0);
	int64_t value[3];

	for (size_t i = 0; i < 3; i++) {
		if (!procfs_number(&text, &value[i]))
			return;
	}
	procfs_put(r, &allocated, NULL, 0, value[0]);
	procfs_put(r, &maximum, NULL, 0, value[2]);
}

/* ---- /proc/schedstat ---- */

/* "cpu0 0 0 0 0 0 0 RUNNING WAITING TIMESLICES ...", times in ns: how long
 * threads ran, and how long they were ready but did not. */
void
procfs_parse_schedstat(const struct procfs_reading *r, char *text)
{
	static const struct procfs_metric metrics[] = {
	    COUNTER("node_schedstat_running_seconds_total", "seconds", 9),
	    COUNTER("node_schedstat_waiting_seconds_total", "seconds", 9),
	    COUNTER("node_schedstat_timeslices_total", "", 0)};
	struct label cpu = {"cpu", NULL};
	int64_t value;
	char *line, *p;

	while ((line = readfile_line(&text)) != NULL) {
		if (strncmp(line, "cpu", 3) != 0 ||
		    (p = strchr(line, ' ')) == NULL)
			continue;
		*p++ = '\0';
		cpu.value = line + 3;
		for (size_t i = 0; i < 9 && procfs_number(&p, &value); i++) {
			if (i >= 6)
				procfs_put(r, &metrics[i - 6], &cpu, 1,
				    value);
		}
	}
}

/* ---- /proc/pressure ---- */

/* "some avg10=0.00 ... total=MICROSECONDS": waiting; "full": stalled. */
static void
parse_pressure(const struct procfs_reading *r, char *text,
    const char *some, const char *full)
{
	struct procfs_metric m = COUNTER(NULL, "seconds", 6);
	char *line, *total;

	while ((line = readfile_line(&text)) != NULL) {
		m.name = strncmp(line, "some ", 5) == 0 ? some : full;
		total = strstr(line, "total=");
		if (m.name != NULL && total != NULL)
			procfs_put(r, &m, NULL, 0, atoll(total + 6));
	}
}

void
procfs_parse_pressure_cpu(const struct procfs_reading *r, char *text)
{
	parse_pressure(r, text, "node_pressure_cpu_waiting_seconds_total",
	    NULL);
}

void
procfs_parse_pressure_io(const struct procfs_reading *r, char *text)
{
	parse_pressure(r, text, "node_pressure_io_waiting_seconds_total",
	    "node_pressure_io_stalled_seconds_total");
}

void
procfs_parse_pressure_memory(const struct procfs_reading *r, char *text)
{
	parse_pressure(r, text, "node_pressure_memory_waiting_seconds_total",
	    "node_pressure_memory_stalled_seconds_total");
}

void
procfs_parse_pressure_irq(const struct procfs_reading *r, char *text)
{
	parse_pressure(r, text, NULL,
	    "node_pressure_irq_stalled_seconds_total");
}

/* ---- all of them ---- */

static const struct {
	const char *path;
	procfs_parse_fn *parse;
	bool optional; /* depends on how the kernel was built */
} host_files[] = {
    {"stat", procfs_parse_stat, false},
    {"meminfo", procfs_parse_meminfo, false},
    {"vmstat", procfs_parse_vmstat, false},
    {"loadavg", procfs_parse_loadavg, false},
    {"diskstats", procfs_parse_diskstats, false},
    /* the first process has the host's network; we may have none */
    {"1/net/dev", procfs_parse_netdev, true},
    {"1/net/snmp", procfs_parse_netstat, true},
    {"1/net/netstat", procfs_parse_netstat, true},
    {"sys/fs/file-nr", procfs_parse_filenr, true},
    {"schedstat", procfs_parse_schedstat, true},
    {"pressure/cpu", procfs_parse_pressure_cpu, true},
    {"pressure/io", procfs_parse_pressure_io, true},
    {"pressure/memory", procfs_parse_pressure_memory, true},
    {"pressure/irq", procfs_parse_pressure_irq, true},
};

struct procfs_host {
	int fd[LENGTH(host_files)]; /* -1: not there */
	char text[FILE_BYTES];
};

struct procfs_host *
procfs_host_new(const char *proc)
{
	struct procfs_host *h = malloc(sizeof(*h));
	char path[256];

	if (h == NULL)
		return NULL;
	for (size_t i = 0; i < LENGTH(host_files); i++) {
		snprintf(path, sizeof(path), "%s/%s", proc,
		    host_files[i].path);
		h->fd[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	return h;
}

void
procfs_host_free(struct procfs_host *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < LENGTH(host_files); i++) {
		if (h->fd[i] >= 0)
			close(h->fd[i]);
	}
	free(h);
}

size_t
procfs_host_read(struct procfs_host *h, const struct procfs_reading *r)
{
	struct procfs_reading each = *r;
	size_t failed = 0;

	for (size_t i = 0; i < LENGTH(host_files); i++) {
		procfs_begin(&each);
		if (h->fd[i] >= 0 &&
		    readfile_fd(h->fd[i], h->text, sizeof(h->text)) > 0)
			host_files[i].parse(&each, h->text);
		else if (!host_files[i].optional)
			failed++;
	}
	return failed;
}
