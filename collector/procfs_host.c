/*
 * Files of /proc about the whole host.  They stay open and are read from
 * offset 0: for the hot ones, opening costs more than reading.
 */
#include "procfs.h"

#include "readfile.h"

#include "store/meter.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES 65536
#define DEVICES_MAX 64 /* lines of one file that name devices */
#define SECTOR 512
#define NUMBER_MAX (INT64_MAX / 1024)

#define GAUGE(name, unit, scale) {name, unit, SERIES_GAUGE, scale}
#define COUNTER(name, unit, scale) {name, unit, SERIES_COUNTER, scale}
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

void
procfs_put(const struct procfs_reading *r, const struct procfs_metric *m,
    const struct label *labels, size_t n_labels, int64_t value)
{
	struct series_desc d = {m->kind, m->name, m->unit, 0, m->scale,
	    labels, n_labels};

	if (m->kind == SERIES_COUNTER)
		meter_counter(r->meter, &d, r->booked_ns, value);
	else
		meter_gauge(r->meter, &d, r->now_ns, value);
}

/* The next number in *p, small enough to be scaled; false at the end of the
 * line. */
static bool
next_number(char **p, int64_t *value)
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
	for (size_t i = 0; i < LENGTH(cpu_columns) && next_number(&p, &ticks);
	    i++) {
		struct label labels[] = {{"cpu", line + 3},
		    {"mode", cpu_columns[i].mode}};
		struct series_desc d = {SERIES_COUNTER, cpu_columns[i].metric,
		    "seconds", 0, 2, labels, 2};

		meter_counter_steady(r->meter, &d, r->booked_ns, ticks);
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
			    next_number(&p, &value))
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

	if (!next_number(&value, &number))
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
		if (!vmstat_wanted(line) || !next_number(&p, &value))
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
		if (!next_number(&text, &whole) || *text++ != '.' ||
		    !next_number(&text, &hundredths))
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
		if (!next_number(&text, &value[i]))
			return;
	}
	procfs_put(r, &allocated, NULL, 0, value[0]);
	procfs_put(r, &maximum, NULL, 0, value[2]);
}

/* ---- /proc/diskstats ---- */

/* Fields after the device's name, in their order; times are in ms. */
static const struct {
	struct procfs_metric metric;
	int64_t factor;
} disk_fields[] = {
    {COUNTER("node_disk_reads_completed_total", "", 0), 1},
    {COUNTER("node_disk_reads_merged_total", "", 0), 1},
    {COUNTER("node_disk_read_bytes_total", "bytes", 0), SECTOR},
    {COUNTER("node_disk_read_time_seconds_total", "seconds", 3), 1},
    {COUNTER("node_disk_writes_completed_total", "", 0), 1},
    {COUNTER("node_disk_writes_merged_total", "", 0), 1},
    {COUNTER("node_disk_written_bytes_total", "bytes", 0), SECTOR},
    {COUNTER("node_disk_write_time_seconds_total", "seconds", 3), 1},
    {GAUGE("node_disk_io_now", "", 0), 1},
    {COUNTER("node_disk_io_time_seconds_total", "seconds", 3), 1},
    {COUNTER("node_disk_io_time_weighted_seconds_total", "seconds", 3), 1},
    {COUNTER("node_disk_discards_completed_total", "", 0), 1},
    {COUNTER("node_disk_discards_merged_total", "", 0), 1},
    {COUNTER("node_disk_discarded_sectors_total", "", 0), 1},
    {COUNTER("node_disk_discard_time_seconds_total", "seconds", 3), 1},
    {COUNTER("node_disk_flush_requests_total", "", 0), 1},
    {COUNTER("node_disk_flush_requests_time_seconds_total", "seconds", 3), 1},
};

static bool
all_digits(const char *s)
{
	return *s != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* "sda1", "vdb2", "nvme0n1p3", "loop0", "ram1", "fd0": parts of
 * disks and what is no disk, left out as node_exporter does. */
static bool
disk_left_out(const char *name)
{
	static const char *const kinds[] = {"ram", "loop", "fd"};
	static const char *const disks[] = {"hd", "sd", "vd", "xvd"};
	const char *part;

	for (size_t i = 0; i < LENGTH(kinds); i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(name, kinds[i], n) == 0 && all_digits(name + n))
			return true;
	}
	for (size_t i = 0; i < LENGTH(disks); i++) {
		size_t n = strlen(disks[i]);

		if (strncmp(name, disks[i], n) == 0 &&
		    islower((unsigned char)name[n]) && all_digits(name + n + 1))
			return true;
	}
	part = strrchr(name, 'p');
	return strncmp(name, "nvme", 4) == 0 && part != NULL &&
	    isdigit((unsigned char)part[-1]) && all_digits(part + 1);
}

/* "  254  0 vda 64133 11232 ...": false when the device is left out. */
static bool
parse_disk(const struct procfs_reading *r, char *line)
{
	struct label device = {"device", NULL};
	int64_t number;
	char *name, *p = line;

	if (!next_number(&p, &number) || !next_number(&p, &number))
		return false;
	name = p + strspn(p, " ");
	if ((p = strchr(name, ' ')) == NULL)
		return false;
	*p++ = '\0';
	if (disk_left_out(name))
		return false;
	device.value = name;
	for (size_t i = 0; i < LENGTH(disk_fields) && next_number(&p, &number);
	    i++)
		procfs_put(r, &disk_fields[i].metric, &device, 1,
		    number * disk_fields[i].factor);
	return true;
}

void
procfs_parse_diskstats(const struct procfs_reading *r, char *text)
{
	size_t devices = 0;
	char *line;

	while ((line = readfile_line(&text)) != NULL && devices < DEVICES_MAX)
		devices += parse_disk(r, line);
}

/* ---- /proc/net/dev ---- */

#define NET(name, unit) COUNTER("node_network_" name "_total", unit, 0)

static const struct procfs_metric net_fields[] = {
    NET("receive_bytes", "bytes"), NET("receive_packets", ""),
    NET("receive_errs", ""), NET("receive_drop", ""),
    NET("receive_fifo", ""), NET("receive_frame", ""),
    NET("receive_compressed", ""), NET("receive_multicast", ""),
    NET("transmit_bytes", "bytes"), NET("transmit_packets", ""),
    NET("transmit_errs", ""), NET("transmit_drop", ""),
    NET("transmit_fifo", ""), NET("transmit_colls", ""),
    NET("transmit_carrier", ""), NET("transmit_compressed", "")};

/* Shown and stored; of the rest a database host has no use. */
static const bool net_wanted[LENGTH(net_fields)] = {[0] = true, [1] = true,
    [2] = true, [3] = true, [8] = true, [9] = true, [10] = true,
    [11] = true};

void
procfs_parse_netdev(const struct procfs_reading *r, char *text)
{
	struct label device = {"device", NULL};
	size_t devices = 0;
	char *line, *p;
	int64_t number;

	while ((line = readfile_line(&text)) != NULL && devices < DEVICES_MAX) {
		if ((p = strrchr(line, ':')) == NULL)
			continue; /* the two lines of headings */
		*p++ = '\0';
		device.value = line + strspn(line, " ");
		for (size_t i = 0; i < LENGTH(net_fields) &&
		    next_number(&p, &number); i++) {
			if (net_wanted[i])
				procfs_put(r, &net_fields[i], &device, 1,
				    number);
		}
		devices++;
	}
}

/* ---- /proc/net/snmp, /proc/net/netstat ---- */

static const char *const netstat_keys[] = {"Tcp_ActiveOpens",
    "Tcp_PassiveOpens", "Tcp_CurrEstab", "Tcp_InSegs", "Tcp_OutSegs",
    "Tcp_RetransSegs", "Tcp_OutRsts", "Tcp_InErrs", "TcpExt_ListenOverflows",
    "TcpExt_ListenDrops", "TcpExt_TCPTimeouts", "TcpExt_TCPSynRetrans",
    "Udp_InErrors", "Udp_RcvbufErrors"};

static void
put_netstat(const struct procfs_reading *r, const char *protocol,
    const char *field, int64_t value)
{
	struct procfs_metric m = COUNTER(NULL, "", 0);
	char name[160] = "node_netstat_";
	size_t n = strlen(name);

	snprintf(name + n, sizeof(name) - n, "%.60s_%.60s", protocol, field);
	for (size_t i = 0; i < LENGTH(netstat_keys); i++) {
		if (strcmp(netstat_keys[i], name + n) != 0)
			continue;
		if (strcmp(field, "CurrEstab") == 0)
			m.kind = SERIES_GAUGE;
		m.name = name;
		procfs_put(r, &m, NULL, 0, value);
	}
}

/* Lines in pairs: "Tcp: NAME NAME ..." and "Tcp: NUMBER NUMBER ...". */
void
procfs_parse_netstat(const struct procfs_reading *r, char *text)
{
	char *names, *numbers, *colon, *name, *rest;
	int64_t value;

	while ((names = readfile_line(&text)) != NULL &&
	    (numbers = readfile_line(&text)) != NULL) {
		if ((colon = strchr(names, ':')) == NULL ||
		    (numbers = strchr(numbers, ':')) == NULL)
			continue;
		*colon = '\0';
		numbers++;
		for (name = strtok_r(colon + 1, " ", &rest); name != NULL &&
		    next_number(&numbers, &value);
		    name = strtok_r(NULL, " ", &rest))
			put_netstat(r, names, name, value);
	}
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
		for (size_t i = 0; i < 9 && next_number(&p, &value); i++) {
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
	size_t failed = 0;

	for (size_t i = 0; i < LENGTH(host_files); i++) {
		if (h->fd[i] >= 0 &&
		    readfile_fd(h->fd[i], h->text, sizeof(h->text)) > 0)
			host_files[i].parse(r, h->text);
		else if (!host_files[i].optional)
			failed++;
	}
	return failed;
}
