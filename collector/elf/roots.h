/*
 * Rules that no .eh_frame tells, of code that is known by what it is:
 *
 *	Go's code          go_rows.h
 *	makecontext()      the code that its function returns to
 *	musl's start code  what calls main()
 *	glibc's loader     its first instructions
 *
 * Bytes and tables of the file are foreign: every number is checked before it
 * is used, and a wrong rule can only give a wrong stack.
 */
#ifndef COLLECTOR_ROOTS_H
#define COLLECTOR_ROOTS_H

#include "collector/elf/ehframe.h"
#include "collector/elf/elf.h"

/* By rising pc; each holds up to the next one.  UNWIND_STOP holds in any case,
 * UNWIND_GO where .eh_frame has no row, UNWIND_NONE changes nothing. */
struct roots {
	struct unwind_row *rows; /* free() */
	size_t n, cap, max;
	enum ehframe_status status;
};

/* Adds a row behind the others; false: there is an error, which is kept. */
bool roots_put(struct roots *r, uint32_t pc, const struct unwind_row *row);

/* Those of the code that is in the file at offsets from low to high - 1, at
 * most max_rows: an error is kept in the result. */
void roots_find(const struct elf *e, uint32_t low, uint32_t high,
    size_t max_rows, struct roots *out);

/* Adds them to rows of that code.  Errors: that of roots_find(),
 * EHFRAME_TOO_BIG for more than max_rows, EHFRAME_NO_MEMORY; *rows is as it
 * was then. */
enum ehframe_status roots_merge(const struct roots *r,
    struct ehframe_rows *rows, size_t max_rows);

#endif
