/*
 * A profile of stacks that were met before, into a batch whose names memlensd
 * has: no more work than its values are.  What is unusual (very deep, very
 * much, labels of its own) goes the ordinary way.
 */
#include "fcgi/format/stacks.h"
#include "fcgi/push/push_cache.h"
#include "fcgi/push/push_private.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

/* Of one push: stacks times slots. */
#define PUSH_CACHE_ENTRIES 100000u

static bool
push_cached_fits(const struct push *p, const struct stacks *s,
    const struct cut *c)
{
	uint64_t slots = c->last - c->first + 1;
	const uint32_t *nodes;
	size_t n, all = 0;

	if (s != p->kept->stacks)
		return false;
	for (uint32_t t = 0; t < stacks_n_types(s); t++) {
		nodes = stacks_touched(s, t, &n);
		all += n;
		for (size_t i = 0; i < n; i++)
			if (stacks_depth(s, nodes[i]) >= BATCH_MAX_DEPTH - 2)
				return false;
	}
	return slots <= PUSH_CACHE_ENTRIES && all * slots <= PUSH_CACHE_ENTRIES;
}

const struct err *
push_cached_choose(struct push *p, const struct stacks *s, const struct cut *c)
{
	struct batch *b;

	if (p->kept == NULL || push_cached_fits(p, s, c))
		return NULL;
	if ((b = batch_new((uint64_t)p->slot_ns)) == NULL)
		return err_nomem();
	for (size_t i = 0; i < sizeof(b->id); i++)
		b->id[i] = p->id[i];
	p->batches[0] = p->batch = b;
	p->kept = NULL;
	return NULL;
}

const struct err *
push_cached(struct push *p, uint32_t type, const struct cut *c)
{
	const struct stacks *s = p->kept->stacks;
	uint64_t seed = push_seed(p, s, type, c), hash = 0;
	uint32_t base = push_base(p, s);
	struct stacks_type t;
	const uint32_t *nodes;
	size_t n;

	stacks_get_type(s, type, &t);
	nodes = stacks_touched(s, type, &n);
	for (uint64_t k = c->first; k <= c->last; k++)
		push_observe(p, t.kind, c, k);
	for (size_t i = 0; i < n && !p->batch->failed; i++) {
		int64_t v = stacks_value(s, nodes[i], type);
		uint32_t node = push_cache_node(p->kept, base, nodes[i]);

		if (c->first != c->last)
			hash = hash64_u64(
			    seed, push_cache_hash(p->kept, nodes[i]));
		if (t.kind != SERIES_STOCK) {
			push_flow_value(p, c, node, v, hash);
			continue;
		}
		for (uint64_t k = c->first; k <= c->last; k++)
			batch_add_profile(p->batch, p->series, k, node, v);
	}
	return NULL;
}
