/*
 * Reads files by blocks, of which those of the last reads stay: a symbol is
 * looked for in many small steps, and most of them are where those for the
 * symbol before were.  For the main thread alone.
 */
#ifndef COLLECTOR_BLOCKS_H
#define COLLECTOR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCKS_NONE 0 /* of a file of which nothing stays */

/* For a file as it is opened: what was read of another one is not its own. */
uint64_t blocks_file(void);

/* Fills n bytes from place `at` of an open file, or returns false. */
bool blocks_read(int fd, uint64_t file, uint64_t at, void *p, size_t n);

#endif
