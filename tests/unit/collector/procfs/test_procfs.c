/*
 * Parsers of the files of /proc: real texts and odd ones, names, scales.
 */
#include <stdlib.h>

#include "collector/procfs/procfs.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"
#include "tests/unit/test.h"

static char seen[65536];

/* Parses a copy and shows what a slot then holds: "name{labels} value" with
 * raw counters and last gauges, one a line. */
static const char *
parse(procfs_parse_fn *fn, const char *text)
{
	struct meter *m = meter_new(1000);
	struct procfs_reading r = {m, 10, NULL};
	struct batch *b = batch_new(1000);
	char *copy = strdup(text);
	struct label labels[8];
	struct series_desc d;
	size_t n = 0;

	seen[0] = '\0';
	fn(&r, copy);
	meter_close(m, 0, b);
	for (size_t i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 8);
		n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s%s",
		    d.kind == SERIES_COUNTER ? "+" : "", d.name);
		for (size_t k = 0; k < d.n_labels; k++)
			n += (size_t)snprintf(seen + n, sizeof(seen) - n,
			    "|%s=%s", labels[k].name, labels[k].value);
		n += (size_t)snprintf(seen + n, sizeof(seen) - n,
		    " %lld/%d%s%s\n", (long long)b->blocks[i].last, d.scale,
		    d.unit[0] ? " " : "", d.unit);
	}
	free(copy);
	batch_free(b);
	meter_free(m);
	return seen;
}

TEST(stat)
{
	CHECK_STR(parse(procfs_parse_stat,
	    "cpu  10 20 30 40 50 60 70 80 90 100\n"
	    "cpu0 1 2 3 4 5 6 7 8 9 10\n"
	    "cpu11 21\n"
	    "intr 256208 0 0 0\nctxt 519054\nbtime 1795260358\n"
	    "processes 9470\nprocs_running 2\nprocs_blocked 1\n"
	    "softirq 1 2 3\n"),
	    "+node_cpu_seconds_total|cpu=0|mode=user 1/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=nice 2/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=system 3/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=idle 4/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=iowait 5/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=irq 6/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=softirq 7/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=0|mode=steal 8/2 seconds\n"
	    "+node_cpu_guest_seconds_total|cpu=0|mode=user 9/2 seconds\n"
	    "+node_cpu_guest_seconds_total|cpu=0|mode=nice 10/2 seconds\n"
	    "+node_cpu_seconds_total|cpu=11|mode=user 21/2 seconds\n"
	    "+node_intr_total 256208/0\n"
	    "+node_context_switches_total 519054/0\n"
	    "node_boot_time_seconds 1795260358/0 seconds\n"
	    "+node_forks_total 9470/0\n"
	    "node_procs_running 2/0\nnode_procs_blocked 1/0\n");
}

TEST(meminfo)
{
	CHECK_STR(parse(procfs_parse_meminfo,
	    "MemTotal:       24683588 kB\nActive(anon):     12 kB\n"
	    "HugePages_Total:       3\nCommitted_AS:       7 kB\nodd\nX:\n"),
	    "node_memory_MemTotal_bytes 25275994112/0 bytes\n"
	    "node_memory_Active_anon_bytes 12288/0 bytes\n"
	    "node_memory_HugePages_Total 3/0\n"
	    "node_memory_Committed_AS_bytes 7168/0 bytes\n");
}

TEST(vmstat)
{
	CHECK_STR(parse(procfs_parse_vmstat, "nr_free_pages 7\npgfault 4681\n"
	    "pgmajfault 21\npswpin 1\npswpout 2\noom_kill 0\n"
	    "allocstall_normal 5\npgscan_direct 6\npgscan_direct_throttle 1\n"
	    "pgfault\n"),
	    "+node_vmstat_pgfault 4681/0\n+node_vmstat_pgmajfault 21/0\n"
	    "+node_vmstat_pswpin 1/0\n+node_vmstat_pswpout 2/0\n"
	    "+node_vmstat_oom_kill 0/0\n"
	    "+node_vmstat_allocstall_normal 5/0\n"
	    "+node_vmstat_pgscan_direct 6/0\n");
}

TEST(loadavg_and_filenr)
{
	CHECK_STR(parse(procfs_parse_loadavg, "0.05 12.40 1.31 1/150 4321\n"),
	    "node_load1 5/2\nnode_load5 1240/2\nnode_load15 131/2\n");
	CHECK_STR(parse(procfs_parse_loadavg, "odd\n"), "");
	CHECK_STR(parse(procfs_parse_filenr, "529\t0\t2466183\n"),
	    "node_filefd_allocated 529/0\nnode_filefd_maximum 2466183/0\n");
}

TEST(diskstats)
{
	CHECK_STR(parse(procfs_parse_diskstats,
	    "   7       0 loop0 1 2 3 4 5 6 7 8 9 10 11\n"
	    " 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
	    " 254       1 vda1 1 2 3 4 5 6 7 8 9 10 11\n"
	    " 259       0 nvme0n1 5\n"
	    " 259       1 nvme0n1p1 5\n"
	    " 253       0 dm-0 6\n 9 0 md127 7\n"),
	    "+node_disk_reads_completed_total|device=vda 1/0\n"
	    "+node_disk_reads_merged_total|device=vda 2/0\n"
	    "+node_disk_read_bytes_total|device=vda 1536/0 bytes\n"
	    "+node_disk_read_time_seconds_total|device=vda 4/3 seconds\n"
	    "+node_disk_writes_completed_total|device=vda 5/0\n"
	    "+node_disk_writes_merged_total|device=vda 6/0\n"
	    "+node_disk_written_bytes_total|device=vda 3584/0 bytes\n"
	    "+node_disk_write_time_seconds_total|device=vda 8/3 seconds\n"
	    "node_disk_io_now|device=vda 9/0\n"
	    "+node_disk_io_time_seconds_total|device=vda 10/3 seconds\n"
	    "+node_disk_io_time_weighted_seconds_total|device=vda 11/3 "
	    "seconds\n"
	    "+node_disk_discards_completed_total|device=vda 12/0\n"
	    "+node_disk_discards_merged_total|device=vda 13/0\n"
	    "+node_disk_discarded_sectors_total|device=vda 14/0\n"
	    "+node_disk_discard_time_seconds_total|device=vda 15/3 seconds\n"
	    "+node_disk_flush_requests_total|device=vda 16/0\n"
	    "+node_disk_flush_requests_time_seconds_total|device=vda 17/3 "
	    "seconds\n"
	    "+node_disk_reads_completed_total|device=nvme0n1 5/0\n"
	    "+node_disk_reads_completed_total|device=dm-0 6/0\n"
	    "+node_disk_reads_completed_total|device=md127 7/0\n");
}

TEST(netdev)
{
	CHECK_STR(parse(procfs_parse_netdev,
	    "Inter-|   Receive    |  Transmit\n"
	    " face |bytes    packets|bytes\n"
	    "  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
	    "veth1:5 6\n"),
	    "+node_network_receive_bytes_total|device=eth0 1/0 bytes\n"
	    "+node_network_receive_packets_total|device=eth0 2/0\n"
	    "+node_network_receive_errs_total|device=eth0 3/0\n"
	    "+node_network_receive_drop_total|device=eth0 4/0\n"
	    "+node_network_transmit_bytes_total|device=eth0 9/0 bytes\n"
	    "+node_network_transmit_packets_total|device=eth0 10/0\n"
	    "+node_network_transmit_errs_total|device=eth0 11/0\n"
	    "+node_network_transmit_drop_total|device=eth0 12/0\n"
	    "+node_network_receive_bytes_total|device=veth1 5/0 bytes\n"
	    "+node_network_receive_packets_total|device=veth1 6/0\n");
}

TEST(netstat)
{
	CHECK_STR(parse(procfs_parse_netstat,
	    "Ip: Forwarding\nIp: 1\n"
	    "Tcp: RtoAlgorithm ActiveOpens CurrEstab RetransSegs\n"
	    "Tcp: 1 5 6 7\nTcpExt: ListenDrops\nTcpExt: 8\nodd\n"),
	    "+node_netstat_Tcp_ActiveOpens 5/0\n"
	    "node_netstat_Tcp_CurrEstab 6/0\n"
	    "+node_netstat_Tcp_RetransSegs 7/0\n"
	    "+node_netstat_TcpExt_ListenDrops 8/0\n");
}

TEST(schedstat)
{
	CHECK_STR(parse(procfs_parse_schedstat, "version 17\ntimestamp 5\n"
	    "cpu0 0 0 0 0 0 0 77 88 99\ndomain0 03 1 2 3\ncpu1 0 0\n"),
	    "+node_schedstat_running_seconds_total|cpu=0 77/9 seconds\n"
	    "+node_schedstat_waiting_seconds_total|cpu=0 88/9 seconds\n"
	    "+node_schedstat_timeslices_total|cpu=0 99/0\n");
}

TEST(pressure)
{
	const char *text = "some avg10=0.00 avg60=0.18 avg300=1.2 total=169\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

	CHECK_STR(parse(procfs_parse_pressure_cpu, text),
	    "+node_pressure_cpu_waiting_seconds_total 169/6 seconds\n");
	CHECK_STR(parse(procfs_parse_pressure_memory, text),
	    "+node_pressure_memory_waiting_seconds_total 169/6 seconds\n"
	    "+node_pressure_memory_stalled_seconds_total 7/6 seconds\n");
}

static const char *
mount_of(const char *line)
{
	static char out[200];
	const char *device, *point, *type;
	char copy[200];

	snprintf(copy, sizeof(copy), "%s", line);
	if (!procfs_mount_parse(copy, &device, &point, &type))
		return "left out";
	snprintf(out, sizeof(out), "%s|%s|%s", device, point, type);
	return out;
}

TEST(mounts)
{
	CHECK_STR(mount_of("/dev/vda / ext4 rw 0 0"), "/dev/vda|/|ext4");
	CHECK_STR(mount_of("/dev/sdb1 /a\\040b\\134 xfs rw 0 0"),
	    "/dev/sdb1|/a b\\|xfs");
	CHECK_STR(mount_of("tank/db /db zfs rw 0 0"), "tank/db|/db|zfs");
	CHECK_STR(mount_of("proc /proc proc rw 0 0"), "left out");
	CHECK_STR(mount_of("host:/x /nfs nfs4 rw 0 0"), "left out");
	CHECK_STR(mount_of("/dev/loop1 /snap squashfs ro 0 0"), "left out");
	CHECK_STR(mount_of("odd"), "left out");
}

/* Its server may be anybody's, and stopped. */
TEST(a_user_cannot_stop_the_daemon_by_a_mount)
{
	CHECK_STR(mount_of("/dev/fuse /mnt fuse rw 0 0"), "left out");
	CHECK_STR(mount_of("/dev/sda1 /mnt fuse.evil rw 0 0"), "left out");
	CHECK_STR(mount_of("/dev/sda1 /mnt fuseblk rw 0 0"), "left out");
}

/* Every file of this machine's /proc is read, and twice gives increases. */
TEST(the_real_proc)
{
	struct meter *m = meter_new(1000);
	struct procfs_host *h = procfs_host_new("/proc");
	struct batch *b = batch_new(1000);

	CHECK_INT(procfs_host_read(h, &(struct procfs_reading){m, 1, NULL}), 0);
	CHECK_INT(procfs_host_read(h, &(struct procfs_reading){m, 2, NULL}), 0);
	procfs_mounts_read(&(struct procfs_reading){m, 2, NULL});
	meter_close(m, 0, b);
	CHECK(b->n_blocks > 100);
	batch_free(b);
	procfs_host_free(h);
	h = procfs_host_new("/nonexistent");
	CHECK(procfs_host_read(h, &(struct procfs_reading){m, 1, NULL}) > 0);
	procfs_host_free(h);
	meter_free(m);
}

static int64_t made_ns;

/* Each look at it takes 4 s: so busy is the host. */
static int64_t
made_clock(void)
{
	return made_ns += 4000;
}

/* Between two files we may have to wait for long: what a file says is of when
 * it was read, and not of when we began to read. */
TEST(a_file_is_of_when_it_was_read)
{
	struct meter *m = meter_new(10000);
	struct procfs_host *h = procfs_host_new("/proc");
	struct batch *b = batch_new(10000);
	size_t stat = 0;

	procfs_host_read(h, &(struct procfs_reading){m, 9000, made_clock});
	meter_close(m, 0, b);
	for (size_t i = 0; i < b->n_blocks; i++) {
		struct label labels[8];
		struct series_desc d;

		batch_series_desc(b, b->blocks[i].series, &d, labels, 8);
		stat += strcmp(d.name, "node_context_switches_total") == 0;
		CHECK(strncmp(d.name, "node_disk_", 10) != 0);
	}
	CHECK_INT(stat, 1);
	batch_free(b);
	procfs_host_free(h);
	meter_free(m);
}

int
main(void)
{
	RUN(stat);
	RUN(meminfo);
	RUN(vmstat);
	RUN(loadavg_and_filenr);
	RUN(diskstats);
	RUN(netdev);
	RUN(netstat);
	RUN(schedstat);
	RUN(pressure);
	RUN(mounts);
	RUN(a_user_cannot_stop_the_daemon_by_a_mount);
	RUN(the_real_proc);
	RUN(a_file_is_of_when_it_was_read);
	return test_done();
}
