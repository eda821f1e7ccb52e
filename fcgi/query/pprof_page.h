/*
 * Profiles for pprof's tools as all pages write them: labels of stacks on
 * the samples, and where functions were written.
 */
#ifndef FCGI_PPROF_PAGE_H
#define FCGI_PPROF_PAGE_H

#include <stdbool.h>

struct buf;
struct err;
struct profile;
struct profile_query;
struct store;

/* A profile that was asked for with split ""; `service` is the one that it is
 * of, NULL: several. */
const struct err *pprof_page_put(struct buf *out, struct store *s,
    const struct profile *p, const char *service, const char *type,
    bool gzip);

/* The same of a question; its split says nothing here. */
const struct err *pprof_page_ask(struct buf *out, struct store *s,
    const struct profile_query *q, const char *type);

#endif
