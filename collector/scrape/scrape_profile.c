/*
 * One state machine a profile; the loop's clock drives it.
 */
#include "collector/scrape/scrape_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pull/pull_signal.h"
#include "collector/scrape/scrape_queue.h"
#include "collector/scrape/scrape_take.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

/* A dump that was written to just now may be written to still. */
#define DUMP_CALM_NS INT64_C(1000000000)
/* After a signal it may be so long until it is there. */
#define DUMP_ASKED_NS (3 * DUMP_CALM_NS)
#define NO_DUMP "no dump is there yet"

const struct err *
scrape_profiles_init(struct scrape_profiles *s, const struct scrape_config *c,
    struct http *http)
{
	size_t n = 0;

	*s = (struct scrape_profiles){.http = http, .slot_ns = c->slot_ns,
	    .child.socket = -1};
	for (size_t i = 0; i < c->n_targets; i++)
		n += c->targets[i].n_profiles;
	if ((s->all = calloc(n + 1, sizeof(*s->all))) == NULL)
		return err_nomem();
	for (size_t i = 0; i < c->n_targets; i++) {
		const struct scrape_target_config *t = &c->targets[i];

		for (size_t k = 0; k < t->n_profiles; k++) {
			struct scrape_profile *p = &s->all[s->n];

			p->target = t;
			p->config = &t->profiles[k];
			p->kind = p->config->place != NULL ?
			    p->config->place->path : p->config->dumps;
			p->number = s->next++;
			/* in the open slot who was before us may have */
			p->due_ns = (clock_wall_ns() / s->slot_ns + 1) *
			    s->slot_ns;
			s->n++;
		}
	}
	return NULL;
}

/* Is it of the same endpoint or dumps, and stored under the same names? */
static bool
profile_is(const struct scrape_profile *a, const struct scrape_profile *b)
{
	const struct scrape_target_config *x = a->target, *y = b->target;
	const struct http_place *p = a->config->place, *q = b->config->place;

	return strcmp(x->name, y->name) == 0 &&
	    strcmp(x->service ? x->service : x->name,
	    y->service ? y->service : y->name) == 0 &&
	    strcmp(x->instance, y->instance) == 0 &&
	    strcmp(a->kind, b->kind) == 0 && (p != NULL) == (q != NULL) &&
	    (p == NULL || strcmp(p->base, q->base) == 0);
}

static struct scrape_profile *
profile_find(const struct scrape_profiles *s, const struct scrape_profile *p)
{
	for (size_t i = 0; i < s->n; i++)
		if (profile_is(&s->all[i], p))
			return &s->all[i];
	return NULL;
}

/* A request that was on its way is made again. */
static void
profile_follow(struct scrape_profiles *s, struct scrape_profile *p,
    struct scrape_profiles *before, struct scrape_profile *was)
{
	const struct scrape_profile new = *p;

	if (was->state == SCRAPE_PROFILE_ASKS) {
		http_end(before->http, &was->answer);
		was->state = SCRAPE_PROFILE_WAITS;
		was->due_ns = 0;
	}
	*p = *was;
	p->target = new.target;
	p->config = new.config;
	p->kind = new.kind;
	if (before->parsed == was) {
		before->parsed = NULL;
		s->parsed = p;
	}
}

void
scrape_profiles_follow(struct scrape_profiles *s,
    struct scrape_profiles *before)
{
	uint32_t next = before->next;

	s->taken = before->taken; /* counters go on */
	s->refused = before->refused;
	for (size_t i = 0; i < s->n; i++) {
		struct scrape_profile *p = &s->all[i];
		struct scrape_profile *was = profile_find(before, p);

		if (was != NULL)
			profile_follow(s, p, before, was);
		else
			p->number = next++;
	}
	s->next = next;
	if (before->parsed != NULL)
		return; /* the child has what nobody asks for any more */
	s->child = before->child;
	before->child = (struct pull_child){.socket = -1};
}

void
scrape_profiles_fini(struct scrape_profiles *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i].state == SCRAPE_PROFILE_ASKS)
			http_end(s->http, &s->all[i].answer);
	pull_child_end(&s->child);
	free(s->all);
	*s = (struct scrape_profiles){.child.socket = -1};
}

/* ---- what became of a pull ---- */

static void
profile_complain(struct scrape_profile *p, const char *why)
{
	if (strcmp(p->complaint, why) == 0)
		return;
	if (why[0] != '\0')
		log_warn("%s: %s: %s", p->target->name, p->kind, why);
	else
		log_info("%s: %s gives profiles again", p->target->name,
		    p->kind);
	snprintf(p->complaint, sizeof(p->complaint), "%s", why);
}

/* The next multiple of the interval, however long the pull took. */
static void
profile_wait(struct scrape_profile *p)
{
	int64_t every = p->target->profile_interval_ns;

	p->state = SCRAPE_PROFILE_WAITS;
	p->signalled = false;
	p->due_ns = (clock_wall_ns() / every + 1) * every;
}

static void
profile_rest(struct scrape_profile *p)
{
	p->complaint[0] = '\0';
	profile_wait(p);
}

static void
profile_end(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, const char *why)
{
	const struct scrape_target_config *t = p->target;
	struct scrape_reading r = {.meter = meter, .instance = t->instance,
	    .service = t->service ? t->service : t->name,
	    .now_ns = clock_wall_ns()};

	if (why[0] == '\0')
		s->taken++;
	else
		s->refused++;
	scrape_take_outcome(&r, p->kind, why[0] == '\0',
	    clock_mono_ns() - p->began_ns, 0);
	profile_complain(p, why);
	profile_wait(p);
}

/* ---- to the child and back ---- */

static void
profile_hand_over(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, const void *data, size_t n)
{
	const struct scrape_target_config *t = p->target;
	struct pull_ask ask = {.at_ns = p->at_ns, .slot_ns = s->slot_ns,
	    .source = p->number};
	const struct err *e;

	if (p->config->dumps != NULL) {
		const struct pull_dump *d = &p->dumps.all[p->dump];

		ask.run = d->run;
		ask.at_ns = d->time_ns;
		ask.origin = hash64(1, p->kind, strlen(p->kind) + 1);
	}
	snprintf(ask.service, sizeof(ask.service), "%s",
	    t->service ? t->service : t->name);
	snprintf(ask.instance, sizeof(ask.instance), "%s", t->instance);
	snprintf(ask.group, sizeof(ask.group), "%s", p->config->group);
	e = pull_child_ask(&s->child, &ask, data, n);
	if (e != NULL) {
		profile_end(s, p, meter, e->text);
		return;
	}
	p->state = SCRAPE_PROFILE_PARSED;
	s->parsed = p;
}

static void
profile_queue(struct pull_made *made, struct scrape_queue *queue)
{
	struct cur c = cur_of(made->records.data, made->records.len);

	for (uint32_t i = 0; i < made->n; i++) {
		size_t n = cur_be32(&c);
		const uint8_t *bytes = cur_raw(&c, n);
		struct buf record = {0};

		if (bytes != NULL)
			buf_put(&record, bytes, n);
		if (bytes != NULL && !record.failed)
			scrape_queue_put_record(queue, &record);
		buf_fini(&record);
	}
}

/* A dump is done with; one that is broken keeps no other one waiting. */
static void
profile_next_dump(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, const char *why)
{
	p->seen_ns = p->dumps.all[p->dump].time_ns;
	if (why[0] != '\0')
		snprintf(p->why, sizeof(p->why), "%s", why);
	p->state = SCRAPE_PROFILE_LOOKS;
	if (++p->dump == p->dumps.n)
		profile_end(s, p, meter, p->why);
}

/* Takes what the child has made. */
static void
profile_take(struct scrape_profiles *s, struct meter *meter,
    struct scrape_queue *queue)
{
	struct scrape_profile *p = s->parsed;
	struct pull_made made;
	const struct err *e;

	if (p == NULL || !pull_child_done(&s->child, &made, &e))
		return;
	s->parsed = NULL;
	if (e == NULL)
		profile_queue(&made, queue);
	if (e == NULL && made.why[0] != '\0')
		log_debug("%s: %s: %s", p->target->name, p->kind, made.why);
	buf_fini(&made.records);
	if (p->config->dumps != NULL)
		profile_next_dump(s, p, meter, e == NULL ? "" : e->text);
	else
		profile_end(s, p, meter, e == NULL ? "" : e->text);
}

/* ---- dumps ---- */

/* Asks for a dump, and comes back when it is there. */
static void
profile_signal(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, int64_t wall_ns)
{
	const struct err *e = pull_signal_send(p->target->pid_file,
	    p->target->dump_signal);

	if (e != NULL) {
		profile_end(s, p, meter, e->text);
		return;
	}
	p->signalled = true;
	p->due_ns = wall_ns + DUMP_ASKED_NS;
}

/* Dumps from before the scraper came are of the past: import takes them. */
static void
profile_look(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, int64_t wall_ns)
{
	const struct err *e;

	if (p->seen_ns == 0)
		p->seen_ns = wall_ns - p->target->profile_interval_ns -
		    DUMP_CALM_NS;
	e = pull_dumps_find(p->config->dumps, p->seen_ns,
	    wall_ns - DUMP_CALM_NS, &p->dumps);
	p->dump = 0;
	p->why[0] = '\0';
	if (p->dumps.left_out > 0)
		snprintf(p->why, sizeof(p->why), "dumps of more than %u "
		    "processes: %zu were left out", PULL_DUMPS_MAX,
		    p->dumps.left_out);
	if (e != NULL)
		profile_end(s, p, meter, e->text);
	else if (p->dumps.n == 0 && p->dumps.future)
		profile_end(s, p, meter, "a dump is of the future");
	else if (!p->dumps.any)
		profile_end(s, p, meter, NO_DUMP);
	else if (p->dumps.n == 0 && (p->complaint[0] == '\0' ||
	    strcmp(p->complaint, NO_DUMP) == 0))
		profile_rest(p); /* a program may write none for hours */
	else if (p->dumps.n == 0)
		profile_end(s, p, meter, p->complaint);
	else
		p->state = SCRAPE_PROFILE_LOOKS;
}

static void
profile_read(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter)
{
	struct buf body = {0};
	const struct err *e = pull_dumps_read(p->config->dumps,
	    &p->dumps.all[p->dump], (size_t)p->target->profile_bytes, &body);

	if (e != NULL)
		profile_next_dump(s, p, meter, e->text);
	else
		profile_hand_over(s, p, meter, body.data, body.len);
	buf_fini(&body);
}

/* ---- requests ---- */

static void
profile_ask(struct scrape_profiles *s, struct scrape_profile *p)
{
	p->state = SCRAPE_PROFILE_ASKS;
	http_start(s->http, &(struct http_request){
	    .place = p->config->place,
	    .timeout_ns = p->target->profile_timeout_ns,
	    .answer_max = (size_t)p->target->profile_bytes}, &p->answer);
}

static void
profile_answered(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter)
{
	struct http_answer *a = &p->answer;
	char why[64] = "";

	if (a->state == HTTP_BUSY)
		return;
	if (a->state == HTTP_DONE && a->status != 200)
		snprintf(why, sizeof(why), "status %d", a->status);
	else if (a->state == HTTP_DONE && s->parsed != NULL)
		return; /* its turn comes */
	if (a->state != HTTP_DONE)
		profile_end(s, p, meter, a->why);
	else if (why[0] != '\0')
		profile_end(s, p, meter, why);
	else
		profile_hand_over(s, p, meter, a->body.data, a->body.len);
	http_end(s->http, a);
}

static void
profile_step(struct scrape_profiles *s, struct scrape_profile *p,
    struct meter *meter, int64_t wall_ns)
{
	/* a clock that was set back does not stop it */
	if (p->due_ns > wall_ns + p->target->profile_interval_ns +
	    DUMP_ASKED_NS + s->slot_ns)
		p->due_ns = wall_ns;
	if (p->state == SCRAPE_PROFILE_WAITS && wall_ns >= p->due_ns) {
		p->at_ns = wall_ns;
		p->began_ns = clock_mono_ns();
		if (p->config->dumps != NULL && !p->signalled &&
		    p->target->dump_signal != 0)
			profile_signal(s, p, meter, wall_ns);
		else if (p->config->dumps != NULL)
			profile_look(s, p, meter, wall_ns);
		else
			profile_ask(s, p);
	} else if (p->state == SCRAPE_PROFILE_ASKS) {
		profile_answered(s, p, meter);
	} else if (p->state == SCRAPE_PROFILE_LOOKS && s->parsed == NULL) {
		profile_read(s, p, meter);
	}
}

void
scrape_profiles_step(struct scrape_profiles *s, struct meter *meter,
    struct scrape_queue *queue, int64_t wall_ns)
{
	profile_take(s, meter, queue);
	for (size_t i = 0; i < s->n; i++)
		profile_step(s, &s->all[i], meter, wall_ns);
}

bool
scrape_profiles_tell(const struct scrape_profiles *s,
    const struct scrape_target_config *target, bool told, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct scrape_profile *p = &s->all[i];

		if (p->target != target || p->complaint[0] == '\0')
			continue;
		buf_printf(out, told || any ? ", %s: %s" : "%s: %s", p->kind,
		    p->complaint);
		any = true;
	}
	return any;
}
