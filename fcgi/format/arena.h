/*
 * Memory for protobuf-c: taken in chunks, given back all at once, bounded.
 * It allocates for every message; a profile has hundreds of thousands.
 */
#ifndef FCGI_FORMAT_ARENA_H
#define FCGI_FORMAT_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;

struct arena {
	ProtobufCAllocator allocator; /* hand its address to protobuf-c */
	struct arena_chunk *chunks;
	char *next, *end;
	size_t used, limit;
	bool over; /* the limit was hit: what failed was too large */
};

/* `limit` bytes in all.  The arena must not move afterwards. */
void arena_init(struct arena *a, size_t limit);
void arena_fini(struct arena *a);
/* NULL over the limit and when out of memory; aligned for anything. */
void *arena_alloc(struct arena *a, size_t n);

/* Forgets all that was taken; the last chunk is kept for what comes. */
void arena_clear(struct arena *a);

#endif
