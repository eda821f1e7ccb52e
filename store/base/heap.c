/*
 * The system's allocator.
 */
#include "store/base/heap.h"

#include <malloc.h>

#define HEAP_SPARE (1u << 20) /* bytes that are not worth trimming */

void
heap_keep_little(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
}

/* The most that may be set. */
void
heap_keep_all(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

void
heap_trim(void)
{
	if (mallinfo2().fordblks > HEAP_SPARE)
		malloc_trim(0);
}
