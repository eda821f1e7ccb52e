/*
 * Fingerprints of day, function, service and file; of the line too where it is
 * the definition's.
 */
#include "fcgi/server/told.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

void
told_forget(struct told *t)
{
	fingerprint_map_fini(&t->map);
	t->n = 0;
}

void
told_fini(struct told *t)
{
	told_forget(t);
	free(t->entries);
	buf_fini(&t->scratch);
	*t = (struct told){.n = 0};
}

static bool
told_fingerprint(struct told *t, const struct told_place *place,
    int64_t time_ns, struct fingerprint *f)
{
	struct buf *b = &t->scratch;
	int64_t head[2] = {time_ns / TOLD_DAY_NS,
	    place->seen ? -1 : place->line};

	if (!t->keyed)
		t->keyed = fingerprint_key_init(&t->key);
	buf_clear(b);
	buf_put(b, head, sizeof(head));
	buf_put(b, place->name, strlen(place->name) + 1);
	buf_put(b, place->module, strlen(place->module) + 1);
	buf_put(b, place->build_id, strlen(place->build_id) + 1);
	buf_put(b, place->service, strlen(place->service) + 1);
	buf_put(b, place->file, strlen(place->file) + 1);
	if (!t->keyed || b->failed)
		return false;
	*f = fingerprint_bytes(&t->key, b->data, b->len);
	return true;
}

static bool
told_add(struct told *t, struct fingerprint f, const struct told_entry *entry)
{
	if (t->n == TOLD_MAX)
		told_forget(t);
	if (!array_room(&t->entries, t->n + 1, &t->cap) ||
	    !fingerprint_map_add(&t->map, f, (uint32_t)t->n))
		return false;
	t->entries[t->n++] = *entry;
	return true;
}

bool
told_take(struct told *t, const struct told_place *place, int64_t time_ns)
{
	struct told_entry entry = {time_ns, place->line}, *known;
	struct fingerprint f;
	uint32_t i;

	if (!told_fingerprint(t, place, time_ns, &f))
		return false;
	if ((i = fingerprint_map_get(&t->map, f)) == UINT32_MAX)
		return told_add(t, f, &entry);
	known = &t->entries[i];
	if (time_ns >= known->time_ns && (place->line == 0 ||
	    (known->line != 0 && place->line >= known->line)))
		return false;
	if (time_ns < known->time_ns)
		known->time_ns = time_ns;
	if (place->line != 0 && (known->line == 0 ||
	    place->line < known->line))
		known->line = place->line;
	return true;
}
