/*
 * Where functions have saved a register of their caller: the GNU C library's
 * loader finds its frame by rbx while it binds a symbol (UNWIND_BX), and what
 * it calls has saved it.
 *
 *	row      rbx + 32, of a leaf                     bp 0
 *	call f   f saves rbx at its CFA - 40             bp 5
 *	row      rbx + 32                                bp 0
 */
#ifndef COLLECTOR_CALLEES_H
#define COLLECTOR_CALLEES_H

#include "collector/elf/ehframe.h"
#include "collector/elf/elf.h"

/* Gives each call in code of such rows a row of its own, where all of the
 * called function's entry in .eh_frame says one place: `in` is what the rows
 * were made of.  EHFRAME_TOO_BIG for more than in->max_rows, EHFRAME_NO_MEMORY;
 * *rows is as it was then. */
enum ehframe_status callees_add(const struct elf *e,
    const struct ehframe_input *in, struct ehframe_rows *rows);

#endif
