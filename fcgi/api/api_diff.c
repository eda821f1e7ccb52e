/*
 * GET /api/v1/diff.json: A against B as one tree with both values in every
 * frame, and as a table of functions that says how much each moved and how
 * much evidence there is for it.
 */
#include <stdio.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/flame/doublebearer.h"
#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/format/flame/search.h"
#include "fcgi/format/flame/table.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/profile_pair.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define LIMIT_DEFAULT 500
#define LIMIT_MAX 100000

static const char *const diff_orders[] = {"self", "total", "name",
    "difference", "total-difference", NULL};

/* From the order of words to table.h's. */
static const enum table_order diff_order_of[] = {TABLE_SELF, TABLE_TOTAL,
    TABLE_NAME, TABLE_SELF_DIFFERENCE, TABLE_TOTAL_DIFFERENCE};

static void
diff_put_real(struct writer *w, double v)
{
	struct buf text = {0};

	/* shortest of the forms that keep nine digits: no more is known */
	buf_printf(&text, "%.9g", v);
	if (!text.failed)
		writer_raw(w, (const char *)text.data, text.len);
	buf_fini(&text);
}

static void
diff_put_two(struct writer *w, const char *key, const int128 v[2])
{
	writer_key_open(w, key, '[');
	writer_int128(w, v[DIFF_A]);
	writer_int128(w, v[DIFF_B]);
	writer_close(w, ']');
}

/* Normalised values, their difference and ratio; null where a side has
 * nothing to divide by. */
static void
diff_put_moved(struct writer *w, const char *prefix, const int128 v[2],
    const double weight[2])
{
	bool both = weight[DIFF_A] > 0 && weight[DIFF_B] > 0;
	double n[2] = {(double)v[0] * weight[0], (double)v[1] * weight[1]};
	char key[40];

	snprintf(key, sizeof(key), "%s_normalised", prefix);
	writer_key_open(w, key, '[');
	for (int i = 0; i < 2; i++) {
		if (weight[i] > 0)
			diff_put_real(w, n[i]);
		else
			writer_null(w);
	}
	writer_close(w, ']');
	snprintf(key, sizeof(key), "%s_difference", prefix);
	writer_key(w, key);
	if (both)
		diff_put_real(w, n[DIFF_B] - n[DIFF_A]);
	else
		writer_null(w);
	snprintf(key, sizeof(key), "%s_ratio", prefix);
	writer_key(w, key);
	if (both && n[DIFF_A] > 0)
		diff_put_real(w, n[DIFF_B] / n[DIFF_A]);
	else
		writer_null(w);
}

static void
diff_put_shares(struct writer *w, const struct table *t,
    const struct table_row *r)
{
	writer_key_open(w, "share", '[');
	for (int i = 0; i < 2; i++) {
		if (t->sum[i] > 0)
			writer_quotient(
			    w, r->has.total[i], (uint128)t->sum[i], 0);
		else
			writer_null(w);
	}
	writer_close(w, ']');
}

/* Of both sides; null where they are not known of both. */
static void
diff_put_samples(struct writer *w, const char *key, const struct table *t,
    const int128 v[2])
{
	if (t->sampled)
		diff_put_two(w, key, v);
	else
		profile_page_put_samples(w, key, false, 0);
}

/* The samples that carry a row, and whether they are too few; null where that
 * is not known. */
static void
diff_put_evidence(struct writer *w, const struct table *t,
    const struct table_row *r)
{
	int128 samples = r->has.total_samples[0] + r->has.total_samples[1];
	enum diff_few few = diff_few(samples, r->has.total_unknown[0] +
	    r->has.total_unknown[1]);

	diff_put_samples(w, "self_samples", t, r->has.self_samples);
	diff_put_samples(w, "total_samples", t, r->has.total_samples);
	if (t->unknown) {
		diff_put_samples(w, "self_unknown", t, r->has.self_unknown);
		diff_put_samples(w, "total_unknown", t, r->has.total_unknown);
	}
	profile_page_put_samples(w, "samples", t->sampled, samples);
	writer_key(w, "few");
	if (t->sampled && few != DIFF_MAYBE_FEW)
		writer_bool(w, few == DIFF_FEW);
	else
		writer_null(w);
}

static void
diff_put_row(struct writer *w, const struct table *t,
    const struct table_row *r, const double weight[2])
{
	writer_open(w, '{');
	writer_key_str(w, "name", r->name);
	writer_key_str(w, "kind", flame_kind_name(r->kind));
	diff_put_two(w, "self", r->has.self);
	diff_put_two(w, "total", r->has.total);
	diff_put_shares(w, t, r);
	diff_put_moved(w, "self", r->has.self, weight);
	diff_put_moved(w, "total", r->has.total, weight);
	diff_put_evidence(w, t, r);
	writer_close(w, '}');
}

static void
diff_put_sides(struct writer *w, const struct profile_pair *pair)
{
	static const char *const names[] = {"a", "b"};

	for (int i = 0; i < 2; i++) {
		writer_key_open(w, names[i], '{');
		profile_page_put(w, &pair->side[i]);
		writer_key(w, "seconds");
		diff_put_real(w, profile_page_seconds(&pair->side[i]));
		writer_key(w, "divided_by");
		if (pair->size[i] > 0)
			diff_put_real(w, pair->size[i]);
		else
			writer_null(w);
		writer_close(w, '}');
	}
}

static void
diff_put_metadata(struct writer *w, const struct profile_pair *pair)
{
	const struct profile *a = pair->side[DIFF_A].profile,
	    *b = pair->side[DIFF_B].profile;

	writer_key_open(w, "metadata", '{');
	writer_key_str(w, "format", "double");
	writer_key_str(w, "spyName", "memlens");
	writer_key_int(w, "sampleRate", profile_page_rate(a));
	writer_key_str(w, "units", profile_page_ticks(a));
	writer_close(w, '}');
	writer_key_int128(w, "leftTicks", a->nodes[0].total);
	writer_key_int128(w, "rightTicks", b->nodes[0].total);
}

static void
diff_put_table(struct writer *w, const struct profile_pair *pair,
    struct table *t, enum table_order order, int64_t limit)
{
	double weight[2];

	profile_pair_weights(pair, weight);
	table_first(t, order, weight, false, (size_t)limit);
	writer_key_int(w, "functions", (int64_t)t->n_rows);
	writer_key_open(w, "rows", '[');
	for (size_t i = 0; i < t->n_rows && (int64_t)i < limit; i++)
		diff_put_row(w, t, &t->rows[i], weight);
	writer_close(w, ']');
}

struct diff_answer {
	struct flame_options shape;
	size_t order;
	int64_t limit;
	struct profile_pair_shaped tree, flat; /* flat: not from the leaves */
	struct table *table;
	struct search *search; /* NULL: all functions */
	int128 matched[2];
};

static const struct err *
diff_parse(struct diff_answer *a, const struct request *rq)
{
	const char *search = request_text(rq, "search");
	struct profile_page shape = {.why = ""};
	const struct err *e;

	if ((e = request_choice(rq, "sort", diff_orders, 3, &a->order)) !=
	    NULL ||
	    (e = request_int(rq, "limit", 0, LIMIT_MAX, LIMIT_DEFAULT,
	    &a->limit)) != NULL ||
	    (e = profile_page_parse_shape(&shape, rq)) != NULL ||
	    (search != NULL && *search != '\0' &&
	    (e = search_new(&a->search, search)) != NULL))
		return e;
	a->shape = shape.options;
	return NULL;
}

/* Functions stay what they are when the tree is read from the leaves, and
 * shares are those of the whole. */
static const struct err *
diff_make(struct diff_answer *a, const struct profile_pair *pair)
{
	struct flame_options flat = a->shape;
	const struct diff *whole;
	const struct err *e;

	flat.reverse = false;
	if ((e = profile_pair_shape(&a->tree, pair, &a->shape)) != NULL ||
	    (e = profile_pair_shape(&a->flat, pair, &flat)) != NULL)
		return e;
	whole = a->flat.diff != NULL ? a->flat.diff : pair->diff;
	if ((e = table_of_diff(&a->table, whole)) != NULL)
		return e;
	if (a->search != NULL) {
		search_table(a->search, a->table);
		search_diff(a->search, whole, a->matched);
		if ((e = search_check(a->search)) != NULL)
			return e;
	}
	for (int i = 0; i < 2; i++)
		a->table->sum[i] = pair->side[i].profile->nodes[0].total;
	return NULL;
}

static const struct err *
diff_put(const struct diff_answer *a, const struct profile_pair *pair,
    struct writer *w)
{
	const struct profile_page *side = pair->side;
	struct doublebearer_options o = {pair->max_nodes, "(other)", true,
	    side[DIFF_A].profile->samples != NULL ||
	    side[DIFF_B].profile->samples != NULL};
	static const char *const words[] = {"total", "time", "requests"};
	const struct err *e;

	writer_open(w, '{');
	writer_key_int(w, "version", 1);
	e = doublebearer_put(w, a->tree.diff != NULL ? a->tree.diff
						     : pair->diff, &o);
	diff_put_metadata(w, pair);
	diff_put_sides(w, pair);
	partial_put_state(w, pair->side[0].store, 0, INT64_MAX);
	writer_key_str(w, "normalise", words[pair->normalise]);
	writer_key_str(w, "words", pair->words);
	if (a->search != NULL) {
		writer_key_open(w, "matched", '{');
		diff_put_two(w, "amount", a->matched);
		writer_close(w, '}');
	}
	diff_put_table(w, pair, a->table, diff_order_of[a->order], a->limit);
	writer_close(w, '}');
	return e;
}

const struct err *
api_diff(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct diff_answer a = {.table = NULL};
	struct profile_pair pair;
	const struct err *e;

	if ((e = diff_parse(&a, rq)) != NULL) {
		search_free(a.search);
		return e;
	}
	e = profile_pair_init(&pair, c, rq, rs);
	if (e == NULL && pair.diff != NULL &&
	    (e = diff_make(&a, &pair)) == NULL)
		e = diff_put(&a, &pair, &w);
	table_free(a.table);
	search_free(a.search);
	profile_pair_shaped_fini(&a.tree);
	profile_pair_shaped_fini(&a.flat);
	profile_pair_fini(&pair);
	return e;
}
