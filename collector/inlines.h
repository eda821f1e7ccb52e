/*
 * Functions that the compiler put into others, from the debug information of
 * a file.  Runs in the symbols child: the file is foreign, and is read whole
 * into memory, so that nothing has to be opened.
 */
#ifndef COLLECTOR_INLINES_H
#define COLLECTOR_INLINES_H

#include <stddef.h>
#include <stdint.h>

#include "elf.h"
#include "symbols_wire.h"

#define INLINES_BYTES_MAX (160u << 20)

struct inlines;

struct inlines_name {
	char text[WIRE_NAME_MAX + 1];
};

/* NULL when the file has no debug information of its own (that may lie in a
 * further file, which is not followed), is too large, or memory is short. */
struct inlines *inlines_open(const struct elf_input *in);
void inlines_close(struct inlines *l);

/* The names of what was inlined at an address, outermost first, without the
 * function itself; at most `max`, the innermost ones.  Returns their
 * number. */
size_t inlines_find(struct inlines *l, uint64_t vaddr,
    struct inlines_name *names, size_t max);

#endif
