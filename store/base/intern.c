/*
 * Items one after the other in one buffer, and the hash table of them.
 */
#include "store/base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

void
intern_fini(struct intern *t)
{
	buf_fini(&t->bytes);
	free(t->items);
	hashtable_fini(&t->table);
	*t = (struct intern){0};
}

size_t
intern_bytes(const struct intern *t)
{
	return t->bytes.cap + t->cap * sizeof(*t->items) +
	    t->table.cap * sizeof(*t->table.slots);
}

void
intern_rest(struct intern *t)
{
	hashtable_fini(&t->table);
	t->indexed = 0;
}

/* For tables in memory alone, and so free to be quick. */
static uint32_t
intern_hash(const void *p, size_t n)
{
	const uint8_t *s = p;
	uint64_t h = n, word;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&word, s, 8);
		h = (h ^ word) * 0x9fb21c651e98df25u;
		h ^= h >> 35;
	}
	for (word = 0; n > 0; n--)
		word = word << 8 | *s++;
	word = hash64_u64(h, word);
	return (uint32_t)word ? (uint32_t)word : 1;
}

/* Room for one more item of n bytes.  A table outlives a failure. */
static bool
intern_room(struct intern *t, size_t n)
{
	if (!array_room(&t->items, t->n + 1, &t->cap) ||
	    t->bytes.len + n + 8 > UINT32_MAX)
		return false;
	if (buf_reserve(&t->bytes, n + 8))
		return true;
	t->bytes.failed = false;
	return false;
}

static uint32_t
intern_append(struct intern *t, const void *p, size_t n, uint32_t hash)
{
	if (!intern_room(t, n))
		return INTERN_NONE;
	while (t->aligned && t->bytes.len % 8 != 0)
		buf_put_u8(&t->bytes, 0);
	t->items[t->n] = (struct intern_item){(uint32_t)t->bytes.len,
	    (uint32_t)n, hash};
	buf_put(&t->bytes, p, n);
	buf_put_u8(&t->bytes, 0);
	return t->n++;
}

static inline bool
intern_is(const struct intern *t, uint32_t item, const void *p, size_t n,
    uint32_t hash)
{
	const struct intern_item *i = &t->items[item];

	return i->hash == hash && i->len == n &&
	    (n == 0 || memcmp(t->bytes.data + i->first, p, n) == 0);
}

static uint32_t
intern_look(const struct intern *t, const void *p, size_t n, uint32_t hash)
{
	hashtable_each(item, &t->table, hash) {
		if (intern_is(t, item, p, n, hash))
			return item;
	}
	return INTERN_NONE;
}

static uint32_t
intern_item_hash(const void *items, uint32_t i)
{
	return ((const struct intern_item *)items)[i].hash;
}

static bool
intern_room_table(struct intern *t)
{
	return hashtable_room(&t->table, t->n + 1, intern_item_hash, t->items);
}

bool
intern_index(struct intern *t)
{
	if (!intern_room_table(t))
		return false;
	for (; t->indexed < t->n; t->indexed++) {
		struct intern_item *item = &t->items[t->indexed];
		const uint8_t *p = t->bytes.data + item->first;

		if (item->hash == 0)
			item->hash = intern_hash(p, item->len);
		if (intern_look(t, p, item->len, item->hash) == INTERN_NONE)
			hashtable_add(&t->table, item->hash, t->indexed);
	}
	return true;
}

bool
intern_reserve(struct intern *t, size_t n)
{
	return intern_room_table(t) && intern_room(t, n);
}

/* A new item's slot is the free one where the search for it ended. */
static uint32_t
intern_put_hashed(struct intern *t, const void *p, size_t n, uint32_t hash)
{
	uint32_t slot = hash, item;

	if ((t->indexed < t->n && !intern_index(t)) || !intern_room_table(t))
		return INTERN_NONE;
	for (; (item = hashtable_in(&t->table, slot)) != HASHTABLE_NONE;
	    slot++)
		if (intern_is(t, item, p, n, hash))
			return item;
	item = intern_append(t, p, n, hash);
	if (item != INTERN_NONE) {
		hashtable_set(&t->table, slot, item);
		t->indexed = t->n;
	}
	return item;
}

uint32_t
intern_put(struct intern *t, const void *p, size_t n)
{
	return intern_put_hashed(t, p, n, intern_hash(p, n));
}

/* Three rounds, each of loads that do not wait for each other. */
static void
intern_prefetch(const struct intern *t, const struct intern_key *keys,
    size_t n)
{
	const struct intern_item *items[INTERN_MANY];

	for (size_t i = 0; i < n; i++)
		hashtable_prefetch(&t->table, keys[i].hash);
	for (size_t i = 0; i < n; i++) {
		uint32_t item = hashtable_at(&t->table, keys[i].hash);

		items[i] = &t->items[item != HASHTABLE_NONE ? item : 0];
		__builtin_prefetch(items[i]);
	}
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = t->bytes.data + items[i]->first;

		__builtin_prefetch(p);
		if (items[i]->len > 40)
			__builtin_prefetch(p + 64);
	}
}

bool
intern_put_many(struct intern *t, struct intern_key *keys, size_t n,
    uint32_t *numbers)
{
	for (size_t i = 0; i < n; i++) {
		if (keys[i].hash == 0)
			keys[i].hash = intern_hash(keys[i].p, keys[i].len);
	}
	if (t->indexed > 0)
		intern_prefetch(t, keys, n);
	for (size_t i = 0; i < n; i++) {
		numbers[i] = intern_put_hashed(t, keys[i].p, keys[i].len,
		    keys[i].hash);
		if (numbers[i] == INTERN_NONE)
			return false;
	}
	return true;
}

uint32_t
intern_push(struct intern *t, const void *p, size_t n)
{
	return intern_append(t, p, n, 0);
}

uint32_t
intern_find(const struct intern *t, const void *p, size_t n)
{
	return intern_look(t, p, n, intern_hash(p, n));
}

int
intern_compare(const struct intern *t, uint32_t a, uint32_t b)
{
	const struct intern_item *x = &t->items[a], *y = &t->items[b];
	size_t n = x->len < y->len ? x->len : y->len;
	int order = memcmp(t->bytes.data + x->first,
	    t->bytes.data + y->first, n);

	if (order != 0)
		return order;
	return x->len < y->len ? -1 : x->len > y->len;
}

void
map64_fini(struct map64 *m)
{
	free(m->pairs);
	*m = (struct map64){0};
}

static struct map64_pair *
map64_place(const struct map64 *m, uint64_t key)
{
	uint32_t at = (uint32_t)hash64_u64(0, key) & (m->cap - 1);

	while (m->pairs[at].value != INTERN_NONE && m->pairs[at].key != key)
		at = (at + 1) & (m->cap - 1);
	return &m->pairs[at];
}

static bool
map64_grow(struct map64 *m)
{
	struct map64 old = *m, new = {NULL, old.n, 0};

	new.cap = old.cap ? old.cap * 2 : 64;
	new.pairs = malloc(new.cap * sizeof(*new.pairs));
	if (new.pairs == NULL)
		return false;
	memset(new.pairs, 0xff, new.cap * sizeof(*new.pairs));
	for (uint32_t i = 0; i < old.cap; i++) {
		if (old.pairs[i].value != INTERN_NONE)
			*map64_place(&new, old.pairs[i].key) = old.pairs[i];
	}
	map64_fini(&old);
	*m = new;
	return true;
}

uint32_t
map64_get(const struct map64 *m, uint64_t key)
{
	return m->cap == 0 ? INTERN_NONE : map64_place(m, key)->value;
}

void
map64_prefetch(const struct map64 *m, uint64_t key)
{
	if (m->cap > 0)
		__builtin_prefetch(
		    &m->pairs[(uint32_t)hash64_u64(0, key) & (m->cap - 1)]);
}

bool
map64_add(struct map64 *m, uint64_t key, uint32_t value)
{
	if ((uint64_t)(m->n + 1) * 3 > (uint64_t)m->cap * 2 && !map64_grow(m))
		return false;
	*map64_place(m, key) = (struct map64_pair){key, value};
	m->n++;
	return true;
}
