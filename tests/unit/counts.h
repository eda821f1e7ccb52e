/*
 * For tests whose model counts samples: the samples of a node, whose amounts
 * must be so many periods of 99 Hz.
 */
#ifndef TESTS_UNIT_COUNTS_H
#define TESTS_UNIT_COUNTS_H

#include "store/store.h"
#include "tests/unit/test.h"

#define COUNTS_PERIOD_NS 10101010

static inline struct profile_samples
counts_of(const struct profile *p, size_t i)
{
	struct profile_samples s;

	if (profile_samples(p, i, &s)) {
		CHECK(p->nodes[i].self == s.self * COUNTS_PERIOD_NS);
		CHECK(p->nodes[i].total == s.total * COUNTS_PERIOD_NS);
	} else {
		/* nothing at all, of no series */
		CHECK(p->nodes[i].total == 0 && p->series == 0);
	}
	return s;
}

#endif
