/*
 * The maps of the stack walker in plain memory, for the test that includes
 * unwind_step.h through this, and ways to fill them.
 */
#ifndef TESTS_WALKER_MAPS_H
#define TESTS_WALKER_MAPS_H

#include <fcntl.h>
#include <linux/types.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/unwind/unwind_rows.h"
#include "tests/unit/test.h"

#define UNWIND_INLINE static inline
#define CELLS (1u << 20)
#define MAPPINGS 512
#define STACK 0x7000000000u /* address of the made stack */

static __u64 cells[CELLS];
static struct unwind_mapping mappings[MAPPINGS];
static struct unwind_table tables[MAPPINGS];
static struct unwind_region regions[MAPPINGS * 32];
static uint32_t n_regions;
static __u64 stack[256];
static bool own_memory; /* read our own instead of `stack` */

static int
unwind_read_user(void *to, size_t n, __u64 at)
{
	if (own_memory) {
		/* of our stack, which ends with the environment */
		if (at < (uintptr_t)__builtin_frame_address(0) ||
		    at + n > (uintptr_t)environ)
			return -1;
		memcpy(to, (const void *)(uintptr_t)at, n);
		return 0;
	}
	if (at < STACK || at + n > STACK + sizeof(stack))
		return -1;
	memcpy(to, (const char *)stack + (at - STACK), n);
	return 0;
}

#include "collector/bpf/unwind_step.h"

static uint64_t cells_read;

static inline const void *
unwind_chunk(__u32 i)
{
	return i < CELLS >> UNWIND_CHUNK_SHIFT ?
	    &cells[i << UNWIND_CHUNK_SHIFT] : NULL;
}

static inline const __u64 *
unwind_cell(const void *chunk, __u32 i)
{
	const __u64 *c = chunk;

	cells_read++;
	return c + i < cells + CELLS ? c + i : NULL;
}

static inline struct unwind_region *
unwind_region(__u32 i)
{
	return i < n_regions ? &regions[i] : NULL;
}

static inline const struct unwind_mapping *
unwind_mapping(__u32 i)
{
	return i < MAPPINGS ? &mappings[i] : NULL;
}

static inline const struct unwind_table *
unwind_table(__u32 i)
{
	return i < MAPPINGS ? &tables[i] : NULL;
}

static __u64 hidden; /* what a uretprobe replaced */

static inline __u64
unwind_original(struct unwind_state *s)
{
	(void)s;
	return hidden;
}

static bool
kernel_write(void *arg, enum unwind_array which, uint32_t first,
    const void *p, size_t n)
{
	(void)arg;
	if (which != UNWIND_ARRAY_CELLS || first + n > CELLS)
		return false;
	memcpy(cells + first, p, n * sizeof(cells[0]));
	return true;
}

static const struct unwind_kernel kernel = {.write = kernel_write};

static int
sealed(const struct unwind_row *rows, size_t n, int seals)
{
	int fd = memfd_create("rows", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	CHECK(write(fd, rows, n * sizeof(*rows)) ==
	    (ssize_t)(n * sizeof(*rows)));
	CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Puts rows into region `at` of table t at cell `first`; returns the next free
 * cell. */
static uint32_t
load_region(uint32_t t, uint32_t at, const struct unwind_row *rows, size_t n,
    uint32_t first)
{
	struct unwind_region *r = &regions[tables[t].first + at];
	int fd = sealed(rows, n, ALL_SEALS);
	struct unwind_rows u;

	*r = (struct unwind_region){.state = UNWIND_TABLE_READY};
	if (n > 0) {
		CHECK(unwind_rows_open(&u, fd, (uint32_t)n, &tables[t].code,
		    at));
		u.place.first = first;
		CHECK(unwind_rows_write(&u, &kernel));
		*r = u.place;
		r->state = UNWIND_TABLE_READY;
		unwind_rows_close(&u);
	}
	close(fd);
	return first + r->buckets + (uint32_t)n;
}

/* The table's code is these regions. */
static void
set_code(uint32_t t, struct unwind_code code)
{
	tables[t] = (struct unwind_table){.state = UNWIND_TABLE_READY,
	    .first = n_regions, .code = code};
	n_regions += code.n;
	CHECK(n_regions <= sizeof(regions) / sizeof(regions[0]));
}

/* All rows as the only region of table t. */
static inline uint32_t
load_rows(uint32_t t, const struct unwind_row *rows, uint32_t n,
    uint32_t first)
{
	set_code(t, (struct unwind_code){rows[0].pc, 1, 31});
	return load_region(t, 0, rows, n, first);
}

/* The same rows cut into regions of 1 << shift bytes; a part of them lacks
 * its rows. */
static inline uint32_t
load_cut(uint32_t t, const struct unwind_row *rows, uint32_t n,
    uint32_t first, uint32_t shift, uint32_t part)
{
	static struct unwind_row cut[20000];
	uint32_t size = 1u << shift, low, i, at, k;

	set_code(t, (struct unwind_code){rows[0].pc, (rows[n - 1].pc -
	    rows[0].pc) / size + 1, shift});
	for (at = 0; at < tables[t].code.n; at++) {
		low = rows[0].pc + at * size;
		for (i = k = 0; i < n; i++) {
			if (rows[i].pc >= low && rows[i].pc - low >= size)
				break;
			k = rows[i].pc <= low ? 0 : k;
			cut[k] = rows[i];
			if (cut[k].pc < low)
				cut[k].pc = low;
			k++;
		}
		first = load_region(t, at, cut, k, first);
		if (part != 0 && at % part == 1)
			regions[tables[t].first + at] =
			    (struct unwind_region){.state =
			    UNWIND_TABLE_PENDING};
	}
	return first;
}

#endif
