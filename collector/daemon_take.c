/*
 * What comes through the socket: is it of a time that is kept, has its service
 * room left, and then into the store, all of a push or nothing of it.
 */
#include "collector/base/config.h"
#include "collector/base/spent.h"
#include "collector/daemon.h"
#include "collector/ipc/intake_parts.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"

#define SLOTS_AHEAD_MAX 360 /* a client's clock may be this far ahead */
#define SEAL_A_SECOND (8 << 20) /* bytes of a journal, on a host with work */

/* The store's bounds know nothing of the present; a block of the far future
 * would be the newest for ever, and one from before retention would go with
 * the next sealing, though its sender was told that it is kept. */
static const struct err *
daemon_check_time(const struct daemon *d, const struct batch *b)
{
	uint64_t present = (uint64_t)(clock_wall_ns() / d->slots.slot_ns);
	uint64_t kept = (uint64_t)(d->config->retain_ns / d->slots.slot_ns);
	uint64_t oldest = kept > 0 && kept < present ? present - kept : 0;

	if (b->slot_ns != (uint64_t)d->slots.slot_ns)
		return err_new(ERR_REQUEST, 422, "slots of %llu ns in a store "
		    "of %lld ns", (unsigned long long)b->slot_ns,
		    (long long)d->slots.slot_ns);
	for (size_t i = 0; i < b->n_blocks; i++) {
		if (b->blocks[i].slot > present + SLOTS_AHEAD_MAX)
			return err_new(ERR_REQUEST, 422,
			    "slot %llu is in the future",
			    (unsigned long long)b->blocks[i].slot);
		if (b->blocks[i].slot < oldest)
			return err_new(ERR_REQUEST, 422,
			    "slot %llu is older than what is kept (retain)",
			    (unsigned long long)b->blocks[i].slot);
	}
	return NULL;
}

/* Seconds until a seal has made room: of journals that are over, or of the
 * present one, too, where that alone has no room. */
static int64_t
daemon_open_wait_s(const struct store_writer_stats *s, int64_t now_ns,
    int64_t most)
{
	int64_t current = (int64_t)(s->open_bytes - s->sealing_bytes);
	int64_t wait = (int64_t)s->open_bytes / SEAL_A_SECOND + 1;

	if (current >= most && s->open_until_ns > now_ns)
		wait += (s->open_until_ns - now_ns) / NS_PER_S;
	return wait;
}

const struct err *
daemon_check_open(struct daemon *d)
{
	int64_t most = d->config->open_bytes;
	struct store_writer_stats s;

	store_writer_stats(d->store, &s);
	if (most == 0 || s.open_bytes < (uint64_t)most)
		return NULL;
	return err_new(ERR_LIMIT, 429, "pushes wait: %llu MB are not sealed "
	    "yet, max-open is %lld MB: again in %lld s",
	    (unsigned long long)s.open_bytes >> 20, (long long)most >> 20,
	    (long long)daemon_open_wait_s(&s, clock_wall_ns(), most));
}

const struct err *
daemon_check(void *arg, struct batch *b)
{
	struct daemon *d = arg;
	const struct err *e = daemon_check_time(d, b);

	if (e == NULL)
		e = daemon_check_open(d);
	if (e == NULL)
		e = batch_finish(b);
	return e == NULL ? quota_check(&d->quota, b) : e;
}

const struct err *
daemon_take(void *arg, struct batch *b)
{
	struct daemon *d = arg;
	struct store_writer_stats before, after;
	const struct err *e;

	if ((e = daemon_check(d, b)) != NULL)
		return e;
	store_writer_stats(d->store, &before);
	if ((e = daemon_append(d, b)) != NULL)
		return e;
	store_writer_stats(d->store, &after);
	quota_charge(&d->quota, b, after.nodes - before.nodes);
	daemon_record(d, b);
	return NULL;
}

/* ---- pushes of several batches ---- */

struct daemon_push {
	struct daemon *d;
	const struct intake_parts *parts;
};

static const struct err *
push_get(void *arg, size_t i, struct batch **b)
{
	const struct daemon_push *p = arg;
	const struct err *e = intake_parts_get(p->parts, i, b);

	if (e == NULL && (e = batch_finish(*b)) != NULL)
		batch_free(*b);
	return e;
}

static void
push_done(void *arg, struct batch *b, uint64_t nodes)
{
	const struct daemon_push *p = arg;

	quota_charge(&p->d->quota, b, nodes);
	batch_free(b);
}

/* A recording is replayed batch by batch. */
static void
push_record(struct daemon_push *p)
{
	struct batch *b;

	for (size_t i = 0; p->d->record != NULL && i < p->parts->n; i++) {
		if (push_get(p, i, &b) != NULL)
			return;
		b->more = false;
		daemon_record(p->d, b);
		batch_free(b);
	}
}

/* Of what was refused nothing counts, nor as used up. */
const struct err *
daemon_push(void *arg, const struct intake_parts *parts)
{
	struct daemon *d = arg;
	struct daemon_push p = {d, parts};
	struct quota before = d->quota;
	enum spent_on spent = spent_begin(SPENT_STORE);
	const struct err *e = store_append_parts(d->store,
	    &(struct store_parts){parts->n, parts->id, parts->until, push_get,
	        push_done, &p});

	spent_begin(spent);
	if (e != NULL)
		d->quota = before;
	else
		push_record(&p);
	return e;
}
