/*
 * Functions that the compiler put into others, and where functions were
 * written, from the debug information of a file.  Runs in the symbols child:
 * the file is foreign, and is read whole into memory, so that nothing has to
 * be opened.
 */
#ifndef COLLECTOR_INLINES_H
#define COLLECTOR_INLINES_H

#include <stddef.h>
#include <stdint.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols_wire.h"

#define INLINES_BYTES_MAX (160u << 20)

struct inlines;

/* A function by its name, and where it was written: "file:line" or "". */
struct inlines_name {
	char text[WIRE_NAME_MAX + 1];
	char place[WIRE_PLACE_MAX + 1];
};

/*
 * `alt` is the file that shares its debug information, as elf_debug_alt() of
 * `in` tells it, and NULL where there is none: it counts only when it has the
 * build id that is asked for.  NULL when there is no debug information, or
 * not all of it, or it is too large, or memory is short.
 */
struct inlines *inlines_open(const struct elf_input *in,
    const struct elf_input *alt);
void inlines_close(struct inlines *l);

/*
 * The names of what was inlined at an address, outermost first, without the
 * function itself; at most `max`, the innermost ones.  Returns their number.
 * `place` has WIRE_PLACE_MAX + 1 bytes and is where the function itself was
 * written, "" where that is not known.
 */
size_t inlines_find(struct inlines *l, uint64_t vaddr, char *place,
    struct inlines_name *names, size_t max);

#endif
