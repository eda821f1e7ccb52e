/*
 * The table of what is sampled and lives, the filter before it, and the two
 * nops where the daemon's probes sit.
 */
#include <sys/mman.h>

#include "collector/alloc/alloc_own.h"

#define PAGE 4096
#define FILTER_MANY 255 /* stays: so many that it was not counted on */

/* In pages of its own, which a child of a fork gets empty. */
PUBLIC union kept {
	struct alloc_table table;
	uint8_t pages[(sizeof(struct alloc_table) + PAGE - 1) / PAGE * PAGE];
} memlens_alloc1_table __attribute__((aligned(PAGE)));
extern union kept kept __attribute__((alias("memlens_alloc1_table"),
    visibility("hidden")));

uint8_t filter[FILTER_SIZE] __attribute__((aligned(PAGE)));

/* ---- what the daemon sees ---- */

/* Registers as in alloc.h; names of the places for the daemon's probes. */
SLOW void
tell_took(void *object, uint64_t size, enum alloc_call call)
{
	__asm__ volatile(".globl memlens_alloc1_took\n"
	                 ".type memlens_alloc1_took, @function\n"
	                 "memlens_alloc1_took: nop"
	                 :
	                 : "D"(object), "S"(size), "d"((long)call)
	                 : "memory");
}

SLOW void
tell_gave(void *object, enum alloc_end end)
{
	__asm__ volatile(".globl memlens_alloc1_gave\n"
	                 ".type memlens_alloc1_gave, @function\n"
	                 "memlens_alloc1_gave: nop"
	                 :
	                 : "D"(object), "S"((long)end)
	                 : "memory");
}

/* ---- the table, and the filter before it ---- */

void
filter_add(const void *p, int by)
{
	uint8_t *at = filter_of(p), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != FILTER_MANY && !__atomic_compare_exchange_n(at, &n,
	    (uint8_t)(n + by), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		continue;
}

/* The bucket of an address in a level. */
static struct alloc_cell *
table_bucket(unsigned level, uint64_t address)
{
	static const struct {
		uint32_t first, buckets;
	} levels[ALLOC_LEVELS] = {{0, ALLOC_BUCKETS_0},
	    {ALLOC_BUCKETS_0, ALLOC_BUCKETS_1},
	    {ALLOC_BUCKETS_0 + ALLOC_BUCKETS_1, ALLOC_BUCKETS_2}};
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t bucket = levels[level].first +
	    (hash & (levels[level].buckets - 1));

	return &kept.table.cell[bucket * ALLOC_BUCKET];
}

static bool
cell_take(struct alloc_cell *c, uint64_t is, uint64_t becomes)
{
	return __atomic_compare_exchange_n(&c->address, &is, becomes, false,
	    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool
table_add(void *p, uint64_t size)
{
	uint64_t address = (uintptr_t)p;

	for (unsigned i = 0; i < ALLOC_LEVELS * ALLOC_BUCKET; i++) {
		struct alloc_cell *c = table_bucket(i / ALLOC_BUCKET,
		    address) + i % ALLOC_BUCKET;

		if (!cell_take(c, 0, ALLOC_CELL_BUSY))
			continue;
		c->size = size;
		__atomic_store_n(&c->address, address, __ATOMIC_RELEASE);
		__atomic_store_n(&kept.table.used[i / ALLOC_BUCKET], 1,
		    __ATOMIC_RELAXED);
		filter_add(p, 1);
		return true;
	}
	__atomic_add_fetch(&kept.table.full, 1, __ATOMIC_RELAXED);
	return false;
}

bool
table_remove(const void *p, uint64_t *size)
{
	uint64_t address = (uintptr_t)p;

	/* NULL is given back as often as not; a cell of it is a free one. */
	for (unsigned i = 0; p != NULL && i < ALLOC_LEVELS * ALLOC_BUCKET;
	     i++) {
		struct alloc_cell *c = table_bucket(i / ALLOC_BUCKET,
		    address) + i % ALLOC_BUCKET;

		if (__atomic_load_n(&c->address, __ATOMIC_RELAXED) != address)
			continue;
		if (size != NULL)
			*size = c->size;
		if (cell_take(c, address, 0)) {
			filter_add(p, -1);
			return true;
		}
	}
	return false;
}

/* ---- its beginning ---- */

void
table_begin(void)
{
	kept.table.version = ALLOC_VERSION;
	kept.table.cells = ALLOC_CELLS;
	kept.table.magic = ALLOC_MAGIC;
}

/* Where the kernel cannot, a child gives back objects that the daemon does not
 * know of it. */
void
table_keep_from_children(void)
{
	if (madvise(&kept, sizeof(kept), MADV_WIPEONFORK) == 0 &&
	    !boot_was_used())
		madvise(filter, sizeof(filter), MADV_WIPEONFORK);
}
