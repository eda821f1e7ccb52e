/*
 * Slots in which a stock was seen for a part of the time alone, since its
 * profiler began or ended there (FACT_SEEN).
 *
 * A mean over a range is one over time, so such a slot weighs as long as it was
 * seen.  Its block has its observations as any other, two where the profiler
 * began anew within it, and is weighed when it is read:
 *
 *	slot     k     k + 1   k + 2
 *	seen     10 s  4 s     10 s
 *	in use   100   40      100
 *
 *	mean     (1000 * 100 + 400 * 40 + 1000 * 100) / 2400
 *
 * In ranges of more than BRIEF_SLOTS_MAX slots, and where retention has taken
 * the slots and left their sums, it weighs as a whole one.
 */
#ifndef STORE_BRIEF_H
#define STORE_BRIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selector;
struct series_desc;

#define BRIEF_WHOLE 1000       /* the weight of a slot that was seen wholly */
#define BRIEF_SLOTS_MAX 65536u /* 7.6 days of 10 s */
#define BRIEF_MAX 256          /* more in a range weigh as whole ones */

struct brief_one {
	uint64_t who;    /* brief_who() */
	size_t slot;     /* slots[slot] */
	int64_t seen_ns; /* of the slot */
};

struct brief { /* all zero is empty */
	struct brief_one all[BRIEF_MAX];
	uint64_t slots[BRIEF_MAX]; /* each once */
	size_t n, n_slots;
	int64_t slot_ns;
};

/* Empties it.  Are there any to be looked for in slots [from, until), for what
 * a selector of profiles asks?  Not where it names a flow. */
bool brief_begin(struct brief *b, const struct selector *selector,
    uint64_t from, uint64_t until, int64_t slot_ns);

/* Takes a fact FACT_SEEN; false: there is no room for more.  `arg` is the
 * brief. */
bool brief_take(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n);

/* Whose a series is. */
uint64_t brief_who(const struct series_desc *d);

/* What each of n > 0 observations of such a slot weighs: 1 at least. */
int64_t brief_weight(const struct brief *b, const struct brief_one *of,
    uint64_t n);

#endif
