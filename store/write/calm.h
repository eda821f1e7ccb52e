/*
 * May data go by its age?  A clock can be wrong: what it says now is believed
 * only after it has gone on steadily for an hour, and even then only so much
 * goes in each hour.  An hour is 360 slots, so that all of it scales with
 * them.
 */
#ifndef STORE_CALM_H
#define STORE_CALM_H

#include <stdbool.h>
#include <stdint.h>

#define CALM_HOUR 360    /* slots that a clock must have gone on steadily */
#define CALM_JUMP 64     /* slots in one step: more is a jump */
#define CALM_SLOTS 16384 /* of data that may go in an hour */

struct calm {
	int64_t last_ns;  /* of the data's clock; 0: never asked */
	int64_t boot_ns;  /* CLOCK_BOOTTIME then */
	int64_t since_ns; /* steady for so long since a jump */
	int64_t jump_ns;  /* how far the last one went; 0: there was none */
	bool seen;        /* it went while somebody looked: nobody was off */
	uint64_t allowance; /* slots that may go now */
};

/* Once a second or slot.  `newest_ns` is the end of the newest data that
 * there was when the writer began, 0: there is none; a clock that is far
 * from it has jumped.  One that went far in as much of boot time has not:
 * nobody asked. */
void calm_tick(struct calm *c, int64_t slot_ns, int64_t now_ns,
    int64_t boot_ns, int64_t newest_ns);
/* Is the clock to be believed? */
bool calm_is(const struct calm *c, int64_t slot_ns);
/* Takes `slots` from what may go in this hour; a whole hour's allowance is
 * enough for anything. */
bool calm_spend(struct calm *c, uint64_t slots);

#endif
