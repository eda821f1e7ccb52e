/*
 * Arrays that double: of items of one size, counted by 32 bits.
 */
#ifndef FCGI_FORMAT_GROW_H
#define FCGI_FORMAT_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for item n in the array that `array` points to the pointer of;
 * false when out of memory or numbers, and then nothing has changed. */
static inline bool
grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void *old, *new;
	uint64_t more = *cap == 0 ? 64 : (uint64_t)*cap * 2;

	if (n < *cap)
		return true;
	if (more > UINT32_MAX)
		return false;
	memcpy(&old, array, sizeof(old));
	new = realloc(old, more * size);
	if (new == NULL)
		return false;
	memcpy(array, &new, sizeof(new));
	*cap = (uint32_t)more;
	return true;
}

#endif
