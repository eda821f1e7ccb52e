/*
 * Which events are profiles, and of what.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/jfr/jfr_private.h"
#include "fcgi/format/stacks.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"

#define RATE_DEFAULT 100 /* async-profiler's and Pyroscope's */
#define AMOUNT_MAX ((uint64_t)1 << 62)

/* What they tell, by slot. */
enum { STACK, AMOUNT, CONTEXT, STATE };

enum event {
	EVENT_SAMPLE, EVENT_NATIVE, EVENT_WALL, EVENT_IN_TLAB,
	EVENT_OUTSIDE_TLAB, EVENT_ALLOC, EVENT_MONITOR, EVENT_PARK, EVENT_LIVE
};

const struct jfr_shape_of jfr_event_shapes[JFR_N_EVENTS] = {
    [EVENT_SAMPLE] = {"jdk.ExecutionSample",
        {"stackTrace", NULL, "contextId", "state"}},
    [EVENT_NATIVE] = {"jdk.NativeMethodSample", {"stackTrace"}},
    [EVENT_WALL] = {"profiler.WallClockSample",
        {"stackTrace", "samples", "contextId", "state"}},
    [EVENT_IN_TLAB] = {"jdk.ObjectAllocationInNewTLAB",
        {"stackTrace", "tlabSize", "contextId"}},
    [EVENT_OUTSIDE_TLAB] = {"jdk.ObjectAllocationOutsideTLAB",
        {"stackTrace", "allocationSize", "contextId"}},
    [EVENT_ALLOC] = {"jdk.ObjectAllocationSample",
        {"stackTrace", "weight", "contextId"}},
    [EVENT_MONITOR] = {"jdk.JavaMonitorEnter",
        {"stackTrace", "duration", "contextId"}},
    [EVENT_PARK] = {"jdk.ThreadPark",
        {"stackTrace", "duration", "contextId"}},
    [EVENT_LIVE] = {"profiler.LiveObject",
        {"stackTrace", NULL, "contextId"}},
};

/* Types that count each event, and that add up its amount. */
static const struct {
	const char *count, *amount;
	bool ticks; /* the amount is a time */
} events[JFR_N_EVENTS] = {
    [EVENT_IN_TLAB] = {"alloc_in_new_tlab_objects",
        "alloc_in_new_tlab_bytes", false},
    [EVENT_OUTSIDE_TLAB] = {"alloc_outside_tlab_objects",
        "alloc_outside_tlab_bytes", false},
    [EVENT_ALLOC] = {"alloc_sample_objects", "alloc_sample_bytes", false},
    [EVENT_MONITOR] = {"mutex_count", "mutex_duration", true},
    [EVENT_PARK] = {"block_count", "block_duration", true},
    [EVENT_LIVE] = {"live", NULL, false},
};

/* ---- what is added ---- */

static void
event_add(struct jfr *j, const char *type, int64_t period, uint32_t node,
    uint64_t amount)
{
	const struct type *t = types_find(type);
	struct stacks_type of = {t->name, t->unit, period, t->kind};

	stacks_add(j->s, node, stacks_type(j->s, &of), (int64_t)amount);
}

static int64_t
sample_period(const struct jfr *j)
{
	if (j->options->rate > 0)
		return NS_PER_S / j->options->rate;
	return j->period_ns > 0 ? j->period_ns : NS_PER_S / RATE_DEFAULT;
}

static const struct err *
state_sleeps(struct jfr *j, const struct jfr_record *r, bool *sleeps)
{
	static const char sleeping[] = "STATE_SLEEPING";
	const struct err *e = NULL;
	struct jfr_record state;

	if (jfr_constant(j, JFR_STATE, r->number[STATE], &state, &e))
		e = jfr_text(j, &state, 0, &j->part);
	else
		buf_clear(&j->part);
	*sleeps = e == NULL && j->part.len == strlen(sleeping) &&
	    memcmp(j->part.data, sleeping, j->part.len) == 0;
	return e;
}

static const struct err *
event_sample(struct jfr *j, const struct jfr_record *r, uint32_t node)
{
	bool sleeps;
	const struct err *e = state_sleeps(j, r, &sleeps);

	if (e != NULL)
		return e;
	if (!sleeps)
		event_add(j, "cpu", sample_period(j), node, 1);
	if (j->wall)
		event_add(j, "wall", sample_period(j), node, 1);
	j->sleeping += sleeps && !j->wall;
	return NULL;
}

static bool
event_amount(const struct jfr *j, bool ticks, uint64_t *amount)
{
	unsigned __int128 v = *amount;

	if (ticks)
		v = v * NS_PER_S / j->ticks_per_s;
	*amount = (uint64_t)v;
	return v < AMOUNT_MAX;
}

static const struct err *
event_take(struct jfr *j, enum event event, struct cur *c, uint32_t class)
{
	const struct err *e;
	struct jfr_record r;
	uint32_t node;

	if (!jfr_record(&j->meta, c, class, &r))
		return jfr_bad(j, c->p, "an event that ends early");
	if (event == EVENT_NATIVE) {
		j->native++;
		return NULL;
	}
	e = jfr_node(j, r.number[STACK], jfr_labels_node(j->labels, j->s,
	    r.number[CONTEXT]), &node);
	if (e == NULL && !event_amount(j, events[event].ticks,
	    &r.number[AMOUNT]))
		e = jfr_bad(j, r.at[AMOUNT], "more than 2^62 of something");
	if (e != NULL)
		return e;
	if (event == EVENT_SAMPLE)
		return event_sample(j, &r, node);
	if (event == EVENT_WALL) {
		event_add(j, "wall", sample_period(j), node,
		    r.at[AMOUNT] != NULL ? r.number[AMOUNT] : 1);
		return NULL;
	}
	event_add(j, events[event].count, 1, node, 1);
	if (events[event].amount != NULL)
		event_add(j, events[event].amount, 1, node, r.number[AMOUNT]);
	return NULL;
}

/* ---- settings ---- */

/* "20 ms", or nanoseconds as async-profiler writes them; 0: no time. */
static int64_t
setting_time(const char *text)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000},
	    {"s", NS_PER_S}};
	char *end;
	long long v = strtoll(text, &end, 10);

	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(units[i].name, end) == 0 && v > 0 &&
		    v <= 3600 * NS_PER_S / units[i].ns)
			return v * units[i].ns;
	return 0;
}

/* "event" is async-profiler's clock; how often is said of the samples. */
static const struct err *
setting_take(struct jfr *j, struct cur *c, uint32_t class)
{
	const struct err *e;
	struct jfr_record r;
	const char *name, *value;
	uint32_t of;

	if (!jfr_record(&j->meta, c, class, &r))
		return jfr_bad(j, c->p, "a setting that ends early");
	if ((e = jfr_text(j, &r, 1, &j->name)) != NULL ||
	    (e = jfr_text(j, &r, 2, &j->part)) != NULL)
		return e;
	buf_put_u8(&j->name, 0);
	buf_put_u8(&j->part, 0);
	if (j->name.failed || j->part.failed)
		return err_nomem();
	name = (const char *)j->name.data;
	value = (const char *)j->part.data;
	of = map64_get(&j->meta.by_id, r.number[0]);
	if (strcmp(name, "event") == 0)
		j->wall = strcmp(value, "wall") == 0;
	else if (of != INTERN_NONE && j->meta.classes[of].shape ==
	    JFR_EVENTS + EVENT_SAMPLE && (strcmp(name, "interval") == 0 ||
	    strcmp(name, "period") == 0))
		j->period_ns = setting_time(value);
	return NULL;
}

/* ---- all of a chunk ---- */

#define HEADER 68

/* Goes over events: settings, or all others. */
static const struct err *
events_pass(struct jfr *j, bool settings)
{
	const uint8_t *at = j->chunk + HEADER;
	const struct err *e = NULL;

	while (at < j->chunk_end && e == NULL && stacks_error(j->s) == NULL) {
		struct cur c = cur_of(at, (size_t)(j->chunk_end - at));
		uint64_t size = jfr_varint(&c), type = jfr_varint(&c);
		uint32_t class = map64_get(&j->meta.by_id, type), shape;

		if (c.bad || size < (size_t)(c.p - at) ||
		    size > (size_t)(j->chunk_end - at))
			return jfr_bad(j, at, "an event that is not all there");
		c.end = at + size;
		at += size;
		shape = class == INTERN_NONE ? JFR_NONE
		    : j->meta.classes[class].shape;
		if (settings && shape == JFR_SETTING)
			e = setting_take(j, &c, class);
		else if (!settings && shape >= JFR_EVENTS && shape != JFR_NONE)
			e = event_take(j, (enum event)(shape - JFR_EVENTS), &c,
			    class);
	}
	return e;
}

const struct err *
jfr_events_read(struct jfr *j)
{
	const struct err *e = events_pass(j, true);

	return e != NULL ? e : events_pass(j, false);
}
