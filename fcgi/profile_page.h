/*
 * What the pages that draw a profile have in common: the parameters, the
 * question to the store, the tree after focus, ignore and truncation, and
 * why there may be none.
 */
#ifndef FCGI_PROFILE_PAGE_H
#define FCGI_PROFILE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/format/flame.h"
#include "fcgi/measure.h"

struct context;
struct err;
struct request;
struct response;

struct profile_page {
	const char *query; /* borrowed from the request */
	struct selector *selector;
	int64_t from_ns, until_ns;
	struct flame_options options;
	struct store *store;
	struct profile *profile; /* NULL when the client has the answer */
	struct flame *flame;
	/* "data"; "zero": looked at, nothing seen; "no data"; "partial":
	 * some of it is damaged (partial.h); and what the
	 * source of this name says when it is not attached */
	const char *state;
	struct source_state *sources;
	size_t n_sources;
	const char *why; /* of that state, or "" */
	struct measure_faults faults; /* lost samples, broken stacks */
};

/*
 * Answers the question of a request.  page->profile NULL: the response is a
 * 304 already.  Errors: those of the parameters, 404 for a service that has
 * no profile at all.  profile_page_fini() after any outcome.
 */
const struct err *profile_page_init(struct profile_page *page,
    struct context *c, const struct request *rq, struct response *rs);
void profile_page_fini(struct profile_page *page);

/* The same, laid out whole: for answers that nothing may be cut from. */
const struct err *profile_page_init_whole(struct profile_page *page,
    struct context *c, const struct request *rq, struct response *rs);

struct writer;

/* Members of an open object: what the answer covers, and what a tick is. */
void profile_page_put(struct writer *w, const struct profile_page *page);

/* "cpu{service="x"}   2026-11-21 10:00:00 to ... UTC   1,234 samples", as
 * headings have it, with focus and ignore; NUL-terminated. */
void profile_page_put_title(struct buf *out, const struct profile_page *page);

/* For pages that ask several times: from a page with selector, range and
 * store to one with a profile, its state and faults. */
const struct err *profile_page_ask(struct profile_page *page);

/* Which stacks and frames: focus, ignore, collapse, reverse, and min-width
 * where it is a share; into page->options. */
const struct err *profile_page_parse_shape(struct profile_page *page,
    const struct request *rq);

/* Ticks a second for what counts time, else 1. */
int64_t profile_page_rate(const struct profile *p);

/* Seconds that have data: what a rate is over. */
double profile_page_seconds(const struct profile_page *page);

/* Is a tick a sample?  Not where it is a byte, and not where periods are
 * mixed and it is a nanosecond. */
bool profile_page_is_samples(const struct profile *p);

/* "1,234 samples", "12.5 s", "77 bytes". */
void profile_page_put_amount(struct buf *out, const struct profile *p,
    int128 ticks);

/* What flamebearer's metadata calls a tick of profile_page_rate(): "samples"
 * for all that is time. */
const char *profile_page_ticks(const struct profile *p);

/* What a tick is: "samples", "nanoseconds", "bytes", ... */
const char *profile_page_units(const struct profile *p);

#endif
