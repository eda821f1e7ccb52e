/*
 * GET /api/v1/leaks: which stacks of a service hold more and more, and when
 * memory will be gone.
 *
 * By its heap profile where it has one; else by the code that touches memory
 * anew, if what is resident grows; else by that alone.  The answer says by
 * which.  What has come to a plateau, or follows the load, is no suspect.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/api/leaks.h"
#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/coverage.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/stack_list.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"

#define LIMIT_DEFAULT 20

/* Who has an end of memory, and what is left of it. */
static const struct {
	const char *of, *metric;
	bool service; /* is it one of each service? */
} leaks_ends[] = {{"host", "node_memory_MemAvailable_bytes", false},
    {"cgroup", "memlens_service_memory_available_bytes", true}};

struct leaks_page {
	const char *service;
	const char *instance; /* NULL: all of them */
	const char *type; /* of profiles; NULL: what there is */
	const char *requests; /* a selector of what counts them, or NULL */
	int64_t limit, from_ns, until_ns, slot_ns;
	struct leaks stacks, resident;
	const char *by; /* a type, "resident", "no data" */
	int64_t sampling; /* bytes between two samples of a heap; 0: not told */
	bool suspects;  /* may stacks be any? */
	bool unseen;    /* is what grows missing in the heap profile? */
	struct coverage_library library; /* whose heap is seen */
	struct leaks empty; /* of the range's steps, and what began in them */
};

/* Of an instance where one is asked for. */
static const struct err *
leaks_select(const struct leaks_page *p, const char *name, const char *more,
    struct selector **out)
{
	return measure_selector(name, p->service, p->instance, more, out);
}

/* Requests by step, where the client says what counts them. */
static const struct err *
leaks_read_load(const struct leaks_page *p, struct store *s, struct leaks *l)
{
	const struct err *e = NULL;

	for (size_t i = 0; p->requests != NULL && e == NULL &&
	    i < l->n_steps; i++) {
		int64_t at_ns = l->from_ns + (int64_t)i * l->step_ns;

		e = measure_requests(s, p->requests, at_ns,
		    at_ns + l->step_ns, &l->load[i]);
		l->loaded = l->loaded || !isnan(l->load[i]);
	}
	return e;
}

/* How often the heap is sampled, by whoever takes or serves its profiles: where
 * several say so, the rarest. */
static const struct err *
leaks_read_sampling(struct leaks_page *p, struct store *s)
{
	struct metric_series *m;
	size_t n;
	const struct err *e = measure_once_of(s, TYPES_SAMPLING, p->service,
	    "", (int64_t[2]){p->from_ns, p->until_ns}, &m, &n);

	for (size_t i = 0; i < n; i++)
		if (m[i].points[0].count > 0 &&
		    m[i].points[0].max > p->sampling)
			p->sampling = m[i].points[0].max;
	metric_series_free(m, n);
	return e;
}

static const struct err *
leaks_read_type(struct leaks_page *p, struct store *s, const char *type)
{
	struct selector *selector = NULL, *objects = NULL;
	const struct err *e = leaks_select(p, type, "", &selector);

	/* bytes that are known by samples of objects, and how many */
	if (e == NULL && strcmp(type, types_of_sample("space")->name) == 0)
		e = leaks_select(p, types_of_sample("objects")->name, "",
		    &objects);
	leaks_fini(&p->stacks);
	p->stacks = p->empty;
	p->stacks.objects = objects;
	p->stacks.mean = p->sampling > 0 ? (double)p->sampling : LEAKS_MEAN;
	if (e == NULL)
		e = leaks_read_load(p, s, &p->stacks);
	if (e == NULL)
		e = leaks_read(&p->stacks, s, selector);
	p->stacks.objects = NULL;
	selector_free(selector);
	selector_free(objects);
	return e;
}

static const struct err *
leaks_read_resident(struct leaks_page *p, struct store *s)
{
	static const char *const kinds[] = {"memtype=\"anonymous\"",
	    "memtype=\"resident\""};
	const struct err *e = NULL;

	for (int i = 0; i < 2 && e == NULL; i++) {
		struct selector *selector;
		bool any = false;

		p->resident = p->empty;
		e = leaks_select(p, p->instance != NULL
		    ? "memlens_instance_memory_bytes"
		    : "namedprocess_namegroup_memory_bytes", kinds[i],
		    &selector);
		if (e == NULL) {
			e = leaks_read_metric(&p->resident, s, selector);
			selector_free(selector);
		}
		for (size_t k = 0; k < p->resident.n_steps; k++)
			any |= p->resident.has[k];
		if (any)
			break;
	}
	return e;
}

static bool
leaks_has_any(const struct leaks *l)
{
	bool any = false;

	for (size_t i = 0; i < l->n_steps; i++)
		any |= l->has[i];
	return any;
}

/* By the code that touches memory anew, where that is known; `heap` is what the
 * heap profile says. */
static const struct err *
leaks_find_touched(struct leaks_page *p, struct store *s, struct leaks *heap)
{
	const struct err *e = leaks_read_type(p, s, "faults");

	if (e == NULL && p->stacks.last != NULL) {
		leaks_fini(heap);
		p->by = "faults";
		/* what is touched may have been given back */
		p->suspects = leaks_trend(&p->resident, NULL).state ==
		    TREND_GROWING;
	} else {
		leaks_fini(&p->stacks);
		p->stacks = *heap;
	}
	return e;
}

/* Does what is resident surely grow by more than twice what the heap has?  A
 * program that maps memory itself, as node and python do, has it beside the
 * heap that is seen. */
static bool
leaks_heap_misses(const struct leaks_page *p)
{
	struct trend resident = leaks_trend(&p->resident, NULL);
	struct trend heap = leaks_trend(&p->stacks, NULL);

	return resident.state == TREND_GROWING &&
	    heap.state != TREND_UNKNOWN &&
	    resident.low > 2 * fmax(heap.high, 0);
}

/* Whose heap is seen, where the library tells it. */
static const struct err *
leaks_read_library(struct leaks_page *p, struct store *s)
{
	struct selector *selector;
	const struct err *e = leaks_select(p, types_of_sample("space")->name,
	    "", &selector);

	if (e == NULL)
		e = coverage_ask_library(s, selector, p->from_ns, p->until_ns,
		    &p->library);
	selector_free(selector);
	return e;
}

/* Of an instance beside one that has the library nobody tells: its heap is not
 * empty, it is not known. */
static bool
leaks_heap_is_nobodys(const struct leaks_page *p)
{
	const struct leaks *l = &p->stacks;

	if (l->last == NULL || p->library.ours)
		return false;
	for (size_t i = 0; i < l->n_steps; i++)
		if (l->has[i] && l->total[i] != 0)
			return false;
	return true;
}

static const struct err *
leaks_find(struct leaks_page *p, struct store *s)
{
	const char *type = p->type != NULL ? p->type
	    : types_of_sample("space")->name; /* in use, of a heap */
	const struct err *e = leaks_read_sampling(p, s);
	struct leaks heap;

	leaks_steps(&p->empty, p->from_ns, p->until_ns, p->slot_ns);
	if (e == NULL)
		e = leaks_read_began(&p->empty, s, p->service,
		    p->instance != NULL);
	if (e == NULL)
		e = leaks_read_type(p, s, type);
	p->by = type;
	p->suspects = true;
	if (e == NULL)
		e = leaks_read_resident(p, s);
	if (e == NULL)
		e = leaks_read_library(p, s);
	if (e != NULL || p->type != NULL)
		return e;
	if (leaks_heap_is_nobodys(p)) {
		leaks_fini(&p->stacks);
		p->stacks = p->empty;
	}
	p->unseen = p->stacks.last != NULL && leaks_heap_misses(p);
	if (p->stacks.last != NULL && !p->unseen)
		return NULL;
	if (p->stacks.last == NULL)
		p->by = leaks_has_any(&p->resident) ? "resident" : "no data";
	heap = p->stacks;
	p->stacks = (struct leaks){0};
	return leaks_find_touched(p, s, &heap);
}

/* ---- the answer ---- */

/* Not a number: nobody knows. */
static void
leaks_put_real(struct writer *w, const char *key, double v)
{
	writer_key(w, key);
	if (isnan(v))
		writer_null(w);
	else
		writer_decimal(w, (int128)llround(v * 1e6), 6);
}

static void
leaks_put_trend(struct writer *w, const struct leaks *l,
    const struct leak *k, const struct trend *t)
{
	const double *value = k != NULL ? k->value : l->total;
	size_t restarted = leaks_restarted(l, k);
	double first = NAN, last = NAN;
	bool known = t->state != TREND_UNKNOWN;

	for (size_t i = leaks_since(l, k); i < l->n_steps; i++) {
		if (!l->has[i])
			continue;
		first = isnan(first) ? value[i] : first;
		last = value[i];
	}
	writer_key_str(w, "state", trend_state_name(t->state));
	writer_key_str(w, "why", known ? "" : leaks_why_unknown(l, k));
	writer_key_int(w, "restarts", (int64_t)leaks_restarts(l, k));
	leaks_put_real(w, "slope", known ? t->slope : NAN);
	leaks_put_real(w, "slope_low", known ? t->low : NAN);
	leaks_put_real(w, "slope_high", known ? t->high : NAN);
	writer_key(w, "restarted");
	if (restarted < l->n_steps)
		writer_seconds(w, l->from_ns + (int64_t)restarted *
		    l->step_ns);
	else
		writer_null(w);
	leaks_put_real(w, "first", first);
	leaks_put_real(w, "last", last);
	leaks_put_real(w, "gained", last - first);
	writer_key_open(w, "points", '[');
	for (size_t i = 0; i < l->n_steps; i++) {
		writer_open(w, '[');
		writer_seconds(w, l->from_ns + (int64_t)i * l->step_ns);
		if (l->has[i])
			writer_decimal(w, (int128)llround(value[i]), 0);
		else
			writer_null(w);
		writer_close(w, ']');
	}
	writer_close(w, ']');
}

static void
leaks_put_age(struct writer *w, const struct leaks *l, const struct leak *k,
    bool stock)
{
	bool at_least = false;
	double age = leaks_age(l, k, &at_least);

	if (!stock) { /* nobody knows what was given back */
		writer_key(w, "age");
		writer_null(w);
		return;
	}
	leaks_put_real(w, "age", age);
	writer_key(w, "age_at_least");
	writer_bool(w, at_least);
}

static void
leaks_put_suspects(struct writer *w, const struct leaks_page *p)
{
	const struct leaks *l = &p->stacks;
	int64_t left = p->limit, plateaus = 0, with_load = 0, unknown = 0;
	bool stock = l->last != NULL && l->last->kind == SERIES_STOCK;

	writer_key_open(w, "suspects", '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct leak *k = &l->all[i];

		plateaus += k->trend.state == TREND_PLATEAU;
		with_load += k->trend.state == TREND_LOAD;
		unknown += k->trend.state == TREND_UNKNOWN;
		if (!p->suspects || k->trend.state != TREND_GROWING ||
		    left-- <= 0)
			continue;
		writer_open(w, '{');
		stack_list_put(w, l->last, k->node, 0);
		leaks_put_trend(w, l, k, &k->trend);
		leaks_put_age(w, l, k, stock);
		writer_close(w, '}');
	}
	writer_close(w, ']');
	writer_key_int(w, "plateaus", plateaus);
	writer_key_int(w, "with_load", with_load);
	writer_key_int(w, "unknown", unknown);
	writer_key_int(w, "followed", (int64_t)l->n);
}

/* What is left of a memory at the end of the range; -1: nobody knows. */
static const struct err *
leaks_left(const struct leaks_page *p, struct store *s, size_t which,
    double *left)
{
	struct metric_series *m;
	size_t n;
	const struct err *e = measure_once_of(s, leaks_ends[which].metric,
	    leaks_ends[which].service ? p->service : NULL, "",
	    (int64_t[2]){p->until_ns - 10 * p->slot_ns, p->until_ns}, &m, &n);

	*left = n == 1 && m[0].points[0].count > 0
	    ? (double)m[0].points[0].last : -1;
	metric_series_free(m, n);
	return e;
}

/* What may tell how fast memory goes. */
struct leaks_growth {
	const char *by;
	struct trend trend;
};

/* How wide its interval is for its slope; without end where nothing surely
 * grows. */
static double
leaks_width(const struct leaks_growth *g)
{
	const struct trend *t = &g->trend;

	return t->state == TREND_GROWING ? (t->high - t->low) / t->slope
					 : INFINITY;
}

/* What a heap holds or what is resident, whichever is known better; but what is
 * surely held faster is: it fills what was given back and is resident still.  A
 * heap holds its total, or the stacks that surely grow where that does not,
 * since more comes and goes than it grows by. */
static const struct leaks_growth *
leaks_growth_of(const struct leaks_growth of[3], bool heap)
{
	const struct leaks_growth *resident = &of[1];
	const struct leaks_growth *held = isfinite(leaks_width(&of[0]))
	    ? &of[0] : &of[2];
	double width = leaks_width(held);

	if (!heap || (leaks_width(resident) < width &&
	    (!isfinite(width) || held->trend.low <= resident->trend.high)))
		return resident;
	return held;
}

/* When memory is gone at such a growth, the service's own or the host's,
 * whichever is first; null where nothing grows or nobody knows. */
static const struct err *
leaks_put_end(struct writer *w, const struct leaks_page *p, struct store *s,
    const struct leaks_growth *g)
{
	const struct trend *t = &g->trend;
	double least = -1, left, until = (double)p->until_ns / NS_PER_S;
	const struct err *e = NULL;
	size_t of = 0;

	for (size_t i = 0; e == NULL && i < sizeof(leaks_ends) /
	    sizeof(leaks_ends[0]); i++) {
		e = leaks_left(p, s, i, &left);
		if (left < 0 || (least >= 0 && left >= least))
			continue;
		least = left;
		of = i;
	}
	writer_key(w, "memory_ends");
	if (e != NULL || least < 0 || t->state != TREND_GROWING) {
		writer_null(w);
		return e;
	}
	writer_open(w, '{');
	writer_key_str(w, "of", leaks_ends[of].of);
	writer_key_str(w, "by", g->by);
	leaks_put_real(w, "available", least);
	leaks_put_real(w, "slope", t->slope);
	leaks_put_real(w, "seconds", least / t->slope);
	leaks_put_real(w, "at", until + least / t->slope);
	leaks_put_real(w, "earliest", until + least / t->high);
	leaks_put_real(w, "latest", t->low > 0 ? until + least / t->low
	    : NAN);
	writer_close(w, '}');
	return NULL;
}

static const struct err *
leaks_answer(const struct leaks_page *p, struct store *s, struct writer *w)
{
	const struct leaks_growth of[] = {
	    {"total", leaks_trend(&p->stacks, NULL)},
	    {"resident", leaks_trend(&p->resident, NULL)},
	    {"suspects", leaks_sum(&p->stacks)}};
	bool heap = p->stacks.last != NULL && p->stacks.last->kind ==
	    SERIES_STOCK && strcmp(p->stacks.unit, "bytes") == 0;
	const struct err *e;

	writer_open(w, '{');
	writer_key_str(w, "service", p->service);
	writer_key(w, "instance");
	if (p->instance != NULL)
		writer_str(w, p->instance);
	else
		writer_null(w);
	writer_key_str(w, "by", p->by);
	writer_key(w, "heap");
	writer_bool(w, heap);
	writer_key(w, "unseen");
	writer_bool(w, p->unseen);
	coverage_put_library(w, &p->library);
	writer_key(w, "sampling");
	if (p->sampling > 0)
		writer_int(w, p->sampling);
	else
		writer_null(w);
	writer_key(w, "lost");
	if (heap)
		writer_decimal(w, (int128)llround(p->stacks.lost), 0);
	else
		writer_null(w);
	writer_key_str(w, "unit", p->stacks.last ? p->stacks.unit : "bytes");
	writer_key_seconds(w, "from", p->resident.from_ns);
	writer_key_seconds(w, "until", p->resident.until_ns);
	writer_key_seconds(w, "step", p->resident.step_ns);
	writer_key(w, "anew");
	if (p->stacks.anew > 0)
		writer_seconds(w, p->stacks.from_ns + (int64_t)p->stacks.anew *
		    p->stacks.step_ns);
	else
		writer_null(w);
	writer_key_open(w, "total", '{');
	leaks_put_trend(w, &p->stacks, NULL, &of[0].trend);
	writer_close(w, '}');
	writer_key_open(w, "resident", '{');
	leaks_put_trend(w, &p->resident, NULL, &of[1].trend);
	writer_close(w, '}');
	leaks_put_suspects(w, p);
	e = leaks_put_end(w, p, s, leaks_growth_of(of, heap));
	partial_put_state(w, s, p->from_ns, p->until_ns);
	writer_close(w, '}');
	return e;
}

const struct err *
api_leaks(struct context *c, struct request *rq, struct response *rs)
{
	struct leaks_page p = {.limit = LIMIT_DEFAULT};
	struct writer w = writer_of(&rs->body);
	struct store_extent extent;
	struct store *s;
	const struct err *e;

	p.type = request_text(rq, "type");
	p.instance = request_text(rq, "instance");
	p.requests = request_text(rq, "requests");
	if ((e = request_need(rq, "service", &p.service)) != NULL ||
	    (e = request_range(rq, &p.from_ns, &p.until_ns)) != NULL ||
	    (e = request_int(rq, "limit", 0, LEAKS_STACKS, LIMIT_DEFAULT,
	    &p.limit)) != NULL || (e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	p.slot_ns = extent.slot_ns;
	if (p.until_ns > extent.until_ns && extent.until_ns > p.from_ns)
		p.until_ns = extent.until_ns; /* the newest slot may be open */
	e = leaks_find(&p, s);
	if (e == NULL)
		e = leaks_answer(&p, s, &w);
	leaks_fini(&p.stacks);
	return e;
}
