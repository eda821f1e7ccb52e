/*
 * How many slots of a range have data, when a profile's rate, and with it its
 * series, changes: series that differ in their period alone are one source,
 * which observes a slot at one rate or another.
 */
#ifndef STORE_SEEN_H
#define STORE_SEEN_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct series_desc;

struct seen_source {
	uint64_t who, slots; /* hash of all but the period */
};

/* All zero: nothing was seen.  seen_fini() after any outcome. */
struct seen {
	struct seen_source *sources;
	size_t n, cap;
};

/* A series has been observed so often. */
const struct err *seen_add(struct seen *s, const struct series_desc *d,
    uint64_t observations);
/* The slots of the source that was seen most, at most `max`.  A slot in which
 * the rate changed counts twice. */
uint64_t seen_slots(struct seen *s, uint64_t max);
void seen_fini(struct seen *s);

#endif
