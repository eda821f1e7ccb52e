/*
 * From the parameters of a comparison to an aligned tree.
 */
#include "fcgi/query/profile_pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define MAX_NODES_DEFAULT 8192

static const char *const pair_normalises[] = {"total", "time", "requests",
    NULL};

static const struct err *
pair_parse(struct profile_pair *pair, const struct request *rq)
{
	struct profile_page *a = &pair->side[DIFF_A], *b = &pair->side[DIFF_B];
	const struct err *e;

	if ((e = request_need(rq, "query", &a->query)) != NULL ||
	    (e = request_range(rq, &a->from_ns, &a->until_ns)) != NULL ||
	    (e = request_int(rq, "max-nodes", -1, INT32_MAX, MAX_NODES_DEFAULT,
	    &pair->max_nodes)) != NULL ||
	    (e = request_choice(rq, "normalise", pair_normalises, PAIR_TOTAL,
	    &pair->normalise)) != NULL)
		return e;
	b->query = request_text(rq, "query-b");
	if (b->query == NULL)
		b->query = a->query;
	b->from_ns = a->from_ns;
	b->until_ns = a->until_ns;
	if ((e = request_range_of(rq, "from-b", "until-b", &b->from_ns,
	    &b->until_ns)) != NULL ||
	    (e = profile_page_select(a, rq)) != NULL)
		return e;
	if ((e = profile_page_select(b, rq)) != NULL)
		return err_field(e->domain, e->code, "query-b", "%s", e->text);
	return NULL;
}

static bool
pair_unchanged(struct profile_pair *pair, const struct request *rq,
    struct response *rs)
{
	uint64_t tag = 0;

	for (int i = 0; i < 2; i++) {
		const struct profile_page *p = &pair->side[i];
		bool closed = false;

		tag = hash64_u64(tag, store_tag(p->store, p->from_ns,
		    p->until_ns, &closed));
		tag = hash64_u64(tag, (uint64_t)p->from_ns);
		tag = hash64_u64(tag, (uint64_t)p->until_ns);
		if (!closed || p->until_ns >= rq->now_ns)
			return false;
	}
	return response_unchanged_tag(rs, rq, tag);
}

/* What an empty side counts is what the other does. */
static const struct err *
pair_check_units(struct profile *a, struct profile *b)
{
	struct profile *empty = a->series == 0 ? a : b, *other =
	    a->series == 0 ? b : a;

	if (empty->series == 0) {
		empty->period = other->period;
		empty->kind = other->kind;
		memcpy(empty->unit, other->unit, sizeof(empty->unit));
		return NULL;
	}
	if (strcmp(a->unit, b->unit) != 0 || a->kind != b->kind)
		return err_field(ERR_REQUEST, 422, "query-b", "A counts %s "
		    "(%s), B counts %s (%s)", a->unit,
		    series_kind_name(a->kind), b->unit,
		    series_kind_name(b->kind));
	return NULL;
}

static void
pair_put_requests(char *out, size_t size, double requests)
{
	if (isnan(requests))
		snprintf(out, size, "no data of requests");
	else
		snprintf(out, size, "%.10g requests", requests);
}

/* Requests of both ranges by the metric that the client names. */
static const struct err *
pair_count_requests(struct profile_pair *pair, const struct request *rq)
{
	const struct err *e;
	char said[2][40];
	const char *text;

	if ((e = request_need(rq, "requests", &text)) != NULL)
		return e;
	for (int i = 0; e == NULL && i < 2; i++)
		e = measure_requests(pair->side[i].store, text,
		    pair->side[i].from_ns, pair->side[i].until_ns,
		    &pair->size[i]);
	for (int i = 0; e == NULL && i < 2; i++)
		pair_put_requests(said[i], sizeof(said[i]), pair->size[i]);
	if (e == NULL)
		snprintf(pair->words, sizeof(pair->words),
		    "Per request: %s in A, %s in B.", said[DIFF_A],
		    said[DIFF_B]);
	return e;
}

static const struct err *
pair_measure(struct profile_pair *pair, const struct request *rq)
{
	struct profile_page *side = pair->side;
	bool stock = side[DIFF_A].profile->kind == SERIES_STOCK;
	size_t n = sizeof(pair->words);
	const struct err *e = NULL;

	switch (pair->normalise) {
	case PAIR_TOTAL:
		for (int i = 0; i < 2; i++)
			pair->size[i] =
			    (double)side[i].profile->nodes[0].total;
		snprintf(pair->words, n, "Shares of each side's total: a "
		    "function that keeps its share is unchanged, even where "
		    "the whole has grown.");
		break;
	case PAIR_TIME:
		for (int i = 0; i < 2; i++)
			pair->size[i] = stock ? side[i].profile->slots > 0
					      : profile_page_seconds(&side[i]);
		snprintf(pair->words, n, stock ? "Averages over the time "
		    "that has data, as they are." : "Per second of the time "
		    "that has data: %.10g s of A, %.10g s of B.",
		    pair->size[DIFF_A], pair->size[DIFF_B]);
		break;
	default:
		e = pair_count_requests(pair, rq);
		break;
	}
	return e;
}

const struct err *
profile_pair_init(struct profile_pair *pair, struct context *c,
    const struct request *rq, struct response *rs)
{
	struct profile_page *a = &pair->side[DIFF_A], *b = &pair->side[DIFF_B];
	const struct err *e;

	*pair = (struct profile_pair){.side = {{.why = ""}, {.why = ""}}};
	if ((e = pair_parse(pair, rq)) != NULL ||
	    (e = context_store(c, &a->store)) != NULL)
		return e;
	b->store = a->store;
	profile_page_widen(a, rs);
	profile_page_widen(b, rs);
	if (pair_unchanged(pair, rq, rs))
		return NULL;
	if ((e = profile_page_ask(a)) != NULL ||
	    (e = profile_page_ask(b)) != NULL)
		return e;
	if (a->looked_back || b->looked_back)
		rs->etag[0] = '\0';
	if ((e = pair_check_units(a->profile, b->profile)) != NULL ||
	    (e = pair_measure(pair, rq)) != NULL)
		return e;
	return diff_new(&pair->diff, a->profile, b->profile);
}

void
profile_pair_fini(struct profile_pair *pair)
{
	diff_free(pair->diff);
	profile_page_fini(&pair->side[DIFF_A]);
	profile_page_fini(&pair->side[DIFF_B]);
}

const struct err *
profile_pair_shape(struct profile_pair_shaped *s,
    const struct profile_pair *pair, const struct flame_options *o)
{
	const struct err *e = NULL;

	*s = (struct profile_pair_shaped){.diff = NULL};
	if (!flame_is_filtered(o) && !flame_is_shaped(o))
		return NULL;
	for (int i = 0; i < 2 && e == NULL; i++)
		e = flame_shape(&s->side[i], pair->side[i].profile, o);
	return e == NULL ? diff_new(&s->diff, s->side[DIFF_A],
	    s->side[DIFF_B]) : e;
}

void
profile_pair_shaped_fini(struct profile_pair_shaped *s)
{
	diff_free(s->diff);
	profile_free(s->side[DIFF_A]);
	profile_free(s->side[DIFF_B]);
}

void
profile_pair_weights(const struct profile_pair *pair, double weight[2])
{
	for (int i = 0; i < 2; i++)
		weight[i] = pair->size[i] > 0 ? 1 / pair->size[i] : 0;
}
