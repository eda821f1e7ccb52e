/*
 * Sending, counting and answering.
 */
#include "fcgi/push/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch_client.h"

#define REFUSALS                                                               \
	(sizeof(((struct context *)0)->ingest.refused) /                       \
	    sizeof(((struct context *)0)->ingest.refused[0]))
#define INGEST_POST_MS 10000 /* for memlensd to take a batch */
#define INGEST_TELL_NS NS_PER_S /* between two tellings of refusals */
#define INGEST_RETRY_NS (5 * NS_PER_S)

/* `why` is a constant. */
static void
ingest_refuse(struct context *c, const char *why)
{
	struct context_ingest *t = &c->ingest;
	size_t i = 0;

	while (i < REFUSALS - 1 && t->refused[i].why != NULL &&
	    strcmp(t->refused[i].why, why) != 0)
		i++;
	t->refused[i].why = why;
	t->refused[i].n++;
}

void
ingest_refuse_for(struct context *c, const struct err *e)
{
	ingest_refuse(c, e->code == 507 ? "disk full" :
	    e->code == 429 ? "overload" : e->code == 413 ? "too large" :
	    e->code == 403 ? "forbidden" : e->code == 404 ? "no such path" :
	    e->code == 405 ? "wrong method" :
	    e->domain == ERR_REQUEST && e->code >= 400 && e->code < 500 ?
	    "bad request" : "not taken");
}

/* A store's slots are as long as it lives: it is not looked at again before
 * memlensd has refused something. */
static const struct err *
ingest_slot(struct context *c)
{
	struct store_extent extent;
	const struct err *e;
	struct store *s;

	if (c->slot_ns != 0)
		return NULL;
	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	c->slot_ns = extent.slot_ns;
	return NULL;
}

/* What becomes of a push whose answer does not come nobody knows: its client
 * can send it again under the same id if it is told. */
static void
ingest_make_key(char key[33])
{
	uint8_t random[16];

	key[0] = '\0';
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(key + 2 * i, 3, "%02x", random[i]);
}

const struct err *
ingest_begin(struct context *c, const struct request *rq, bool kept,
    struct push **p)
{
	const char *key = rq->idempotency_key;
	const struct err *e;
	uint8_t own[16], *id = NULL;

	if ((e = ingest_slot(c)) != NULL)
		return e;
	c->ingest.key[0] = '\0';
	if (*key == '\0') {
		ingest_make_key(c->ingest.key);
		key = c->ingest.key;
	}
	if (*key != '\0') {
		push_id_of(key, rq->path, own);
		id = own;
	}
	*p = kept ? push_new_kept(c->slot_ns, id, c->kept)
	          : push_new(c->slot_ns, id);
	return *p != NULL ? NULL : err_nomem();
}

static const struct err *
ingest_post(void *arg, struct batch *b)
{
	return batch_client_batch(arg, b);
}

static const struct err *
ingest_post_kept(void *arg, struct batch *b)
{
	return batch_client_stream(arg, b);
}

static const struct err *
ingest_try(struct context *c, struct push *p)
{
	const struct err *e = NULL;

	if (c->post == NULL)
		e = batch_client_open(&c->post, c->settings->collector_socket,
		    INGEST_POST_MS);
	if (e == NULL)
		e = push_send(p, push_is_kept(p) ? ingest_post_kept
		                                 : ingest_post, c->post);
	if (e != NULL) {
		batch_client_close(c->post);
		c->post = NULL;
		c->slot_ns = 0;
	}
	return e;
}

/* A connection that breaks, as one does that was idle for long, is made once
 * more; the ids keep what was taken from counting twice. */
static const struct err *
ingest_deliver(struct context *c, struct push *p)
{
	const struct err *e = NULL;

	for (int i = 0; i < 2; i++) {
		e = ingest_try(c, p);
		if (e == NULL || e->domain == ERR_REQUEST ||
		    e->domain == ERR_LIMIT)
			return e;
	}
	if (c->ingest.key[0] == '\0')
		return err_new(ERR_REQUEST, 503, "memlensd does not take "
		    "profiles: %s", e->text);
	return err_new(ERR_REQUEST, 503, "memlensd does not take profiles: %s;"
	    " should it be stored all the same, a retry with Idempotency-Key "
	    "%s counts once", e->text, c->ingest.key);
}

static const struct err *
ingest_refused(const struct err *e, struct response *rs)
{
	int again_s = batch_client_again_s(e);

	if (e->code == 429 || e->code == 503 || e->code == 507)
		rs->retry_after_s = again_s > 0 ? again_s :
		    e->code == 507 ? 60 : 5;
	if (e->code == 403)
		return err_new(ERR_REQUEST, 503, "memlensd refuses this "
		    "worker: %s", e->text);
	return e;
}

/* Counters travel with what they count; each worker has totals of its own,
 * which begin again with it. */
static void
ingest_put_count(struct context *c, int64_t now_ns, struct push *p,
    const char *name, const char *label, const char *value, int64_t n)
{
	char worker[16];
	struct label labels[] = {{"process", "memlens-fcgi"},
	    {"instance", worker}, {label, value}};

	snprintf(worker, sizeof(worker), "%u", c->number);
	push_count(p, now_ns, name, labels, 3, n,
	    tally_add(&c->ingest.totals, name, value, n));
}

static void
ingest_count_refused(struct context *c, int64_t now_ns, struct push *p)
{
	struct context_ingest *t = &c->ingest;

	for (size_t i = 0; i < REFUSALS; i++)
		if (t->refused[i].n > 0)
			ingest_put_count(c, now_ns, p,
			    "memlens_ingest_refused_total", "reason",
			    t->refused[i].why, t->refused[i].n);
}

static void
ingest_count(struct context *c, const struct request *rq, struct push *p,
    const struct ingest_report *r)
{
	struct stacks_skipped s;

	ingest_put_count(c, rq->now_ns, p, "memlens_ingest_profiles_total",
	    "format", r->format, (int64_t)r->profiles);
	ingest_put_count(c, rq->now_ns, p, "memlens_ingest_bytes_total",
	    "format", r->format, (int64_t)rq->body.len);
	for (size_t i = 0; r->skipped != NULL &&
	    i < stacks_n_skipped(r->skipped); i++) {
		stacks_get_skipped(r->skipped, i, &s);
		ingest_put_count(c, rq->now_ns, p,
		    "memlens_ingest_skipped_total", "reason", s.why,
		    (int64_t)s.n);
	}
	ingest_count_refused(c, rq->now_ns, p);
}

/* What was told is told once; what was not taken is told again. */
static void
ingest_counted(struct context *c, bool taken)
{
	tally_settle(&c->ingest.totals, taken);
	for (size_t i = 0; taken && i < REFUSALS; i++)
		c->ingest.refused[i].n = 0;
}

const struct err *
ingest_send(struct context *c, const struct request *rq, struct push *p,
    const struct ingest_report *report, struct response *rs)
{
	const struct err *e;

	ingest_count(c, rq, p, report);
	e = ingest_deliver(c, p);
	ingest_counted(c, e == NULL);
	return e == NULL ? NULL : ingest_refused(e, rs);
}

static bool
ingest_has_refused(const struct context *c)
{
	for (size_t i = 0; i < REFUSALS; i++)
		if (c->ingest.refused[i].n > 0)
			return true;
	return false;
}

/* A push of nothing but counters. */
static bool
ingest_try_telling(struct context *c)
{
	struct push *p = NULL;
	const struct err *e;

	if (ingest_slot(c) != NULL || (p = push_new(c->slot_ns, NULL)) == NULL)
		return false;
	ingest_count_refused(c, clock_wall_ns(), p);
	e = ingest_try(c, p);
	ingest_counted(c, e == NULL);
	push_free(p);
	return e == NULL;
}

int
ingest_tell(struct context *c, bool last)
{
	int64_t now_ns = clock_mono_ns();

	if (!ingest_has_refused(c))
		return -1;
	if (now_ns >= c->ingest.tell_ns || last)
		c->ingest.tell_ns = now_ns + (ingest_try_telling(c) ?
		    INGEST_TELL_NS : INGEST_RETRY_NS);
	if (!ingest_has_refused(c))
		return -1;
	return (int)((c->ingest.tell_ns - now_ns) / NS_PER_MS) + 1;
}
