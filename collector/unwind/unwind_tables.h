/*
 * The tables of unwind rows, one for each file: who has one, which code waits
 * for rows, who shall have none.
 *
 *	file behind a descriptor ──► table number ──► regions in the kernel
 *	                                 │
 *	sample that lacks rows ──────────┴─ asked of the symbols child, with
 *	                                    the next descriptor at hand
 *
 * Files of the same code share their regions (unwind_regions.h).  A file that
 * the child could not do, or died of, is asked for again after a time that
 * doubles.
 */
#ifndef COLLECTOR_UNWIND_TABLES_H
#define COLLECTOR_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"
#include "collector/unwind/unwind_regions.h"

struct err;
struct stat;
struct symbols_rows;
struct unwind_tables;

/* Asks for the rows of the code around an offset of an open file; false when
 * it cannot be asked now.  The answer goes to unwind_tables_answer(). */
typedef bool unwind_ask_fn(void *arg, uint32_t table, int fd, uint64_t size,
    uint32_t offset);

struct unwind_tables_stats {
	uint32_t ready, without, failed; /* files by what is known of their
	                                  * code; failed: asked for again
	                                  * later */
	uint32_t unknown; /* nobody ran in them, or they wait */
	uint32_t waiting; /* questions */
	uint64_t made, failures, refused; /* files, since the start */
	struct unwind_regions_stats regions;
};

/* `kernel` is borrowed.  rate_ns: the CPU time a second that the child and we
 * may use for rows in the long run, more at once: over a minute less than 1.5
 * times as much, but for the first one, in which all is new. */
const struct err *unwind_tables_new(struct unwind_tables **out,
    const struct unwind_kernel *kernel, int64_t rate_ns, unwind_ask_fn *ask,
    void *arg);
void unwind_tables_free(struct unwind_tables *t);

/* The table of the file behind a descriptor, which stays the caller's: what
 * waits for one of the file is asked with it.  The reference is the caller's
 * until unwind_tables_drop().  UNWIND_NO_ROOM when there are too many tables,
 * UNWIND_NO_TABLE when it is no regular file. */
uint32_t unwind_tables_get(struct unwind_tables *t, int fd, int64_t now_ns);
void unwind_tables_drop(struct unwind_tables *t, uint32_t table);

/* The table of a file that may be this one (base/file_id.h), its
 * until the next unwind_tables_get(); UNWIND_NO_TABLE: it is not. */
uint32_t unwind_tables_find(struct unwind_tables *t, const struct stat *st);

/* A sample lacked the rows of code at an offset in the table's file: has them
 * asked for.  True when a descriptor of the file is waited for: see above. */
bool unwind_tables_want(struct unwind_tables *t, uint32_t table,
    uint32_t offset, int64_t now_ns);

/* Are the rows of that code not there yet? */
bool unwind_tables_lack(const struct unwind_tables *t, uint32_t table,
    uint32_t offset);

/* Is so much wanted that only what a sample waits for should be? */
bool unwind_tables_are_busy(const struct unwind_tables *t);

/* When rows of the file were wanted first; 0: never. */
int64_t unwind_tables_met(const struct unwind_tables *t, uint32_t table);

/* A sample of a user stack was seen; how many were. */
void unwind_tables_tick(struct unwind_tables *t);
uint32_t unwind_tables_clock(const struct unwind_tables *t);

/* The child's answer, or that there will be none. */
void unwind_tables_answer(struct unwind_tables *t, uint32_t table,
    const struct symbols_rows *rows, int64_t now_ns);

/* Asks what waits, when the budget allows. */
void unwind_tables_pump(struct unwind_tables *t, int64_t now_ns);

void unwind_tables_stats(const struct unwind_tables *t,
    struct unwind_tables_stats *out);

#endif
