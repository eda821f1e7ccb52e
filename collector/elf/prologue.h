/*
 * Rules of code that .eh_frame does not describe, by its instructions: what
 * the linker adds to each file to begin and to end it (crti.o, crtbegin.o), its
 * stubs where it has told no rules of them, and assembly up to the first
 * instruction that is not known here.
 *
 *	endbr64                         CFA = rsp + 8: a function begins
 *	cmpb $0,completed(%rip)
 *	jne  1
 *	push %rbp                       rsp + 16, rbp at CFA - 16
 *	...
 *	pop  %rbp                       rsp + 8
 *	ret
 *   1: ret                             rsp + 8, by the way that leads here
 *
 * A function begins behind one that is described, where a section begins, and
 * at a multiple of 16 bytes to which no known way leads.  Bytes are foreign,
 * and a wrong rule can only give a wrong stack.
 */
#ifndef COLLECTOR_PROLOGUE_H
#define COLLECTOR_PROLOGUE_H

#include "collector/elf/ehframe.h"
#include "collector/elf/elf.h"
#include "collector/elf/roots.h"

/* Those of the code at offsets from low to high - 1 of which `rows` says
 * nothing, for roots_merge(); an error is kept in the result. */
void prologue_find(const struct elf *e, const struct ehframe_rows *rows,
    uint32_t low, uint32_t high, size_t max_rows, struct roots *out);

#endif
