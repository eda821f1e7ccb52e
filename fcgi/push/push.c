/*
 * The cut of windows, and batches that stay below their bounds.
 */
#include "fcgi/push/push.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push_private.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/cut.h"

static const struct err *
push_cut(const struct push *p, const struct push_window *w, struct cut *c)
{
	int64_t until = w->until_ns;

	if (w->from_ns < 0 || until < w->from_ns)
		return err_field(ERR_REQUEST, 400, "until",
		    "is before from");
	if (until == w->from_ns)
		until++;
	c->from = w->from_ns;
	c->length = until - w->from_ns;
	c->first = (uint64_t)(w->from_ns / p->slot_ns);
	c->last = (uint64_t)((until - 1) / p->slot_ns);
	if (c->last - c->first >= PUSH_SLOTS_MAX)
		return err_field(ERR_REQUEST, 413, "from", "a profile over "
		    "%llu slots; %u are the most",
		    (unsigned long long)(c->last - c->first + 1),
		    PUSH_SLOTS_MAX);
	return NULL;
}

/* Where slot number k of the store ends, from the window's start. */
static int64_t
cut_end(const struct push *p, const struct cut *c, uint64_t k)
{
	int64_t end = (int64_t)(k + 1) * p->slot_ns - c->from;

	return end < c->length ? end : c->length;
}

/* The first slot at whose end more than `sum` has come; all slots before
 * `k` are known not to be it. */
static uint64_t
cut_next(const struct push *p, const struct cut *c, int64_t v, uint64_t hash,
    uint64_t k, int64_t sum)
{
	uint64_t high = c->last;

	while (k < high) {
		uint64_t mid = k + (high - k) / 2;

		if (cut_at(v, cut_end(p, c, mid), c->length, hash) > sum)
			high = mid;
		else
			k = mid + 1;
	}
	return k;
}

/* Values smaller than the number of slots jump over the empty ones. */
void
push_flow_value(struct push *p, const struct cut *c, uint32_t node,
    int64_t v, uint64_t hash)
{
	bool jump = (uint64_t)v < (c->last - c->first) / 8;
	int64_t sum = 0;

	for (uint64_t k = c->first; sum < v && k <= c->last; k++) {
		int64_t upto;

		if (jump)
			k = cut_next(p, c, v, hash, k, sum);
		upto = (int64_t)cut_at(v, cut_end(p, c, k), c->length, hash);
		/* h is below 1, and the end is exact */
		if (k == c->last)
			upto = v;
		if (upto > sum) {
			batch_add_profile(p->batch, p->series, k, node,
			    upto - sum);
			p->entries++;
			p->all_entries++;
		}
		sum = upto;
	}
}

/* Has the window the last moment of slot k? */
static bool
push_watches(const struct push *p, const struct cut *c, uint64_t k)
{
	return (int64_t)(k + 1) * p->slot_ns <= c->from + c->length;
}

/* The slots that a stock's window observes: those whose last moment it has,
 * or the one in which it lies. */
static struct cut
push_watch(const struct push *p, const struct cut *c)
{
	struct cut watch = *c;

	if (c->last > c->first && !push_watches(p, c, c->last))
		watch.last--;
	return watch;
}

void
push_observe(struct push *p, enum series_kind kind, const struct cut *c,
    uint64_t k)
{
	if (kind == SERIES_STOCK && push_watches(p, c, k))
		batch_join(p->batch, p->series, k);
	else
		batch_observe(p->batch, p->series, k, 1);
}

static const struct err *
push_flow(struct push *p, const struct stacks *s, uint32_t type,
    const struct cut *c)
{
	uint64_t seed = push_seed(p, s, type, c), hash = 0;
	const struct err *e;

	for (uint64_t k = c->first; k <= c->last; k++)
		push_observe(p, SERIES_FLOW, c, k);
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		int64_t v = stacks_value(s, i, type);

		if (v == 0)
			continue;
		if ((e = push_room(p, s, type, PUSH_SOFT)) != NULL)
			return e;
		if (c->first != c->last)
			hash = hash64_u64(seed, push_stack_hash(p, s, i));
		push_flow_value(p, c, push_node(p, s, i), v, hash);
	}
	return NULL;
}

/* A block of a stock counts its observations, so all of it is in one
 * batch. */
static const struct err *
push_stock(struct push *p, const struct stacks *s, uint32_t type,
    const struct cut *c)
{
	const struct err *e;

	for (uint64_t k = c->first; k <= c->last; k++) {
		if ((e = push_room(p, s, type, PUSH_SOFT)) != NULL)
			return e;
		push_observe(p, SERIES_STOCK, c, k);
		for (uint32_t i = 0; i < p->n_nodes; i++) {
			int64_t v = stacks_value(s, i, type);

			if (v == 0)
				continue;
			if ((e = push_room(p, s, type, PUSH_HARD)) != NULL)
				return e;
			batch_add_profile(p->batch, p->series, k,
			    push_node(p, s, i), v);
			p->entries++;
			p->all_entries++;
		}
	}
	return NULL;
}

static const struct err *
push_type(struct push *p, const struct stacks *s, uint32_t type,
    const struct cut *c)
{
	struct stacks_type t;
	const struct err *e;
	struct cut w;

	stacks_get_type(s, type, &t);
	w = t.kind == SERIES_STOCK ? push_watch(p, c) : *c;
	if ((e = push_begin_type(p, &t)) != NULL)
		return e;
	if (p->kept != NULL)
		e = push_cached(p, type, &w);
	else
		e = t.kind == SERIES_STOCK ? push_stock(p, s, type, &w)
		                           : push_flow(p, s, type, &w);
	if (e == NULL && p->batch->failed)
		e = err_new(ERR_LIMIT, 413,
		    "a batch ran out of memory or over a bound");
	return e;
}

const struct err *
push_add(struct push *p, struct stacks *s, const struct push_window *w)
{
	const struct err *e;
	struct cut c = {0, 0, 0, 0};

	if ((e = push_cut(p, w, &c)) != NULL ||
	    (e = stacks_settle_units(s)) != NULL ||
	    (e = push_cached_choose(p, s, &c)) != NULL ||
	    (e = push_begin(p, s, w)) != NULL)
		return e;
	for (uint32_t t = 0; t < stacks_n_types(s) && e == NULL; t++)
		e = push_type(p, s, t, &c);
	push_end(p);
	return e;
}
