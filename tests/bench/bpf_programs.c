/*
 * What the kernel says of the BPF programs that are loaded, for benchmarks.
 *
 *	bpf_programs [-p PID] [-w SECONDS] [PREFIX]
 *
 * Prints a line for each program whose name begins with PREFIX and which, with
 * -p, a descriptor of the process holds:
 *
 *	NAME TYPE RUNS RUN_NS VERIFIED_INSNS JITED_BYTES MAPS_BYTES
 *
 * and, with -w, what was added to RUNS and RUN_NS within that time instead of
 * the totals.  The kernel counts runs only while somebody has asked it to,
 * which this program does until its end.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRAMS_MAX 256
#define MAPS_MAX 64

struct program {
	uint32_t id;
	uint64_t runs, run_ns;
};

/* The "memlock:" line of a map's fdinfo: the map's own accounting. */
static uint64_t
map_bytes(uint32_t id)
{
	int fd = bpf_map_get_fd_by_id(id);
	unsigned long long bytes = 0;
	char path[64], line[128];
	FILE *f;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	if (f != NULL)
		fclose(f);
	close(fd);
	return bytes;
}

/* Of a program, with the ids of its maps; false when it is gone. */
static bool
program_info(uint32_t id, struct bpf_prog_info *info, uint32_t maps[MAPS_MAX])
{
	int fd = bpf_prog_get_fd_by_id(id);
	uint32_t size = sizeof(*info);
	int r;

	if (fd < 0)
		return false;
	memset(info, 0, sizeof(*info));
	info->nr_map_ids = maps != NULL ? MAPS_MAX : 0;
	info->map_ids = (uintptr_t)maps;
	r = bpf_obj_get_info_by_fd(fd, info, &size);
	close(fd);
	return r == 0;
}

static void
program_print(const struct program *before, const char *prefix)
{
	struct bpf_prog_info info;
	uint32_t maps[MAPS_MAX], i;
	uint64_t bytes = 0;

	if (!program_info(before->id, &info, maps) ||
	    strncmp(info.name, prefix, strlen(prefix)) != 0)
		return;
	for (i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		bytes += map_bytes(maps[i]);
	printf("%s %u %llu %llu %u %u %llu\n", info.name, info.type,
	    (unsigned long long)(info.run_cnt - before->runs),
	    (unsigned long long)(info.run_time_ns - before->run_ns),
	    info.verified_insns, info.jited_prog_len,
	    (unsigned long long)bytes);
}

/* Does a descriptor of the process, of the program or of its attachment, name
 * it? */
static bool
held_by(long pid, uint32_t id)
{
	char path[512], line[128];
	struct dirent *d;
	bool held = false;
	unsigned n;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/fdinfo", pid);
	dir = opendir(path);
	while (dir != NULL && !held && (d = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%ld/fdinfo/%s", pid,
		    d->d_name);
		f = fopen(path, "re");
		while (f != NULL && fgets(line, sizeof(line), f) != NULL)
			held |= sscanf(line, "prog_id: %u", &n) == 1 &&
			    n == id;
		if (f != NULL)
			fclose(f);
	}
	if (dir != NULL)
		closedir(dir);
	return held;
}

static void
wait_seconds(double seconds)
{
	struct timespec t = {.tv_sec = (time_t)seconds};

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

int
main(int argc, char **argv)
{
	static struct program programs[PROGRAMS_MAX];
	struct bpf_prog_info info;
	double seconds = 0;
	long pid = 0;
	size_t i, n = 0;
	uint32_t id = 0;
	int c, stats;

	while ((c = getopt(argc, argv, "p:w:")) != -1) {
		if (c == 'p')
			pid = atol(optarg);
		else if (c == 'w')
			seconds = atof(optarg);
		else
			return 2;
	}
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	while (n < PROGRAMS_MAX && bpf_prog_get_next_id(id, &id) == 0) {
		if (!program_info(id, &info, NULL) ||
		    (pid != 0 && !held_by(pid, id)))
			continue;
		programs[n].id = id;
		if (seconds > 0) {
			programs[n].runs = info.run_cnt;
			programs[n].run_ns = info.run_time_ns;
		}
		n++;
	}
	if (seconds > 0)
		wait_seconds(seconds);
	for (i = 0; i < n; i++)
		program_print(&programs[i], argc > optind ? argv[optind] : "");
	if (stats >= 0)
		close(stats);
	return 0;
}
