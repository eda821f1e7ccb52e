/*
 * GET /api/v1/threads with `by`: pools that differ in labels which only
 * profiles have.
 */
#ifndef FCGI_THREADS_BY_H
#define FCGI_THREADS_BY_H

struct err;
struct step_page;
struct store;
struct writer;

#define THREADS_TIME "thread_seconds_total"

/* Members of an open object: "sampled", and "pools" by the labels that `by`
 * names, parted by commas.  Errors: 400 with the field "by" or "query". */
const struct err *threads_by_put(struct writer *w, const struct step_page *q,
    const char *by, struct store *s);

#endif
