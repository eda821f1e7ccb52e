/*
 * The system's allocator.
 */
#include "store/base/heap.h"

#include <malloc.h>

#define HEAP_SPARE (1u << 20) /* bytes that are not worth trimming */

void
heap_trim(void)
{
	if (mallinfo2().fordblks > HEAP_SPARE)
		malloc_trim(0);
}
