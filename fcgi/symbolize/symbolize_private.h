/* What symbolize.c (files, symbol tables) and symbolize_dwarf.c share. */
#ifndef FCGI_SYMBOLIZE_PRIVATE_H
#define FCGI_SYMBOLIZE_PRIVATE_H

#include <elfutils/libdw.h>

#include "fcgi/symbolize/symbolize.h"

struct dwarf_names;

/* Names from `dw`, which is borrowed; NULL: out of memory. */
struct dwarf_names *dwarf_names_new(Dwarf *dw);
void dwarf_names_free(struct dwarf_names *x);

/* As symbolizer_find(); a frame's name is NULL where only the line is
 * known. */
size_t dwarf_names_find(struct dwarf_names *x, uint64_t address,
    struct symbolized frames[SYMBOLIZED_MAX]);

/* Has the outermost function that was found last only a name without scope
 * and types, for which the symbol table may know better? */
bool dwarf_names_bare(const struct dwarf_names *x);

#endif
