/*
 * Arrays that at least double when they are full.
 *
 *	if (!array_room(&list->items, list->n + 1, &list->cap))
 *		return err_nomem();
 *	list->items[list->n++] = item;
 *
 * What is not that stays by itself: journals' views and symbols grow by half,
 * for they are most of what a reader keeps; tables beside each other that
 * share a cap, or whose rest is filled with something, know best.
 */
#ifndef STORE_BASE_ARRAY_H
#define STORE_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for n items in all.  `array` points to the pointer, `cap` to a
 * size_t or a uint32_t.  False when out of memory or numbers, and then nothing
 * has changed; NULL and 0 is an empty array, which the caller frees.
 */
#define array_room(array, n, cap)                                              \
	((n) <= *(cap) || array_grow(array, sizeof(**(array)), n, cap,         \
	    sizeof(*(cap))))

bool array_grow(void *array, size_t size, size_t n, void *cap,
    size_t cap_size);

/* How many of n items, sorted by a uint64_t field, have at most `key` there:
 * the last of those begins at or before an address. */
#define array_upto(items, n, field, key)                                       \
	array_count_upto(items, offsetof(__typeof__(*(items)), field),         \
	    sizeof(*(items)), n, key)

size_t array_count_upto(const void *items, size_t offset, size_t size,
    size_t n, uint64_t key);

#endif
