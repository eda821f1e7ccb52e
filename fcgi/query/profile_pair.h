/*
 * Two (query, range) pairs beside each other: what every page that compares
 * A with B begins with.
 *
 *	A   query, from, until
 *	B   query-b, from-b, until-b; each is A's where it is absent
 *
 * B is seen against A: a difference is B - A.  Before that both are brought
 * to the same size, and the answer says how:
 *
 *	total     shares of the whole: what grew in proportion
 *	time      a second of the time that has data: what grew at all
 *	requests  a request, counted by the metric that `requests` selects
 */
#ifndef FCGI_PROFILE_PAIR_H
#define FCGI_PROFILE_PAIR_H

#include "fcgi/format/flame/diff.h"
#include "fcgi/query/profile_page.h"

enum pair_normalise { PAIR_TOTAL, PAIR_TIME, PAIR_REQUESTS };

struct profile_pair {
	struct profile_page side[2]; /* without a flame; by DIFF_A, DIFF_B */
	struct diff *diff;           /* NULL when the client has the answer */
	size_t normalise;            /* enum pair_normalise */
	int64_t max_nodes;
	double size[2];   /* that each side is divided by; 0: has nothing */
	char words[320];  /* how, for people */
};

/*
 * Answers both questions.  pair->diff NULL: the response is a 304 already.
 * Errors: those of the parameters; 404 for a service without any profile;
 * 422 for two units.  profile_pair_fini() after any outcome.
 */
const struct err *profile_pair_init(struct profile_pair *pair,
    struct context *c, const struct request *rq, struct response *rs);
void profile_pair_fini(struct profile_pair *pair);

/* Both sides as options leave them. */
struct profile_pair_shaped {
	struct profile *side[2];
	struct diff *diff; /* NULL: they are as they were */
};

/* Errors: those of flame_shape(), ENOMEM.  profile_pair_shaped_fini() after
 * any outcome. */
const struct err *profile_pair_shape(struct profile_pair_shaped *s,
    const struct profile_pair *pair, const struct flame_options *o);
void profile_pair_shaped_fini(struct profile_pair_shaped *s);

/* 1 / size, or 0: the weights of a difference (see table_sort()). */
void profile_pair_weights(const struct profile_pair *pair, double weight[2]);

#endif
