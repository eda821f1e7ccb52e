/*
 * From the parameters of a profile request to a tree.
 */
#include "fcgi/query/profile_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame_shape.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "store/model/unit.h"

#define MAX_NODES_DEFAULT 8192

/* "0.1%" of the whole; else pixels of a picture, which are its own page's
 * business. */
static const struct err *
profile_page_parse_least(struct profile_page *page, const struct request *rq)
{
	const char *text = request_text(rq, "min-width");
	double percent;
	char *end;

	if (text == NULL || text[strlen(text) - 1] != '%')
		return NULL;
	percent = strtod(text, &end);
	if (end == text || strcmp(end, "%") != 0 ||
	    strspn(text, "0123456789.%") != strlen(text) || percent > 100)
		return err_field(ERR_REQUEST, 400, "min-width",
		    "\"%.64s\" is no share: 0%% to 100%%", text);
	page->options.min_share = percent / 100;
	return NULL;
}

const struct err *
profile_page_parse_shape(struct profile_page *page, const struct request *rq)
{
	static const char *const collapses[] = {"none", "module", NULL};
	const struct err *e;
	int64_t reverse;
	size_t collapse;

	if ((e = request_choice(rq, "collapse", collapses, 0, &collapse)) !=
	    NULL ||
	    (e = request_int(rq, "reverse", 0, 1, 0, &reverse)) != NULL)
		return e;
	page->options.focus = request_text(rq, "focus");
	page->options.ignore = request_text(rq, "ignore");
	page->options.other = "(other)";
	page->options.by_module = collapse == 1;
	page->options.reverse = reverse == 1;
	return profile_page_parse_least(page, rq);
}

const struct err *
profile_page_select(struct profile_page *page, const struct request *rq)
{
	static const char *const shown[] = {"show", "hide", NULL};
	const struct err *e = selector_parse(page->query, &page->selector);
	const struct type *t;
	size_t hide;

	if (e != NULL ||
	    (e = request_choice(rq, "idle", shown, 0, &hide)) != NULL)
		return e;
	t = types_find(selector_name(page->selector));
	if (hide == 1 && t != NULL && t->idle_reasons != NULL)
		page->idle = t;
	return NULL;
}

static const struct err *
profile_page_parse(struct profile_page *page, const struct request *rq)
{
	const struct err *e;
	int64_t calibrate;

	if ((e = request_need(rq, "query", &page->query)) != NULL ||
	    (e = request_range(rq, &page->from_ns, &page->until_ns)) != NULL ||
	    (e = request_int(rq, "max-nodes", -1, INT32_MAX, MAX_NODES_DEFAULT,
	    &page->options.max_nodes)) != NULL ||
	    (e = request_int(rq, "calibrate", 0, 1, 0, &calibrate)) != NULL)
		return e;
	page->calibrate = calibrate == 1;
	if ((e = profile_page_parse_shape(page, rq)) != NULL)
		return e;
	return profile_page_select(page, rq);
}

static bool
profile_page_seen(void *arg, const struct series_desc *d, int64_t last_ns)
{
	bool *seen = arg;

	(void)last_ns;
	*seen = *seen || series_is_profile(d->kind);
	return !*seen;
}

/* A service without data in the range is one thing, a name that nobody has
 * ever had another.  What is damaged may have had it. */
static const struct err *
profile_page_check_service(const struct profile_page *page)
{
	const char *service = selector_equals(page->selector, "service");
	struct store_extent extent;
	struct selector *named;
	const struct err *e;
	bool seen = false;

	if (service == NULL)
		return NULL;
	if ((e = measure_selector("", service, NULL, "", &named)) != NULL)
		return e;
	store_extent(page->store, &extent);
	e = store_each_series(page->store, named, extent.from_ns,
	    extent.until_ns, profile_page_seen, &seen);
	selector_free(named);
	store_extent(page->store, &extent);
	if (e == NULL && !seen && extent.damaged == 0)
		e = err_field(ERR_REQUEST, 404, "query",
		    "no profile of a service \"%.200s\" is kept", service);
	return e;
}

const char *
profile_page_source(const struct profile_page *page)
{
	const char *name = selector_name(page->selector);
	const struct type *t = types_find(name);

	return t != NULL && t->parts != NULL ? t->parts[0] : name;
}

/* What it says of itself where it takes nothing, or NULL. */
static const struct source_state *
profile_page_absent(const struct profile_page *page, bool *takes)
{
	*takes = false;
	for (size_t i = 0; i < page->n_sources; i++) {
		const struct source_state *s = &page->sources[i];

		if (strcmp(s->name, profile_page_source(page)) != 0)
			continue;
		*takes = strcmp(s->state, "attached") == 0 ||
		    strcmp(s->state, "degraded") == 0;
		return *takes ? NULL : s;
	}
	return NULL;
}

/* Before and after all that is kept nobody has said who takes what. */
static bool
profile_page_is_outside(const struct profile_page *page)
{
	struct store_extent extent;

	store_extent(page->store, &extent);
	return page->until_ns <= extent.from_ns ||
	    page->from_ns >= extent.until_ns;
}

/* Time off CPU is recorded where somebody has asked for it; takes: and
 * somebody had, but nobody ran in this range. */
static void
profile_page_explain_waits(struct profile_page *page, bool takes)
{
	const struct profile *p = page->profile;

	if (strcmp(profile_page_source(page), "offcpu") != 0)
		return;
	if (p->slots == 0 && (takes || profile_page_is_outside(page)))
		return;
	if (p->slots == 0)
		page->why = "time off CPU was not recorded in this range: "
		    "enabled = yes under [offcpu] in memlens.conf starts it";
	else if (p->parts != NULL && p->whole_slots < p->slots)
		page->why = "in a part of this range time off CPU was not "
		    "recorded: there it is CPU time alone";
}

const char *
profile_page_records(const struct profile_page *page)
{
	const struct type *t = types_find(profile_page_source(page));

	/* of what nobody took nothing is lost */
	return t != NULL && page->profile->slots > 0 ? t->records : NULL;
}

/* Of records that are lost nobody knows what they would have counted: nothing
 * seen is 0 only where none was. */
static void
profile_page_explain_seen(struct profile_page *page)
{
	bool none = page->profile->stacks == 0;
	const char *why = measure_why_lost(&page->faults,
	    types_find(profile_page_source(page)), none);

	page->state = none ? "zero" : "data";
	page->incomplete = why != NULL;
	if (!page->incomplete && none && page->library.ours &&
	    page->why[0] == '\0')
		page->why = COVERAGE_NONE_SAMPLED;
	if (!page->incomplete)
		return;
	if (none)
		page->state = "no data";
	page->why = why;
}

static void
profile_page_explain_memory(struct profile_page *page, bool takes)
{
	const struct type *t = types_find(profile_page_source(page));

	if (t == NULL || !t->library || !takes || page->library.ours ||
	    page->why[0] != '\0')
		return;
	page->why = COVERAGE_UNSEEN;
}

/* "not attached" where the source named like the profile says so.  What lacks
 * data by damage may have had some. */
static void
profile_page_explain(struct profile_page *page)
{
	const struct source_state *said;
	bool takes;

	said = profile_page_absent(page, &takes);
	page->why = page->widened ? MEASURE_KEPT : "";
	page->state = "no data";
	if (partial_is(page->store, page->from_ns, page->until_ns)) {
		page->state = "partial";
		return;
	}
	profile_page_explain_waits(page, takes);
	if (page->profile->slots > 0) {
		profile_page_explain_seen(page);
		return;
	}
	if (said != NULL) {
		page->state = said->state;
		if (said->why[0] != '\0')
			page->why = said->why;
		else if (strcmp(said->state, "off") == 0)
			page->why = "it is not enabled in memlens.conf";
	}
	profile_page_explain_memory(page, takes);
}

/* That a pool was idle is zero; that no stack up to the end of the range has
 * ever had such labels is no data. */
static const struct err *
profile_page_check_labels(struct profile_page *page)
{
	const struct profile_limit one = {1, 0};
	struct profile_query q = {page->selector, 0,
	    page->until_ns, NULL, false};
	struct profile *p;
	const struct err *e;

	if (strcmp(page->state, "zero") != 0 ||
	    !selector_asks_stacks(page->selector))
		return NULL;
	page->looked_back = true;
	store_missing_watch(page->store, false);
	e = store_query_profile_largest(page->store, &q, &one, &p);
	store_missing_watch(page->store, true);
	if (e != NULL)
		return e;
	if (p->stacks == 0) {
		page->state = "no data";
		page->why = "no stack has had these labels so far";
	}
	profile_free(p);
	return NULL;
}

/* No lock that is known was waited for: but was one? */
static const struct err *
profile_page_check_locks(struct profile_page *page)
{
	const struct profile_limit one = {1, 0};
	const struct type *t = types_find(profile_page_source(page));
	struct profile_query q = {NULL, page->from_ns, page->until_ns, NULL,
	    false};
	struct selector *waits;
	struct profile *p = NULL;
	const struct err *e;

	if (strcmp(page->state, "zero") != 0 || page->why[0] != '\0' ||
	    t == NULL || t->records == NULL ||
	    strcmp(t->records, "offcpu") != 0)
		return NULL;
	e = measure_selector("offcpu", selector_equals(page->selector,
	    "service"), selector_equals(page->selector, "instance"),
	    "reason=\"lock\"", &waits);
	q.selector = waits;
	if (e == NULL)
		e = store_query_profile_largest(page->store, &q, &one, &p);
	if (e == NULL && p->nodes[0].total > 0)
		page->why = "offcpu has waits of the reason lock that are not "
		    "told here: shorter than the threshold, for locks of "
		    "files, or in functions that are not known as a lock's";
	profile_free(p);
	selector_free(waits);
	return e;
}

/* Why there may be none.  What is read for that lies before the range: what
 * it lacks is not lacking in the answer. */
static const struct err *
profile_page_look_back(struct profile_page *page)
{
	const struct err *e = NULL;

	store_missing_watch(page->store, false);
	if (page->profile->slots == 0 &&
	    (e = profile_page_check_service(page)) == NULL)
		e = measure_sources(page->store, page->until_ns,
		    &page->sources, &page->n_sources);
	store_missing_watch(page->store, true);
	return e;
}

/* Beside what was sampled, and instead of it where that is asked for. */
static const struct err *
profile_page_cover(struct profile_page *page)
{
	const struct err *e = coverage_ask(page->store, page->selector,
	    page->from_ns, page->until_ns, &page->coverage);

	page->measured = page->profile->nodes[0].total;
	if (e != NULL || !page->calibrate)
		return e;
	if (page->coverage.counted && page->measured == 0)
		return NULL; /* nothing is to be scaled */
	if (!page->coverage.known)
		return err_field(ERR_REQUEST, 422, "calibrate",
		    "nobody has counted the CPU time of this profile");
	if (coverage_falls_short(&page->coverage, page->profile))
		return err_field(ERR_REQUEST, 422, "calibrate",
		    "more was sampled here than was counted: processes that "
		    "live for less than a second are in samples alone");
	return coverage_calibrate(page->profile, page->coverage.cpu_ns);
}

bool
profile_page_has_threshold(const struct profile_page *page)
{
	const struct type *t = types_find(profile_page_source(page));

	return t != NULL && t->threshold;
}

/* What counts for how long it was looked at; NULL: nothing does. */
static const char *
profile_page_watch(const struct profile_page *page)
{
	return profile_page_has_threshold(page) ? COVERAGE_WATCHED :
	    strcmp(profile_page_source(page), "cpu") == 0 ? COVERAGE_CLOCKED :
	    NULL;
}

bool
profile_page_is_watched(const struct profile_page *page)
{
	return profile_page_watch(page) != NULL;
}

static const struct err *
profile_page_ask_watched(struct profile_page *page)
{
	const int64_t range[2] = {page->from_ns, page->until_ns};

	return !profile_page_is_watched(page) ? NULL :
	    coverage_watched(page->store, profile_page_watch(page), range,
	    &page->watched.known, &page->watched.ns);
}

/* The one in force, of which the governor makes more. */
static const struct err *
profile_page_ask_threshold(struct profile_page *page)
{
	const struct err *e = profile_page_ask_watched(page);
	char metric[80];

	if (e != NULL || !profile_page_has_threshold(page))
		return e;
	snprintf(metric, sizeof(metric),
	    "memlens_profile_threshold_seconds{source=\"%s\"}",
	    profile_page_source(page));
	return measure_once(page->store, metric, page->from_ns,
	    page->until_ns, &page->threshold.series, &page->threshold.n);
}

void
profile_page_type(struct profile *p, const struct selector *of)
{
	const struct type *t = types_find(selector_name(of));

	if (t == NULL || p->kind != 0)
		return;
	snprintf(p->unit, sizeof(p->unit), "%s",
	    unit_of_type(t->name, t->unit, NULL));
	p->kind = t->kind;
}

/* What was lost, if it may be of this: what our library has lost is nothing to
 * a heap profile that the program itself has given. */
static const struct err *
profile_page_ask_lost(struct profile_page *page)
{
	const struct err *e = measure_faults(page->store, page->selector,
	    page->from_ns, page->until_ns, &page->faults);

	if (e != NULL || !measure_is_memory(profile_page_source(page)))
		return e;
	e = coverage_ask_library(page->store, page->selector, page->from_ns,
	    page->until_ns, &page->library);
	if (e == NULL && !page->library.ours)
		measure_faults_void(&page->faults);
	return e;
}

/* The whole of the tree, whatever is enough of it. */
static const struct err *
profile_page_take_busy(const struct profile_page *page,
    const struct profile_query *q, struct profile **out)
{
	struct profile_query split = *q;
	struct flame_options o = {.max_nodes = -1, .idle = page->idle};
	struct profile *p = NULL;
	const struct err *e;

	*out = NULL;
	split.split = "reason";
	e = store_query_profile(page->store, &split, &p);
	if (e == NULL) {
		o.max_built = p->n_nodes + 1;
		e = flame_shape(out, p, &o);
	}
	profile_free(p);
	return e;
}

const struct err *
profile_page_take(const struct profile_page *page,
    const struct profile_query *q, struct profile **out)
{
	return page->idle != NULL ? profile_page_take_busy(page, q, out)
	    : store_query_profile(page->store, q, out);
}

/* Asks for the profile, of which a part may do, and why there may be
 * none. */
static const struct err *
profile_page_query(struct profile_page *page,
    const struct profile_limit *limit)
{
	struct profile_query q = {page->selector, page->from_ns,
	    page->until_ns, NULL, page->by_module};
	const struct err *e;

	e = page->taker != NULL
	    ? page->taker->take(page->taker->arg, page, &q, &page->profile)
	    : page->idle != NULL
	    ? profile_page_take_busy(page, &q, &page->profile)
	    : store_query_profile_largest(page->store, &q, limit,
	    &page->profile);
	if (e != NULL)
		return e;
	profile_page_type(page->profile, page->selector);
	if ((e = profile_page_look_back(page)) != NULL)
		return e;
	if ((e = profile_page_ask_lost(page)) != NULL ||
	    (e = profile_page_cover(page)) != NULL ||
	    (e = profile_page_ask_threshold(page)) != NULL)
		return e;
	profile_page_explain(page);
	if ((e = profile_page_check_locks(page)) != NULL)
		return e;
	return profile_page_check_labels(page);
}

const struct err *
profile_page_ask(struct profile_page *page)
{
	return profile_page_query(page, &(struct profile_limit){0, 0});
}

/* What of the tree is enough to draw it. */
static struct profile_limit
profile_page_limit(const struct flame_options *o)
{
	struct profile_limit all = {0, 0};

	if (flame_is_filtered(o) || flame_is_shaped(o))
		return all;
	return (struct profile_limit){
	    o->max_nodes > 0 ? (size_t)o->max_nodes : 0, o->min_share};
}

static const struct err *
profile_page_load(struct profile_page *page)
{
	const struct profile_limit limit = profile_page_limit(&page->options);
	const struct err *e = profile_page_query(page, &limit);

	return e == NULL ? flame_new(&page->flame, page->profile,
	    &page->options) : e;
}

void
profile_page_widen(struct profile_page *page, struct response *rs)
{
	page->widened = store_kept_range(page->store, &page->from_ns,
	    &page->until_ns);
	if (page->widened)
		response_range(rs, page->from_ns, page->until_ns);
}

static const struct err *
profile_page_start(struct profile_page *page, struct context *c,
    const struct request *rq, struct response *rs, bool whole,
    const struct profile_taker *taker)
{
	const struct err *e;

	*page = (struct profile_page){.why = "", .taker = taker};
	if ((e = profile_page_parse(page, rq)) != NULL ||
	    (e = context_store(c, &page->store)) != NULL)
		return e;
	if (whole && page->calibrate)
		return err_field(ERR_REQUEST, 400, "calibrate",
		    "only flame graphs say that they are calibrated");
	if (whole) {
		/* callers stay callers, and the small ones are there too */
		page->options.max_nodes = -1;
		page->options.min_share = 0;
		page->options.reverse = false;
	}
	profile_page_widen(page, rs);
	if (response_unchanged(rs, rq, page->store, page->from_ns,
	    page->until_ns))
		return NULL;
	e = profile_page_load(page);
	if (page->looked_back)
		rs->etag[0] = '\0'; /* the tag tells of the range alone */
	return e;
}

const struct err *
profile_page_init(struct profile_page *page, struct context *c,
    const struct request *rq, struct response *rs)
{
	return profile_page_start(page, c, rq, rs, false, NULL);
}

const struct err *
profile_page_init_whole(struct profile_page *page, struct context *c,
    const struct request *rq, struct response *rs)
{
	return profile_page_start(page, c, rq, rs, true, NULL);
}

const struct err *
profile_page_init_taken(struct profile_page *page, struct context *c,
    const struct request *rq, struct response *rs,
    const struct profile_taker *taker)
{
	return profile_page_start(page, c, rq, rs, true, taker);
}

void
profile_page_drop(struct profile_page *page)
{
	flame_free(page->flame);
	profile_free(page->profile);
	page->flame = NULL;
	page->profile = NULL;
}

void
profile_page_fini(struct profile_page *page)
{
	measure_faults_fini(&page->faults);
	metric_series_free(page->threshold.series, page->threshold.n);
	free(page->sources);
	profile_page_drop(page);
	selector_free(page->selector);
}
