/*
 * The table of the allocator's library (collector/alloc/alloc.h), read from
 * the memory of a process that has it: what it holds that was sampled.
 *
 * It is foreign memory: a fixed layout is looked for where our own library has
 * it, and of what is there only numbers are believed, within bounds.
 */
#ifndef COLLECTOR_OBJECTS_TABLE_H
#define COLLECTOR_OBJECTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alloc_cell;
struct err;

/* Where the library is on the disk, and what is in it. */
struct objects_library {
	uint64_t ino;
	uint64_t took, gave; /* offsets in the file of the probes' places */
	uint64_t code;  /* offset in the file of its code, */
	int64_t table;  /* and from there to the table, in memory */
};

/* Reads the symbols of our own library.  Errors: ERR_ERRNO, ERR_FORMAT. */
const struct err *objects_library_read(const char *path,
    struct objects_library *out);

/* The objects in the table at `address` of a process: *cells, sorted by
 * address, to be freed.  False: there is no such table, or it cannot be
 * read. */
bool objects_table_read(int32_t pid, uint64_t address,
    struct alloc_cell **cells, size_t *n);

/* Is an address in them? */
bool objects_table_has(const struct alloc_cell *cells, size_t n,
    uint64_t address);

#endif
