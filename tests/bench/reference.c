/*
 * Loads the benchmark's plain stack walker, makes rows for every process
 * that runs now, samples all CPUs and drains the ring.
 *
 *	reference HZ SECONDS
 *
 * Says "ready" when it samples, and at its end
 *	events N frames N whole N broken N unknown N
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "reference.skel.h"
#pragma GCC diagnostic pop

#include "collector/bpf/unwind.h"
#include "collector/symbols/unwind_read.h"
#include "reference.h"

#define FILES_MAX 2048

static struct {
	dev_t dev;
	ino_t ino;
	uint32_t first, n;
} files[FILES_MAX];
static size_t n_files;
static struct unwind_row *rows;
static struct reference_mapping *mappings;
static uint32_t n_rows, n_mappings;
static unsigned long long n_events, n_frames, fates[REFERENCE_ERRORS];

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	return pread(*(int *)arg, p, n, (off_t)at) == (ssize_t)n;
}

/* The place in files[] of an open file, made when new; -1: no rows. */
static int
file_find(int fd)
{
	struct elf_input in = {.read = file_read, .arg = &fd};
	struct unwind_file file;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) != 0)
		return -1;
	for (i = 0; i < n_files; i++)
		if (files[i].dev == st.st_dev && files[i].ino == st.st_ino)
			return (int)i;
	in.size = (uint64_t)st.st_size;
	if (n_files == FILES_MAX ||
	    unwind_read(&in, UNWIND_READ_ALL, REFERENCE_ROWS - n_rows,
	    &file) != ELF_OK)
		return -1;
	files[n_files].dev = st.st_dev;
	files[n_files].ino = st.st_ino;
	files[n_files].first = n_rows;
	files[n_files].n = (uint32_t)file.rows.n;
	memcpy(rows + n_rows, file.rows.rows, file.rows.n * sizeof(*rows));
	n_rows += (uint32_t)file.rows.n;
	free(file.rows.rows);
	return (int)n_files++;
}

static void
add_mapping(const char *proc, const char *line)
{
	unsigned long start, end, offset;
	char perms[8], path[512];
	int fd, file;

	if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &offset) !=
	    4 || perms[2] != 'x' || n_mappings == REFERENCE_MAPPINGS)
		return;
	snprintf(path, sizeof(path), "%s/map_files/%lx-%lx", proc, start,
	    end);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	file = file_find(fd);
	close(fd);
	if (file < 0)
		return;
	mappings[n_mappings++] = (struct reference_mapping){
	    .start = start, .end = end, .bias = start - offset,
	    .first = files[file].first, .n = files[file].n};
}

static void
add_process(int map, const char *pid)
{
	struct reference_process p = {.first = n_mappings};
	uint32_t key = (uint32_t)atol(pid);
	char proc[64], path[80], line[4096];
	FILE *f;

	snprintf(proc, sizeof(proc), "/proc/%.20s", pid);
	snprintf(path, sizeof(path), "%s/maps", proc);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		add_mapping(proc, line);
	if (f != NULL)
		fclose(f);
	p.n = n_mappings - p.first;
	if (p.n > 0)
		bpf_map_update_elem(map, &key, &p, BPF_ANY);
}

static void
add_all(int map)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			add_process(map, d->d_name);
	if (dir != NULL)
		closedir(dir);
}

static bool
attach(struct bpf_program *program, int hz)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
	    .freq = 1, .sample_freq = (uint64_t)hz};
	int cpu, fd, attached = 0;

	for (cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
		    PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 && bpf_program__attach_perf_event(program, fd) !=
		    NULL)
			attached++;
	}
	return attached > 0;
}

static int
take(void *arg, void *data, size_t size)
{
	const struct reference_event *e = data;

	(void)arg;
	(void)size;
	n_events++;
	n_frames += e->n_user;
	fates[e->error % REFERENCE_ERRORS]++;
	return 0;
}

static void *
map_array(struct bpf_map *map, size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    bpf_map__fd(map), 0);
}

int
main(int argc, char **argv)
{
	struct reference_bpf *bpf = reference_bpf__open_and_load();
	struct ring_buffer *ring;
	time_t end;

	if (argc != 3 || bpf == NULL)
		return 2;
	rows = map_array(bpf->maps.rows, REFERENCE_ROWS * sizeof(*rows));
	mappings = map_array(bpf->maps.mappings,
	    REFERENCE_MAPPINGS * sizeof(*mappings));
	ring = ring_buffer__new(bpf_map__fd(bpf->maps.ring), take, NULL,
	    NULL);
	if (rows == MAP_FAILED || mappings == MAP_FAILED || ring == NULL)
		return 1;
	add_all(bpf_map__fd(bpf->maps.processes));
	if (!attach(bpf->progs.reference_sample, atoi(argv[1])))
		return 1;
	printf("ready: %zu files, %u rows, %u mappings\n", n_files, n_rows,
	    n_mappings);
	fflush(stdout);
	end = time(NULL) + atol(argv[2]);
	while (time(NULL) < end)
		ring_buffer__poll(ring, 200);
	printf("events %llu frames %llu whole %llu broken %llu unknown %llu\n",
	    n_events, n_frames, fates[REFERENCE_WHOLE],
	    fates[REFERENCE_BROKEN], fates[REFERENCE_UNKNOWN]);
	ring_buffer__free(ring);
	reference_bpf__destroy(bpf);
	return 0;
}
