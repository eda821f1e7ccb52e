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
#include "collector/objects/objects.h"
#include "collector/process/services.h"
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

static const struct err *
allocs_attach_probes(struct engine *s)
{
	struct allocs *a = &s->allocs;
	struct allocs_options *o = &s->profiles[a->types[ALLOCS_SPACE]].allocs;
	const struct err *e = objects_library_read(o->library, &a->library);

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

/* There was no room for an object, or it could not be looked for: what is in
 * use lacks it. */
static void
allocs_lose(struct engine *s, uint64_t objects)
{
	s->allocs.lacks = s->allocs.lacks || objects > 0;
	s->profiles[s->allocs.types[ALLOCS_IN_USE]].now.aggregate_full +=
	    objects;
}

/* ---- the library's own table ---- */

/* Where it is in a process's memory, 0 if it has not mapped the library; false
 * where its mappings cannot be read. */
static bool
allocs_table(struct engine *s, struct process *p, uint64_t *table)
{
	const struct objects_library *l = &s->allocs.library;
	struct maps_process *of = maps_process(s->maps, p, s->now_ns);
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
	uint64_t table;
	size_t i;

	if (p->read == NULL || !allocs_table(s, p, &table))
		return false;
	if (table != 0 && (!objects_holds(r.objects, p) ||
	    !objects_table_read(p->pid, table, &r.cells, &r.n)))
		return false;
	objects_each(r.objects, p, allocs_drop_missing, &r);
	for (i = 0; i < r.n && found != FOUND_NOTHING; i++)
		if (!objects_found(r.objects, p, r.cells[i].address,
		    r.cells[i].bytes, found == FOUND_LOST))
			allocs_lose(s, 1);
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
 * began just then: they may not take anything any more.  Where a table is, the
 * mappings of now say. */
static void
allocs_find_lost(void *arg, struct process *p)
{
	struct engine *s = arg;
	bool holds = p->part[PROCESS_OBJECTS] != NULL;

	if (!holds && (int64_t)p->start_ns < s->allocs.checked_boot_ns)
		return;
	if (holds)
		maps_renew(p);
	if (!allocs_read_table(s, p, FOUND_LOST) && holds)
		allocs_lose(s, 1);
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
 * are read once more when that is seen. */
static void
allocs_check(struct engine *s)
{
	struct allocs *a = &s->allocs;
	uint64_t lost = allocs_lost(s);
	bool lacks = a->lacks || lost != a->lost;
	int64_t now_ns = clock_boot_ns();

	a->lacks = lost != a->lost;
	a->lost = lost;
	if (lacks) {
		a->lost_boot_ns = now_ns;
		services_each(s->services, allocs_find_lost, s);
	} else {
		objects_holders(a->objects, allocs_read_renewed, s);
	}
	a->checked_boot_ns = now_ns;
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
	if (p != NULL && took && (e->object.address == 0 ||
	    !objects_take(o, p, e->exec_id, e->object.address,
	    objects_weigh(e->object.bytes, e->value), e->time_ns)))
		allocs_lose(s, e->value);
	else if (p != NULL && !took)
		objects_give(o, p, e->exec_id, e->object.address);
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
	uint64_t from = 1;
	char a[24], b[24];

	while (from * 2 <= e->object.bytes && from < ALLOC_OBJECT_MAX)
		from *= 2;
	snprintf(leaf, ALLOCS_LEAF_MAX, "[%s of %s to %s]",
	    e->object.call < ALLOC_CALLS ? calls[e->object.call] : "malloc",
	    allocs_size(from, a, sizeof(a)),
	    allocs_size(from * 2, b, sizeof(b)));
}

void
allocs_sweep(struct engine *s)
{
	if (s->allocs.objects == NULL)
		return;
	objects_sweep(s->allocs.objects);
	allocs_check(s);
}

void
allocs_settle(struct engine *s)
{
	if (s->allocs.objects != NULL)
		allocs_lose(s, objects_settle(s->allocs.objects));
}
