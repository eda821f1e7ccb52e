/*
 * Replay: a recording's batches go to the store as they are, as fast as they
 * can be read, with the recording's clock.
 */
#include "collector/daemon.h"
#include "collector/ipc/intake.h"
#include "collector/ipc/purger.h"
#include "collector/ipc/replay.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/store.h"

static const struct err *
replay_take(struct daemon *d, struct batch *b)
{
	int64_t time_ns = replay_time_ns(b);
	const struct err *e;

	if ((e = store_append(d->store, b)) != NULL)
		return e;
	if (time_ns <= d->data_ns)
		return NULL;
	d->data_ns = time_ns;
	return store_tick(d->store, d->data_ns);
}

/* Looks for signals between two batches without waiting. */
static const struct err *
replay_all(struct daemon *d, uint64_t *batches)
{
	struct batch *b = d->replay_first;
	const struct err *e = NULL;

	d->replay_first = NULL;
	while (e == NULL && !d->stop && b != NULL) {
		e = replay_take(d, b);
		batch_free(b);
		b = NULL;
		++*batches;
		if (e == NULL)
			e = loop_wait(d->loop, 0);
		if (e == NULL)
			e = replay_next(d->replay, &b);
	}
	batch_free(b);
	return e;
}

static const struct err *
replay_stay(struct daemon *d)
{
	const struct err *e;

	while (!d->stop) {
		purger_tick(d->purger, d->intake);
		intake_tick(d->intake, clock_mono_ns());
		if ((e = loop_wait(d->loop, NS_PER_S)) != NULL)
			return e;
		if (d->dump)
			daemon_dump(d);
		d->dump = d->reload = false;
	}
	return NULL;
}

const struct err *
daemon_run_replay(struct daemon *d)
{
	uint64_t batches = 0;
	const struct err *e = replay_all(d, &batches);

	log_info("%s: %llu batches replayed, %llu damaged places skipped",
	    d->options.replay_path, (unsigned long long)batches,
	    (unsigned long long)replay_damaged(d->replay));
	if (e != NULL || !d->options.stay)
		return e;
	return replay_stay(d);
}
