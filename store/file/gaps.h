/*
 * Where in time a journal lacks records.  What was in a damaged one cannot be
 * known; it stood between two whole ones, and it is the slots between these
 * that answers lack.  (A late batch that was lost may have held others.)
 */
#ifndef STORE_GAPS_H
#define STORE_GAPS_H

#include <stddef.h>
#include <stdint.h>

#define GAPS_MAX 16 /* more in one journal become one */

struct gap {
	uint64_t from, until; /* slots, half-open */
};

struct gaps {
	struct gap list[GAPS_MAX]; /* in order, apart from each other */
	size_t n;
	uint64_t first;   /* slot of the journal's span */
	uint64_t home;    /* newest slot of the span so far */
	uint64_t damaged; /* records that are accounted for */
};

/* `first` is the journal's first slot; 0: the first batch tells it. */
void gaps_begin(struct gaps *g, uint64_t first);
/* After each batch: the slots of its n blocks, in their order and each once
 * or more; `damaged` counts all that was skipped up to it. */
void gaps_take(struct gaps *g, const uint64_t *slots, size_t n,
    uint64_t damaged);
/* At the end: what was skipped behind the last batch lasts to `until`. */
void gaps_end(struct gaps *g, uint64_t damaged, uint64_t until);

#endif
