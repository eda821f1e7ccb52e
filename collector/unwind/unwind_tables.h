/*
 * The tables of unwind rows, one for each file: who has one, who waits for
 * one, who shall have none.
 *
 *	file behind a descriptor ──► table number ──► rows in the kernel
 *	                                 │
 *	                                 └─ unknown: asked of the symbols child
 *
 * Files of one build id share their rows.  Rows that were not used for
 * longest make room.  A file that the child could not do, or died of, is
 * asked for again after a time that doubles.  The rows are the child's word:
 * only their number and order are checked here, since a wrong rule can only
 * give a wrong stack.
 */
#ifndef COLLECTOR_UNWIND_TABLES_H
#define COLLECTOR_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"

struct err;
struct symbols_rows;
struct unwind_tables;

/* Asks for the rows of an open file; false when it cannot be asked now.  The
 * answer goes to unwind_tables_answer(). */
typedef bool unwind_ask_fn(void *arg, uint32_t table, int fd, uint64_t size,
    uint32_t max_rows);

struct unwind_tables_stats {
	uint32_t ready, waiting, without, failed; /* tables by state; failed:
	                                           * asked for again later */
	uint32_t cells, cells_max;        /* in use, and in all */
	uint64_t rows;                    /* of the ready ones, shared or not */
	uint64_t made, evicted, failures; /* since the start */
	uint64_t refused;                 /* files over the bounds, the kernel's
	                                   * memory for rows among them */
};

/* `kernel` is borrowed. */
const struct err *unwind_tables_new(struct unwind_tables **out,
    const struct unwind_kernel *kernel, unwind_ask_fn *ask, void *arg);
void unwind_tables_free(struct unwind_tables *t);

/*
 * The table of the file behind a descriptor, which stays the caller's; when
 * it has no rows, asks for them if `ask` says so or the file was met some
 * times before: what ends before its samples are read comes again.  The
 * reference is the caller's until unwind_tables_drop().  UNWIND_NO_TABLE
 * when there are too many tables or it is no regular file.
 */
uint32_t unwind_tables_get(struct unwind_tables *t, int fd, bool ask,
    int64_t now_ns);
void unwind_tables_drop(struct unwind_tables *t, uint32_t table);

/* The child's answer, or that there will be none. */
void unwind_tables_answer(struct unwind_tables *t, uint32_t table,
    const struct symbols_rows *rows, int64_t now_ns);

/* Asks for the next table when the budget allows. */
void unwind_tables_pump(struct unwind_tables *t, int64_t now_ns);

void unwind_tables_stats(const struct unwind_tables *t,
    struct unwind_tables_stats *out);

#endif
