/*
 * A question about profiles while it is answered: from blocks to what one
 * series has (query_blocks.c), from that to the answer (query_merge.c).
 */
#ifndef STORE_QUERY_PRIVATE_H
#define STORE_QUERY_PRIVATE_H

#include "store/model/seen.h"
#include "store/read/made.h"
#include "store/read/reader.h"

/* A part of a slot: [a, b) of its length, in ns. */
struct cut {
	uint64_t slot;
	int64_t a, b;
};

struct query {
	struct store *s;
	const struct profile_query *q;
	const struct profile_limit *limit;
	const char *function; /* that is asked for, in place of a tree; or */
	struct function_sum *has; /* NULL */
	const struct profile_each *each; /* who is given the tree, or NULL */
	uint64_t breaks;      /* of the store, as it began */
	struct profile *out;
	uint32_t *series; /* that match */
	size_t n_series;
	/* of the whole slots: step 0; of cuts: 1, 2; of what was seen in
	 * part: STEP_BRIEF and so on, once more */
	struct plan plan;
	const struct brief *brief;
	struct cut cuts[2];
	size_t n_cuts;
	uint64_t from, until; /* whole slots */
	struct node_values *sum, *one, *slot; /* the store's scratch */
	uint8_t *accepts; /* label set -> 0 unknown, 1 no, 2 yes */
	uint64_t observations; /* of the present series */
	uint64_t coarse;       /* of them, of slots that nobody tells apart */
	struct seen seen;      /* of all */
	struct made made;      /* when nobody stores what is asked for, */
	int part;              /* which part of it the series is, or 0 */
	uint64_t denominator;  /* of a stock's sum */
	enum {
		SAMPLES_NONE,    /* nothing is summed */
		SAMPLES_PERIOD,  /* all are of the answer's period */
		SAMPLES_UNKNOWN, /* nobody has said how many */
		SAMPLES_MIXED    /* they are counted one by one */
	} samples;
};

/* Which blocks answer it; their files are open then. */
const struct err *query_plan(struct query *q);
/* Everything of one series into q->one.  What a stock has at one time is no
 * less for being looked at over a part of the slot. */
const struct err *query_series(struct query *q, const struct series_desc *d,
    uint32_t series);
/* Takes out what the selector's label matchers refuse. */
void query_filter(struct query *q, const struct series_desc *d,
    struct node_values *v);

/* The first series says what is counted, even where it has nothing. */
void query_name(struct profile *out, const struct series_desc *d);
/* Adds q->one to the answer, in units; a stock's mean in parts of one. */
const struct err *query_merge(struct query *q, const struct series_desc *d);

#endif
