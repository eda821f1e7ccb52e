/*
 * The file behind a mapping, through another process's entry in /proc.
 */
#ifndef COLLECTOR_MAPPING_OPEN_H
#define COLLECTOR_MAPPING_OPEN_H

#include <stdint.h>

struct mapping;

/* Opens it for reading: by the mapping itself, else by its name; -1 where it
 * is neither there, or another file by now.  `name` is its path within the
 * root of process `pid`.  The descriptor is the caller's. */
int mapping_open(const char *proc, int32_t pid, const char *name,
    const struct mapping *map);

/* By the name alone: of a process whose mapping has gone. */
int mapping_open_path(const char *proc, int32_t pid, const char *name,
    const struct mapping *map);

#endif
