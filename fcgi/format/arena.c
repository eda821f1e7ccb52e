/*
 * A bump allocator.  Nothing is freed before all is.
 */
#include "fcgi/format/arena.h"

#include <stdlib.h>

#define CHUNK (1u << 20)
#define ALIGN 16u

struct arena_chunk {
	struct arena_chunk *next;
	size_t n; /* keeps the bytes behind it aligned */
};

static bool
arena_grow(struct arena *a, size_t n)
{
	size_t size = n + sizeof(struct arena_chunk) > CHUNK
	    ? n + sizeof(struct arena_chunk) : CHUNK;
	struct arena_chunk *c;

	if (n > a->limit || a->used + size > a->limit + CHUNK) {
		a->over = true;
		return false;
	}
	if ((c = malloc(size)) == NULL)
		return false;
	*c = (struct arena_chunk){a->chunks, size};
	a->chunks = c;
	a->used += size;
	a->next = (char *)(c + 1);
	a->end = (char *)c + size;
	return true;
}

void *
arena_alloc(struct arena *a, size_t n)
{
	void *p;

	if (n > a->limit) {
		a->over = true;
		return NULL;
	}
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if ((size_t)(a->end - a->next) < n && !arena_grow(a, n))
		return NULL;
	p = a->next;
	a->next += n;
	return p;
}

static void *
arena_take(void *arena, size_t n)
{
	return arena_alloc(arena, n);
}

static void
arena_leave(void *arena, void *p)
{
	(void)arena;
	(void)p;
}

void
arena_init(struct arena *a, size_t limit)
{
	*a = (struct arena){{arena_take, arena_leave, a}, NULL, NULL, NULL, 0,
	    limit, false};
}

static void
arena_free(struct arena_chunk *c)
{
	struct arena_chunk *next;

	for (; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
}

void
arena_clear(struct arena *a)
{
	if (a->chunks == NULL)
		return;
	arena_free(a->chunks->next);
	a->chunks->next = NULL;
	a->used = a->chunks->n;
	a->next = (char *)(a->chunks + 1);
}

void
arena_fini(struct arena *a)
{
	arena_free(a->chunks);
	a->chunks = NULL;
	a->next = a->end = NULL;
}
