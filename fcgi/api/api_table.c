/*
 * GET /api/v1/table.json and sandwich.json: what each function has of a
 * profile, how one of them moves over time, who calls it and what it calls.
 */
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/format/flame/flamebearer.h"
#include "fcgi/format/flame/sandwich.h"
#include "fcgi/format/flame/search.h"
#include "fcgi/format/flame/table.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/places.h"
#include "fcgi/query/profile_page.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define LIMIT_DEFAULT 500
#define LIMIT_MAX 100000
#define STEPS_DEFAULT 60
#define STEPS_MAX 500 /* each is a query of its own */
#define MAX_NODES_DEFAULT 8192

/* as enum table_order has them; with a minus the last come first */
static const char *const table_orders[] = {"self", "total", "name", "-self",
    "-total", "-name", NULL};

/* ---- a function over time ---- */

struct table_time {
	const char *function; /* NULL: none is asked for */
	int64_t step_ns;
	const struct profile_page *page;
};

static const struct err *
table_time_parse(struct table_time *t, const struct request *rq,
    const struct profile_page *page)
{
	const char *text = request_text(rq, "step");
	int64_t from_ns = page->from_ns, until_ns = page->until_ns;
	int64_t span = until_ns - from_ns;
	struct store_extent extent;
	const struct err *e;

	store_extent(page->store, &extent);
	t->page = page;
	t->function = request_text(rq, "function");
	t->step_ns = span / STEPS_DEFAULT;
	if (text != NULL &&
	    (e = timespec_parse_duration(text, &t->step_ns)) != NULL)
		return err_field(ERR_REQUEST, 400, "step", "%s", e->text);
	if (t->step_ns < extent.slot_ns)
		t->step_ns = extent.slot_ns;
	t->step_ns += extent.slot_ns - 1;
	t->step_ns -= t->step_ns % extent.slot_ns;
	store_kept_steps(page->store, &from_ns, &until_ns, &t->step_ns);
	if (t->function != NULL && span / t->step_ns >= STEPS_MAX)
		return err_field(ERR_REQUEST, 413, "step", "more than %d "
		    "steps: ask for a longer one", STEPS_MAX);
	return NULL;
}

/* The sums of a tree: of means, or of what focus and ignore leave of it. */
static const struct err *
table_time_tree(const struct table_time *t, const struct profile_query *q,
    struct function_sum *sum)
{
	struct profile *p = NULL;
	struct flame *f = NULL;
	struct table_row r;
	const struct err *e = profile_page_take(t->page, q, &p);

	if (e == NULL)
		e = flame_new(&f, p, &t->page->options);
	if (e == NULL) {
		table_of_name(f, t->function, &r);
		*sum = (struct function_sum){r.has.self[0], r.has.total[0],
		    p->slots};
	}
	flame_free(f);
	profile_free(p);
	return e;
}

/* One point: [time, self, total], null where there is no data. */
static const struct err *
table_time_point(struct writer *w, const struct table_time *t,
    int64_t from_ns, int64_t until_ns)
{
	struct profile_query q = {t->page->selector, from_ns,
	    until_ns, NULL, false};
	const struct flame_options *o = &t->page->options;
	struct function_sum sum;
	const struct err *e = t->page->profile->kind != SERIES_FLOW ||
	    t->page->idle != NULL || flame_is_filtered(o) || flame_is_shaped(o)
	    ? table_time_tree(t, &q, &sum)
	    : store_query_function(t->page->store, &q, t->function, &sum);

	if (e != NULL)
		return e;
	writer_open(w, '[');
	writer_seconds(w, from_ns);
	if (sum.slots > 0 && strcmp(t->page->state, "no data") != 0) {
		writer_int128(w, sum.self);
		writer_int128(w, sum.total);
	} else {
		writer_null(w);
		writer_null(w);
	}
	writer_close(w, ']');
	return NULL;
}

static const struct err *
table_put_time(struct writer *w, const struct table_time *t)
{
	const struct err *e = NULL;
	int64_t until_ns = t->page->until_ns, next_ns;

	if (t->function == NULL)
		return NULL;
	writer_key_open(w, "over_time", '{');
	writer_key_str(w, "function", t->function);
	writer_key_seconds(w, "step", t->step_ns);
	writer_key_open(w, "points", '[');
	for (int64_t ns = t->page->from_ns; e == NULL && ns < until_ns;
	     ns = next_ns) {
		next_ns = until_ns - ns < t->step_ns ? until_ns
						     : ns + t->step_ns;
		e = table_time_point(w, t, ns, next_ns);
	}
	writer_close(w, ']');
	writer_close(w, '}');
	return e;
}

/* ---- the table ---- */

static void
table_put_row(struct writer *w, const struct table *t,
    const struct table_row *r, const struct places *places)
{
	writer_open(w, '{');
	writer_key_str(w, "name", r->name);
	writer_key_str(w, "kind", flame_kind_name(r->kind));
	writer_key_int128(w, "self", r->has.self[0]);
	writer_key_int128(w, "total", r->has.total[0]);
	profile_page_put_samples(w, "self_samples", t->sampled,
	    r->has.self_samples[0]);
	profile_page_put_samples(w, "total_samples", t->sampled,
	    r->has.total_samples[0]);
	if (t->unknown) {
		writer_key_int128(w, "self_unknown", r->has.self_unknown[0]);
		writer_key_int128(w, "total_unknown", r->has.total_unknown[0]);
	}
	writer_key(w, "self_share");
	if (t->sum[0] > 0)
		writer_quotient(w, r->has.self[0], (uint128)t->sum[0], 0);
	else
		writer_null(w);
	writer_key(w, "total_share");
	if (t->sum[0] > 0)
		writer_quotient(w, r->has.total[0], (uint128)t->sum[0], 0);
	else
		writer_null(w);
	if (places != NULL) {
		writer_key(w, "places");
		places_put(w, places, r->name);
	}
	writer_close(w, '}');
}

/* What is asked about a profile, and what is made of it. */
struct table_ask {
	const struct request *rq;
	size_t order; /* of table_orders[] */
	int64_t limit, placed;
	struct table_time time;
	struct places *places; /* NULL: not asked for */
	struct search *search; /* NULL: all functions */
	struct table *table;
};

static const struct err *
table_ask_parse(struct table_ask *a, const struct profile_page *page)
{
	const struct request *rq = a->rq;
	const char *search = request_text(rq, "search");
	const struct err *e;

	if ((e = request_choice(rq, "sort", table_orders, 0, &a->order)) !=
	    NULL ||
	    (e = request_int(rq, "limit", 0, LIMIT_MAX, LIMIT_DEFAULT,
	    &a->limit)) != NULL ||
	    (e = request_int(rq, "places", 0, 1, 0, &a->placed)) != NULL ||
	    (e = table_time_parse(&a->time, rq, page)) != NULL)
		return e;
	return search != NULL && *search != '\0'
	    ? search_new(&a->search, search) : NULL;
}

static struct table_choice
table_ask_choice(const struct table_ask *a)
{
	return (struct table_choice){(enum table_order)(a->order % 3),
	    a->order >= 3, (size_t)a->limit, a->search};
}

/* Of all stacks as they are no tree is needed, of which a table takes more
 * memory than all that it is read from. */
static const struct err *
table_ask_sums(struct table_ask *a, const struct profile_page *page,
    const struct profile_query *q, struct profile **out)
{
	struct table_sums *sums = table_sums_new();
	const struct profile_each each = {table_sums_begin, table_sums_take,
	    sums};
	const struct table_choice choice = table_ask_choice(a);
	const struct err *e = sums == NULL ? err_nomem()
	    : store_query_each(page->store, q, &each, out);

	if (e == NULL && (*out)->kind != SERIES_STOCK)
		e = table_of_sums_first(&a->table, sums, *out, &choice);
	table_sums_free(sums);
	return e;
}

static const struct err *
table_ask_take(void *ask, const struct profile_page *page,
    const struct profile_query *q, struct profile **out)
{
	const struct flame_options *o = &page->options;
	struct table_ask *a = ask;
	const struct err *e = table_ask_parse(a, page);

	if (e != NULL)
		return e;
	return page->idle != NULL || a->search != NULL ||
	    flame_is_filtered(o) || o->by_module
	    ? profile_page_take(page, q, out)
	    : table_ask_sums(a, page, q, out);
}

static const struct err *
table_ask_make(struct table_ask *a, const struct profile_page *page)
{
	const struct table_choice choice = table_ask_choice(a);

	if (a->placed) {
		const struct err *e = places_read(&a->places, page->store,
		    selector_equals(page->selector, "service"), page->from_ns,
		    page->until_ns);

		if (e != NULL)
			return e;
	}
	return a->table != NULL ? NULL
	    : table_of_flame_first(&a->table, page->flame, &choice);
}

static void
table_ask_fini(struct table_ask *a)
{
	places_free(a->places);
	search_free(a->search);
	table_free(a->table);
}

/* What the search finds: its share is of what focus and ignore left. */
static void
table_put_matched(struct writer *w, struct search *search,
    const struct flame *f)
{
	struct search_sum sum;

	if (search == NULL)
		return;
	search_flame(search, f, &sum);
	writer_key_open(w, "matched", '{');
	writer_key_int128(w, "amount", sum.amount);
	profile_page_put_samples(w, "samples", sum.sampled, sum.samples);
	profile_page_put_samples(w, "samples_unknown", sum.sampled,
	    sum.unknown);
	writer_key(w, "share");
	if (f->total > 0)
		writer_quotient(w, sum.amount, (uint128)f->total, 0);
	else
		writer_null(w);
	writer_close(w, '}');
}

static const struct err *
table_answer(struct table_ask *a, const struct profile_page *page,
    struct writer *w)
{
	const struct err *e = table_ask_make(a, page);
	const struct table *t = a->table;

	if (e != NULL)
		return e;
	writer_open(w, '{');
	profile_page_put(w, page);
	table_put_matched(w, a->search, page->flame);
	writer_key_int(w, "functions", (int64_t)t->n_all);
	writer_key_open(w, "rows", '[');
	for (size_t i = 0; i < t->n_rows; i++)
		table_put_row(w, t, &t->rows[i], a->places);
	writer_close(w, ']');
	e = table_put_time(w, &a->time);
	if (e == NULL && a->search != NULL)
		e = search_check(a->search);
	writer_close(w, '}');
	return e;
}

const struct err *
api_table(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct table_ask a = {.rq = rq};
	const struct profile_taker taker = {table_ask_take, &a};
	struct profile_page page;
	const struct err *e;

	e = profile_page_init_taken(&page, c, rq, rs, &taker);
	if (e == NULL && page.profile != NULL)
		e = table_answer(&a, &page, &w);
	table_ask_fini(&a);
	profile_page_fini(&page);
	return e;
}

/* ---- callers and callees ---- */

/* A tree as flamebearer, cut to max-nodes. */
static const struct err *
sandwich_put_tree(struct writer *w, const char *key, const struct profile *p,
    int64_t max_nodes)
{
	struct flame_options o = {.max_nodes = max_nodes, .other = "(other)"};
	const struct err *e;
	struct flame *f;

	if ((e = flame_new(&f, p, &o)) != NULL)
		return e;
	writer_key_open(w, key, '{');
	if (!flamebearer_put(w, f))
		e = err_nomem();
	flamebearer_put_kinds(w, f);
	if (!flamebearer_put_samples(w, f))
		e = err_nomem();
	writer_close(w, '}');
	flame_free(f);
	return e;
}

static const struct err *
sandwich_answer(const struct profile_page *page, const struct request *rq,
    struct writer *w)
{
	struct profile_samples whole;
	struct sandwich *s = NULL;
	bool known;
	const char *function;
	const struct err *e;
	int64_t max_nodes;

	if ((e = request_need(rq, "function", &function)) != NULL ||
	    (e = request_int(rq, "max-nodes", -1, INT32_MAX, MAX_NODES_DEFAULT,
	    &max_nodes)) != NULL ||
	    (e = sandwich_new(&s, page->flame, function)) != NULL)
		return e;
	writer_open(w, '{');
	profile_page_put(w, page);
	writer_key_open(w, "function", '{');
	writer_key_str(w, "name", function);
	writer_key_int128(w, "self", s->self);
	writer_key_int128(w, "total", s->total);
	known = profile_page_samples(page, &whole);
	profile_page_put_samples(w, "self_samples", known, s->samples.self);
	profile_page_put_samples(w, "total_samples", known,
	    s->samples.total);
	profile_page_put_samples(w, "self_unknown", known,
	    s->samples.self_unknown);
	profile_page_put_samples(w, "total_unknown", known,
	    s->samples.total_unknown);
	writer_close(w, '}');
	e = sandwich_put_tree(w, "callers", s->callers, max_nodes);
	if (e == NULL)
		e = sandwich_put_tree(w, "callees", s->callees, max_nodes);
	writer_close(w, '}');
	sandwich_free(s);
	return e;
}

const struct err *
api_sandwich(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct profile_page page;
	const struct err *e;

	e = profile_page_init_whole(&page, c, rq, rs);
	if (e == NULL && page.profile != NULL)
		e = sandwich_answer(&page, rq, &w);
	profile_page_fini(&page);
	return e;
}
