/*
 * How many points an answer may have bounds the step here, before the store is
 * asked.
 */
#include "fcgi/query/step.h"

#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/timespec.h"
#include "store/base/err.h"
#include "store/store.h"

static const struct err *
step_parse(struct step_page *p, const struct request *rq)
{
	const char *text = request_text(rq, "step");
	const struct err *e;
	int64_t slots, wanted;

	wanted = (p->until_ns - p->from_ns) / STEP_POINTS_DEFAULT;
	if (text != NULL &&
	    (e = timespec_parse_duration(text, &wanted)) != NULL)
		return err_field(ERR_REQUEST, 400, "step", "%s", e->text);
	slots = wanted / p->slot_ns + (wanted % p->slot_ns != 0);
	if (slots < 1)
		slots = 1;
	if (slots > INT64_MAX / 2 / p->slot_ns)
		return err_field(ERR_REQUEST, 400, "step", "is too long");
	p->step_ns = slots * p->slot_ns;
	return NULL;
}

/* How many series an answer may have at this step. */
static const struct err *
step_room(struct step_page *p)
{
	int64_t span = p->until_ns - p->from_ns;
	int64_t points = span / p->step_ns + (span % p->step_ns != 0);

	p->max_series = STEP_SERIES_MAX;
	if (points > STEP_POINTS_MAX)
		return err_field(ERR_REQUEST, 413, "step", "%lld points a "
		    "series are more than %d: ask for a longer step",
		    (long long)points, STEP_POINTS_MAX);
	if (points > 0 && p->max_series > (size_t)(STEP_POINTS_MAX / points))
		p->max_series = (size_t)(STEP_POINTS_MAX / points);
	return NULL;
}

/* step_page_fini() also after an error. */
static const struct err *
step_page_init(struct step_page *p, const struct request *rq,
    const struct store *s)
{
	struct store_extent extent;
	const struct err *e;

	*p = (struct step_page){0};
	store_extent(s, &extent);
	p->slot_ns = extent.slot_ns;
	if ((e = request_need(rq, "query", &p->query)) != NULL ||
	    (e = request_range(rq, &p->from_ns, &p->until_ns)) != NULL)
		return e;
	p->from_ns = measure_floor(s, p->from_ns);
	p->asked_until_ns = p->until_ns;
	p->until_ns = measure_floor(s, p->until_ns);
	if ((e = step_parse(p, rq)) != NULL)
		return e;
	p->widened = store_kept_steps(s, &p->from_ns, &p->until_ns,
	    &p->step_ns);
	if ((e = step_room(p)) != NULL)
		return e;
	return selector_parse(p->query, &p->selector);
}

static void
step_page_fini(struct step_page *p)
{
	selector_free(p->selector);
}

/* The response is a 304, or has its tag where nothing will change. */
static bool
step_page_unchanged(const struct step_page *p, struct response *rs,
    const struct request *rq, const struct store *s)
{
	return p->asked_until_ns < rq->now_ns &&
	    response_unchanged(rs, rq, s, p->from_ns, p->until_ns);
}

const struct err *
step_page_serve(struct context *c, const struct request *rq,
    struct response *rs, step_answer_fn *answer)
{
	struct writer w = writer_of(&rs->body);
	struct step_page p;
	struct store *s;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	e = step_page_init(&p, rq, s);
	if (e == NULL && !step_page_unchanged(&p, rs, rq, s))
		e = answer(&p, rq, s, &w);
	step_page_fini(&p);
	return e;
}

uint64_t
step_page_slots(const struct step_page *p, size_t i, uint64_t observations)
{
	int64_t from_ns = p->from_ns + (int64_t)i * p->step_ns;
	int64_t until_ns = from_ns + p->step_ns < p->until_ns
	    ? from_ns + p->step_ns : p->until_ns;
	uint64_t slots = (uint64_t)((until_ns - from_ns) / p->slot_ns);

	return observations < slots ? observations : slots;
}

void
step_page_put(struct writer *w, const struct step_page *p)
{
	writer_key_seconds(w, "from", p->from_ns);
	writer_key_seconds(w, "until", p->until_ns);
	writer_key_seconds(w, "step", p->step_ns);
	writer_key_str(w, "why", p->widened ? MEASURE_KEPT : "");
}
