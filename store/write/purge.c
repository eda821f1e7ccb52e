/*
 * Purging: each file that is touched is built anew without what has to go.
 * A crash leaves some files purged and others not yet; purging again ends it.
 * Beside a running writer the background thread does it, which alone changes
 * the manifest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/write/work.h"

const struct err *
purge_file(struct store_writer *w, const struct manifest_file *f,
    const struct seal_drop *drop)
{
	uint64_t summary = work_summary_until(&w->manifest);
	struct sealed_meta meta = work_meta(w, f->first, f->level);
	struct inputs *in = calloc(1, sizeof(*in));
	struct change *c = malloc(sizeof(*c));
	const struct err *e = in && c ? work_begin(w, c) : err_nomem();

	if (e != NULL) {
		free(in);
		free(c);
		return e;
	}
	e = work_open_input(w, in, f, 0, UINT64_MAX, true);
	if (e == NULL) {
		in->sources[0].drop = drop;
		e = work_build(w, c, f->kind, &meta, in->sources, 1);
	}
	work_drop(c, f->name);
	if (e == NULL && f->kind == MANIFEST_SPAN &&
	    f->level == FORMAT_SPAN_LEVEL && f->first + f->slots <= summary)
		e = work_build_summary(w, c, summary, summary, f->first, NULL);
	e = work_end(w, c, e);
	work_close_inputs(w, in, e);
	free(in);
	free(c);
	return e;
}

const struct err *
purge_summary(struct store_writer *w, const struct seal_drop *drop)
{
	uint64_t summary = work_summary_until(&w->manifest);
	struct change *c = malloc(sizeof(*c));
	const struct err *e;

	if (c == NULL)
		return err_nomem();
	e = work_begin(w, c);
	if (e == NULL) {
		e = work_build_summary(w, c, summary, summary, WORK_NO_SPAN,
		    drop);
		e = work_end(w, c, e);
	}
	free(c);
	return e;
}

/* What fine retention has left in the summary alone. */
static const struct err *
purge_rest(struct store_writer *w, struct seal_drop drop,
    struct purge_report *report)
{
	if (drop.until > w->manifest.fine_from)
		drop.until = w->manifest.fine_from;
	if (drop.from >= drop.until || work_summary_until(&w->manifest) == 0)
		return NULL;
	report->files++;
	report->widened |= drop.from % SPAN_SLOTS || drop.until % SPAN_SLOTS;
	return purge_summary(w, &drop);
}

static void
purge_tell(const struct purge_query *q, double share)
{
	if (q->progress != NULL)
		q->progress(q->arg, share);
}

/* The files of the manifest as it was that the range touches; those that a
 * purge makes come after all others. */
static const struct err *
purge_files(struct store_writer *w, const struct purge_query *q,
    const struct seal_drop *drop, struct purge_report *report)
{
	struct manifest before;
	const struct err *e = manifest_copy(&before, &w->manifest);

	if (e != NULL)
		return e;
	for (uint32_t i = 0; i < before.n && e == NULL; i++) {
		const struct manifest_file *f = &before.files[i];

		if ((f->kind != MANIFEST_SPAN && f->kind != MANIFEST_LATE) ||
		    !work_overlaps(f, drop->from, drop->until - drop->from))
			continue;
		purge_tell(q, (double)i / before.n);
		report->files++;
		e = purge_file(w, f, drop);
		if (e == NULL)
			e = writer_sync(w);
	}
	manifest_fini(&before);
	return e;
}

static uint64_t
purge_bytes(const struct store_writer *w)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->manifest.n; i++)
		bytes += w->manifest.files[i].bytes;
	return bytes;
}

/* The present journal becomes an old one, so that it can be sealed. */
static void
purge_retire(struct store_writer *w)
{
	pthread_mutex_lock(&w->mutex);
	writer_retire(w);
	pthread_mutex_unlock(&w->mutex);
}

/* By whoever changes the manifest: the background thread, or the caller. */
static const struct err *
purge_run(struct store_writer *w, const struct purge_query *q,
    struct purge_report *report)
{
	struct seal_drop drop = {.selector = q->selector,
	    .from = writer_slot(w, q->from_ns),
	    .until = writer_slot(w, q->until_ns + w->options.slot_ns - 1),
	    .slot_ns = w->options.slot_ns};
	const struct err *e;
	uint64_t before, after;

	*report = (struct purge_report){0};
	if (drop.from >= drop.until)
		return NULL;
	purge_retire(w);
	if ((e = work_seal_early(w)) != NULL)
		return e;
	before = purge_bytes(w);
	e = purge_files(w, q, &drop, report);
	if (e == NULL)
		e = purge_rest(w, drop, report);
	after = purge_bytes(w);
	report->bytes = before > after ? before - after : 0;
	return e;
}

const struct err *
store_purge(struct store_writer *w, const struct purge_query *q,
    struct purge_report *report)
{
	if (w->threaded)
		return err_new(ERR_LIMIT, 0, "a purge needs the writer alone");
	return purge_run(w, q, report);
}

const struct err *
store_purge_begin(struct store_writer *w, const struct purge_query *q)
{
	struct purge_report report;
	bool busy;

	if (!w->threaded) {
		const struct err *e = purge_run(w, q, &report);

		q->done(q->arg, e, &report);
		return NULL;
	}
	pthread_mutex_lock(&w->mutex);
	busy = w->purge != NULL;
	if (!busy)
		w->purge = q;
	w->kicked = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->mutex);
	return busy ? err_new(ERR_LIMIT, 429, "a purge is under way") : NULL;
}

void
purge_work(struct store_writer *w)
{
	const struct purge_query *q;
	struct purge_report report;
	const struct err *e;

	pthread_mutex_lock(&w->mutex);
	q = w->purge;
	pthread_mutex_unlock(&w->mutex);
	if (q == NULL)
		return;
	e = purge_run(w, q, &report);
	pthread_mutex_lock(&w->mutex);
	w->purge = NULL;
	pthread_mutex_unlock(&w->mutex);
	q->done(q->arg, e, &report);
}
