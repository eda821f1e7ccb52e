/*
 * GET /api/v1/health: is the data there, and is it whole?
 *
 * "down": nobody writes (or there is no store yet), by the age of the newest
 * slot and, as the clock may have been wrong, by what the collector says;
 * "degraded": somebody writes, but a source is not attached, loses more than
 * one sample in a hundred, more than one stack in a hundred of the host or of
 * a service is not whole, the scraper or a replica is silent, a watched program
 * has ended (programs.h), or damage was found.  The reasons are said; what was
 * stopped on purpose is said beside them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/query/measure.h"
#include "fcgi/query/programs.h"
#include "fcgi/query/series_point.h"
#include "fcgi/query/whole.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "fcgi/server/version.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define RECENT_NS (300 * NS_PER_S)
#define SELF_NS (60 * NS_PER_S)
#define ROUNDS_MAX 1024 /* series of them: each is compared with all */
#define SILENT_NS (30 * NS_PER_S) /* a replica of PBFT, while others do */
#define HEALTH_ALIVE_OF "{__name__=~\"node_cpu_seconds_total|"                 \
	"memlens_self_cpu_seconds_total|memlens_scrape_values_total\"}"
#define HEALTH_SCRAPER "scrape" /* a source in a process of its own */

enum health_level { HEALTH_OK, HEALTH_DEGRADED, HEALTH_DOWN };

/* What the store has to judge by, in the slot in which it was read. */
struct health_told {
	uint64_t written; /* store_written() then */
	int64_t slot;
	struct source_state *sources;
	struct buf *whole;  /* what whole_judge() says of each */
	struct mark *marks; /* of programs */
	struct metric_series *samples, *faults, *alive, *cpu, *rss, *private;
	struct metric_series *services, *broken; /* samples of each, stacks */
	struct metric_series *rounds; /* of PBFT, by replica and state */
	size_t n_sources, n_samples, n_faults, n_alive, n_cpu, n_rss,
	    n_private;
	size_t n_services, n_broken, n_marks, n_rounds;
};

static const struct health_told told_nothing;

struct health {
	struct store *store; /* NULL: none */
	int64_t now_ns, stale_ns;
	struct store_extent extent;
	const struct health_told *told;
	enum health_level level;
	struct buf reasons, stopped; /* separated by "; " */
};

/* Metrics whose newest slot is that of a source without a sample count. */
static const struct {
	const char *source, *metric;
} health_alive[] = {
    {"disk", "memlens_disk_lost_total"},
    {"procfs", "node_cpu_seconds_total"},
    {"self", "memlens_self_cpu_seconds_total"},
    {HEALTH_SCRAPER, "memlens_scrape_values_total"},
};
#define HEALTH_ALIVE (sizeof(health_alive) / sizeof(health_alive[0]))

static void
health_say(struct buf *to, const char *who, const char *why)
{
	buf_printf(to, "%s%s%s%s", to->len > 0 ? "; " : "", who,
	    *who != '\0' ? ": " : "", why);
}

static void
health_because(struct health *h, enum health_level level, const char *who,
    const char *why)
{
	if (level > h->level)
		h->level = level;
	health_say(&h->reasons, who, why);
}

/* ---- what is told ---- */

/* The sum of a counter of one source over the last minutes; -1 when it has
 * none. */
static int128
health_sum(const struct metric_series *m, size_t n, const char *name,
    const char *source)
{
	int128 sum = -1;

	for (size_t i = 0; i < n; i++) {
		const struct metric_point *p =
		    series_point_of(&m[i], name, source);

		if (p != NULL)
			sum = (sum < 0 ? 0 : sum) +
			    p->increase / scale_factor(m[i].desc.scale);
	}
	return sum;
}

/* Most counters of faults stand still. */
static bool
told_counts(const struct metric_series *m)
{
	const struct metric_point *p = series_point_only(m);

	return p != NULL && p->increase != 0;
}

static bool
told_any(const struct metric_series *m)
{
	return m->n_points > 0;
}

static const struct err *
told_judge(struct health_told *t)
{
	t->whole = calloc(t->n_sources + 1, sizeof(*t->whole));
	if (t->whole == NULL)
		return err_nomem();
	for (size_t i = 0; i < t->n_sources; i++)
		whole_judge(&(struct whole){.services = t->services,
		    .n_services = t->n_services, .broken = t->broken,
		    .n_broken = t->n_broken, .host = t->faults,
		    .n_host = t->n_faults, .source = t->sources[i].name,
		    .samples = health_sum(t->samples, t->n_samples,
		    MEASURE_SAMPLES, t->sources[i].name)}, &t->whole[i]);
	return NULL;
}

static const struct err *
told_load(struct health_told *t, struct store *s, int64_t now)
{
	struct mark_query programs = {now - PROGRAMS_GONE_NS, now + NS_PER_S,
	    PROGRAMS_WHAT, NULL, MARKS_MAX};
	const struct {
		const char *selector;
		int64_t ns;
		struct metric_series **series;
		size_t *n;
		bool (*keep)(const struct metric_series *m);
	} of[] = {
	    {MEASURE_SAMPLES, RECENT_NS, &t->samples, &t->n_samples,
	        told_any},
	    {MEASURE_FAULTS, RECENT_NS, &t->faults, &t->n_faults,
	        told_counts},
	    {HEALTH_ALIVE_OF, RECENT_NS, &t->alive, &t->n_alive, told_any},
	    {MEASURE_SERVICE_SAMPLES, RECENT_NS, &t->services,
	        &t->n_services, told_counts},
	    {MEASURE_SERVICE_BROKEN, RECENT_NS, &t->broken, &t->n_broken,
	        told_counts},
	    {"pbft_rounds_total", SELF_NS, &t->rounds, &t->n_rounds,
	        told_any},
	    {"memlens_self_cpu_seconds_total", SELF_NS, &t->cpu, &t->n_cpu,
	        told_any},
	    {"memlens_self_resident_bytes", SELF_NS, &t->rss, &t->n_rss,
	        told_any},
	    {"memlens_self_private_bytes", SELF_NS, &t->private,
	        &t->n_private, told_any},
	};
	const struct err *e;
	size_t left_out;

	e = marks_list(s, &programs, &t->marks, &t->n_marks, &left_out);
	if (e == NULL)
		e = measure_sources(s, now, &t->sources, &t->n_sources);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]) && e == NULL; i++) {
		e = measure_once(s, of[i].selector, now - of[i].ns, now,
		    of[i].series, of[i].n);
		if (e == NULL)
			*of[i].n = metric_series_sift(*of[i].series,
			    *of[i].n, of[i].keep);
	}
	return e == NULL ? told_judge(t) : e;
}

static void
told_free(struct health_told *t)
{
	if (t == NULL)
		return;
	metric_series_free(t->samples, t->n_samples);
	metric_series_free(t->faults, t->n_faults);
	metric_series_free(t->alive, t->n_alive);
	metric_series_free(t->services, t->n_services);
	metric_series_free(t->broken, t->n_broken);
	metric_series_free(t->rounds, t->n_rounds);
	metric_series_free(t->cpu, t->n_cpu);
	metric_series_free(t->rss, t->n_rss);
	metric_series_free(t->private, t->n_private);
	for (size_t i = 0; t->whole != NULL && i < t->n_sources; i++)
		buf_fini(&t->whole[i]);
	free(t->whole);
	free(t->sources);
	free(t->marks);
	free(t);
}

void
health_forget(struct context *c)
{
	told_free(c->health);
	c->health = NULL;
}

/* Each open page asks every few seconds, and a store is written to once a
 * slot: what it tells is read once for all of them. */
static const struct err *
health_load(struct health *h, struct context *c)
{
	struct health_told *t = c->health;
	uint64_t written = store_written(h->store);
	const struct err *e;
	int64_t slot;

	store_extent(h->store, &h->extent);
	slot = h->now_ns / h->extent.slot_ns;
	h->told = t;
	if (t != NULL && t->written == written && t->slot == slot)
		return NULL;
	health_forget(c);
	h->told = &told_nothing;
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return err_nomem();
	*t = (struct health_told){.written = written, .slot = slot};
	if ((e = told_load(t, h->store, h->now_ns)) != NULL) {
		told_free(t);
		return e;
	}
	store_extent(h->store, &h->extent); /* what was found damaged, too */
	h->told = c->health = t;
	return NULL;
}

/* ---- judging ---- */

static void
health_newest(int64_t *last, const struct metric_series *m)
{
	const struct metric_point *p = series_point_only(m);

	if (p != NULL && p->last_ns > *last)
		*last = p->last_ns;
}

/* When the source's newest number was taken; else when it last spoke. */
static int64_t
health_last(const struct health *h, const struct source_state *s)
{
	const char *metric = "";
	int64_t last = s->time_ns;

	for (size_t i = 0; i < h->told->n_samples; i++)
		if (strcmp(measure_label(&h->told->samples[i], "source"),
		    s->name) == 0)
			health_newest(&last, &h->told->samples[i]);
	for (size_t i = 0; i < HEALTH_ALIVE; i++)
		if (strcmp(health_alive[i].source, s->name) == 0)
			metric = health_alive[i].metric;
	for (size_t i = 0; i < h->told->n_alive; i++)
		if (strcmp(h->told->alive[i].desc.name, metric) == 0)
			health_newest(&last, &h->told->alive[i]);
	return last;
}

/* How old may the newest slot be? */
static int64_t
health_stale_ns(const struct health *h)
{
	int64_t stale = 3 * h->extent.slot_ns;

	return stale > h->stale_ns ? stale : h->stale_ns;
}

/* The scraper says so before it stops: one that is only silent has died, or
 * cannot reach the socket.  Silent beside what others have stored, for while
 * nobody writes that is said. */
static bool
health_is_silent(const struct health *h, const struct source_state *s)
{
	return strcmp(s->name, HEALTH_SCRAPER) == 0 &&
	    strcmp(s->state, "off") != 0 &&
	    h->extent.until_ns - health_last(h, s) > health_stale_ns(h);
}

static void
health_judge_source(struct health *h, const struct source_state *s,
    const struct buf *whole)
{
	int128 samples = health_sum(h->told->samples, h->told->n_samples,
	    MEASURE_SAMPLES, s->name);
	int128 lost = health_sum(h->told->faults, h->told->n_faults,
	    MEASURE_LOST, s->name);

	if (health_is_silent(h, s))
		health_because(h, HEALTH_DEGRADED, s->name, "memlens-scrape "
		    "has died, or does not reach the daemon: nothing came "
		    "of late");
	else if (strcmp(s->state, "degraded") == 0 ||
	    strcmp(s->state, "not attached") == 0)
		health_because(h, HEALTH_DEGRADED, s->name,
		    s->why[0] != '\0' ? s->why : s->state);
	if (lost > 0 && lost * 100 > samples + lost)
		health_because(h, HEALTH_DEGRADED, s->name,
		    "loses more than 1 % of its samples");
	if (whole->len > 0)
		health_because(h, HEALTH_DEGRADED, s->name,
		    (const char *)whole->data);
}

static void
health_judge_program(void *arg, bool trouble, const char *service,
    const char *why)
{
	struct health *h = arg;

	if (trouble)
		health_because(h, HEALTH_DEGRADED, service, why);
	else
		health_say(&h->stopped, service, why);
}

static bool
health_is_of(const struct metric_series *m, const char *name,
    const char *value)
{
	return strcmp(measure_label(m, name), value) == 0;
}

/* Rounds of all states in the last minute: of one instance, else of all of the
 * service; `slots`: those in which it was there. */
static int128
health_rounds(const struct health *h, const char *service,
    const char *instance, uint64_t *slots)
{
	int128 sum = 0;

	*slots = 0;
	for (size_t i = 0; i < h->told->n_rounds; i++) {
		const struct metric_series *m = &h->told->rounds[i];
		const struct metric_point *p = series_point_only(m);

		if (p == NULL || !health_is_of(m, "service", service) ||
		    (instance != NULL &&
		    !health_is_of(m, "instance", instance)))
			continue;
		sum += p->increase;
		*slots = p->slots > *slots ? p->slots : *slots;
	}
	return sum;
}

/* One that is there and counts nothing while others of its service do.  More
 * series than our probe has are somebody else's, and are not judged. */
static void
health_judge_replicas(struct health *h)
{
	if (h->told->n_rounds > ROUNDS_MAX)
		return;
	for (size_t i = 0; i < h->told->n_rounds; i++) {
		const struct metric_series *m = &h->told->rounds[i];
		const char *service = measure_label(m, "service");
		const char *instance = measure_label(m, "instance");
		uint64_t slots, all;
		char who[160], why[80];

		if (!health_is_of(m, "state", "execute") ||
		    health_rounds(h, service, instance, &slots) > 0 ||
		    (int64_t)slots * h->extent.slot_ns < SILENT_NS ||
		    health_rounds(h, service, NULL, &all) == 0)
			continue;
		snprintf(who, sizeof(who), "%s %s", service, instance);
		snprintf(why, sizeof(why), "no round of PBFT for %lld s or "
		    "more, in which others had some", (long long)
		    ((int64_t)slots * h->extent.slot_ns / NS_PER_S));
		health_because(h, HEALTH_DEGRADED, who, why);
	}
}

static void
health_judge(struct health *h)
{
	int64_t stale = health_stale_ns(h);

	if (h->extent.state == STORE_DISK_FULL)
		health_because(h, HEALTH_DEGRADED, "the disk is full",
		    *h->extent.why != '\0' ? h->extent.why
		    : "nothing is stored until there is room");
	else if (h->extent.state == STORE_FAILED)
		health_because(h, HEALTH_DEGRADED, "the collector cannot "
		    "write to the store", h->extent.why);
	else if (*h->extent.why != '\0')
		health_because(h, HEALTH_DEGRADED, "", h->extent.why);
	if (h->extent.until_ns == 0)
		health_because(h, HEALTH_DOWN, "", "the store is empty");
	else if (h->now_ns - h->extent.until_ns > stale)
		health_because(h, HEALTH_DOWN, "",
		    "the collector writes nothing: the newest slot is old");
	else if (h->extent.idle_ns > stale)
		health_because(h, HEALTH_DOWN, "",
		    "the collector writes nothing");
	/* Slots of the future never grow old, so age cannot tell. */
	else if (!h->extent.writer &&
	    h->extent.until_ns - h->now_ns > RECENT_NS)
		health_because(h, HEALTH_DOWN, "", "no collector is running, "
		    "and the newest slot is of the future");
	else if (!h->extent.writer)
		health_because(h, HEALTH_DEGRADED, "",
		    "no collector is running");
	if (h->extent.damaged > 0)
		health_because(h, HEALTH_DEGRADED, "",
		    "the store has damaged files or records");
	for (size_t i = 0; i < h->told->n_sources; i++)
		health_judge_source(h, &h->told->sources[i],
		    &h->told->whole[i]);
	programs_judge(h->told->marks, h->told->n_marks, h->now_ns,
	    health_judge_program, h);
	health_judge_replicas(h);
}

static void
health_put_store(struct writer *w, const struct health *h)
{
	const struct store_extent *e = &h->extent;
	bool empty = e->until_ns == 0;

	writer_key_open(w, "store", '{');
	writer_key(w, "from");
	empty ? writer_null(w) : writer_seconds(w, e->from_ns);
	writer_key(w, "until");
	empty ? writer_null(w) : writer_seconds(w, e->until_ns);
	writer_key_int(w, "bytes", (int64_t)e->bytes);
	writer_key_int(w, "slots", (int64_t)e->slots);
	writer_key_str(w, "state",
	    h->store == NULL ? "missing" :
	    e->state == STORE_DISK_FULL ? "full" :
	    e->state == STORE_FAILED ? "failing" : empty ? "empty" :
	    e->damaged > 0 ? "damaged" : "ok");
	writer_key_seconds(w, "slot", e->slot_ns);
	writer_key_int(w, "files", (int64_t)e->files);
	writer_key_int(w, "journals", (int64_t)e->journals);
	writer_key_int(w, "damaged", (int64_t)e->damaged);
	writer_close(w, '}');
}

static void
health_put_source(struct writer *w, const struct health *h,
    const struct source_state *s)
{
	int128 samples = health_sum(h->told->samples, h->told->n_samples,
	    MEASURE_SAMPLES, s->name);

	writer_open(w, '{');
	writer_key_str(w, "name", s->name);
	writer_key_str(w, "state", s->state);
	writer_key_str(w, "why", s->why);
	writer_key_seconds(w, "last", health_last(h, s));
	writer_key(w, "samples");
	samples < 0 ? writer_null(w) : writer_int128(w, samples);
	writer_key(w, "lost");
	measure_put_reasons(w, h->told->faults, h->told->n_faults,
	    MEASURE_LOST, s->name);
	if (measure_is_memory(s->name)) {
		writer_key(w, "lost_bytes");
		measure_put_reasons(w, h->told->faults, h->told->n_faults,
		    MEASURE_LOST_BYTES, s->name);
		writer_key(w, "lost_objects");
		measure_put_reasons(w, h->told->faults, h->told->n_faults,
		    MEASURE_LOST_OBJECTS, s->name);
	}
	writer_key(w, "broken");
	measure_put_reasons(w, h->told->faults, h->told->n_faults,
	    MEASURE_BROKEN, s->name);
	writer_close(w, '}');
}

/* CPU seconds a second of the increase over the slots that have data. */
static void
health_put_cpu(struct writer *w, const struct health *h)
{
	int128 sum = 0;
	uint64_t slots = 0;
	unsigned scale = 0;

	for (size_t i = 0; i < h->told->n_cpu; i++) {
		const struct metric_point *p =
		    series_point_only(&h->told->cpu[i]);

		if (p == NULL)
			continue;
		scale = h->told->cpu[i].desc.scale; /* one metric has one */
		sum += p->increase;
		slots = p->slots > slots ? p->slots : slots;
	}
	writer_key(w, "cpu");
	if (slots == 0)
		writer_null(w);
	else
		writer_quotient(w, sum, (uint128)slots *
		    (uint64_t)h->extent.slot_ns, (int)scale - 9);
}

/* Of all processes; null when nothing is known. */
static void
health_put_bytes(struct writer *w, const char *key,
    const struct metric_series *m, size_t n)
{
	int128 sum = -1;

	for (size_t i = 0; i < n; i++)
		if (series_point_only(&m[i]) != NULL)
			sum = (sum < 0 ? 0 : sum) + m[i].points->last /
			    scale_factor(m[i].desc.scale);
	writer_key(w, key);
	sum < 0 ? writer_null(w) : writer_int128(w, sum);
}

static void
health_put_rss(struct writer *w, const struct health *h, const char *process)
{
	for (size_t i = 0; i < h->told->n_rss; i++) {
		const struct metric_series *m = &h->told->rss[i];

		if (series_point_only(m) == NULL ||
		    !health_is_of(m, "process", process))
			continue;
		writer_decimal(w, m->points->last, m->desc.scale);
		return;
	}
	writer_null(w);
}

/* What the sums above are made of. */
static void
health_put_processes(struct writer *w, const struct health *h)
{
	writer_key_open(w, "processes", '[');
	for (size_t i = 0; i < h->told->n_cpu; i++) {
		const struct metric_series *m = &h->told->cpu[i];
		const char *name = measure_label(m, "process");

		if (series_point_only(m) == NULL)
			continue;
		writer_open(w, '{');
		writer_key_str(w, "name", name);
		writer_key(w, "cpu");
		writer_quotient(w, m->points->increase,
		    (uint128)m->points->slots * (uint64_t)h->extent.slot_ns,
		    m->desc.scale - 9);
		writer_key(w, "rss");
		health_put_rss(w, h, name);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void
health_put_words(struct writer *w, const char *key, const struct buf *words)
{
	if (words->len == 0)
		return;
	writer_key(w, key);
	writer_strn(w, (const char *)words->data, words->len);
}

static void
health_put(struct writer *w, const struct health *h, int64_t started_ns)
{
	static const char *const levels[] = {"ok", "degraded", "down"};

	writer_open(w, '{');
	writer_key_str(w, "status", levels[h->level]);
	health_put_words(w, "reason", &h->reasons);
	health_put_words(w, "stopped", &h->stopped);
	writer_key_str(w, "version", MEMLENS_VERSION);
	writer_key_seconds(w, "now", h->now_ns);
	health_put_store(w, h);
	writer_key_open(w, "sources", '[');
	for (size_t i = 0; i < h->told->n_sources; i++)
		health_put_source(w, h, &h->told->sources[i]);
	writer_close(w, ']');
	writer_key_open(w, "self", '{');
	health_put_cpu(w, h);
	health_put_bytes(w, "rss", h->told->rss, h->told->n_rss);
	health_put_bytes(w, "private", h->told->private, h->told->n_private);
	health_put_processes(w, h);
	writer_key_seconds(w, "worker_started", started_ns);
	writer_close(w, '}');
	writer_close(w, '}');
}

const struct err *
api_health(struct context *c, struct request *rq, struct response *rs)
{
	struct health h = {.told = &told_nothing, .now_ns = rq->now_ns,
	    .stale_ns = c->settings->stale_ns};
	struct writer w = writer_of(&rs->body);
	const struct err *e;

	e = context_store(c, &h.store);
	if (e != NULL)
		health_because(&h, HEALTH_DOWN, "", e->text);
	else if ((e = health_load(&h, c)) != NULL)
		health_because(&h, HEALTH_DEGRADED, "", e->text);
	if (h.store != NULL)
		health_judge(&h);
	health_put(&w, &h, c->started_ns);
	buf_fini(&h.reasons);
	buf_fini(&h.stopped);
	return NULL;
}
