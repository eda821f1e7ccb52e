/*
 * Stacks that outlive their slot, with names of their own: what the symbols'
 * tables call them is void when a slot ends.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/objects/objects_private.h"
#include "collector/symbols/frames.h"
#include "store/base/buf.h"

#define KEPT_MAX (1u << 17)
#define NAMES_MAX (1u << 17)
#define NAMES_BYTES (16u << 20)
#define NUMBERS_MAX (1u << 22)
#define TEXT_MAX (1u << 22)
#define DEAD_FEW 256

bool
objects_grow(void *array, uint32_t *cap, uint32_t want, size_t size)
{
	uint32_t n = *cap != 0 ? *cap : 64;
	void **at = array, *p;

	if (want <= *cap)
		return true;
	while (n < want)
		n *= 2;
	p = realloc(*at, n * size);
	if (p == NULL)
		return false;
	*at = p;
	*cap = n;
	return true;
}

bool
kept_init(struct kept_stacks *k)
{
	*k = (struct kept_stacks){.names = frames_new(NAMES_MAX, NAMES_BYTES),
	    .slots = calloc(256, sizeof(uint32_t)), .mask = 255};
	return k->names != NULL && k->slots != NULL;
}

void
kept_fini(struct kept_stacks *k)
{
	frames_free(k->names);
	free(k->all);
	free(k->numbers);
	free(k->text);
	free(k->slots);
}

uint32_t
kept_name(struct kept_stacks *k, const struct frame *f)
{
	return frames_add(k->names, f);
}

static void
kept_put(struct kept_stacks *k, uint32_t number)
{
	uint32_t i = (uint32_t)k->all[number].hash & k->mask;

	while (k->slots[i] != 0)
		i = (i + 1) & k->mask;
	k->slots[i] = number + 1;
}

/* Twice the places when half of them are taken. */
static bool
kept_widen(struct kept_stacks *k)
{
	uint32_t n = (k->mask + 1) * 2, i;
	uint32_t *slots;

	if (k->n * 2 <= k->mask)
		return true;
	slots = calloc(n, sizeof(*slots));
	if (slots == NULL)
		return false;
	free(k->slots);
	k->slots = slots;
	k->mask = n - 1;
	for (i = 0; i < k->n; i++)
		kept_put(k, i);
	return true;
}

static bool
kept_room(struct kept_stacks *k, uint32_t n, size_t text)
{
	return k->n < KEPT_MAX && k->n_numbers + n <= NUMBERS_MAX &&
	    k->n_text + text <= TEXT_MAX && kept_widen(k) &&
	    objects_grow(&k->all, &k->cap, k->n + 1, sizeof(*k->all)) &&
	    objects_grow(&k->numbers, &k->cap_numbers, k->n_numbers + n,
	    sizeof(*k->numbers)) &&
	    objects_grow(&k->text, &k->cap_text,
	    k->n_text + (uint32_t)text, 1);
}

static uint32_t
kept_add(struct kept_stacks *k, uint64_t hash, struct holder *of,
    const char *pool, const uint32_t *frames, uint32_t n)
{
	size_t text = strlen(pool) + 1;

	if (!kept_room(k, n, text))
		return OBJECTS_NONE;
	k->all[k->n] = (struct kept){.hash = hash, .of = of, .n = n,
	    .pool = k->n_text, .first = k->n_numbers};
	memcpy(k->text + k->n_text, pool, text);
	memcpy(k->numbers + k->n_numbers, frames, n * sizeof(*frames));
	k->n_text += (uint32_t)text;
	k->n_numbers += n;
	k->dead++;
	kept_put(k, k->n);
	return k->n++;
}

uint32_t
kept_stack(struct kept_stacks *k, struct holder *of, const char *pool,
    const uint32_t *frames, uint32_t n)
{
	size_t bytes = n * sizeof(*frames);
	uint64_t hash = hash64((uintptr_t)of, pool, strlen(pool));
	uint32_t i;

	hash = hash64(hash, frames, bytes);
	for (i = (uint32_t)hash & k->mask; k->slots[i] != 0;
	     i = (i + 1) & k->mask) {
		const struct kept *old = &k->all[k->slots[i] - 1];

		if (old->hash == hash && old->of == of && old->n == n &&
		    memcmp(k->numbers + old->first, frames, bytes) == 0 &&
		    strcmp(k->text + old->pool, pool) == 0)
			return k->slots[i] - 1;
	}
	return kept_add(k, hash, of, pool, frames, n);
}

/* Takes over a stack that has objects; false: no memory. */
static bool
kept_move(struct kept_stacks *to, const struct kept_stacks *from,
    const struct kept *s, uint32_t *number)
{
	uint32_t frames[KEPT_FRAMES_MAX], i;
	struct kept *moved;
	struct frame f;

	for (i = 0; i < s->n; i++) {
		f = frames_get(from->names, from->numbers[s->first + i]);
		frames[i] = kept_name(to, &f);
		if (frames[i] == FRAMES_NONE)
			return false;
	}
	*number = kept_stack(to, s->of, from->text + s->pool, frames, s->n);
	if (*number == OBJECTS_NONE)
		return false;
	moved = &to->all[*number];
	to->dead -= moved->objects == 0;
	moved->objects += s->objects;
	moved->sum.bytes += s->sum.bytes;
	moved->sum.objects += s->sum.objects;
	return true;
}

uint32_t *
kept_compact(struct kept_stacks *k)
{
	struct kept_stacks to;
	uint32_t *moved, i;
	bool done;

	if (k->dead <= DEAD_FEW || k->dead * 2 <= k->n)
		return NULL;
	moved = calloc(k->n, sizeof(*moved));
	done = kept_init(&to) && moved != NULL;
	for (i = 0; i < k->n && done; i++)
		if (k->all[i].objects > 0)
			done = kept_move(&to, k, &k->all[i], &moved[i]);
	if (!done) {
		kept_fini(&to);
		free(moved);
		return NULL;
	}
	kept_fini(k);
	*k = to;
	return moved;
}
