/*
 * The slots that facts tell of.
 */
#include "store/model/brief.h"

#include <string.h>

#include "store/base/buf.h"
#include "store/model/fact.h"
#include "store/model/series.h"
#include "store/model/types.h"

static uint64_t
brief_hash(const char *type, size_t n, const char *service)
{
	uint64_t h = hash64(hash64(0, type, n), "", 1);

	return hash64(h, service, strlen(service));
}

uint64_t
brief_who(const struct series_desc *d)
{
	const char *service = label_find(d->labels, d->n_labels, "service");

	return brief_hash(d->name, strlen(d->name),
	    service != NULL ? service : "");
}

static size_t
brief_slot(struct brief *b, uint64_t slot)
{
	for (size_t i = 0; i < b->n_slots; i++)
		if (b->slots[i] == slot)
			return i;
	b->slots[b->n_slots] = slot;
	return b->n_slots++;
}

/* The profiler that began anew within a slot has seen more of it. */
bool
brief_take(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	struct brief *b = arg;
	struct fact_seen f;
	struct brief_one one;

	if (time_ns < 0 || !fact_take_seen(data, n, &f) || f.seen_ns < 0)
		return true;
	if (f.seen_ns > b->slot_ns)
		f.seen_ns = b->slot_ns;
	one = (struct brief_one){brief_hash(f.type.p, f.type.n, subject),
	    brief_slot(b, (uint64_t)(time_ns / b->slot_ns)), f.seen_ns};
	for (size_t i = 0; i < b->n; i++) {
		struct brief_one *known = &b->all[i];

		if (known->who != one.who || known->slot != one.slot)
			continue;
		known->seen_ns += one.seen_ns;
		if (known->seen_ns > b->slot_ns)
			known->seen_ns = b->slot_ns;
		return true;
	}
	b->all[b->n++] = one;
	return b->n < BRIEF_MAX;
}

bool
brief_begin(struct brief *b, const struct selector *selector, uint64_t from,
    uint64_t until, int64_t slot_ns)
{
	const struct type *type = types_find(selector_name(selector));

	b->n = b->n_slots = 0;
	b->slot_ns = slot_ns;
	return until > from && until - from <= BRIEF_SLOTS_MAX &&
	    (type == NULL || type->kind == SERIES_STOCK);
}

int64_t
brief_weight(const struct brief *b, const struct brief_one *of, uint64_t n)
{
	uint64_t all = (uint64_t)((double)of->seen_ns * BRIEF_WHOLE /
	    (double)b->slot_ns + 0.5);
	uint64_t each = (all + n / 2) / n;

	return each > 0 ? (int64_t)each : 1;
}
