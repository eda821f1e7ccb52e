/*
 * Loading, attaching and draining of the probes of perf events.
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
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "perf.skel.h"
#pragma GCC diagnostic pop

#include "collector/probe/bpf_log.h"
#include "collector/probe/jitter.h"
#include "collector/probe/keeper.h"
#include "collector/probe/sampler_allocs.h"
#include "collector/probe/sampler_unwind.h"
#include "collector/probe/sampler_waits.h"
#include "collector/probe/sampler_wakes.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define RING_MIN (1u << 20)
#define RING_CPU (1u << 19)
#define RING_MAX (1u << 24)
#define ROOM_MIN (2u << 20)
#define ROOM_MAX (8u << 20)
#define ROOM_PART 1024

/* A CPU's clock; the link's fd. */
struct sampler_tick {
	int fd;
	struct jitter jitter;
};

/* A type of profile. */
struct sampler_type {
	struct perf_bpf *bpf;    /* NULL: not loaded */
	struct bpf_link **links; /* one a CPU, NULL where not sampled */
	struct sampler_tick *ticks; /* likewise, of those */
	int64_t hz, stirred_ns;  /* of a clock; 0: of none */
	unsigned online, sampled;
	uint64_t malformed;
};

struct sampler {
	struct sampler_options options;
	struct sampler_type types[SAMPLER_TYPES_MAX];
	struct perf_bpf *first; /* of the types: whose maps all use */
	struct keeper *keeper;  /* of the ring */
	unsigned n_cpus;
	struct sample_counts *per_cpu; /* room for the counters of all */
	sampler_fn *fn;
	void *arg;
	struct sampler_unwind unwind;
	bool unwinds;
	struct sampler_waits *waits; /* NULL: none */
	struct sampler_wakes *wakes; /* likewise */
	struct sampler_allocs *allocs; /* likewise */
};

static void
sampler_event(void *arg, const void *data, size_t size)
{
	struct sampler *s = arg;
	const struct sample_event *e = data;
	size_t head = offsetof(struct sample_event, frames);

	if (size < head || e->type >= SAMPLER_TYPES_MAX ||
	    (size - head) / sizeof(e->frames[0]) <
	    (size_t)e->n_kernel + e->n_user +
	    ((e->flags & EVENT_COPY) != 0 ? EVENT_COPY_HEAD / 8 : 0)) {
		s->types[size < head || e->type >= SAMPLER_TYPES_MAX ? 0 :
		    e->type].malformed++;
		return;
	}
	s->fn(s->arg, e, size);
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
sampler_size_ring(struct sampler *s, struct perf_bpf *bpf)
{
	uint32_t bytes = RING_MIN;

	while (bytes < RING_MAX && bytes < s->n_cpus * RING_CPU)
		bytes *= 2;
	bpf_map__set_max_entries(bpf->maps.ring, bytes);
	bpf->rodata->ring_wake_bytes = bytes / 4;
}

/* What the walker does not need takes no memory. */
static void
sampler_size_maps(struct perf_bpf *bpf, uint32_t chunks)
{
	bool walk = chunks > 0;

	bpf_map__set_max_entries(bpf->maps.counters, SAMPLER_TYPES_MAX);
	bpf_map__set_max_entries(bpf->maps.unwind_chunks, walk ? chunks : 1);
	bpf_map__set_max_entries(bpf->maps.unwind_regions,
	    walk ? UNWIND_REGIONS : 1);
	bpf_map__set_max_entries(bpf->maps.unwind_mappings,
	    walk ? UNWIND_MAPPINGS : 1);
	bpf_map__set_max_entries(bpf->maps.unwind_tables,
	    walk ? UNWIND_TABLES : 1);
	bpf_map__set_max_entries(bpf->maps.unwind_processes,
	    walk ? UNWIND_PROCESSES : 1);
}

static void
sampler_set_unwind(struct sampler *s)
{
	struct perf_bpf *bpf = s->first;
	const struct sampler_unwind_maps maps = {
	    .arrays = {[UNWIND_ARRAY_MAPPINGS] =
	    bpf_map__fd(bpf->maps.unwind_mappings),
	    [UNWIND_ARRAY_TABLES] = bpf_map__fd(bpf->maps.unwind_tables),
	    [UNWIND_ARRAY_REGIONS] = bpf_map__fd(bpf->maps.unwind_regions)},
	    .processes = bpf_map__fd(bpf->maps.unwind_processes),
	    .chunks = bpf_map__fd(bpf->maps.unwind_chunks),
	    .generation = &bpf->data->unwind_generation,
	    .tick = &bpf->data->unwind_tick};

	sampler_unwind_init(&s->unwind, &maps, s->options.chunks);
	s->unwinds = s->options.chunks > 0;
}

/* The maps of the program that was loaded first, instead of its own; what is
 * read only says which type it is, and stays its own. */
static int
sampler_share(const struct sampler *s, struct perf_bpf *bpf)
{
	struct bpf_map *map, *theirs;
	int r = 0;

	bpf_object__for_each_map(map, bpf->obj) {
		if (map == bpf->maps.rodata || r != 0)
			continue;
		theirs = bpf_object__find_map_by_name(s->first->obj,
		    bpf_map__name(map));
		r = bpf_map__reuse_fd(map, bpf_map__fd(theirs));
	}
	return r;
}

/* What may be kept beside the ring: a part of the machine's memory. */
static size_t
sampler_room_bytes(void)
{
	size_t bytes = (size_t)sysconf(_SC_PHYS_PAGES) *
	    (size_t)sysconf(_SC_PAGESIZE) / ROOM_PART;

	return bytes < ROOM_MIN ? ROOM_MIN : bytes < ROOM_MAX ? bytes :
	    ROOM_MAX;
}

/* The first program makes the maps, and the ring is read from them. */
static const struct err *
sampler_open_maps(struct sampler *s, struct perf_bpf *bpf)
{
	const struct err *e = keeper_new(&s->keeper,
	    bpf_map__fd(bpf->maps.ring), sampler_room_bytes());

	if (e != NULL)
		return e;
	s->first = bpf;
	sampler_set_unwind(s);
	return NULL;
}

static void
sampler_set_clock(struct perf_bpf *bpf, const struct sampler_clock *clock)
{
	bpf->rodata->event_unit = clock->unit > 0 ? (uint64_t)clock->unit : 1;
	bpf->rodata->sample_ns = (uint64_t)clock->sample_ns;
	if (clock->sample_ns > 0)
		bpf->rodata->ring_share_bytes =
		    bpf_map__max_entries(bpf->maps.ring) / 2;
	bpf->rodata->of_faults = clock->event == PERF_COUNT_SW_PAGE_FAULTS;
}

/* clock NULL: for its maps alone. */
static const struct err *
sampler_load(struct sampler *s, size_t type,
    const struct sampler_clock *clock)
{
	struct perf_bpf *bpf = perf_bpf__open();
	int r = 0;

	if (bpf == NULL)
		return sampler_load_error(errno);
	s->types[type].bpf = bpf;
	bpf->rodata->profile_type = (uint8_t)type;
	bpf->rodata->kernel_stacks = s->options.kernel;
	bpf->rodata->eh_frame = s->options.chunks > 0;
	bpf->data_orc->kernel_orc = s->options.orc;
	sampler_size_ring(s, bpf);
	if (clock != NULL)
		sampler_set_clock(bpf, clock);
	sampler_size_maps(bpf, s->options.chunks);
	if (s->first != NULL)
		r = sampler_share(s, bpf);
	if (r == 0)
		r = perf_bpf__load(bpf);
	if (r != 0)
		return sampler_load_error(-r);
	return s->first == NULL ? sampler_open_maps(s, bpf) : NULL;
}

static int
sampler_clock(int cpu, const struct sampler_clock *clock)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = clock->event,
	    .sample_period = (uint64_t)(clock->hz > 0 ?
	        NS_PER_S / clock->hz : clock->period),
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
sampler_attach_cpu(struct sampler_type *t, unsigned cpu,
    const struct sampler_clock *clock)
{
	int fd = sampler_clock((int)cpu, clock);
	int code;

	if (fd < 0 && errno == ENODEV)
		return NULL;
	t->online++;
	if (fd < 0)
		return sampler_clock_error(errno);
	t->links[cpu] = bpf_program__attach_perf_event(
	    t->bpf->progs.perf_sample, fd);
	if (t->links[cpu] == NULL) {
		code = errno;
		close(fd);
		return err_new(ERR_BPF, code, "attaching the BPF program to "
		    "CPU %u: %s", cpu, strerror(code));
	}
	t->ticks[cpu].fd = fd;
	t->ticks[cpu].jitter.seed = (uint64_t)clock_mono_ns() | 1;
	t->sampled++;
	return NULL;
}

/* Succeeds when at least one CPU is sampled. */
static const struct err *
sampler_attach(struct sampler *s, struct sampler_type *t,
    const struct sampler_clock *clock)
{
	const struct err *e, *first = NULL;
	unsigned cpu;

	t->online = t->sampled = 0;
	for (cpu = 0; cpu < s->n_cpus; cpu++) {
		e = sampler_attach_cpu(t, cpu, clock);
		if (e != NULL && first == NULL)
			first = e;
		if (e != NULL)
			log_debug("sampler: %s", e->text);
	}
	if (t->sampled > 0)
		return NULL;
	return first != NULL ? first :
	    err_new(ERR_BPF, ENODEV, "no CPU could be sampled");
}

const struct err *
sampler_open(struct sampler **out, const struct sampler_options *o,
    sampler_fn *fn, void *arg)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int n = libbpf_num_possible_cpus();

	*out = s;
	if (s == NULL)
		return err_nomem();
	bpf_log_begin();
	s->options = *o;
	s->fn = fn;
	s->arg = arg;
	s->n_cpus = n > 0 ? (unsigned)n : 1;
	s->per_cpu = calloc(s->n_cpus, sizeof(*s->per_cpu));
	return s->per_cpu == NULL ? err_nomem() : NULL;
}

static void
sampler_detach(const struct sampler *s, struct sampler_type *t)
{
	unsigned cpu;

	for (cpu = 0; t->links != NULL && cpu < s->n_cpus; cpu++) {
		bpf_link__destroy(t->links[cpu]);
		t->links[cpu] = NULL;
	}
}

/* The clock's period is set when it is made. */
const struct err *
sampler_set(struct sampler *s, size_t type, const struct sampler_clock *clock)
{
	struct sampler_type *t = &s->types[type];
	const struct err *e;

	if (t->links == NULL)
		t->links = calloc(s->n_cpus, sizeof(*t->links));
	if (t->ticks == NULL)
		t->ticks = calloc(s->n_cpus, sizeof(*t->ticks));
	if (t->links == NULL || t->ticks == NULL)
		return err_nomem();
	if (t->bpf == NULL && (e = sampler_load(s, type, clock)) != NULL)
		return e;
	sampler_detach(s, t);
	t->hz = clock->hz;
	t->bpf->bss->clock_ns[type] = clock->hz > 0 ?
	    (uint64_t)(NS_PER_S / clock->hz) : 0;
	return sampler_attach(s, t, clock);
}

/* Where it cannot be set the period stays what it was. */
static void
sampler_stir_type(const struct sampler *s, struct sampler_type *t,
    int64_t now_ns)
{
	int64_t every_ns;
	uint64_t period;
	unsigned cpu;

	if (t->stirred_ns == 0)
		t->stirred_ns = now_ns;
	every_ns = now_ns - t->stirred_ns;
	if (t->hz < JITTER_LEAST_HZ || every_ns < JITTER_EVERY_NS)
		return;
	t->stirred_ns = now_ns;
	for (cpu = 0; cpu < s->n_cpus; cpu++) {
		if (t->links[cpu] == NULL)
			continue;
		period = (uint64_t)jitter_next(&t->ticks[cpu].jitter, t->hz,
		    every_ns);
		ioctl(t->ticks[cpu].fd, PERF_EVENT_IOC_PERIOD, &period);
	}
}

void
sampler_stir(struct sampler *s, int64_t now_ns)
{
	for (size_t i = 0; i < SAMPLER_TYPES_MAX; i++)
		sampler_stir_type(s, &s->types[i], now_ns);
}

/* It is not sampled by CPU: so many as there are. */
static void
sampler_all_cpus(struct sampler_type *t)
{
	t->online = t->sampled = (unsigned)libbpf_num_possible_cpus();
}

/* Where no type has a clock, the first one's maps are there all the same. */
const struct err *
sampler_set_waits(struct sampler *s, size_t type,
    const struct waits_options *o)
{
	const struct err *e;

	if (s->first == NULL && (e = sampler_load(s, type, NULL)) != NULL)
		return e;
	e = sampler_waits_open(&s->waits, type, o, s->first->obj);
	if (e == NULL)
		sampler_all_cpus(&s->types[type]);
	return e;
}

struct sampler_waits *
sampler_waits(const struct sampler *s)
{
	return s->waits;
}

const struct err *
sampler_set_wakes(struct sampler *s, size_t type,
    const struct waits_options *o)
{
	const struct err *e = sampler_wakes_open(&s->wakes, type, o,
	    s->first->obj, sampler_waits_object(s->waits));

	if (e == NULL)
		sampler_all_cpus(&s->types[type]);
	return e;
}

const struct err *
sampler_set_allocs(struct sampler *s, size_t took, size_t gave,
    const struct allocs_options *o)
{
	const struct err *e;

	if (s->first == NULL && (e = sampler_load(s, took, NULL)) != NULL)
		return e;
	e = sampler_allocs_open(&s->allocs, took, gave, o, s->first->obj);
	if (e != NULL)
		return e;
	sampler_all_cpus(&s->types[took]);
	sampler_all_cpus(&s->types[gave]);
	return NULL;
}

void
sampler_set_threshold(struct sampler *s, int64_t ns, int64_t idle_ns)
{
	sampler_waits_set_threshold(s->waits, ns, idle_ns);
	if (s->wakes != NULL)
		sampler_wakes_set_threshold(s->wakes, ns);
}

void
sampler_stop(struct sampler *s)
{
	size_t i;

	if (s->waits != NULL)
		sampler_waits_stop(s->waits);
	if (s->wakes != NULL)
		sampler_wakes_stop(s->wakes);
	if (s->allocs != NULL)
		sampler_allocs_stop(s->allocs);
	for (i = 0; i < SAMPLER_TYPES_MAX; i++)
		sampler_detach(s, &s->types[i]);
}

void
sampler_close(struct sampler *s)
{
	size_t i;

	if (s == NULL)
		return;
	sampler_stop(s);
	sampler_allocs_close(s->allocs);
	sampler_wakes_close(s->wakes);
	sampler_waits_close(s->waits);
	keeper_free(s->keeper);
	sampler_unwind_fini(&s->unwind);
	for (i = 0; i < SAMPLER_TYPES_MAX; i++) {
		perf_bpf__destroy(s->types[i].bpf);
		free(s->types[i].links);
		free(s->types[i].ticks);
	}
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
	return keeper_fd(s->keeper);
}

const struct err *
sampler_drain(struct sampler *s)
{
	return keeper_hand_over(s->keeper, sampler_event, s);
}

int64_t
sampler_cpu_ns(const struct sampler *s)
{
	return keeper_cpu_ns(s->keeper);
}

void
sampler_counts(const struct sampler *s, size_t type,
    uint64_t counts[COUNT_COUNTERS])
{
	int fd = bpf_map__fd(s->first->maps.counters);
	uint32_t key = (uint32_t)type, which;
	unsigned cpu;

	memset(counts, 0, COUNT_COUNTERS * sizeof(counts[0]));
	if (bpf_map_lookup_elem(fd, &key, s->per_cpu) != 0)
		return;
	for (cpu = 0; cpu < s->n_cpus; cpu++)
		for (which = 0; which < COUNT_COUNTERS; which++)
			counts[which] += s->per_cpu[cpu].n[which];
}

uint64_t
sampler_malformed(const struct sampler *s, size_t type)
{
	return s->types[type].malformed;
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

/* Those of the first program are all, but for a page of each other. */
uint64_t
sampler_map_bytes(const struct sampler *s)
{
	struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, s->first->obj)
		sum += sampler_memlock(bpf_map__fd(map));
	if (s->unwind.n > 0)
		sum += s->unwind.n * sampler_memlock(s->unwind.chunks[0]);
	return sum;
}

uint64_t
sampler_skipped(const struct sampler *s, size_t type)
{
	const struct perf_bpf *bpf = s->types[type].bpf;
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf == NULL || bpf_obj_get_info_by_fd(
	    bpf_program__fd(bpf->progs.perf_sample), &info, &size) != 0)
		return 0;
	return info.recursion_misses;
}

void
sampler_cpus(const struct sampler *s, size_t type, unsigned *online,
    unsigned *sampled)
{
	*online = s->types[type].online;
	*sampled = s->types[type].sampled;
}
