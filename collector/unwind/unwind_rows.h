/*
 * Rows as the symbols child returns them: a sealed memory file, which is
 * checked and copied into the kernel's cells with an index before it.
 */
#ifndef COLLECTOR_UNWIND_ROWS_H
#define COLLECTOR_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/unwind_kernel.h"

struct unwind_rows {
	struct unwind_region place; /* all but `first` and the state */
	struct unwind_row *rows;
	uint32_t low; /* the region's first offset */
	uint64_t *index;
};

/* Reads n rows behind a descriptor, which stays the caller's, of region `at` of
 * the code.  False when the file is not sealed, has another size, or its rows
 * are not in order or not of the region. */
bool unwind_rows_open(struct unwind_rows *u, int fd, uint32_t n,
    const struct unwind_code *code, uint32_t at);
void unwind_rows_close(struct unwind_rows *u);

/* Writes index and rows to the cells from place.first on. */
bool unwind_rows_write(const struct unwind_rows *u,
    const struct unwind_kernel *k);

#endif
