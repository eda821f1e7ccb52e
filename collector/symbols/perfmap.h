/*
 * The map that a JIT writes for profilers: a line for each piece of machine
 * code,
 *
 *	START SIZE NAME		the first two hexadecimal
 *
 * in the order in which they were made: where two pieces overlap, the later
 * one counts.  The file is foreign; this code runs in the symbols child.
 * Names stay in the file and are read when asked for.
 */
#ifndef COLLECTOR_PERFMAP_H
#define COLLECTOR_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/elf/elf.h"

#define PERFMAP_BYTES_MAX (64u << 20)
#define PERFMAP_ENTRIES_MAX (1u << 20)

struct perfmap;

/* Reads the file; lines of another form are skipped.  The input must outlive
 * the result.  Errors: ELF_TOO_BIG, ELF_DAMAGED (unreadable),
 * ELF_NO_MEMORY. */
enum elf_status perfmap_open(struct perfmap **out,
    const struct elf_input *in);
void perfmap_close(struct perfmap *m);

/* The piece that holds an address; its name, cut at ELF_NAME_MAX - 1. */
bool perfmap_lookup(const struct perfmap *m, uint64_t addr,
    struct elf_symbol *out, char *name);

#endif
