/*
 * A list of sources, sorted when it is asked.
 */
#include "seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "series.h"

static uint64_t
seen_who(const struct series_desc *d)
{
	uint64_t h = hash64_u64(0, d->kind);

	h = hash64(h, d->name, strlen(d->name) + 1);
	h = hash64(h, d->unit, strlen(d->unit) + 1);
	for (size_t i = 0; i < d->n_labels; i++) {
		const struct label *l = &d->labels[i];

		h = hash64(h, l->name, strlen(l->name) + 1);
		h = hash64(h, l->value, strlen(l->value) + 1);
	}
	return h;
}

const struct err *
seen_add(struct seen *s, const struct series_desc *d, uint64_t observations)
{
	size_t cap = s->cap != 0 ? s->cap * 2 : 16;
	struct seen_source *p;

	if (s->n == s->cap) {
		p = realloc(s->sources, cap * sizeof(*p));
		if (p == NULL)
			return err_nomem();
		s->sources = p;
		s->cap = cap;
	}
	s->sources[s->n++] = (struct seen_source){seen_who(d), observations};
	return NULL;
}

static int
seen_order(const void *a, const void *b)
{
	const struct seen_source *x = a, *y = b;

	return x->who < y->who ? -1 : x->who > y->who;
}

uint64_t
seen_slots(struct seen *s, uint64_t max)
{
	uint64_t most = 0, slots = 0;

	if (s->n > 1)
		qsort(s->sources, s->n, sizeof(*s->sources), seen_order);
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0 && s->sources[i].who != s->sources[i - 1].who)
			slots = 0;
		slots += s->sources[i].slots;
		if (slots > most)
			most = slots;
	}
	return most < max ? most : max;
}

void
seen_fini(struct seen *s)
{
	free(s->sources);
	*s = (struct seen){0};
}
