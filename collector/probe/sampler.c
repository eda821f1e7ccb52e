/*
 * Loading, attaching and draining of the CPU sampler.
 *
 * Needs no tracefs (software perf events have a fixed type) and no
 * RLIMIT_MEMLOCK: since 5.11 the memory of maps is accounted to the cgroup,
 * which libbpf notices, and then it leaves the limit alone.
 */
#include "collector/probe/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "cpu.skel.h"
#pragma GCC diagnostic pop

#include "collector/probe/sampler_unwind.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define RING_MIN (1u << 20)
#define RING_CPU (1u << 19)
#define RING_MAX (1u << 24)

struct sampler {
	struct cpu_bpf *bpf;
	struct ring_buffer *ring;
	struct bpf_link **links; /* one a CPU, NULL where not sampled */
	unsigned n_cpus, online, sampled;
	uint64_t malformed;
	struct sample_counts *per_cpu; /* room for the counters of all */
	sampler_fn *fn;
	void *arg;
	struct sampler_unwind unwind;
	bool unwinds;
};

static int
sampler_event(void *arg, void *data, size_t size)
{
	struct sampler *s = arg;
	const struct sample_event *e = data;
	size_t head = offsetof(struct sample_event, frames);

	if (size < head ||
	    (size - head) / sizeof(e->frames[0]) <
	    (size_t)e->n_kernel + e->n_user) {
		s->malformed++;
		return 0;
	}
	s->fn(s->arg, e, size);
	return 0;
}

static int
sampler_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[512];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log_debug("libbpf: %s", line);
	return 0;
}

/* Says why the program did not load; `code` is a positive errno. */
static const struct err *
sampler_load_error(int code)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return err_new(ERR_BPF, code,
		    "this kernel has no BTF (/sys/kernel/btf/vmlinux): %s",
		    strerror(errno));
	if (code == EPERM || code == EACCES)
		return err_new(ERR_BPF, code, "loading the BPF program: %s "
		    "(CAP_BPF and CAP_PERFMON are needed)", strerror(code));
	return err_new(ERR_BPF, code, "loading the BPF program: %s",
	    strerror(code));
}

/* Room for a second of deep stacks of every CPU at 997 Hz, for ten at 99
 * Hz; all of it becomes resident, and that twice, since it is mapped twice. */
static void
sampler_size_ring(struct sampler *s)
{
	uint32_t bytes = RING_MIN;

	while (bytes < RING_MAX && bytes < s->n_cpus * RING_CPU)
		bytes *= 2;
	bpf_map__set_max_entries(s->bpf->maps.ring, bytes);
	s->bpf->rodata->ring_wake_bytes = bytes / 4;
}

/* What the walker does not need takes no memory. */
static void
sampler_size_maps(struct sampler *s, uint32_t cells)
{
	bool walk = cells > 0;

	bpf_map__set_max_entries(s->bpf->maps.unwind_cells, walk ? cells : 1);
	bpf_map__set_max_entries(s->bpf->maps.unwind_mappings,
	    walk ? UNWIND_MAPPINGS : 1);
	bpf_map__set_max_entries(s->bpf->maps.unwind_tables,
	    walk ? UNWIND_TABLES : 1);
	bpf_map__set_max_entries(s->bpf->maps.unwind_processes,
	    walk ? UNWIND_PROCESSES : 1);
}

static void
sampler_set_unwind(struct sampler *s, uint32_t cells)
{
	const int arrays[UNWIND_ARRAYS] = {
	    [UNWIND_ARRAY_CELLS] = bpf_map__fd(s->bpf->maps.unwind_cells),
	    [UNWIND_ARRAY_MAPPINGS] =
	        bpf_map__fd(s->bpf->maps.unwind_mappings),
	    [UNWIND_ARRAY_TABLES] = bpf_map__fd(s->bpf->maps.unwind_tables)};

	sampler_unwind_init(&s->unwind, arrays,
	    bpf_map__fd(s->bpf->maps.unwind_processes),
	    &s->bpf->data->unwind_generation, cells);
	s->unwinds = cells > 0;
}

static const struct err *
sampler_load(struct sampler *s, const struct sampler_options *o)
{
	int r;

	libbpf_set_print(sampler_print);
	s->bpf = cpu_bpf__open();
	if (s->bpf == NULL)
		return sampler_load_error(errno);
	s->bpf->rodata->kernel_stacks = o->kernel;
	s->bpf->rodata->eh_frame = o->cells > 0;
	sampler_size_ring(s);
	sampler_size_maps(s, o->cells);
	r = cpu_bpf__load(s->bpf);
	if (r != 0)
		return sampler_load_error(-r);
	sampler_set_unwind(s, o->cells);
	s->ring = ring_buffer__new(bpf_map__fd(s->bpf->maps.ring),
	    sampler_event, s, NULL);
	if (s->ring == NULL)
		return err_new(ERR_BPF, errno, "mapping the ring buffer: %s",
		    strerror(errno));
	return NULL;
}

static int
sampler_clock(int cpu, int64_t hz)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .freq = 1,
	    .sample_freq = (uint64_t)hz,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
	    PERF_FLAG_FD_CLOEXEC);
}

static const struct err *
sampler_clock_error(int code)
{
	if (code == EPERM || code == EACCES)
		return err_new(ERR_BPF, code, "perf_event_open: %s "
		    "(CAP_PERFMON is needed where "
		    "kernel.perf_event_paranoid forbids)", strerror(code));
	if (code == ENOSYS || code == ENOENT)
		return err_new(ERR_BPF, code, "this kernel has no perf "
		    "events: %s", strerror(code));
	return err_new(ERR_BPF, code, "perf_event_open: %s", strerror(code));
}

/* Sets the clock of one CPU.  A CPU that is offline is no error. */
static const struct err *
sampler_attach_cpu(struct sampler *s, unsigned cpu, int64_t hz)
{
	int fd = sampler_clock((int)cpu, hz);
	int code;

	if (fd < 0 && errno == ENODEV)
		return NULL;
	s->online++;
	if (fd < 0)
		return sampler_clock_error(errno);
	s->links[cpu] = bpf_program__attach_perf_event(
	    s->bpf->progs.cpu_sample, fd);
	if (s->links[cpu] == NULL) {
		code = errno;
		close(fd);
		return err_new(ERR_BPF, code, "attaching the BPF program to "
		    "CPU %u: %s", cpu, strerror(code));
	}
	s->sampled++;
	return NULL;
}

/* Succeeds when at least one CPU is sampled. */
static const struct err *
sampler_attach(struct sampler *s, int64_t hz)
{
	const struct err *e, *first = NULL;
	unsigned cpu;

	for (cpu = 0; cpu < s->n_cpus; cpu++) {
		e = sampler_attach_cpu(s, cpu, hz);
		if (e != NULL && first == NULL)
			first = e;
		if (e != NULL)
			log_debug("cpu: %s", e->text);
	}
	if (s->sampled > 0)
		return NULL;
	return first != NULL ? first :
	    err_new(ERR_BPF, ENODEV, "no CPU could be sampled");
}

const struct err *
sampler_open(struct sampler **out, const struct sampler_options *o,
    sampler_fn *fn, void *arg)
{
	struct sampler *s = calloc(1, sizeof(*s));
	const struct err *e;
	int n = libbpf_num_possible_cpus();

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->fn = fn;
	s->arg = arg;
	s->n_cpus = n > 0 ? (unsigned)n : 1;
	s->links = calloc(s->n_cpus, sizeof(*s->links));
	s->per_cpu = calloc(s->n_cpus, sizeof(*s->per_cpu));
	if (s->links == NULL || s->per_cpu == NULL)
		e = err_nomem();
	else
		e = sampler_load(s, o);
	if (e == NULL)
		e = sampler_attach(s, o->hz);
	if (e != NULL) {
		sampler_close(s);
		return e;
	}
	*out = s;
	return NULL;
}

/* The clock's period is set when it is made. */
const struct err *
sampler_set_rate(struct sampler *s, int64_t hz)
{
	sampler_stop(s);
	s->online = s->sampled = 0;
	return sampler_attach(s, hz);
}

void
sampler_stop(struct sampler *s)
{
	unsigned cpu;

	if (s->links == NULL)
		return;
	for (cpu = 0; cpu < s->n_cpus; cpu++) {
		bpf_link__destroy(s->links[cpu]);
		s->links[cpu] = NULL;
	}
}

void
sampler_close(struct sampler *s)
{
	if (s == NULL)
		return;
	sampler_stop(s);
	ring_buffer__free(s->ring);
	sampler_unwind_fini(&s->unwind);
	cpu_bpf__destroy(s->bpf);
	free(s->links);
	free(s->per_cpu);
	free(s);
}

const struct unwind_kernel *
sampler_unwind(const struct sampler *s)
{
	return s->unwinds ? &s->unwind.kernel : NULL;
}

int
sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->ring);
}

const struct err *
sampler_drain(struct sampler *s)
{
	int r = ring_buffer__consume(s->ring);

	if (r < 0)
		return err_new(ERR_BPF, -r, "reading the ring buffer: %s",
		    strerror(-r));
	return NULL;
}

void
sampler_counts(const struct sampler *s, uint64_t counts[COUNT_COUNTERS])
{
	int fd = bpf_map__fd(s->bpf->maps.counters);
	uint32_t zero = 0, which;
	unsigned cpu;

	memset(counts, 0, COUNT_COUNTERS * sizeof(counts[0]));
	if (bpf_map_lookup_elem(fd, &zero, s->per_cpu) != 0)
		return;
	for (cpu = 0; cpu < s->n_cpus; cpu++)
		for (which = 0; which < COUNT_COUNTERS; which++)
			counts[which] += s->per_cpu[cpu].n[which];
}

uint64_t
sampler_malformed(const struct sampler *s)
{
	return s->malformed;
}

/* The "memlock:" line of a map's fdinfo: bytes, the map's own accounting. */
static uint64_t
sampler_memlock(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "memlock: %llu", &bytes) == 1)
			break;
	fclose(f);
	return bytes;
}

uint64_t
sampler_map_bytes(const struct sampler *s)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, s->bpf->obj)
		sum += sampler_memlock(bpf_map__fd(map));
	return sum;
}

uint64_t
sampler_skipped(const struct sampler *s)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(s->bpf->progs.cpu_sample),
	    &info, &size) != 0)
		return 0;
	return info.recursion_misses;
}

void
sampler_cpus(const struct sampler *s, unsigned *online, unsigned *sampled)
{
	*online = s->online;
	*sampled = s->sampled;
}
