/*
 * Two sets of stacks are made of a body, as their windows differ: stocks,
 * and flows.
 */
#include "collector/pull/pull.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pull/pull_kept.h"
#include "collector/pull/pull_names.h"
#include "fcgi/format/gzip.h"
#include "fcgi/format/heap/heap.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/stacks_less.h"
#include "fcgi/push/push.h"
#include "fcgi/symbolize/heap_cache.h"
#include "fcgi/symbolize/heap_names.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/type.h"
#include "store/model/types.h"

#define SHRUNK_PART 10 /* of a whole that is another process's then */

struct pull {
	struct pull_kept kept;
	struct heap_cache names;
};

/* One body on its way. */
struct pulling {
	struct pull *p;
	const struct pull_ask *ask;
	struct pull_made *made;
	struct buf now, before; /* plain; before is empty: there is none */
	int64_t before_ns;
	bool observed; /* that one was in the same slot: its stock is there */
	struct stacks *stock, *flow;
	int64_t from_ns, until_ns; /* of the flow */
	uint64_t mean; /* bytes between two samples; 0: nobody says */
};

struct pull *
pull_new(void)
{
	return calloc(1, sizeof(struct pull));
}

void
pull_free(struct pull *p)
{
	if (p == NULL)
		return;
	pull_kept_fini(&p->kept);
	heap_cache_fini(&p->names);
	free(p);
}

static const struct err *
pull_new_stacks(struct stacks **s)
{
	*s = stacks_new(&stacks_limits_push);
	return *s != NULL ? NULL : err_nomem();
}

/* Is a body of this form?  A source may have had another one before. */
static bool
pull_is(const struct buf *b, const struct err *(*parse)(struct stacks *s,
    const void *data, size_t n))
{
	const struct foreign *f = b->len > 0 ?
	    foreign_guess(b->data, b->len) : NULL;

	return f != NULL && f->parse == parse;
}

/* ---- heap dumps ---- */

static void
heap_complain(void *arg, const char *why, size_t addresses)
{
	struct pull_made *made = arg;

	made->nameless += (uint32_t)addresses;
	snprintf(made->why, sizeof(made->why), "%.120s: no names from it",
	    why);
}

static const struct err *
heap_finish(struct pulling *g, struct heap *h)
{
	const struct err *e = heap_names_find(h, &(struct heap_names){
	    .cache = &g->p->names, .complain = heap_complain,
	    .arg = g->made});

	if (e == NULL && (!heap_name_rest(h) || !heap_hide_allocator(h)))
		e = err_nomem();
	return e;
}

static double
heap_sum(const struct heap *h, enum heap_type type)
{
	double sum = 0;

	for (uint32_t i = 0; i < h->n_stacks; i++)
		sum += h->stacks[i].value[type];
	return sum;
}

/* Is what was allocated less than it was by a tenth and more?  By a little
 * single stacks may be, as their values are estimates. */
static bool
heap_is_anew(const struct heap *now, const struct heap *more)
{
	double before = heap_sum(now, HEAP_ALLOC_SPACE) -
	    heap_sum(more, HEAP_ALLOC_SPACE), shrunk = 0;

	for (uint32_t i = 0; i < more->n_stacks; i++)
		shrunk -= fmin(more->stacks[i].value[HEAP_ALLOC_SPACE], 0);
	return shrunk > before / SHRUNK_PART;
}

/* A dump ends with the map of memory; one that is still being written has
 * none yet.  One that brings its names along needs none. */
static bool
heap_is_whole(const struct buf *b)
{
	const char *last;

	if (b->len == 0 || b->data[b->len - 1] != '\n')
		return false;
	if (b->data[0] == '-')
		return true;
	last = memmem(b->data, b->len, "MAPPED_LIBRARIES:\n", 18);
	return last != NULL && last + 18 < (const char *)b->data + b->len;
}


/* What was allocated since the dump before: all that the process has, where
 * it is another one. */
static const struct err *
heap_flow(struct pulling *g, const struct heap *now)
{
	struct heap h = {.max_addresses = HEAP_ADDRESSES_PUSH};
	const struct err *e = heap_read(&h, g->now.data, g->now.len, 1);
	struct stacks_type of;

	if (e == NULL)
		e = heap_read(&h, g->before.data, g->before.len, -1);
	if (e == NULL && (e = heap_finish(g, &h)) == NULL) {
		const struct heap *of_flow = heap_is_anew(now, &h) ? now : &h;

		/* nothing more is 0, not "no data" */
		for (unsigned t = HEAP_ALLOC_SPACE; t < HEAP_TYPES; t++) {
			of = heap_type_of((enum heap_type)t);
			stacks_type(g->flow, &of);
		}
		e = heap_put_types(of_flow, g->flow, HEAP_ALLOC);
	}
	heap_fini(&h);
	return e;
}

static const struct err *
pull_heap(struct pulling *g)
{
	struct heap h = {.max_addresses = HEAP_ADDRESSES_PUSH};
	const struct err *e;

	if (!heap_is_whole(&g->now))
		return err_new(ERR_REQUEST, 422, "the dump is not whole: no "
		    "memory map at its end");
	e = heap_read(&h, g->now.data, g->now.len, 1);
	g->mean = h.mean;
	if (e == NULL)
		e = heap_finish(g, &h);
	for (unsigned t = 0; e == NULL && t < HEAP_ALLOC_SPACE; t++) {
		struct stacks_type of = heap_type_of((enum heap_type)t);

		stacks_type(g->stock, &of); /* an empty heap is 0 */
	}
	if (e == NULL)
		e = heap_put_types(&h, g->stock, HEAP_INUSE);
	if (e == NULL && heap_sum(&h, HEAP_ALLOC_SPACE) > 0 &&
	    pull_is(&g->before, heap_parse))
		e = heap_flow(g, &h);
	heap_fini(&h);
	return e;
}

/* ---- pprof ---- */

/* Mutexes and blocking have columns of the same names. */
static enum series_kind
pull_name(void *arg, const struct pprof_column *c, char *name, size_t size)
{
	const struct pulling *g = arg;
	const struct type *t = types_of_group(g->ask->group, c->type);

	if (t == NULL)
		return pprof_name(NULL, c, name, size);
	type_sanitize(name, size, t->name);
	return t->kind;
}

static const struct err *
pprof_of(struct pulling *g, const struct buf *b, struct stacks **s)
{
	struct pull_names names = {.cache = &g->p->names};
	struct pprof_options o = {.max_bytes = PULL_PLAIN_MAX,
	    .name = pull_name, .name_arg = g, .locate = pull_names_locate,
	    .locate_arg = &names};
	const struct err *e = pull_new_stacks(s);

	if (e == NULL)
		e = pprof_parse_as(*s, b->data, b->len, &o);
	pull_names_fini(&names);
	if (b == &g->now && names.nameless > 0) {
		g->made->nameless = names.nameless;
		snprintf(g->made->why, sizeof(g->made->why), "no file has the "
		    "build ids of %u addresses", names.nameless);
	}
	return e;
}

static bool
pprof_counts_from_start(const char *name)
{
	const struct type *t = types_find(name);

	return t != NULL && t->from_start;
}

static enum stacks_take
pprof_take_stock(void *arg, const struct stacks_type *t)
{
	(void)arg;
	return t->kind == SERIES_STOCK ? STACKS_ALL : STACKS_LEAVE;
}

static enum stacks_take
pprof_take_flow(void *arg, const struct stacks_type *t)
{
	(void)arg;
	return t->kind == SERIES_STOCK ? STACKS_LEAVE : STACKS_ALL;
}

static enum stacks_take
pprof_take_more(void *arg, const struct stacks_type *t)
{
	return t->kind == SERIES_STOCK ? STACKS_LEAVE :
	    pprof_counts_from_start(t->name) ? STACKS_LESS :
	    pprof_take_flow(arg, t);
}

static bool
pprof_is_more(const struct stacks *s, uint32_t type)
{
	struct stacks_type t;

	stacks_get_type(s, type, &t);
	return pprof_take_more(NULL, &t) == STACKS_LESS;
}

/* The flow of a profile that has no time of its own: what is more than
 * before, or all where the process is another one. */
static const struct err *
pprof_flow(struct pulling *g, const struct stacks *now)
{
	struct stacks *before = NULL;
	const struct err *e = NULL;
	uint64_t shrunk = 0, all = 0;

	if (pull_is(&g->before, pprof_parse))
		e = pprof_of(g, &g->before, &before);
	if (e == NULL)
		e = stacks_less(&g->flow, now, before, pprof_take_more, NULL,
		    &shrunk);
	for (uint32_t t = 0; before != NULL && t < stacks_n_types(before); t++)
		all += pprof_is_more(before, t) ?
		    (uint64_t)stacks_total(before, t) : 0;
	stacks_free(before);
	if (e != NULL || shrunk <= all / SHRUNK_PART)
		return e;
	stacks_free(g->flow);
	return stacks_less(&g->flow, now, NULL, pprof_take_flow, NULL, NULL);
}

static const struct err *
pull_pprof(struct pulling *g)
{
	struct stacks *now = NULL;
	const struct err *e = pprof_of(g, &g->now, &now);
	int64_t from_ns, until_ns;

	stacks_free(g->stock);
	stacks_free(g->flow);
	g->stock = g->flow = NULL;
	g->mean = e == NULL ? stacks_mean(now) : 0;
	if (e == NULL)
		e = stacks_less(&g->stock, now, NULL, pprof_take_stock, NULL,
		    NULL);
	if (e == NULL) {
		stacks_range(now, &from_ns, &until_ns);
		if (until_ns > from_ns) {
			g->until_ns = g->ask->at_ns;
			g->from_ns = g->until_ns - (until_ns - from_ns);
			e = stacks_less(&g->flow, now, NULL, pprof_take_flow,
			    NULL, NULL);
		} else {
			e = pprof_flow(g, now);
		}
	}
	stacks_free(now);
	return e;
}

/* ---- what is common ---- */

static const struct err *
pull_unpack(struct buf *out, const void *data, size_t n)
{
	if (gzip_looks(data, n))
		return gzip_inflate(out, data, n, PULL_PLAIN_MAX);
	if (n > PULL_PLAIN_MAX)
		return err_new(ERR_REQUEST, 413, "over %u bytes",
		    PULL_PLAIN_MAX);
	buf_put(out, data, n);
	return out->failed ? err_nomem() : NULL;
}

static const struct err *
pull_parse(struct pulling *g)
{
	const struct foreign *f;
	const struct err *e;

	if (g->now.len == 0)
		return err_new(ERR_REQUEST, 422, "an empty answer");
	f = foreign_guess(g->now.data, g->now.len);
	if ((e = pull_new_stacks(&g->stock)) != NULL ||
	    (e = pull_new_stacks(&g->flow)) != NULL)
		return e;
	if (f != NULL && f->parse == heap_parse)
		return pull_heap(g);
	if (f != NULL && f->parse == pprof_parse)
		return pull_pprof(g);
	return err_new(ERR_REQUEST, 422, "neither a heap dump nor a pprof");
}

static const struct err *
pull_put_record(void *arg, struct batch *b)
{
	struct pull_made *made = arg;
	size_t at = made->records.len, n;
	const struct err *e;

	buf_put_be32(&made->records, 0);
	if ((e = batch_encode(b, &made->records)) != NULL)
		return e;
	if (made->records.failed)
		return err_nomem();
	n = made->records.len - at - 4;
	for (int i = 0; i < 4; i++)
		made->records.data[at + (size_t)i] =
		    (uint8_t)(n >> (24 - 8 * i));
	made->n++;
	return NULL;
}

static void
pull_note_skipped(struct pull_made *made, const struct stacks *s)
{
	struct stacks_skipped k;

	for (size_t i = 0; i < stacks_n_skipped(s); i++) {
		stacks_get_skipped(s, i, &k);
		made->skipped += k.n;
	}
}

/* What a dump's process has in use in a slot counts once, whoever reads it. */
static void
pull_id(const struct pull_ask *ask, uint8_t id[16])
{
	const uint64_t of[] = {ask->origin, ask->run,
	    (uint64_t)(ask->at_ns / ask->slot_ns)};
	const uint64_t both[] = {hash64(1, of, sizeof(of)),
	    hash64(2, of, sizeof(of))};

	memcpy(id, both, 16);
}

static const struct err *
pull_push(struct pulling *g)
{
	const struct pull_ask *ask = g->ask;
	struct label instance = {"instance", ask->instance};
	struct push_window w = {.service = ask->service, .labels = &instance,
	    .n_labels = ask->instance[0] != '\0'};
	uint8_t id[16];
	struct push *p;
	const struct err *e;

	pull_id(ask, id);
	p = push_new(ask->slot_ns, ask->origin != 0 && !g->observed ? id
								    : NULL);
	e = p == NULL ? err_nomem() : NULL;
	if (e == NULL && stacks_n_types(g->stock) > 0 && !g->observed) {
		w.from_ns = ask->at_ns - ask->at_ns % ask->slot_ns;
		w.until_ns = w.from_ns + ask->slot_ns;
		e = push_add(p, g->stock, &w);
		if (e == NULL)
			push_mean(p, g->mean, &w);
		pull_note_skipped(g->made, g->stock);
	}
	if (e == NULL && stacks_n_types(g->flow) > 0) {
		w.from_ns = g->from_ns;
		w.until_ns = g->until_ns;
		e = push_add(p, g->flow, &w);
		pull_note_skipped(g->made, g->flow);
	}
	if (e == NULL)
		e = push_send(p, pull_put_record, g->made);
	push_free(p);
	return e;
}

static const struct err *
pull_run(struct pulling *g, const void *data, size_t n)
{
	const struct err *e;
	size_t kept;
	const void *before = pull_kept_find(&g->p->kept, g->ask->source,
	    g->ask->run, &kept, &g->before_ns);

	e = pull_unpack(&g->now, data, n);
	if (e == NULL && before != NULL && g->before_ns < g->ask->at_ns)
		e = pull_unpack(&g->before, before, kept);
	g->observed = before != NULL && g->before_ns / g->ask->slot_ns ==
	    g->ask->at_ns / g->ask->slot_ns;
	g->from_ns = g->before.len > 0 ? g->before_ns : g->ask->at_ns;
	g->until_ns = g->ask->at_ns;
	if (e == NULL)
		e = pull_parse(g);
	return e != NULL ? e : pull_push(g);
}

const struct err *
pull_take(struct pull *p, const struct pull_ask *ask, const void *data,
    size_t n, struct pull_made *made)
{
	struct pulling g = {.p = p, .ask = ask, .made = made};
	const struct err *e;

	heap_cache_trim(&p->names);
	*made = (struct pull_made){0};
	e = ask->slot_ns <= 0 || ask->at_ns < 0
	    ? err_new(ERR_REQUEST, 422, "a time that cannot be")
	    : pull_run(&g, data, n);
	if (e == NULL)
		e = pull_kept_put(&p->kept, ask->source, ask->run,
		    ask->at_ns, data, n);
	if (e != NULL)
		buf_fini(&made->records);
	stacks_free(g.stock);
	stacks_free(g.flow);
	buf_fini(&g.now);
	buf_fini(&g.before);
	return e;
}
