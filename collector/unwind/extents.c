/*
 * Free parts sorted by place, best fit; parts at rest in a queue.
 */
#include "collector/unwind/extents.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct extent {
	uint32_t first, n;
	int64_t until_ns; /* at rest */
};

struct extent_list {
	struct extent *e;
	size_t n, cap;
};

struct extents {
	struct extent_list unused, resting;
	uint32_t used;
};

static bool
list_insert(struct extent_list *l, size_t at, const struct extent *e)
{
	size_t cap = l->cap != 0 ? l->cap * 2 : 64;
	struct extent *p;

	if (l->n == l->cap) {
		p = realloc(l->e, cap * sizeof(*p));
		if (p == NULL)
			return false;
		l->e = p;
		l->cap = cap;
	}
	memmove(l->e + at + 1, l->e + at, (l->n - at) * sizeof(*e));
	l->e[at] = *e;
	l->n++;
	return true;
}

static void
list_remove(struct extent_list *l, size_t at)
{
	l->n--;
	memmove(l->e + at, l->e + at + 1, (l->n - at) * sizeof(*l->e));
}

struct extents *
extents_new(uint32_t n)
{
	struct extents *x = calloc(1, sizeof(*x));
	struct extent all = {.n = n};

	if (x == NULL || !list_insert(&x->unused, 0, &all)) {
		free(x);
		return NULL;
	}
	return x;
}

void
extents_free(struct extents *x)
{
	if (x == NULL)
		return;
	free(x->unused.e);
	free(x->resting.e);
	free(x);
}

/* Without memory to note it the part is lost: a leak of elements, bounded by
 * their number. */
static void
extents_release(struct extents *x, struct extent e)
{
	struct extent_list *l = &x->unused;
	size_t at = 0;

	while (at < l->n && l->e[at].first < e.first)
		at++;
	if (at < l->n && e.first + e.n == l->e[at].first) {
		e.n += l->e[at].n;
		list_remove(l, at);
	}
	if (at > 0 && l->e[at - 1].first + l->e[at - 1].n == e.first)
		l->e[at - 1].n += e.n;
	else
		list_insert(l, at, &e);
}

void
extents_wake(struct extents *x, int64_t now_ns)
{
	size_t done = 0;

	for (; done < x->resting.n; done++) {
		if (x->resting.e[done].until_ns > now_ns)
			break;
		x->used -= x->resting.e[done].n;
		extents_release(x, x->resting.e[done]);
	}
	if (done == 0)
		return;
	x->resting.n -= done;
	memmove(x->resting.e, x->resting.e + done,
	    x->resting.n * sizeof(*x->resting.e));
}

/* The smallest unused part of n or more; the list's n: there is none. */
static size_t
extents_find(struct extents *x, uint32_t n, int64_t now_ns)
{
	const struct extent_list *l = &x->unused;
	size_t i, best;

	if (x->resting.n > 0)
		extents_wake(x, now_ns);
	best = l->n;
	for (i = 0; i < l->n; i++)
		if (l->e[i].n >= n &&
		    (best == l->n || l->e[i].n < l->e[best].n))
			best = i;
	return best;
}

uint32_t
extents_fit(struct extents *x, uint32_t n, int64_t now_ns)
{
	size_t i = extents_find(x, n, now_ns);

	return i < x->unused.n ? x->unused.e[i].n : EXTENTS_NONE;
}

uint32_t
extents_take(struct extents *x, uint32_t n, int64_t now_ns)
{
	size_t i = extents_find(x, n, now_ns);
	struct extent_list *l = &x->unused;
	uint32_t first;

	if (i == l->n)
		return EXTENTS_NONE;
	first = l->e[i].first;
	l->e[i].first += n;
	l->e[i].n -= n;
	if (l->e[i].n == 0)
		list_remove(l, i);
	x->used += n;
	return first;
}

void
extents_give(struct extents *x, uint32_t first, uint32_t n, int64_t now_ns)
{
	struct extent e = {.first = first, .n = n,
	    .until_ns = now_ns + EXTENTS_REST_NS};

	list_insert(&x->resting, x->resting.n, &e);
}

uint32_t
extents_used(const struct extents *x)
{
	return x->used;
}
