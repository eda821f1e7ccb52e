/* What symbolize.c (files, symbol tables) and symbolize_dwarf.c share. */
#ifndef FCGI_SYMBOLIZE_PRIVATE_H
#define FCGI_SYMBOLIZE_PRIVATE_H

#include <elfutils/libdw.h>

#include "fcgi/memlens/symbolize.h"
#include "store/base/intern.h"

struct dwarf_index;

/* An index over the units of `dw`, which is borrowed; NULL: out of memory. */
struct dwarf_index *dwarf_index_new(Dwarf *dw);
void dwarf_index_free(struct dwarf_index *x);

/* As symbolizer_find(); a frame's name is NULL where only the line is
 * known. */
size_t dwarf_index_find(struct dwarf_index *x, uint64_t address,
    struct symbolized frames[SYMBOLIZED_MAX]);

/* Has the outermost function that was found last only a name without scope
 * and types, for which the symbol table may know better? */
bool dwarf_index_bare(const struct dwarf_index *x);

#endif
