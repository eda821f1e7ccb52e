/*
 * Disks and network interfaces: files of /proc with a line for each.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/readfile.h"
#include "collector/procfs/procfs.h"

#define DEVICES_MAX 64 /* lines of one file that name devices */
#define SECTOR 512

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

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

	if (!procfs_number(&p, &number) || !procfs_number(&p, &number))
		return false;
	name = p + strspn(p, " ");
	if ((p = strchr(name, ' ')) == NULL)
		return false;
	*p++ = '\0';
	if (disk_left_out(name))
		return false;
	device.value = name;
	for (size_t i = 0;
	     i < LENGTH(disk_fields) && procfs_number(&p, &number); i++)
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
		    procfs_number(&p, &number); i++) {
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
		    procfs_number(&numbers, &value);
		    name = strtok_r(NULL, " ", &rest))
			put_netstat(r, names, name, value);
	}
}
