/*
 * From the bytes of .eh_frame to rows of the unwinder.  Pure: no input or
 * output, no state.  The bytes are foreign and may be crafted: every read is
 * bounded, every count has a limit.
 *
 * DWARF 5, section 6.4, and the Linux Standard Base, "Exception Frames", say
 * what the bytes mean.  Only what a walk needs is kept: the CFA, the frame
 * pointer, whether there is a return address.
 */
#ifndef COLLECTOR_EHFRAME_H
#define COLLECTOR_EHFRAME_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/unwind.h"

#define EHFRAME_BYTES_MAX (512u << 20)

/* Executable bytes of the file. */
struct ehframe_segment {
	uint64_t vaddr, offset, size;
};

struct ehframe_input {
	const uint8_t *bytes;
	/* Called before n bytes from `at` on are read; false when they cannot
	 * be had.  NULL: all bytes are there. */
	bool (*need)(void *arg, size_t at, size_t n);
	void *arg;
	size_t size;    /* at most EHFRAME_BYTES_MAX */
	uint64_t vaddr; /* of the first byte */
	/* `size` is the section's; otherwise the first zero ends it. */
	bool exact;
	const struct ehframe_segment *segments;
	size_t n_segments;
	size_t max_rows;
	/* Only the rows that serve offsets from low to high - 1 are wanted;
	 * high 0: all. */
	uint32_t low, high;
	/* The register, by DWARF's number, whose place rows tell as `bp`;
	 * 0: rbp, which walks need. */
	unsigned saved;
	/* Where the entries are of the functions that count, found by an index;
	 * NULL: all are looked through. */
	const uint32_t *entries;
	size_t n_entries;
};

struct ehframe_rows {
	struct unwind_row *rows; /* free() */
	size_t n;
	size_t functions;   /* entries that gave rows */
	size_t skipped;     /* entries that were not understood */
	size_t unsupported; /* rows of UNWIND_UNSUPPORTED */
};

enum ehframe_status {
	EHFRAME_OK,
	EHFRAME_TOO_BIG, /* more than max_rows rows */
	EHFRAME_NO_MEMORY
};

/*
 * Fills *out with rows of strictly rising pc, no two neighbours equal but
 * for it; UNWIND_NONE ends the last function before each gap of 16 bytes or
 * more.  Where functions overlap, the one that begins later has the code.
 * Of a part, the first row begins at `low` if it has begun before.
 * After an error *out holds nothing.
 */
enum ehframe_status ehframe_read(const struct ehframe_input *in,
    struct ehframe_rows *out);

#endif
