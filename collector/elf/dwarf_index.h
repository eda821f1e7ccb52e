/*
 * Which function, and which calls inlined into it, an address belongs to, by
 * a file's debug information: for the daemon's child, which names what runs,
 * and for the command, which names what a dump holds.
 *
 * Each compile unit is read once: its functions and inlined calls become
 * sorted ranges, so that a hundred thousand addresses cost one walk over what
 * they touch.  The file may be crafted: every list has a limit, every walk
 * goes forward.
 */
#ifndef COLLECTOR_DWARF_INDEX_H
#define COLLECTOR_DWARF_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_SCOPES_MAX 256

struct dwarf_index;

/* What covers an address.  Entries live as long as the index, or until
 * another address of their unit is looked up. */
struct dwarf_scopes {
	uint32_t unit; /* below dwarf_index_units() */
	Dwarf_Die *unit_die;
	uint64_t entry; /* where the function begins */
	size_t n;       /* 0: no function is known there */
	Dwarf_Die *dies[DWARF_SCOPES_MAX]; /* the function, then inlined calls,
	                                      outermost first */
};

/* An index over the units of `dw`, which is borrowed; NULL: out of memory. */
struct dwarf_index *dwarf_index_new(Dwarf *dw);
void dwarf_index_free(struct dwarf_index *x); /* NULL is fine */
uint32_t dwarf_index_units(const struct dwarf_index *x);

/* False where no unit covers the address.  Fastest where addresses come
 * sorted. */
bool dwarf_index_find(struct dwarf_index *x, uint64_t address,
    struct dwarf_scopes *out);

#endif
