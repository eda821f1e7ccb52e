/*
 * A target is asked by one state machine for all its pages, which poll(2)
 * drives; it logs a failure when it changes, not each time.
 */
#include "collector/scrape/scrape_target.h"

#include <stdio.h>
#include <string.h>

#include "collector/scrape/scrape_config.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

void
scrape_target_init(struct scrape_target *t, const struct scrape_config *config,
    const struct scrape_target_config *target, struct http *http,
    int64_t mono_ns)
{
	memset(t, 0, sizeof(*t));
	t->config = config;
	t->name = target->name;
	t->service = target->service ? target->service : target->name;
	t->instance = target->instance;
	t->http = http;
	t->due_ns = mono_ns;
	for (int i = 0; i < SCRAPE_PAGES; i++)
		if (target->pages[i] != NULL)
			t->pages[t->n_pages++] = (struct scrape_page){
			    .kind = scrape_page_kinds[i],
			    .place = target->pages[i]};
}

void
scrape_target_fini(struct scrape_target *t)
{
	if (t->busy)
		http_end(t->http, &t->answer);
	t->busy = false;
}

static int64_t
target_interval_ns(const struct scrape_target *t)
{
	int64_t interval_ns = t->config->interval_ns, longer = interval_ns;

	for (unsigned i = 0; i < t->failures && i < 8; i++)
		longer *= 2;
	if (longer > SCRAPE_BACKOFF_MAX_NS)
		longer = SCRAPE_BACKOFF_MAX_NS;
	return longer > interval_ns ? longer : interval_ns;
}

static void
target_begin(struct scrape_target *t)
{
	t->busy = true;
	t->began_ns = clock_mono_ns();
	http_start(t->http, &(struct http_request){
	    .place = t->pages[t->at].place,
	    .timeout_ns = t->config->deadline_ns,
	    .answer_max = SCRAPE_BODY_MAX}, &t->answer);
}

/* Failures are logged when they change, and when they end. */
static void
target_complain(const struct scrape_target *t, struct scrape_page *p,
    const char *why)
{
	if (strcmp(p->complaint, why) == 0)
		return;
	if (why[0] != '\0')
		log_warn("%s: %s: %s", t->name, p->kind, why);
	else
		log_info("%s: %s answers again", t->name, p->kind);
	snprintf(p->complaint, sizeof(p->complaint), "%s", why);
}

/* Takes the page, or says why not. */
static void
target_read(struct scrape_target *t, const struct scrape_reading *r,
    struct scrape_counts *counts, char *why, size_t size)
{
	const struct scrape_page *p = &t->pages[t->at];
	const char *body = (const char *)t->answer.body.data;
	const struct err *e;

	if (t->answer.state != HTTP_DONE) {
		snprintf(why, size, "%s", t->answer.why);
		return;
	}
	if (t->answer.status != 200) {
		snprintf(why, size, "status %d", t->answer.status);
		return;
	}
	if (strcmp(p->kind, "leveldb") == 0)
		e = scrape_take_leveldb(r, body ? body : "", t->answer.body.len,
		    counts);
	else
		e = scrape_take_prometheus(r, body ? body : "",
		    t->answer.body.len, counts);
	if (e != NULL)
		snprintf(why, size, "%.190s", e->text);
}

static void
target_finish(struct scrape_target *t, struct meter *meter,
    struct scrape_counts *counts, int64_t wall_ns)
{
	struct scrape_page *p = &t->pages[t->at];
	/* a neighbour's answer may be there before poll(2) is asked again */
	int64_t ended_ns = clock_mono_ns();
	uint64_t again = counts->again;
	struct scrape_reading r = {meter, t->service, t->instance, wall_ns,
	    (uint64_t)t->config->max_samples};
	char why[sizeof(p->complaint)] = "";

	target_read(t, &r, counts, why, sizeof(why));
	again = counts->again - again;
	if (again > 0 && p->again == 0)
		log_warn("%s: %s: the page has series twice: the first value "
		    "is taken", t->name, p->kind);
	p->again += again;
	scrape_take_outcome(&r, p->kind, why[0] == '\0',
	    t->answer.state == HTTP_DONE ? ended_ns - t->began_ns : -1,
	    p->again);
	target_complain(t, p, why);
	if (why[0] == '\0')
		p->last_ns = wall_ns;
	else
		t->failed = true;
	http_end(t->http, &t->answer);
	t->busy = false;
}

static void
target_end_round(struct scrape_target *t, int64_t mono_ns)
{
	t->at = 0;
	t->failures = t->failed ? t->failures + 1 : 0;
	t->failed = false;
	t->due_ns += target_interval_ns(t);
	if (t->due_ns < mono_ns)
		t->due_ns = mono_ns;
}

void
scrape_target_step(struct scrape_target *t, struct meter *meter,
    struct scrape_counts *counts, int64_t wall_ns, int64_t mono_ns)
{
	if (t->n_pages == 0)
		return;
	if (!t->busy) {
		if (mono_ns < t->due_ns)
			return;
		target_begin(t);
	}
	if (t->answer.state == HTTP_BUSY)
		return;
	target_finish(t, meter, counts, wall_ns);
	if (++t->at == t->n_pages)
		target_end_round(t, mono_ns);
	else
		target_begin(t);
}

bool
scrape_target_tell(const struct scrape_target *t, int64_t since_ns,
    struct buf *out)
{
	bool told = false;

	for (size_t i = 0; i < t->n_pages; i++) {
		const struct scrape_page *p = &t->pages[i];

		if (p->complaint[0] == '\0' || p->last_ns >= since_ns)
			continue;
		buf_printf(out, told ? ", %s: %s" : "%s: %s", p->kind,
		    p->complaint);
		told = true;
	}
	return told;
}

int64_t
scrape_target_due_ns(const struct scrape_target *t)
{
	/* http_wait() knows; of one with profiles alone nothing is due */
	return t->busy || t->n_pages == 0 ? INT64_MAX : t->due_ns;
}
