/*
 * Loading, attaching and reading of the probe of disks.
 */
#include "collector/probe/disk_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
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
#include "disk.skel.h"
#pragma GCC diagnostic pop

#include "collector/probe/bpf_log.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define TRACE_TYPE "btf_trace_" /* of the kernel's types of tracepoints */

/* Which programs are of a part, and for which way of seeing syncs.  Those of
 * ext4 see beside calls what is none, where the kernel has it. */
static const struct {
	const char *program;
	enum disk_part part;
	int calls; /* -1: either way */
} disk_programs[] = {
    {"disk_start", DISK_PART_REQUESTS, -1},
    {"disk_insert", DISK_PART_REQUESTS, -1},
    {"disk_issue", DISK_PART_REQUESTS, -1},
    {"disk_complete", DISK_PART_REQUESTS, -1},
    {"disk_merge", DISK_PART_REQUESTS, -1},
    {"disk_sync_enter", DISK_PART_SYNC, 0},
    {"disk_sync_exit", DISK_PART_SYNC, 0},
    {"disk_call_enter", DISK_PART_SYNC, 1},
    {"disk_call_exit", DISK_PART_SYNC, 1},
    {"disk_reclaim_begin", DISK_PART_RECLAIM, -1},
    {"disk_reclaim_end", DISK_PART_RECLAIM, -1},
    {"disk_compact_begin", DISK_PART_RECLAIM, -1},
    {"disk_compact_end", DISK_PART_RECLAIM, -1},
    {"disk_run_queue", DISK_PART_RUN_QUEUE, -1},
    {"disk_fault_user", DISK_PART_FAULTS, -1},
    {"disk_fault_kernel", DISK_PART_FAULTS, -1},
    {"disk_fault_major", DISK_PART_FAULTS, -1},
};

#define PROGRAMS (sizeof(disk_programs) / sizeof(disk_programs[0]))

struct disk_probe {
	struct disk_bpf *bpf;
	struct bpf_link *links[PROGRAMS];
	struct bpf_link **majors; /* one a CPU, or NULL */
	char why[DISK_PARTS][160]; /* "": attached */
	bool lacks[DISK_PARTS];    /* the kernel has no such tracepoint */
	int n_cpus;
	uint64_t *per_cpu; /* room for a counter of all CPUs */
	struct sums sums;
};

static struct bpf_program *
disk_program(const struct disk_probe *p, size_t i)
{
	return bpf_object__find_program_by_name(p->bpf->obj,
	    disk_programs[i].program);
}

/* The first cause is the one that is told. */
static void
disk_miss(struct disk_probe *p, enum disk_part part, const char *what,
    const char *tracepoint)
{
	if (p->why[part][0] == '\0')
		snprintf(p->why[part], sizeof(p->why[part]), "%s%s%s", what,
		    tracepoint[0] != '\0' ? " " : "", tracepoint);
}

/* NAME of "tp_btf/NAME"; of another program "". */
static const char *
disk_tracepoint(const struct disk_probe *p, size_t i)
{
	const char *name = strchr(
	    bpf_program__section_name(disk_program(p, i)), '/');

	return name != NULL ? name + 1 : "";
}

/* Has the kernel the tracepoint that each program needs, if any?  Its types are
 * many, and in no order: they are gone through once. */
static void
disk_find_tracepoints(const struct disk_probe *p, const struct btf *kernel,
    bool has[PROGRAMS])
{
	const size_t head = sizeof(TRACE_TYPE) - 1;
	const char *names[PROGRAMS], *name;
	size_t i;

	for (i = 0; i < PROGRAMS; i++) {
		names[i] = disk_tracepoint(p, i);
		has[i] = names[i][0] == '\0';
	}
	for (uint32_t id = 1; id < btf__type_cnt(kernel); id++) {
		const struct btf_type *t = btf__type_by_id(kernel, id);

		if (!btf_is_typedef(t))
			continue;
		name = btf__name_by_offset(kernel, t->name_off);
		if (strncmp(name, TRACE_TYPE, head) != 0)
			continue;
		for (i = 0; i < PROGRAMS; i++)
			has[i] = has[i] || strcmp(names[i], name + head) == 0;
	}
}

static bool
disk_has_starts(const struct disk_probe *p, const bool has[PROGRAMS])
{
	size_t i = 0;

	while (disk_program(p, i) != p->bpf->progs.disk_start)
		i++;
	return has[i];
}

/* Of two programs for one thing the one that this kernel can run. */
static bool
disk_wanted(const struct disk_probe *p, size_t i, const bool has[PROGRAMS],
    bool calls)
{
	if (disk_programs[i].calls == 1 && !calls)
		return false;
	if ((disk_programs[i].calls == 0 && calls) ||
	    disk_program(p, i) == p->bpf->progs.disk_start)
		return has[i];
	return disk_program(p, i) != p->bpf->progs.disk_insert ||
	    !disk_has_starts(p, has);
}

/* A part is loaded whole or not at all. */
static void
disk_choose(struct disk_probe *p, const struct btf *kernel, bool calls)
{
	bool wanted[PROGRAMS], has[PROGRAMS];
	size_t i;

	disk_find_tracepoints(p, kernel, has);
	for (i = 0; i < PROGRAMS; i++) {
		wanted[i] = disk_wanted(p, i, has, calls);
		if (!wanted[i] || has[i])
			continue;
		p->lacks[disk_programs[i].part] = true;
		disk_miss(p, disk_programs[i].part,
		    "this kernel has no tracepoint", disk_tracepoint(p, i));
	}
	for (i = 0; i < PROGRAMS; i++)
		bpf_program__set_autoload(disk_program(p, i), wanted[i] &&
		    p->why[disk_programs[i].part][0] == '\0');
}

/* To each major fault of one CPU; one that is offline has none. */
static struct bpf_link *
disk_attach_major(const struct disk_probe *p, int cpu)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr), .sample_period = 1,
	    .config = PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
	    PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(p->bpf->progs.disk_fault_major,
	    fd);
	if (link == NULL)
		close(fd);
	return link;
}

static void
disk_attach_majors(struct disk_probe *p)
{
	int cpu;

	p->majors = calloc((size_t)p->n_cpus, sizeof(p->majors[0]));
	for (cpu = 0; p->majors != NULL && cpu < p->n_cpus; cpu++) {
		p->majors[cpu] = disk_attach_major(p, cpu);
		if (p->majors[cpu] == NULL && errno != ENODEV)
			disk_miss(p, DISK_PART_FAULTS, strerror(errno), "");
	}
}

static void
disk_attach(struct disk_probe *p)
{
	size_t i;

	for (i = 0; i < PROGRAMS; i++) {
		struct bpf_program *program = disk_program(p, i);

		if (!bpf_program__autoload(program))
			continue;
		if (program == p->bpf->progs.disk_fault_major) {
			disk_attach_majors(p);
			continue;
		}
		p->links[i] = bpf_program__attach(program);
		if (p->links[i] == NULL)
			disk_miss(p, disk_programs[i].part, strerror(errno),
			    "");
	}
	p->bpf->data->disk_attached_ns = (uint64_t)clock_mono_ns();
}

/* A part that is not asked for. */
static void
disk_leave_out(struct disk_probe *p, enum disk_part part, bool wanted)
{
	p->lacks[part] = !wanted;
	if (!wanted)
		disk_miss(p, part, "not enabled", "");
}

static const struct err *
disk_load(struct disk_probe *p, const struct disk_probe_options *o)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	int r;

	if (kernel == NULL)
		return err_new(ERR_BPF, errno, "reading the kernel's types "
		    "(/sys/kernel/btf/vmlinux): %s", strerror(errno));
	p->bpf = disk_bpf__open();
	disk_leave_out(p, DISK_PART_RUN_QUEUE, o->run_queue);
	disk_leave_out(p, DISK_PART_FAULTS, o->faults);
	if (p->bpf != NULL)
		p->bpf->rodata->disk_calls = o->calls;
	if (p->bpf != NULL && !o->run_queue)
		bpf_map__set_max_entries(p->bpf->maps.queued_places, 1);
	if (p->bpf != NULL)
		disk_choose(p, kernel, o->calls);
	btf__free(kernel);
	if (p->bpf == NULL)
		return err_new(ERR_BPF, errno, "opening the BPF programs of "
		    "disks: %s", strerror(errno));
	r = disk_bpf__load(p->bpf);
	if (r != 0)
		return err_new(ERR_BPF, -r, "loading the BPF programs of "
		    "disks: %s%s", strerror(-r), r == -EPERM || r == -EACCES ?
		    " (CAP_BPF and CAP_PERFMON are needed)" : "");
	p->sums = (struct sums){p->bpf->bss->sums_cells,
	    p->bpf->bss->sums_used, &p->bpf->bss->sums_large,
	    &p->bpf->bss->sums_border, 0, false, 0};
	disk_attach(p);
	return NULL;
}

const struct err *
disk_probe_open(struct disk_probe **out, const struct disk_probe_options *o)
{
	struct disk_probe *p = calloc(1, sizeof(*p));
	const struct err *e;

	*out = p;
	if (p == NULL)
		return err_nomem();
	bpf_log_begin();
	p->n_cpus = libbpf_num_possible_cpus();
	p->n_cpus = p->n_cpus > 0 ? p->n_cpus : 1;
	p->per_cpu = calloc((size_t)p->n_cpus, sizeof(*p->per_cpu));
	e = p->per_cpu == NULL ? err_nomem() : disk_load(p, o);
	if (e == NULL)
		return NULL;
	disk_probe_close(p);
	*out = NULL;
	return e;
}

void
disk_probe_stop(struct disk_probe *p)
{
	size_t i;

	int cpu;

	p->sums.stopped = true;
	for (cpu = 0; p->majors != NULL && cpu < p->n_cpus; cpu++)
		bpf_link__destroy(p->majors[cpu]);
	free(p->majors);
	p->majors = NULL;
	for (i = 0; i < PROGRAMS; i++) {
		bpf_link__destroy(p->links[i]);
		p->links[i] = NULL;
	}
}

void
disk_probe_close(struct disk_probe *p)
{
	if (p == NULL)
		return;
	disk_probe_stop(p);
	disk_bpf__destroy(p->bpf);
	free(p->per_cpu);
	free(p);
}

const char *
disk_probe_why(const struct disk_probe *p, enum disk_part part)
{
	return p->why[part][0] != '\0' ? p->why[part] : NULL;
}

bool
disk_probe_lacks(const struct disk_probe *p, enum disk_part part)
{
	return p->lacks[part];
}

/* ---- reading ---- */

void
disk_probe_take(struct disk_probe *p, int64_t end_ns, sums_fn *fn, void *arg)
{
	sums_take(&p->sums, end_ns, fn, arg);
}

void
disk_probe_poll(struct disk_probe *p, sums_fn *fn, void *arg)
{
	sums_poll(&p->sums, fn, arg);
}

void
disk_probe_losts(const struct disk_probe *p, uint64_t n[DISK_LOSTS])
{
	int fd = bpf_map__fd(p->bpf->maps.disk_losts);
	uint32_t i;
	int cpu;

	memset(n, 0, DISK_LOSTS * sizeof(n[0]));
	for (i = 0; i < DISK_LOSTS; i++) {
		if (bpf_map_lookup_elem(fd, &i, p->per_cpu) != 0)
			continue;
		for (cpu = 0; cpu < p->n_cpus; cpu++)
			n[i] += p->per_cpu[cpu];
	}
}

uint64_t
disk_probe_skipped(const struct disk_probe *p)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < PROGRAMS; i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(disk_program(p, i));

		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
			n += info.recursion_misses;
	}
	return n;
}
