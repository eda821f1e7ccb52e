/*
 * GET /api/v1/threads with `by`: pools that differ in labels which only
 * profiles have.  And, for it without, for how long of each step threads were
 * watched, over which a mean is.
 */
#ifndef FCGI_THREADS_BY_H
#define FCGI_THREADS_BY_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct metric_series;
struct step_page;
struct store;
struct writer;

#define THREADS_TIME "thread_seconds_total"

struct threads_watched {
	struct metric_series *series; /* n 0: nobody has counted it */
	size_t n;
};

/* metric_series_free() the series. */
const struct err *threads_watched_load(struct threads_watched *w,
    const struct step_page *q, struct store *s);
/* What the mean of a pool that was seen in so many slots of step i is over, in
 * ns: those slots, or what was watched of all that there are. */
uint128 threads_watched_ns(const struct threads_watched *w,
    const struct step_page *q, size_t i, uint64_t slots);
/* The member "watched" of an open object. */
void threads_watched_put(struct writer *w, const struct threads_watched *of,
    const struct step_page *q);

/* Members of an open object: "sampled", and "pools" by the labels that `by`
 * names, parted by commas.  Errors: 400 with the field "by" or "query". */
const struct err *threads_by_put(struct writer *w, const struct step_page *q,
    const char *by, const struct threads_watched *watched, struct store *s);

#endif
