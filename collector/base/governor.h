/*
 * Keeps what we do often within its share of the CPU, by doing it less often.
 * What it costs has two parts: one that goes with the rate (`with`), and one
 * that does not (`beside`); slowing down is for the first one alone, and three
 * quarters of the budget are always the rate's: on a host that compiles, names
 * of new programs take more than all of it, at any rate.
 *
 *	share = budget - beside, at least 3/4 budget
 *
 *	with > share, GOVERNOR_OVER spans in a row        down a step
 *	with, at a higher rate, < 4/5 share, in each of
 *	    `patience` spans in a row                     up to that rate
 *	over again within GOVERNOR_RELAPSE spans          patience doubles
 *
 * No clock and no system calls of its own: the caller says what was used.
 */
#ifndef COLLECTOR_GOVERNOR_H
#define COLLECTOR_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

#define GOVERNOR_LEVELS 11 /* at most */
#define GOVERNOR_OVER 3
#define GOVERNOR_PATIENCE 2     /* at first, */
#define GOVERNOR_PATIENCE_MAX 5 /* and at most: with spans of 10 s, it is
                                 * within a minute that the rate is back */
#define GOVERNOR_RELAPSE 30

/* How much less often each level is than the first. */
struct governor_steps {
	unsigned n; /* <= GOVERNOR_LEVELS */
	int64_t divisors[GOVERNOR_LEVELS];
};

extern const struct governor_steps governor_rates; /* 1, 1/2, 1/5 */
extern const struct governor_steps governor_halves; /* down to 1/1024 */

struct governor {
	const struct governor_steps *steps;
	int64_t budget;   /* millionths of one CPU; 0: no limit */
	unsigned level;   /* 0: the configured rate */
	unsigned over, patience;
	unsigned calm[GOVERNOR_LEVELS]; /* spans that bear each rate */
	unsigned since_up; /* spans since the rate was raised */
};

/* ns of CPU in a span. */
struct governor_used {
	int64_t span_ns;
	int64_t with_ns;   /* grows with the rate */
	int64_t beside_ns; /* does not */
};

void governor_init(struct governor *g, const struct governor_steps *steps,
    int64_t budget);

/* A configured rate as it should be now, at least 1; a time between two
 * readings or a number of events between two samples likewise. */
int64_t governor_hz(const struct governor *g, int64_t hz);
int64_t governor_period(const struct governor *g, int64_t period);

/* Takes up what was used in a span; true when the rate changes by it. */
bool governor_step(struct governor *g, const struct governor_used *used);

/* What a source has used, judged so often: slots may be shorter, and are
 * closed unevenly.  `until` are the sums as that was done last, and then. */
struct governor_window {
	int64_t window_ns;
	struct governor_used until; /* span_ns: monotonic time */
	double ratio; /* of one CPU, in the span before */
};

/* From these sums on; of slots of this length. */
void governor_window_begin(struct governor_window *w, int64_t slot_ns,
    const struct governor_used *sums);
bool governor_window_is_over(const struct governor_window *w, int64_t now_ns);
/* What was used since the last one, up to these sums. */
struct governor_used governor_window_next(struct governor_window *w,
    const struct governor_used *sums);

#endif
