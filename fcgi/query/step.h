/*
 * What routes that answer over consecutive steps have in common: the
 * parameters, whether the client has the answer, and its head.
 */
#ifndef FCGI_STEP_H
#define FCGI_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct err;
struct request;
struct response;
struct selector;
struct series_desc;
struct store;
struct writer;

#define STEP_POINTS_DEFAULT 1000 /* of one series, when no step is asked for */
#define STEP_POINTS_MAX 1000000  /* of all series of an answer together */
#define STEP_SERIES_MAX 8000 /* some of each service */

struct step_page {
	const char *query; /* borrowed from the request */
	struct selector *selector;
	int64_t from_ns, until_ns, step_ns; /* that the store has */
	int64_t slot_ns;
	int64_t asked_until_ns; /* before it was rounded down */
	bool widened;           /* to what retention has left */
	size_t max_series;      /* that the answer has room for */
};

/* Writes the answer, or says what the rest of the request lacks. */
typedef const struct err *step_answer_fn(const struct step_page *p,
    const struct request *rq, struct store *s, struct writer *w);

/*
 * A whole route, but for its answer: reads query, from, until and step.  The
 * step goes up to whole slots, by default to the least that gives a chart no
 * more points than it can show, and, where retention has left less, to what
 * there is; the edges go down, and outwards to that.  Errors: 400, or 413 where
 * there is no room for the points of one series, and those of the answer.
 */
const struct err *step_page_serve(struct context *c, const struct request *rq,
    struct response *rs, step_answer_fn *answer);

/* How many slots step i was seen in, by the observations of a series: a slot in
 * which its source began anew has two of them. */
uint64_t step_page_slots(const struct step_page *p, size_t i,
    uint64_t observations);

/* Members of an open object: from, until, step, and why they are others than
 * those that were asked for, or "". */
void step_page_put(struct writer *w, const struct step_page *p);

#endif
