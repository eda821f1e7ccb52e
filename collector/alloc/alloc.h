/*
 * What libmemlens-alloc.so and the daemon agree on: the two places where the
 * daemon's probes sit, and the table of sampled objects that live, which the
 * daemon reads when it starts.  A size is alloc_size.h's word.
 *
 *	memlens_alloc1_took  rdi: object, 0 if it is in no table
 *	                    rsi: size, rdx: enum alloc_call
 *	memlens_alloc1_gave  rdi: object, rsi: enum alloc_end
 *
 * Both are a nop of one byte, which a probe need not step over.
 *
 * The table has levels, so that it touches as much memory as there are objects;
 * an object is in any cell of the bucket, a line of the cache, that its address
 * names in a level:
 *
 *	head │ level 0: 64 buckets │ level 1: 1,024 │ level 2: 65,536
 *	                 └─ 4 cells of {address, size}; address 0: free,
 *	                                                   1: being filled
 *
 * What reads it from outside trusts nothing in it: any bytes may be there.
 */
#ifndef COLLECTOR_ALLOC_H
#define COLLECTOR_ALLOC_H

#include <stdint.h>

#include "collector/alloc/alloc_size.h"

#define ALLOC_MAGIC UINT64_C(0x31434c4c414c4d00) /* "\0MLALLC1" */
#define ALLOC_VERSION 1
#define ALLOC_CELL_BUSY 1
#define ALLOC_BUCKET 4
#define ALLOC_LEVELS 3
#define ALLOC_BUCKETS_0 64
#define ALLOC_BUCKETS_1 1024
#define ALLOC_BUCKETS_2 65536
#define ALLOC_CELLS                                                            \
	(ALLOC_BUCKET *                                                        \
	    (ALLOC_BUCKETS_0 + ALLOC_BUCKETS_1 + ALLOC_BUCKETS_2))
#define ALLOC_OBJECT_MAX (UINT64_C(1) << 47)

enum alloc_call {
	ALLOC_MALLOC,
	ALLOC_CALLOC,
	ALLOC_REALLOC,
	ALLOC_ALIGNED, /* posix_memalign, aligned_alloc, memalign, ... */
	ALLOC_NEW,     /* operator new that is not of the language's library */
	ALLOC_CALLS
};

/* An object that may move is in no table meanwhile: another thread may be given
 * its address before it is known to have moved, and it is not, then. */
enum alloc_end {
	ALLOC_FREED,
	ALLOC_MOVES, /* perhaps: one of these follows */
	ALLOC_MOVED,
	ALLOC_STAYS
};

struct alloc_cell {
	uint64_t address, size;
};

struct alloc_table {
	uint64_t magic;
	uint32_t version, cells;
	uint64_t full; /* objects for which there was no cell */
	uint32_t used[ALLOC_LEVELS + 1]; /* 1: something was in that level */
	uint64_t zero[507]; /* cells begin with a page */
	struct alloc_cell cell[ALLOC_CELLS];
};

#endif
