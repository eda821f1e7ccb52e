/*
 * The parameter "step" of routes that answer over consecutive steps.
 */
#ifndef FCGI_STEP_H
#define FCGI_STEP_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct request;

#define STEP_POINTS_DEFAULT 1000 /* of one series, when no step is asked for */
#define STEP_POINTS_MAX 1000000  /* of all series of an answer together */

/* The step asked for, up to whole slots; else the least that gives a chart of
 * [from, until) no more points than it can show.  ERR_REQUEST 400. */
const struct err *step_parse(const struct request *rq, int64_t from_ns,
    int64_t until_ns, int64_t slot_ns, int64_t *step_ns);

/* How many series an answer may have at this step: at most `most`.
 * ERR_REQUEST 413 when there is no room for one. */
const struct err *step_room(int64_t from_ns, int64_t until_ns,
    int64_t step_ns, size_t most, size_t *series);

#endif
