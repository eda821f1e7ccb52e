/*
 * What the allocator keeps of a large piece.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/heap.h"
#include "tests/unit/test.h"

#define LARGE (8u << 20)

/* Bytes that are free and the process's still. */
static size_t
kept(void)
{
	char *p = malloc(LARGE);

	CHECK(p != NULL);
	memset(p, 1, LARGE);
	__asm__ volatile("" : : "r"(p) : "memory");
	free(p);
	return mallinfo2().fordblks;
}

TEST(large_pieces)
{
	heap_keep_little();
	CHECK(kept() < LARGE);
	heap_keep_all();
	CHECK(kept() >= LARGE);
	CHECK(mallinfo2().hblkhd == 0);
	heap_keep_little();
	heap_trim();
	CHECK(mallinfo2().fordblks < LARGE);
	CHECK(kept() < LARGE);
}

int
main(void)
{
	RUN(large_pieces);
	return test_done();
}
