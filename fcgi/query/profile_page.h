/*
 * What the pages that draw a profile have in common: the parameters, the
 * question to the store, the tree after focus, ignore and truncation, and
 * why there may be none.
 */
#ifndef FCGI_PROFILE_PAGE_H
#define FCGI_PROFILE_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "fcgi/format/flame/flame.h"
#include "fcgi/query/coverage.h"
#include "fcgi/query/measure.h"

struct context;
struct err;
struct profile_taker;
struct request;
struct response;

struct profile_page {
	const char *query; /* borrowed from the request */
	struct selector *selector;
	int64_t from_ns, until_ns; /* widened to what is kept */
	bool widened;
	struct flame_options options;
	struct store *store;
	struct profile *profile; /* NULL when the client has the answer */
	struct flame *flame;
	/* "data"; "zero": looked at, nothing seen; "no data": or no stack has
	 * ever had the labels that were asked for; "partial": some of it is
	 * damaged (partial.h); and what the source of this name says when it
	 * is not attached */
	const char *state;
	bool looked_back; /* for that: beyond the range */
	struct source_state *sources;
	size_t n_sources;
	bool incomplete; /* records were lost of which some may be of it */
	const char *why; /* of those, or why it was widened, or "" */
	struct measure_faults faults; /* lost samples, broken stacks */
	struct coverage coverage;
	struct coverage_library library; /* of memory */
	struct {
		struct metric_series *series;
		size_t n;
	} threshold; /* from which on waits have stacks */
	struct {
		bool known;
		int128 ns;
	} watched; /* how much of the range, of waits or CPU time */
	int128 measured; /* all of it as it was sampled */
	bool by_module;  /* set before: frames of each module apart */
	const struct type *idle; /* set before: without its idle waits */
	bool calibrate;  /* amounts are scaled to what the kernel counted */
	const struct profile_taker *taker; /* or NULL */
};

/*
 * Answers the question of a request.  page->profile NULL: the response is a
 * 304 already.  Errors: those of the parameters, 404 for a service that has
 * no profile at all.  profile_page_fini() after any outcome.
 */
const struct err *profile_page_init(struct profile_page *page,
    struct context *c, const struct request *rq, struct response *rs);
void profile_page_fini(struct profile_page *page);
/* Frees the profile and its tree before that: for who asks for others. */
void profile_page_drop(struct profile_page *page);

/* For who has a store and a range of his own: widens it to what is kept, and
 * says so in the header. */
void profile_page_widen(struct profile_page *page, struct response *rs);

/* The same, laid out whole: for answers that nothing may be cut from. */
const struct err *profile_page_init_whole(struct profile_page *page,
    struct context *c, const struct request *rq, struct response *rs);

/* The same for who needs no tree: take() asks the store itself, and what that
 * answers, which may be the root alone, is *out. */
struct profile_taker {
	const struct err *(*take)(void *arg, const struct profile_page *page,
	    const struct profile_query *q, struct profile **out);
	void *arg;
};
const struct err *profile_page_init_taken(struct profile_page *page,
    struct context *c, const struct request *rq, struct response *rs,
    const struct profile_taker *taker);

/* The stacks of a question, as the page shows them: without what is idle. */
const struct err *profile_page_take(const struct profile_page *page,
    const struct profile_query *q, struct profile **out);

struct writer;

/* Members of an open object: what the answer covers, its amounts and their
 * unit. */
void profile_page_put(struct writer *w, const struct profile_page *page);

/* Who measures it: of a sum, its first part; from whose records it is made, or
 * NULL; and is it taken from a threshold on? */
const char *profile_page_source(const struct profile_page *page);

/* Where nobody has any data, unit and kind are those of the type. */
void profile_page_type(struct profile *p, const struct selector *of);
const char *profile_page_records(const struct profile_page *page);
bool profile_page_has_threshold(const struct profile_page *page);

/* Is it counted for how long of the range it was looked at? */
bool profile_page_is_watched(const struct profile_page *page);

/* The samples of what is shown; false where they are not known. */
bool profile_page_samples(const struct profile_page *page,
    struct profile_samples *out);

/* A member that is null where samples are not known. */
void profile_page_put_samples(struct writer *w, const char *key, bool known,
    int128 n);

/* "cpu{service="x"}   2026-11-21 10:00:00 to ... UTC   12.465 s, 1,234
 * samples", as headings have it, of a stock "5,000 bytes on average", with
 * focus and ignore; NUL-terminated. */
void profile_page_put_title(struct buf *out, const struct profile_page *page);

/* For pages that ask several times: from a page with selector, range and
 * store to one with a profile, its state and faults. */
const struct err *profile_page_ask(struct profile_page *page);

/* The selector of page->query; with idle=hide page->idle is the type whose
 * waits for work are left out. */
const struct err *profile_page_select(struct profile_page *page,
    const struct request *rq);

/* Which stacks and frames: focus, ignore, collapse, reverse, and min-width
 * where it is a share; into page->options. */
const struct err *profile_page_parse_shape(struct profile_page *page,
    const struct request *rq);

/* Units a second for what counts time, else 1: flamebearer's sampleRate. */
int64_t profile_page_rate(const struct profile *p);

/* Seconds that have data: what a rate is over. */
double profile_page_seconds(const struct profile_page *page);

/* What flamebearer's metadata calls a unit beside profile_page_rate():
 * "samples" for all that is time, as Pyroscope does. */
const char *profile_page_ticks(const struct profile *p);

/* The unit of amounts: "nanoseconds", "bytes", "samples", ... */
const char *profile_page_units(const struct profile *p);

#endif
