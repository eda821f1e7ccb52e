/*
 * The regions of files' code whose rows are in the kernel.
 *
 *	code (of a file, or of several of one build id)
 *	  │ region 0 │ region 1 │ ...     rows of those that were met
 *
 * What was not met for longest makes room, and what is met again and again is
 * kept for so many times longer: its cells rest before they are used again, so
 * an eighth of them is kept free.  The rows are the child's word: only their
 * number and order are checked here, since a wrong rule can only give a wrong
 * stack.
 */
#ifndef COLLECTOR_UNWIND_REGIONS_H
#define COLLECTOR_UNWIND_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"

struct code;
struct symbols_rows;
struct unwind_regions;

struct unwind_regions_stats {
	uint32_t loaded;       /* regions with rows */
	uint32_t cells, cells_max; /* that there are, and may be */
	uint64_t rows;         /* of all of them */
	uint64_t made, evicted, refused; /* since the start */
};

/* `kernel` is borrowed.  NULL when out of memory. */
struct unwind_regions *unwind_regions_new(const struct unwind_kernel *kernel);
void unwind_regions_free(struct unwind_regions *r);

/* A sample of a user stack has been seen: it is the clock of `used`. */
void unwind_regions_tick(struct unwind_regions *r);
uint32_t unwind_regions_clock(const struct unwind_regions *r);

/* The code that an answer is about, whose regions it shares when they are
 * there; a reference.  NULL when there is no room or its words make no
 * sense. */
struct code *regions_get(struct unwind_regions *r,
    const struct symbols_rows *answer, int64_t now_ns);
void regions_drop(struct unwind_regions *r, struct code *c, int64_t now_ns);

/* What the kernel's table of the code is. */
struct unwind_table regions_table(const struct code *c);

/* Are rows of the offset's region to come? */
bool regions_lack(const struct code *c, uint32_t offset);

/* Have they never been there? */
bool regions_are_new(const struct code *c, uint32_t offset);

/* Is there room for its rows, as far as one knows?  Not while what was in their
 * place rests: until then it is of no use to ask for them. */
bool regions_have_room(const struct unwind_regions *r, const struct code *c,
    uint32_t offset, int64_t now_ns);

/* Takes the rows of the region that holds the offset.  False when they make
 * no sense; without room for them they may be asked for again. */
bool regions_load(struct unwind_regions *r, struct code *c, uint32_t offset,
    const struct symbols_rows *answer, int64_t now_ns);

/* The region has more rows than any may have. */
void regions_refuse(struct unwind_regions *r, struct code *c, uint32_t offset);

void unwind_regions_stats(const struct unwind_regions *r,
    struct unwind_regions_stats *out);

#endif
