/*
 * Sums over steps while they are made: groups of label sets
 * (totals_groups.c), and what is added to them (query_totals.c).
 */
#ifndef STORE_TOTALS_PRIVATE_H
#define STORE_TOTALS_PRIVATE_H

#include "store/model/brief.h"
#include "store/read/made.h"
#include "store/read/reader.h"

struct cells {
	int128 *sums; /* of the present series */
	uint64_t *denominators; /* of a stock's sums in the answer; 0: 1 */
	bool used;    /* by the present series */
};

struct totalling {
	struct store *s;
	const struct totals_query *q;
	struct totals *out;
	uint32_t *series;
	size_t n_series;
	struct plan plan; /* from step n_steps on: seen in part, once more */
	struct brief brief;
	uint64_t *weights;    /* by step, where that is; 0: observed */
	uint64_t from, until, step; /* slots */
	bool plain; /* all stacks are one group, whatever they are called */
	uint32_t *sets;       /* node -> label set */
	uint32_t *groups;     /* label set -> group + 2; 1: refused; 0: new */
	struct intern keys;   /* of groups */
	struct cells *cells;  /* by group */
	size_t cap;           /* of groups and cells */
	uint64_t *observed;   /* by step, of the present series */
	uint32_t now;         /* the present series */
	struct made made;     /* when nobody stores what is asked for */
	struct series_desc desc;
	struct label labels[BATCH_MAX_LABELS];
};

/* The group of a label set in the present series; UINT32_MAX: refused. */
const struct err *totals_group(struct totalling *t, uint32_t set,
    uint32_t *group);

#endif
