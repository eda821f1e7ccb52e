/*
 * Between the engine and objects.h.
 */
#include "collector/engine/allocs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/alloc/alloc.h"
#include "collector/alloc/beside.h"
#include "collector/engine/engine.h"
#include "collector/engine/service_faults.h"
#include "collector/objects/objects.h"
#include "collector/process/reader.h"
#include "collector/process/services.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"

/* Which types there are. */
static void
allocs_set_types(struct engine *s, size_t type)
{
	const struct profile *row;
	size_t i;

	s->allocs.types[ALLOCS_SPACE] = (uint8_t)type;
	for (i = 0; i < s->n_profiles; i++) {
		row = s->profiles[i].row;
		if (row != NULL && row->memory != ALLOCS_NOT)
			s->allocs.types[row->memory] = (uint8_t)i;
	}
}

void
allocs_fill_more(uint32_t more[WEIGH_STEPS + 1])
{
	int64_t bytes;
	size_t i;

	more[0] = ALLOC_MEAN; /* of the smallest ones */
	for (i = 1; i <= WEIGH_STEPS; i++) {
		bytes = (int64_t)i << WEIGH_SHIFT;
		more[i] = (uint32_t)(objects_weigh((uint64_t)bytes, 1).bytes -
		    bytes);
	}
}

static const struct err *
allocs_attach_probes(struct engine *s)
{
	struct allocs *a = &s->allocs;
	struct allocs_options *o = &s->profiles[a->types[ALLOCS_SPACE]].allocs;
	const struct err *e = objects_library_read(o->library, &a->library);

	allocs_fill_more(o->more);
	o->took = a->library.took;
	o->gave = a->library.gave;
	if (e == NULL)
		e = sampler_set_allocs(s->sampler, a->types[ALLOCS_SPACE],
		    a->types[ALLOCS_IN_USE], o);
	a->began_boot_ns = clock_boot_ns();
	return e;
}

const struct err *
allocs_attach(struct engine *s, size_t type, enum allocs_series series)
{
	struct allocs *a = &s->allocs;
	const struct err *e;

	if (series != ALLOCS_SPACE)
		return a->objects != NULL ? NULL : err_new(ERR_BPF, 0,
		    "[alloc_space] is not attached");
	allocs_set_types(s, type);
	e = allocs_attach_probes(s);
	if (e != NULL)
		return e;
	a->objects = objects_new(services_table(s->services));
	return a->objects == NULL ? err_nomem() : NULL;
}

bool
allocs_are_same(const struct engine *s)
{
	const struct allocs *a = &s->allocs;
	struct objects_library now;

	return a->objects == NULL || (objects_library_read(s->profiles[
	    a->types[ALLOCS_SPACE]].allocs.library, &now) == NULL &&
	    now.ino == a->library.ino);
}

bool
allocs_has_type(const struct engine *s, size_t type)
{
	return s->allocs.objects != NULL && memchr(s->allocs.types + 1,
	    (int)type, ALLOCS_SERIES - 1) != NULL;
}

static struct account_profile *
allocs_in_use(struct engine *s)
{
	return &s->profiles[s->allocs.types[ALLOCS_IN_USE]].now;
}

static struct service_counts *
allocs_service(struct engine *s, const struct process *p)
{
	return service_faults_of(s->profiles[s->allocs.types[
	    ALLOCS_IN_USE]].faults, p->read->service);
}

/* There was no room for objects, which stand for so much: what is in use lacks
 * them. */
static void
allocs_lose(struct engine *s, const struct process *p, uint64_t objects,
    struct objects_weight w)
{
	struct service_counts *of = allocs_service(s, p);

	s->allocs.lacks = true;
	allocs_in_use(s)->aggregate_full += objects;
	objects_add(&allocs_in_use(s)->aggregate_full_of, w);
	of->lost[LOST_AGGREGATE_FULL] += objects;
	objects_add(&of->lost_of[LOST_AGGREGATE_FULL], w);
}

/* What a process has could not be looked for: nobody knows what that is.  One
 * that has ended, behind the slot or untold, has what it had. */
static void
allocs_lose_table(struct engine *s, const struct process *p)
{
	if (reader_find("/proc", p->pid, p->pid) == 0)
		return;
	s->allocs.lacks = true;
	allocs_in_use(s)->table_unread++;
	allocs_service(s, p)->lost[LOST_TABLE_UNREAD]++;
}

struct objects_weight
allocs_weigh(const struct sample_event *e)
{
	return e->of_object == OBJECT_TOOK ? objects_weigh(e->object.size,
	    e->value) : (struct objects_weight){0};
}

void
allocs_lacks(struct engine *s, const struct sample_event *e)
{
	if (e->of_object != OBJECT_NOT)
		s->allocs.lacks = true;
}

/* ---- the library's own table ---- */

/* Where it is in the memory of a process, 0 if that has not mapped the library;
 * false where its mappings cannot be read. */
static bool
allocs_table(struct engine *s, struct maps_process *of, uint64_t *table)
{
	const struct objects_library *l = &s->allocs.library;
	const struct maps_list *list = maps_process_list(of);
	size_t i;

	*table = 0;
	for (i = 0; i < list->n && *table == 0; i++) {
		const struct mapping *m = &list->mappings[i];

		if (m->ino == l->ino && m->offset == l->code &&
		    allocs_is_library(maps_name(list, m)))
			*table = m->start + (uint64_t)l->table;
	}
	return list->n > 0;
}

/* What an object is looked for in. */
struct allocs_read {
	struct objects *objects;
	struct alloc_cell *cells;
	size_t n;
};

static void
allocs_drop_missing(void *arg, struct process *p, uint64_t address)
{
	struct allocs_read *r = arg;

	if (!objects_table_has(r->cells, r->n, address))
		objects_give(r->objects, p, 0, address);
}

/* What is taken over of a table: nothing, or what was taken before us, or what
 * we were not told of. */
enum allocs_found { FOUND_NOTHING, FOUND_BEFORE, FOUND_LOST };

/*
 * Drops the objects of a process that its table has no more, and takes over
 * what it has, where that is wanted.  What was taken since, and comes through
 * the ring behind this, takes the place of what was found here; what was given
 * back is then not known any more.  False: the process cannot be read, and
 * keeps what it has.
 */
static bool
allocs_read_table(struct engine *s, struct process *p, enum allocs_found found)
{
	struct allocs_read r = {.objects = s->allocs.objects};
	struct maps_process *of;
	uint64_t table;
	size_t i;

	if (p->read == NULL)
		return false;
	of = maps_process(s->maps, p, s->now_ns);
	if (!allocs_table(s, of, &table))
		return false;
	if (table != 0 && (!objects_holds(r.objects, p) ||
	    !objects_table_read(maps_process_reader(of), table, &r.cells,
	    &r.n)))
		return false;
	objects_each(r.objects, p, allocs_drop_missing, &r);
	for (i = 0; i < r.n && found != FOUND_NOTHING; i++)
		if (!objects_found(r.objects, p, r.cells[i].address,
		    r.cells[i].size, found == FOUND_LOST))
			allocs_lose(s, p, 1, objects_weigh(r.cells[i].size,
			    1));
	free(r.cells);
	return true;
}

static void
allocs_find(void *arg, struct process *p)
{
	allocs_read_table(arg, p, FOUND_BEFORE);
}

void
allocs_take_over(struct engine *s)
{
	if (s->allocs.objects != NULL)
		services_each(s->services, allocs_find, s);
}

/* A process that nobody had looked at when we began, or lost something. */
static void
allocs_meet(struct engine *s, struct process *p)
{
	if (p->part[PROCESS_OBJECTS] != NULL)
		return;
	if ((int64_t)p->start_ns < s->allocs.began_boot_ns)
		allocs_read_table(s, p, FOUND_BEFORE);
	else if ((int64_t)p->start_ns < s->allocs.lost_boot_ns)
		allocs_read_table(s, p, FOUND_LOST);
}

/* Of those who hold nothing it is asked when they are met, and here where they
 * began just then: they may not take anything any more.  Those that began
 * behind the slot may hold what others held at its end, who have ended since.
 * Where a table is, the mappings of now say. */
static void
allocs_find_lost(void *arg, struct process *p)
{
	struct engine *s = arg;
	bool holds = p->part[PROCESS_OBJECTS] != NULL;

	if ((!holds && (int64_t)p->start_ns < s->allocs.checked_boot_ns) ||
	    (int64_t)p->start_ns >= s->allocs.end_boot_ns)
		return;
	if (holds)
		maps_renew(p);
	if (!allocs_read_table(s, p, FOUND_LOST) && holds)
		allocs_lose_table(s, p);
}

/* What a program had goes with it, when the process executes another one. */
static void
allocs_read_renewed(void *arg, struct process *p)
{
	if (!objects_renewed(p))
		return;
	maps_renew(p);
	allocs_read_table(arg, p, FOUND_NOTHING);
}

/* What was lost so far, in the ring. */
static uint64_t
allocs_lost(struct engine *s)
{
	uint64_t took[COUNT_COUNTERS], gave[COUNT_COUNTERS];

	sampler_counts(s->sampler, s->allocs.types[ALLOCS_SPACE], took);
	sampler_counts(s->sampler, s->allocs.types[ALLOCS_IN_USE], gave);
	return took[COUNT_RING_FULL] + gave[COUNT_RING_FULL];
}

/* What was taken or given back while the ring was full, we were not told of.
 * All processes may have lost something; their tables know it.  What waited in
 * the ring while they were read may lack what came behind it and was lost: they
 * are read until that is seen, at the end of the slot in which it was taken,
 * behind which others may be that are over already. */
static void
allocs_check(struct engine *s)
{
	struct allocs *a = &s->allocs;
	uint64_t lost = allocs_lost(s);
	bool lacks = a->lacks || lost != a->lost ||
	    s->border.open_slot <= a->lost_slot;
	int64_t now_ns = clock_boot_ns(), ago_ns = clock_mono_ns() -
	    s->allocs.end_ns;

	/* that began before it for sure: its beginning is known in steps */
	a->end_boot_ns = now_ns - (ago_ns > 0 ? ago_ns : 0) -
	    PROCESS_STEP_NS + 1;
	if (lost != a->lost)
		a->lost_slot = border_slot(&s->border,
		    (uint64_t)clock_mono_ns());
	a->lacks = false;
	a->lost = lost;
	if (lacks) {
		a->lost_boot_ns = now_ns;
		services_each(s->services, allocs_find_lost, s);
	} else {
		objects_holders(a->objects, allocs_read_renewed, s);
	}
	a->checked_boot_ns = a->end_boot_ns;
}

static void
allocs_end(struct objects *o, struct process *p, const struct sample_event *e)
{
	if (e->object.call == ALLOC_FREED)
		objects_give(o, p, e->exec_id, e->object.address);
	else
		objects_move(o, p, e->exec_id, e->object.address,
		    (enum alloc_end)e->object.call);
}

bool
allocs_see(struct engine *s, const struct sample_event *e, struct process *p)
{
	struct objects *o = s->allocs.objects;
	bool took = e->of_object == OBJECT_TOOK;

	if (o == NULL)
		return true;
	if (p != NULL) {
		services_samples_memory(s->services, p);
		allocs_meet(s, p);
	}
	if (!took)
		s->profiles[e->type].now.samples++;
	if (p != NULL && took)
		objects_sampled(o, p, e->object.size);
	/* What it stands for lives, too, and is in the table, which may have
	 * been read while this waited in the ring. */
	s->allocs.lacks |= took && e->value > 1;
	if (p != NULL && took && (e->object.address == 0 ||
	    !objects_take(o, p, e->exec_id, e->object.address,
	    allocs_weigh(e), e->time_ns)))
		allocs_lose(s, p, e->value, allocs_weigh(e));
	else if (p != NULL && !took)
		allocs_end(o, p, e);
	return !took;
}

bool
allocs_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && strcmp(slash + 1, BESIDE_ALLOC) == 0;
}

/* "1 KiB": a power of two. */
static const char *
allocs_size(uint64_t bytes, char *out, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	for (; bytes >= 1024 && i < 4; i++)
		bytes /= 1024;
	snprintf(out, size, "%llu %s", (unsigned long long)bytes, units[i]);
	return out;
}

void
allocs_leaf(const struct sample_event *e, char leaf[ALLOCS_LEAF_MAX])
{
	static const char *const calls[ALLOC_CALLS] = {
	    [ALLOC_MALLOC] = "malloc", [ALLOC_CALLOC] = "calloc",
	    [ALLOC_REALLOC] = "realloc", [ALLOC_ALIGNED] = "memalign",
	    [ALLOC_NEW] = "new"};
	uint64_t from = 1, bytes = alloc_bytes(e->object.size);
	char a[24], b[24];

	while (from * 2 <= bytes && from < ALLOC_OBJECT_MAX)
		from *= 2;
	snprintf(leaf, ALLOCS_LEAF_MAX, "[%s of %s to %s]",
	    e->object.call < ALLOC_CALLS ? calls[e->object.call] : "malloc",
	    allocs_size(from, a, sizeof(a)),
	    allocs_size(from * 2, b, sizeof(b)));
}

/* ---- who has it ---- */

static void
allocs_hold(void *arg, struct process *p)
{
	observed_hold(arg, p);
}

/* One that has the library and has not been heard of yet is one that has it:
 * it has picked nothing so far. */
static void
allocs_count(void *arg, struct process *p)
{
	struct engine *s = arg;

	if (p->part[PROCESS_OBJECTS] == NULL && !p->read->kernel_thread &&
	    observed_has(&s->allocs.observed, p))
		allocs_read_table(s, p, FOUND_NOTHING);
	observed_count(&s->allocs.observed, p);
}

static void
allocs_observe(struct engine *s)
{
	observed_clear(&s->allocs.observed);
	objects_holders(s->allocs.objects, allocs_hold, &s->allocs.observed);
	services_each(s->services, allocs_count, s);
}

/* One that has ended within the slot has nothing at its end, though the list
 * of processes was read before that. */
static void
allocs_drop_ended(void *arg, struct process *p)
{
	struct engine *s = arg;

	if (p->exit_ns != 0 && p->exit_ns < s->allocs.end_ns &&
	    reader_find("/proc", p->pid, p->pid) == 0)
		process_drop(services_table(s->services), p, PROCESS_OBJECTS);
}

void
allocs_sweep(struct engine *s, int64_t end_ns)
{
	if (s->allocs.objects == NULL)
		return;
	if (s->watch != NULL)
		process_watch_drain(s->watch, clock_mono_ns());
	s->allocs.end_ns = end_ns;
	objects_sweep(s->allocs.objects);
	objects_holders(s->allocs.objects, allocs_drop_ended, s);
	allocs_check(s);
	allocs_observe(s);
}

static void
allocs_give_up(void *arg, const struct process *p, struct objects_weight w)
{
	allocs_lose(arg, p, 1, w);
}

void
allocs_settle(struct engine *s)
{
	if (s->allocs.objects != NULL)
		objects_settle(s->allocs.objects, allocs_give_up, s);
}
