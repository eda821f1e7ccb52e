/*
 * From an event to who ran and a stack of references, in the aggregate.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stddef.h>

struct engine;
struct sample_event;

/* Where samples go whose process ended before it was looked at. */
#define RESOLVE_EXITED "(exited)"

/* Adds one event of `size` bytes to the open slot's aggregate. */
void resolve_event(struct engine *s, const struct sample_event *e,
    size_t size);

#endif
