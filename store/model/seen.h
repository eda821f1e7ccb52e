/*
 * Which slots of a range have data, of any of the series that an answer sums.
 *
 * A slot counts once, whatever series observe it, and how often.  Blocks above
 * slots know sums of observations alone: of files that have no finer ones,
 * and of ranges too long to look at every slot, no more is known than that so
 * many slots have data at most ("coarse").  Series that differ in their period
 * alone are one source there, which observes a slot at one rate or another,
 * and the source that was seen most is what is told.
 */
#ifndef STORE_SEEN_H
#define STORE_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct series_desc;

struct seen_source {
	uint64_t who, slots; /* hash of all but the period */
};

/* All zero, then seen_begin(); seen_fini() after any outcome. */
struct seen {
	uint64_t from, until; /* slots */
	uint8_t *bits;        /* a bit a slot; NULL: the range is too long */
	uint64_t n;           /* bits that are set */
	struct seen_source *sources; /* of what is coarse */
	size_t n_sources, cap;
};

/* Slots [from, until).  Errors: out of memory. */
const struct err *seen_begin(struct seen *s, uint64_t from, uint64_t until);
/* This one of the range has data; nothing where the range is too long. */
void seen_slot(struct seen *s, uint64_t slot);
bool seen_has(const struct seen *s, uint64_t slot);
/* Is there nothing to find out about [from, until) any more? */
bool seen_all(const struct seen *s, uint64_t from, uint64_t until);
/* Of some slots of a series nothing but this sum is known. */
const struct err *seen_coarse(struct seen *s, const struct series_desc *d,
    uint64_t observations);
/* How many have data; *about: that is an estimate. */
uint64_t seen_slots(struct seen *s, bool *about);
void seen_fini(struct seen *s);

#endif
