/*
 * A bit for each slot of the range, and a list of sources, sorted when it is
 * asked.
 */
#include "store/model/seen.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/model/series.h"

#define SEEN_MAX (1u << 17) /* slots: 16 KB; 15 days of 10 s */

const struct err *
seen_begin(struct seen *s, uint64_t from, uint64_t until)
{
	s->from = from;
	s->until = until;
	if (until - from > SEEN_MAX)
		return NULL;
	s->bits = calloc((until - from) / 8 + 1, 1);
	return s->bits != NULL ? NULL : err_nomem();
}

bool
seen_has(const struct seen *s, uint64_t slot)
{
	uint64_t i = slot - s->from;

	return s->bits != NULL && slot >= s->from && slot < s->until &&
	    (s->bits[i / 8] >> i % 8 & 1) != 0;
}

void
seen_slot(struct seen *s, uint64_t slot)
{
	uint64_t i = slot - s->from;

	if (s->bits == NULL || slot < s->from || slot >= s->until ||
	    seen_has(s, slot))
		return;
	s->bits[i / 8] |= (uint8_t)(1u << i % 8);
	s->n++;
}

bool
seen_all(const struct seen *s, uint64_t from, uint64_t until)
{
	if (s->n == s->until - s->from)
		return true;
	while (from < until && seen_has(s, from))
		from++;
	return from >= until;
}

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
seen_coarse(struct seen *s, const struct series_desc *d, uint64_t observations)
{
	if (!array_room(&s->sources, s->n_sources + 1, &s->cap))
		return err_nomem();
	s->sources[s->n_sources++] = (struct seen_source){seen_who(d),
	    observations};
	return NULL;
}

static int
seen_order(const void *a, const void *b)
{
	const struct seen_source *x = a, *y = b;

	return x->who < y->who ? -1 : x->who > y->who;
}

uint64_t
seen_slots(struct seen *s, bool *about)
{
	uint64_t most = 0, slots = 0, left = s->until - s->from - s->n;

	if (s->n_sources > 1)
		qsort(s->sources, s->n_sources, sizeof(*s->sources),
		    seen_order);
	for (size_t i = 0; i < s->n_sources; i++) {
		if (i > 0 && s->sources[i].who != s->sources[i - 1].who)
			slots = 0;
		slots += s->sources[i].slots;
		if (slots > most)
			most = slots;
	}
	*about = most > 0;
	return s->n + (most < left ? most : left);
}

void
seen_fini(struct seen *s)
{
	free(s->bits);
	free(s->sources);
	*s = (struct seen){0};
}
