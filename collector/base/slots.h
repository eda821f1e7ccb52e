/*
 * Which slot is open, and when it is to be closed.  No clock of its own:
 * the caller tells the time, so that tests can make it jump.
 *
 *	wall   ...|   k   |  k+1  |  k+2  |...
 *	                    ^ k closes here: `grace` after its end, so that
 *	                      what was measured at the end can still come in
 *
 * A slot is never closed twice while the clock runs on or is stepped back a
 * little (up to SLOTS_BACK_MAX slots: then the open slot stays open until
 * the clock has passed it again).  After a jump forward or a suspend the
 * open slot is closed with what it has, and the present one is next: the
 * gap stays a gap.
 */
#ifndef COLLECTOR_SLOTS_H
#define COLLECTOR_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define SLOTS_GRACE_MAX_NS INT64_C(200000000)
#define SLOTS_LAG_MAX 64  /* slots closed one by one when we are late */
#define SLOTS_BACK_MAX 64 /* a larger step back is believed */

enum slots_jump {
	SLOTS_STEADY,
	SLOTS_FORWARD, /* the clock was set, or the machine slept */
	SLOTS_BACK,    /* small step back: waiting */
	SLOTS_RESET    /* large step back: went there */
};

struct slots {
	uint64_t open; /* the slot that is open now */
	uint64_t skipped; /* slots that were never open, since the start */
	int64_t slot_ns, grace_ns;
	int64_t wall_ns, mono_ns; /* at the last update */
	bool leave; /* close the open slot now and go to the present one */
	bool hurry; /* nothing more comes in: no grace */
};

void slots_init(struct slots *s, int64_t slot_ns, int64_t wall_ns,
    int64_t mono_ns);

/* Takes up the time; call before slots_next(). */
enum slots_jump slots_update(struct slots *s, int64_t wall_ns,
    int64_t mono_ns);

/* True when a slot is to be closed: *slot is its number, and the next one
 * has become the open one.  Call until it is false. */
bool slots_next(struct slots *s, uint64_t *slot);

/* Nothing more comes in: slots_next() gives what is over without grace, up
 * to the present slot, which stays open. */
void slots_hurry(struct slots *s);

/* The number of a period: another one when `interval_ns` is over, and when a
 * slot is, for what is read in a slot is to be read at its end. */
int64_t slots_period(int64_t wall_ns, int64_t slot_ns, int64_t interval_ns);

/* Wall time at which slots_next() may become true. */
int64_t slots_due_ns(const struct slots *s);

#endif
