/*
 * From the slot's aggregate to the batch.
 */
#ifndef COLLECTOR_EMIT_H
#define COLLECTOR_EMIT_H

#include <stdint.h>

struct batch;
struct engine;

#define EMIT_PLACES_MAX 512 /* a slot */
#define EMIT_PLACES_AGAIN_NS (24 * INT64_C(3600000000000))

/* The slot is over: whole stacks say what the threads began with that nobody
 * named.  Before waits are closed, which are of the same pools. */
void emit_entries(struct engine *s);

/* Adds the aggregate's blocks: a flow series for each type and service. */
void emit_profiles(struct engine *s, uint64_t slot, struct batch *b);

/*
 * Adds where functions were written, as facts (FACT_PLACE), when they are
 * first seen and then once a day, so that whoever asks for a range finds them
 * in it or not long before; nothing unless inlined functions are shown.
 */
void emit_places(struct engine *s, uint64_t slot, struct batch *b);

#endif
