/*
 * Rules for Go's code, by the table of its runtime (go_table.h): every caller
 * has its frame pointer in %rbp, whichever stack it leads to; a function that
 * was interrupted may have none, and its stack has the depth that the table
 * says, and so does one that C has called.  Where the runtime's own stacks
 * begin, a walk ends; where it is making room for a goroutine's, callers are
 * missing.
 */
#ifndef COLLECTOR_GO_ROWS_H
#define COLLECTOR_GO_ROWS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/unwind.h"

struct elf;

/* Where Go's code is: addresses from *low to *high - 1; false when the file has
 * none. */
bool go_code(const struct elf *e, uint64_t *low, uint64_t *high);

/* Does its table know depths?  Then there are many rows. */
bool go_has_depths(const struct elf *e);

/* Takes a rule that holds from an address on, up to the next one's; false to
 * stop. */
typedef bool go_row_fn(void *arg, uint64_t vaddr,
    const struct unwind_row *row);

/* The rules for addresses from low to high - 1, by rising address where the
 * file is right; the first may begin before. */
void go_rows(const struct elf *e, uint64_t low, uint64_t high,
    go_row_fn *take, void *arg);

#endif
