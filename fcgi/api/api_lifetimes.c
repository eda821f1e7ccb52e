/*
 * GET /api/v1/lifetimes: how much of what a service allocates does not outlive
 * the slot in which it came, and how much does, by pool of threads and stack.
 *
 *	allocated = short + kept      each of the sums adds up to the total
 *
 * The library of our own tells both (memlens run); of heap profiles that were
 * pulled or pushed nobody knows what was short: null, and so is what is kept.
 * Where a service has both, those are beside the answer: ours have the label
 * `process`.
 */
#include <stdlib.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/coverage.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/stack_list.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/model/types.h"
#include "store/store.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 1000

enum lifetimes_type { ALLOCATED, SHORT, OBJECTS, LIFETIMES_TYPES };

static const enum type_life lifetimes_of[LIFETIMES_TYPES] = {
    [ALLOCATED] = TYPE_LIFE_ALLOCATED, [SHORT] = TYPE_LIFE_SHORT,
    [OBJECTS] = TYPE_LIFE_OBJECTS};

struct lifetimes_who {
	const char *service, *instance; /* NULL: all instances */
};

struct lifetimes {
	struct profile *of[LIFETIMES_TYPES]; /* pools at depth 1 */
	uint64_t *hashes; /* of what is allocated */
	struct map64 at[LIFETIMES_TYPES]; /* hash -> node; of ALLOCATED none */
	int128 elsewhere; /* bytes that were allocated: nobody tells how long */
	struct measure_faults faults; /* what of the allocations was lost, */
	const char *why_lost;         /* if anything, else NULL */
	struct coverage_library library;
};

/* What is known of one node of ALLOCATED, with all below it or alone. */
struct lifetimes_row {
	uint32_t node;
	int128 amount[LIFETIMES_TYPES];
};

static void
lifetimes_fini(struct lifetimes *l)
{
	for (int t = 0; t < LIFETIMES_TYPES; t++) {
		profile_free(l->of[t]);
		map64_fini(&l->at[t]);
	}
	free(l->hashes);
	measure_faults_fini(&l->faults);
}

static const struct err *
lifetimes_ask(struct store *s, int t, const struct lifetimes_who *who,
    const char *more, struct profile_query *q, struct profile **out)
{
	struct selector *selector;
	const struct err *e = measure_selector(types_of_life(
	    lifetimes_of[t])->name, who->service, who->instance, more,
	    &selector);

	q->selector = selector;
	if (e == NULL)
		e = store_query_profile(s, q, out);
	selector_free(selector);
	return e;
}

/* What others say was allocated, where ours is known. */
static const struct err *
lifetimes_read_elsewhere(struct lifetimes *l, struct store *s,
    const struct lifetimes_who *who, struct profile_query *q)
{
	struct profile *p = NULL;
	const struct err *e;

	if (l->of[SHORT]->slots == 0)
		return NULL;
	e = lifetimes_ask(s, ALLOCATED, who, "process=\"\"", q, &p);
	if (e == NULL)
		l->elsewhere = p->nodes[0].total;
	profile_free(p);
	return e;
}

/* By the hashes of their stacks. */
static const struct err *
lifetimes_index(struct lifetimes *l, int t)
{
	const struct profile *p = l->of[t];
	uint64_t *hashes = stack_list_hashes(p);
	bool good = hashes != NULL;

	for (uint32_t i = 0; good && i < p->n_nodes; i++)
		good = map64_get(&l->at[t], hashes[i]) != INTERN_NONE ||
		    map64_add(&l->at[t], hashes[i], i);
	if (t == ALLOCATED)
		l->hashes = hashes;
	else
		free(hashes);
	return good ? NULL : err_nomem();
}

/* Of an instance beside one that has the library nobody tells: slots are the
 * service's. */
static void
lifetimes_know_nothing(struct lifetimes *l)
{
	for (int t = 0; t < LIFETIMES_TYPES; t++)
		l->of[t]->slots = 0;
}

/* What of that the library has lost, where it is its. */
static const struct err *
lifetimes_read_lost(struct lifetimes *l, struct store *s,
    const struct lifetimes_who *who, const struct profile_query *q)
{
	const struct type *t = types_of_life(lifetimes_of[ALLOCATED]);
	struct selector *selector;
	const struct err *e = measure_selector(t->name, who->service,
	    who->instance, "", &selector);

	if (e == NULL)
		e = coverage_ask_library(s, selector, q->from_ns, q->until_ns,
		    &l->library);
	if (e == NULL)
		e = measure_faults(s, selector, q->from_ns, q->until_ns,
		    &l->faults);
	selector_free(selector);
	if (!l->library.ours)
		measure_faults_void(&l->faults);
	if (!l->library.ours && l->of[ALLOCATED]->stacks == 0)
		lifetimes_know_nothing(l);
	l->why_lost = measure_why_lost(&l->faults, t,
	    l->of[ALLOCATED]->stacks == 0);
	return e;
}

static const struct err *
lifetimes_read(struct lifetimes *l, struct store *s,
    const struct lifetimes_who *who, int64_t from_ns, int64_t until_ns)
{
	struct profile_query q = {.from_ns = from_ns, .until_ns = until_ns,
	    .split = "pool"};
	const char *ours = "process!=\"\"";
	const struct err *e = lifetimes_ask(s, SHORT, who, "", &q,
	    &l->of[SHORT]);

	if (e == NULL && l->of[SHORT]->slots == 0)
		ours = ""; /* whatever there is */
	for (int t = 0; e == NULL && t < LIFETIMES_TYPES; t++) {
		if (t != SHORT)
			e = lifetimes_ask(s, t, who, ours, &q, &l->of[t]);
		if (e == NULL)
			e = lifetimes_index(l, t);
	}
	if (e == NULL)
		e = lifetimes_read_elsewhere(l, s, who, &q);
	return e != NULL ? e : lifetimes_read_lost(l, s, who, &q);
}

static struct lifetimes_row
lifetimes_row(const struct lifetimes *l, uint32_t node, bool alone)
{
	struct lifetimes_row r = {.node = node};

	for (int t = 0; t < LIFETIMES_TYPES; t++) {
		uint32_t i = map64_get(&l->at[t], l->hashes[node]);
		const struct profile_node *x = i == INTERN_NONE ? NULL
		    : &l->of[t]->nodes[i];

		r.amount[t] = x == NULL ? 0 : alone ? x->self : x->total;
	}
	if (r.amount[SHORT] > r.amount[ALLOCATED]) /* each is rounded */
		r.amount[SHORT] = r.amount[ALLOCATED];
	return r;
}

static int
lifetimes_order(const void *a, const void *b)
{
	const struct lifetimes_row *x = a, *y = b;

	for (int t = SHORT; t >= ALLOCATED; t--)
		if (x->amount[t] != y->amount[t])
			return x->amount[t] < y->amount[t] ? 1 : -1;
	return x->node < y->node ? -1 : 1;
}

/* ---- the answer ---- */

static void
lifetimes_put(struct writer *w, const struct lifetimes *l, const char *key,
    int t, int128 v)
{
	if (l->of[t]->slots > 0) {
		writer_key_int128(w, key, v);
	} else {
		writer_key(w, key);
		writer_null(w);
	}
}

static void
lifetimes_put_row(struct writer *w, const struct lifetimes *l,
    const struct lifetimes_row *r)
{
	lifetimes_put(w, l, "allocated", ALLOCATED, r->amount[ALLOCATED]);
	lifetimes_put(w, l, "short", SHORT, r->amount[SHORT]);
	lifetimes_put(w, l, "kept", SHORT, r->amount[ALLOCATED] -
	    r->amount[SHORT]);
	lifetimes_put(w, l, "objects", OBJECTS, r->amount[OBJECTS]);
}

/* Nodes of depth 1, or those with something of their own below. */
static const struct err *
lifetimes_put_rows(struct writer *w, const struct lifetimes *l, bool pools,
    int64_t limit)
{
	const struct profile *p = l->of[ALLOCATED];
	struct lifetimes_row *rows = calloc(p->n_nodes + 1, sizeof(*rows));
	uint32_t n = 0;

	if (rows == NULL)
		return err_nomem();
	for (uint32_t i = 1; i < p->n_nodes; i++)
		if (pools ? p->nodes[i].depth == 1 : p->nodes[i].self != 0)
			rows[n++] = lifetimes_row(l, i, !pools);
	qsort(rows, n, sizeof(*rows), lifetimes_order);
	writer_key_open(w, pools ? "pools" : "stacks", '[');
	for (uint32_t i = 0; i < n && i < limit; i++) {
		uint32_t pool = rows[i].node;

		while (p->nodes[pool].depth > 1)
			pool = p->nodes[pool].parent;
		writer_open(w, '{');
		writer_key_str(w, "pool", p->nodes[pool].name);
		if (!pools)
			stack_list_put(w, p, rows[i].node, 1);
		lifetimes_put_row(w, l, &rows[i]);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	free(rows);
	return NULL;
}

static const struct err *
lifetimes_answer(const struct lifetimes *l, struct store *s,
    const struct lifetimes_who *who, int64_t limit, struct writer *w)
{
	const struct profile *p = l->of[ALLOCATED];
	struct lifetimes_row all = lifetimes_row(l, 0, false);
	const struct err *e;

	writer_open(w, '{');
	writer_key_str(w, "service", who->service);
	writer_key(w, "instance");
	if (who->instance != NULL)
		writer_str(w, who->instance);
	else
		writer_null(w);
	writer_key_str(w, "state", p->slots > 0 && (l->why_lost == NULL ||
	    p->stacks > 0) ? "data" : "no data");
	writer_key_str(w, "why", l->why_lost != NULL ? l->why_lost :
	    p->slots == 0 && !l->library.ours ? COVERAGE_UNSEEN : "");
	writer_key_seconds(w, "from", p->from_ns);
	writer_key_seconds(w, "until", p->until_ns);
	writer_key_int(w, "slots", (int64_t)p->slots);
	writer_key_seconds(w, "seconds", p->seen_ns);
	lifetimes_put_row(w, l, &all);
	lifetimes_put(w, l, "elsewhere", SHORT, l->elsewhere);
	measure_put_faults(w, &l->faults, types_of_life(
	    lifetimes_of[ALLOCATED])->name, NULL);
	if (l->why_lost != NULL) {
		writer_key(w, "incomplete");
		writer_bool(w, true);
	}
	coverage_put_library(w, &l->library);
	e = lifetimes_put_rows(w, l, true, limit);
	if (e == NULL)
		e = lifetimes_put_rows(w, l, false, limit);
	partial_put(w, s, p->from_ns, p->until_ns);
	writer_close(w, '}');
	return e;
}

const struct err *
api_lifetimes(struct context *c, struct request *rq, struct response *rs)
{
	struct lifetimes l = {0};
	struct writer w = writer_of(&rs->body);
	int64_t from_ns, until_ns, limit;
	struct lifetimes_who who = {.instance = request_text(rq, "instance")};
	const struct err *e;
	struct store *s;

	if ((e = request_need(rq, "service", &who.service)) != NULL ||
	    (e = request_range(rq, &from_ns, &until_ns)) != NULL ||
	    (e = request_int(rq, "limit", 0, LIMIT_MAX, LIMIT_DEFAULT,
	    &limit)) != NULL || (e = context_store(c, &s)) != NULL)
		return e;
	e = lifetimes_read(&l, s, &who, from_ns, until_ns);
	if (e == NULL)
		e = lifetimes_answer(&l, s, &who, limit, &w);
	lifetimes_fini(&l);
	return e;
}
