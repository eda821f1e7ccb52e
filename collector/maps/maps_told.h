/*
 * The mappings of a process that ended before /proc was read, put together
 * from what the kernel told while they were made (maps_changes.h).
 */
#ifndef COLLECTOR_MAPS_TOLD_H
#define COLLECTOR_MAPS_TOLD_H

#include <stdint.h>

struct buf;
struct maps_change;
struct maps_changes;

/* Appends one line. */
void maps_tell(struct buf *text, const struct maps_change *m,
    const char *path);

/* Appends lines as in /proc/PID/maps, sorted, NUL-terminated: what the
 * process mapped from since_ns on (CLOCK_MONOTONIC), where nothing else came to
 * its place later. */
void maps_told(const struct maps_changes *c, int32_t pid, int64_t since_ns,
    struct buf *text);

#endif
