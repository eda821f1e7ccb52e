/*
 * What the walker has of each process, the queue of those that wait, and the
 * work itself.
 */
#include "collector/unwind/unwind_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "collector/maps/maps.h"
#include "collector/process/process.h"
#include "collector/unwind/extents.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define QUEUE_MAX 1024
#define RENEW_MAX 128 /* in the queue, for processes that nobody sampled */
#define WAIT_MIN_NS (1 * NS_PER_S) /* doubles up to the next line */
#define WAIT_MAX_NS (60 * NS_PER_S)
#define REFRESH_NS (60 * NS_PER_S) /* while in use: other code may have come
                                    * to where known code was */
/* So much of our time at once, and this part of the time then. */
#define BUDGET_NS (100 * NS_PER_MS)
#define BUDGET_PART 250
#define RESERVE_NS (BUDGET_NS * 3 / 4) /* kept for what is sampled */

/* The part PROCESS_WALK of a process. */
struct walk {
	struct process *of;
	uint32_t program;     /* of->image when it was wanted */
	uint64_t image;       /* as the kernel tells it (bpf/unwind.h) */
	uint32_t first, n;    /* mappings; first EXTENTS_NONE: none */
	uint32_t *tables;     /* n references */
	uint64_t digest;      /* of the mappings */
	int64_t built_ns, wait_ns;
	uint32_t wants;       /* how often it was wanted since it was queued */
	bool queued;
	bool sampled; /* since it was queued, or in use */
};

struct unwind_processes {
	const struct unwind_kernel *kernel;
	struct unwind_tables *tables;
	struct processes *table;
	struct maps *maps;
	const char *proc;
	unwind_vdso_fn *vdso;
	void *vdso_arg;
	struct extents *mappings;
	struct walk *queue[QUEUE_MAX];
	uint32_t n_queue, n;
	int64_t budget_ns, refilled_ns;
	uint64_t built, evicted, failed;
};

void
unwind_processes_set_vdso(struct unwind_processes *u, unwind_vdso_fn *fn,
    void *arg)
{
	u->vdso = fn;
	u->vdso_arg = arg;
}

/* Gives back a list of mappings with its references. */
static void
process_release(struct unwind_processes *u, uint32_t first, uint32_t n,
    uint32_t *tables, int64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < n && tables != NULL; i++)
		unwind_tables_drop(u->tables, tables[i]);
	if (first != EXTENTS_NONE)
		extents_give(u->mappings, first, n, now_ns);
	free(tables);
}

static void
processes_unqueue(struct unwind_processes *u, uint32_t at)
{
	u->queue[at]->queued = false;
	u->n_queue--;
	memmove(u->queue + at, u->queue + at + 1,
	    (u->n_queue - at) * sizeof(u->queue[0]));
}

/* The process has ended, or makes room. */
static void
processes_gone(void *arg, void *part)
{
	struct unwind_processes *u = arg;
	struct walk *p = part;
	uint32_t at = 0;

	while (p->queued && u->queue[at] != p)
		at++;
	if (p->queued)
		processes_unqueue(u, at);
	if (p->first != EXTENTS_NONE)
		u->kernel->set_process(u->kernel->arg, p->of->pid, NULL);
	process_release(u, p->first, p->n, p->tables, clock_mono_ns());
	free(p);
	u->n--;
}

const struct err *
unwind_processes_new(struct unwind_processes **out,
    const struct unwind_kernel *kernel, struct unwind_tables *tables,
    struct processes *table, struct maps *maps, const char *proc)
{
	struct unwind_processes *u = calloc(1, sizeof(*u));

	*out = u;
	if (u == NULL)
		return err_nomem();
	u->kernel = kernel;
	u->tables = tables;
	u->table = table;
	u->maps = maps;
	u->proc = proc;
	u->budget_ns = BUDGET_NS;
	u->mappings = extents_new(UNWIND_MAPPINGS);
	processes_serve(table, PROCESS_WALK, processes_gone, u);
	return u->mappings == NULL ? err_nomem() : NULL;
}

void
unwind_processes_free(struct unwind_processes *u)
{
	if (u == NULL)
		return;
	processes_serve(u->table, PROCESS_WALK, NULL, NULL);
	extents_free(u->mappings);
	free(u);
}

/* Takes away the process whose stacks were walked longest ago; false when
 * there is none. */
static bool
processes_evict(struct unwind_processes *u, const struct walk *keep)
{
	struct process *of = NULL, *oldest = NULL;
	uint32_t used = UINT32_MAX;
	struct unwind_process k;

	while ((of = processes_next(u->table, of)) != NULL) {
		const struct walk *p = of->part[PROCESS_WALK];

		if (p == NULL || p == keep || p->queued)
			continue;
		if (p->first == EXTENTS_NONE || !u->kernel->get_process(
		    u->kernel->arg, of->pid, &k))
			k.used_s = 0;
		if (k.used_s >= used)
			continue;
		used = k.used_s;
		oldest = of;
	}
	if (oldest == NULL)
		return false;
	process_drop(u->table, oldest, PROCESS_WALK);
	u->evicted++;
	return true;
}

/* NULL: there is no room, or the process has ended. */
static struct walk *
processes_get(struct unwind_processes *u, struct process *of)
{
	struct walk *p = of->part[PROCESS_WALK];

	if (p != NULL || of->gone ||
	    (u->n >= UNWIND_PROCESSES && !processes_evict(u, NULL)) ||
	    (p = calloc(1, sizeof(*p))) == NULL)
		return p;
	of->part[PROCESS_WALK] = p;
	*p = (struct walk){.of = of, .program = of->image,
	    .first = EXTENTS_NONE};
	u->n++;
	return p;
}

static void
processes_queue(struct unwind_processes *u, struct walk *p, uint32_t wants)
{
	p->queued = true;
	p->wants = wants;
	u->queue[u->n_queue++] = p;
}

void
unwind_processes_want(struct unwind_processes *u, struct process *of,
    int64_t event_ns)
{
	struct walk *p = processes_get(u, of);
	bool news;

	if (p == NULL)
		return;
	p->wants++;
	p->sampled = true;
	if (p->queued || u->n_queue == QUEUE_MAX)
		return;
	/* Another image is news; the same one is looked at now and then. */
	news = p->program != of->image || p->built_ns == 0;
	if (!news && event_ns < p->built_ns + p->wait_ns)
		return;
	if (news)
		p->wait_ns = 0;
	p->program = of->image;
	processes_queue(u, p, 1);
}

void
unwind_processes_renew(struct unwind_processes *u, struct process *of)
{
	struct walk *p = processes_get(u, of);

	if (p == NULL)
		return;
	p->wait_ns = 0;
	if (!p->queued && u->n_queue < RENEW_MAX)
		processes_queue(u, p, 0);
}

/* 0 when the process has no memory any more or cannot be read. */
static uint64_t
process_image(const struct unwind_processes *u, int32_t pid)
{
	char path[256], text[1024];
	struct pidstat stat;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%" PRId32 "/stat", u->proc, pid);
	n = readfile_at(AT_FDCWD, path, text, sizeof(text));
	if (n <= 0 || !pidstat_parse(text, (size_t)n, &stat) ||
	    stat.stack_start == 0)
		return 0;
	return unwind_image(stat.code_start, stat.code_end, stat.stack_start);
}

static uint32_t
process_table(struct unwind_processes *u, const struct maps_process *mp,
    const struct mapping *m, int64_t now_ns)
{
	uint32_t table = UNWIND_NO_TABLE;
	int fd;

	if (m->kind == MAPPING_VDSO && u->vdso != NULL) {
		fd = u->vdso(u->vdso_arg);
		return fd >= 0 ? unwind_tables_get(u->tables, fd, now_ns) :
		    UNWIND_NO_TABLE;
	}
	if (m->kind != MAPPING_FILE)
		return UNWIND_NO_TABLE;
	fd = maps_open(u->maps, mp, m);
	if (fd < 0)
		return UNWIND_NO_TABLE;
	table = unwind_tables_get(u->tables, fd, now_ns);
	close(fd);
	return table;
}

static uint32_t
process_fill(struct unwind_processes *u, const struct maps_process *mp,
    struct unwind_mapping *out, uint32_t *tables, int64_t now_ns)
{
	const struct maps_list *l = maps_process_list(mp);
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct mapping *m = &l->mappings[i];

		if (m->kind == MAPPING_SPECIAL) /* the kernel's own pages */
			continue;
		tables[n] = process_table(u, mp, m, now_ns);
		out[n] = (struct unwind_mapping){.start = m->start,
		    .bias = m->start - (m->kind == MAPPING_VDSO ? 0 :
		    m->offset), .pages = (uint32_t)((m->end - m->start) >>
		    12), .table = tables[n]};
		n++;
	}
	return n;
}

/* Hands a list of mappings to the kernel; on success it replaces the old
 * one. */
static bool
process_publish(struct unwind_processes *u, struct walk *p,
    uint64_t image, const struct unwind_mapping *list, uint32_t n,
    uint32_t *tables, int64_t now_ns)
{
	struct unwind_process k = {.image = image, .n = n,
	    .used_s = (uint32_t)(now_ns / NS_PER_S)};

	k.first = extents_take(u->mappings, n, now_ns);
	if (k.first == EXTENTS_NONE) {
		processes_evict(u, p);
		return false;
	}
	if (!u->kernel->write(u->kernel->arg, UNWIND_ARRAY_MAPPINGS, k.first,
	    list, n) ||
	    !u->kernel->set_process(u->kernel->arg, p->of->pid, &k)) {
		extents_give(u->mappings, k.first, n, now_ns);
		return false;
	}
	process_release(u, p->first, p->n, p->tables, now_ns);
	p->first = k.first;
	p->n = n;
	p->tables = tables;
	p->image = image;
	u->built++;
	return true;
}

/* True when the kernel has the list already. */
static bool
process_is_known(struct walk *p, uint64_t image,
    const struct unwind_mapping *list, uint32_t n)
{
	uint64_t digest = hash64(image, list, n * sizeof(*list));
	bool known = p->first != EXTENTS_NONE && p->image == image &&
	    p->digest == digest;

	p->digest = digest;
	return known;
}

enum outcome {
	BUILD_FAILED,
	BUILD_KNOWN, /* the kernel has it all already */
	BUILD_NEW
};

static enum outcome
process_build(struct unwind_processes *u, struct walk *p, int64_t now_ns)
{
	struct maps_process *mp = maps_process(u->maps, p->of, now_ns);
	uint64_t image = process_image(u, maps_renew_reader(u->maps, mp));
	struct unwind_mapping *list;
	uint32_t *tables, n;
	size_t max = maps_process_list(mp)->n;
	bool known, ok = false;

	if (image == 0 || max == 0)
		return BUILD_FAILED;
	list = calloc(max, sizeof(*list));
	tables = calloc(max, sizeof(*tables));
	if (list == NULL || tables == NULL) {
		free(list);
		free(tables);
		return BUILD_FAILED;
	}
	n = process_fill(u, mp, list, tables, now_ns);
	known = process_is_known(p, image, list, n);
	if (n > 0 && !known)
		ok = process_publish(u, p, image, list, n, tables, now_ns);
	if (!ok)
		process_release(u, EXTENTS_NONE, n, tables, now_ns);
	free(list);
	return ok ? BUILD_NEW : known ? BUILD_KNOWN : BUILD_FAILED;
}

static void
process_work(struct unwind_processes *u, struct walk *p, int64_t now_ns)
{
	enum outcome outcome = process_build(u, p, now_ns);

	p->sampled = false;
	p->built_ns = now_ns;
	if (outcome == BUILD_NEW)
		p->wait_ns = 0;
	u->failed += outcome == BUILD_FAILED;
	p->wait_ns = p->wait_ns == 0 ? WAIT_MIN_NS :
	    p->wait_ns * 2 < WAIT_MAX_NS ? p->wait_ns * 2 : WAIT_MAX_NS;
}

static void
processes_refill(struct unwind_processes *u, int64_t now_ns)
{
	int64_t more = (now_ns - u->refilled_ns) / BUDGET_PART;

	if (u->refilled_ns == 0) {
		u->refilled_ns = now_ns;
	} else if (more > 0) {
		u->budget_ns = u->budget_ns + more < BUDGET_NS ?
		    u->budget_ns + more : BUDGET_NS;
		u->refilled_ns = now_ns;
	}
}

static bool
process_is_before(const struct walk *a, const struct walk *b)
{
	return a->sampled != b->sampled ? a->sampled : a->wants > b->wants;
}

/* Takes the process out of the queue that is sampled most; NULL when none is
 * worth what is left of the budget. */
static struct walk *
processes_due(struct unwind_processes *u)
{
	struct walk *best;
	uint32_t i, at = 0;

	if (u->n_queue == 0 || u->budget_ns <= 0)
		return NULL;
	for (i = 1; i < u->n_queue; i++)
		if (process_is_before(u->queue[i], u->queue[at]))
			at = i;
	best = u->queue[at];
	if (!best->sampled && u->budget_ns <= RESERVE_NS)
		return NULL;
	processes_unqueue(u, at);
	return best;
}

void
unwind_processes_pump(struct unwind_processes *u, int64_t now_ns)
{
	int64_t began, end;
	struct walk *p;

	processes_refill(u, now_ns);
	p = processes_due(u);
	if (p == NULL)
		return;
	for (began = clock_cpu_ns(); p != NULL; p = processes_due(u)) {
		process_work(u, p, now_ns);
		end = clock_cpu_ns();
		u->budget_ns -= end - began;
		began = end;
	}
}

static void
process_refresh(struct unwind_processes *u, struct walk *p, int64_t now_ns)
{
	struct unwind_process k;

	if (p->queued || p->first == EXTENTS_NONE ||
	    now_ns - p->built_ns < REFRESH_NS || u->n_queue == QUEUE_MAX ||
	    !u->kernel->get_process(u->kernel->arg, p->of->pid, &k) ||
	    k.used_s < (uint32_t)(p->built_ns / NS_PER_S))
		return;
	p->sampled = true;
	processes_queue(u, p, 0);
}

void
unwind_processes_sweep(struct unwind_processes *u, int64_t now_ns)
{
	struct process *of = NULL;

	while ((of = processes_next(u->table, of)) != NULL)
		if (of->part[PROCESS_WALK] != NULL)
			process_refresh(u, of->part[PROCESS_WALK], now_ns);
}

void
unwind_processes_stats(const struct unwind_processes *u,
    struct unwind_processes_stats *out)
{
	*out = (struct unwind_processes_stats){.processes = u->n,
	    .mappings = extents_used(u->mappings), .waiting = u->n_queue,
	    .built = u->built, .evicted = u->evicted, .failed = u->failed};
}
