/*
 * Retention: fine slots go by age, whole files at a time; the oldest go
 * first when the directory is over its cap.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/journal/journal.h"
#include "store/write/work.h"

static uint64_t
work_total_bytes(struct store_writer *w)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->manifest.n; i++) {
		const struct manifest_file *f = &w->manifest.files[i];
		struct stat st;

		if (f->kind != MANIFEST_JOURNAL)
			bytes += f->bytes;
		else if (fstatat(w->dir, f->name, &st, 0) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

enum which { ALL, MERGED, APART };

/* The oldest span or late file of those; NULL when there is none. */
static const struct manifest_file *
work_oldest(const struct manifest *m, enum which which)
{
	const struct manifest_file *oldest = NULL;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if ((f->kind != MANIFEST_SPAN && f->kind != MANIFEST_LATE) ||
		    (which != ALL &&
		        manifest_is_apart(f->name) != (which == APART)))
			continue;
		if (oldest == NULL || f->first < oldest->first)
			oldest = f;
	}
	return oldest;
}

/* A late file that can be merged within the full span that begins there? */
static bool
work_is_late(const struct manifest_file *f, uint64_t first)
{
	return f->kind == MANIFEST_LATE && !manifest_is_apart(f->name) &&
	    work_inside(f, first, SPAN_SLOTS);
}

static size_t
work_count_late(const struct manifest *m, uint64_t first)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		n += work_is_late(&m->files[i], first);
	return n;
}

/* Where the summary ends that is to hold a span that ends at `end`: a purge
 * may have taken all of it, and the cap what was not in it yet. */
static uint64_t
work_fold_until(const struct manifest *m, uint64_t end)
{
	uint64_t until = work_summary_until(m);

	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind == MANIFEST_SPAN &&
		    work_overlaps(&m->files[i], 0, end) &&
		    m->files[i].first + m->files[i].slots > until)
			return until; /* these are to go into it first */
	}
	return until < end ? end : until;
}

/*
 * Late data of a span whose fine slots are gone: its files become one, then
 * that one is added to the summary.
 */
static const struct err *
work_fold_files(struct store_writer *w, struct change *c, struct inputs *in,
    struct work_list *list, uint64_t first)
{
	uint64_t until = work_fold_until(&w->manifest, first + SPAN_SLOTS);
	struct manifest_file summary = work_summary(&w->manifest);
	struct work_room room = work_room(w, &summary);
	struct sealed_meta meta = work_meta(w, first, FORMAT_SPAN_LEVEL);
	const struct err *e;
	bool one;

	for (uint32_t i = 0; i < w->manifest.n && list->n < WORK_SOURCES; i++)
		if (work_is_late(&w->manifest.files[i], first))
			list->files[list->n++] = w->manifest.files[i];
	one = list->n == 1 && list->files[0].level == FORMAT_SPAN_LEVEL;
	list->facts = !one;
	list->replaced = true;
	e = work_open_inputs(w, c, in, &room, list);
	if (e != NULL || in->n == 0) /* set apart */
		return e;
	if (!one)
		return work_build(w, c, MANIFEST_LATE, &meta, in->sources,
		    in->n);
	if (summary.name[0] != '\0') {
		e = work_open_input(w, in, &summary, 0, UINT64_MAX, false);
		work_drop(c, summary.name);
	}
	meta = work_summary_meta(w, until);
	return e != NULL ? e : work_build(w, c, MANIFEST_SUMMARY, &meta,
	    in->sources, in->n);
}

static const struct err *
work_fold_late(struct store_writer *w, uint64_t first)
{
	struct work_list *list = calloc(1, sizeof(*list));
	struct inputs *in = calloc(1, sizeof(*in));
	struct change *c = malloc(sizeof(*c));
	const struct err *e = list && in && c ? work_begin(w, c) : err_nomem();

	if (e == NULL) {
		e = work_end(w, c, work_fold_files(w, c, in, list, first));
		work_close_inputs(w, in, e);
	}
	free(list);
	free(in);
	free(c);
	return e;
}

/* Slots with data of a file that the summary does not hold; of a late file
 * it may hold none. */
static uint64_t
work_only_here(const struct manifest *m, const struct manifest_file *f)
{
	uint64_t from = f->since, summary = work_summary_until(m);

	if (f->kind == MANIFEST_SPAN && from < summary)
		from = summary;
	return f->until > from ? f->until - from : 0;
}

uint64_t
work_limit(struct store_writer *w, int64_t age_ns)
{
	uint64_t limit = 0;

	pthread_mutex_lock(&w->mutex);
	if (age_ns > 0)
		limit = writer_slot(w, w->now_ns);
	if (limit > w->newest)
		limit = w->newest;
	age_ns /= w->options.slot_ns;
	limit = limit > (uint64_t)age_ns ? limit - (uint64_t)age_ns : 0;
	pthread_mutex_unlock(&w->mutex);
	return limit;
}

bool
work_may_go(struct store_writer *w, uint64_t slots)
{
	bool may;

	pthread_mutex_lock(&w->mutex);
	may = calm_is(&w->calm, w->options.slot_ns);
	if (!may && w->stats.held_ns == 0)
		log_warn("store: old data is kept: the clock has jumped by "
		    "%" PRId64 " s; it goes after an hour of steady time",
		    w->calm.jump_ns / NS_PER_S);
	if (!may)
		w->held_ns = w->calm.jump_ns;
	may = may && calm_spend(&w->calm, slots);
	pthread_mutex_unlock(&w->mutex);
	return may;
}

static void
work_count_removed(struct store_writer *w, uint64_t until)
{
	pthread_mutex_lock(&w->mutex);
	w->stats.removed++;
	if (until > w->stats.removed_until)
		w->stats.removed_until = until;
	pthread_mutex_unlock(&w->mutex);
}

/* Removes one file for good; `lost` slots with it. */
static const struct err *
work_remove(struct store_writer *w, const struct manifest_file *f,
    uint64_t lost)
{
	struct change *c = malloc(sizeof(*c));
	uint64_t until = f->until;
	const struct err *e;

	if (c == NULL)
		return err_nomem();
	e = work_begin(w, c);
	if (e == NULL) {
		if (f->first + f->slots > c->next.fine_from)
			c->next.fine_from = f->first + f->slots;
		work_drop(c, f->name);
		if (lost > 0)
			manifest_forget_gaps(&c->next,
			    work_summary_until(&c->next), c->next.fine_from);
		c->lost_slots = lost;
		e = work_end(w, c, NULL);
	}
	free(c);
	if (e == NULL)
		work_count_removed(w, until);
	return e;
}

/* Lets the fine slots of the oldest span go, once all of it, late data
 * included, is in the summary. */
static const struct err *
work_thin(struct store_writer *w, const struct manifest_file *f, bool *did)
{
	uint64_t summary = work_summary_until(&w->manifest);

	if (f->kind == MANIFEST_LATE &&
	    f->first + f->slots <= w->manifest.fine_from) {
		*did = true;
		return work_fold_late(w,
		    seg_align(f->first, FORMAT_SPAN_LEVEL));
	}
	if (f->first + f->slots > summary)
		return NULL; /* not yet */
	*did = true;
	if (work_count_late(&w->manifest,
	        seg_align(f->first, FORMAT_SPAN_LEVEL)) > 0)
		return work_merge_span(w,
		    seg_align(f->first, FORMAT_SPAN_LEVEL),
		    FORMAT_SPAN_LEVEL);
	*did = work_may_go(w, f->slots);
	return *did ? work_remove(w, f, 0) : NULL;
}

/* Takes out of the summary what is older than everything is kept. */
static const struct err *
work_retain_summary(struct store_writer *w, bool *did)
{
	uint64_t until = work_summary_until(&w->manifest), since = until;
	struct seal_drop drop = {.slot_ns = w->options.slot_ns};
	const struct err *e;
	struct change *c;

	if (w->options.retain_ns == 0 || until == 0)
		return NULL;
	drop.until = seg_align(work_limit(w, w->options.retain_ns),
	    FORMAT_SPAN_LEVEL);
	for (uint32_t i = 0; i < w->manifest.n; i++) {
		if (w->manifest.files[i].kind == MANIFEST_SUMMARY)
			since = w->manifest.files[i].since;
	}
	if (drop.until > w->manifest.fine_from)
		drop.until = w->manifest.fine_from;
	since = seg_align(since, FORMAT_SPAN_LEVEL);
	if (since >= drop.until)
		return NULL;
	if (drop.until - since > CALM_SLOTS) /* the rest in another hour */
		drop.until = since + CALM_SLOTS;
	if (!work_may_go(w, drop.until - since))
		return NULL;
	if ((c = malloc(sizeof(*c))) == NULL)
		return err_nomem();
	*did = true;
	e = work_begin(w, c);
	if (e == NULL) {
		e = work_build_summary(w, c, until, until, WORK_NO_SPAN,
		    &drop);
		manifest_forget_gaps(&c->next, 0, drop.until);
		e = work_end(w, c, e);
	}
	free(c);
	if (e == NULL)
		work_count_removed(w, drop.until);
	return e;
}

/* What was set apart stays until all goes. */
static const struct err *
work_retain_apart(struct store_writer *w, bool *did)
{
	const struct manifest_file *f = work_oldest(&w->manifest, APART);

	if (f == NULL || f->first + f->slots >
	    work_limit(w, w->options.retain_ns))
		return NULL;
	*did = work_may_go(w, f->slots);
	return *did ? work_remove(w, f, 0) : NULL;
}

static const struct err *
work_retain_one(struct store_writer *w, bool *did)
{
	const struct manifest_file *f = work_oldest(&w->manifest, MERGED);
	const struct store_options *o = &w->options;
	uint64_t bytes = work_total_bytes(w);
	uint64_t limit = work_limit(w, o->retain_fine_ns);
	const struct err *e = NULL;

	pthread_mutex_lock(&w->mutex);
	w->stats.bytes = bytes;
	w->stats.files = w->manifest.n;
	pthread_mutex_unlock(&w->mutex);
	if (f != NULL && f->first + f->slots <= limit)
		e = work_thin(w, f, did);
	if (e == NULL && !*did)
		e = work_retain_apart(w, did);
	if (e != NULL || *did)
		return e;
	f = work_oldest(&w->manifest, ALL);
	if (f != NULL && o->max_bytes > 0 &&
	    bytes > (uint64_t)o->max_bytes) {
		uint64_t lost = work_only_here(&w->manifest, f);

		*did = true;
		if (lost > 0)
			log_warn("store: over its cap of %" PRId64
			         " bytes: %s goes for good, the summary lacks "
			         "%" PRIu64 " of its slots", o->max_bytes,
			    f->name, lost);
		return work_remove(w, f, lost);
	}
	return work_retain_summary(w, did);
}

const struct err *
work_retain(struct store_writer *w, bool *did)
{
	const struct err *e;

	w->held_ns = 0;
	e = work_retain_one(w, did);
	if (e == NULL && !*did)
		e = work_retain_unwatched(w, did);
	pthread_mutex_lock(&w->mutex);
	w->stats.held_ns = w->held_ns;
	pthread_mutex_unlock(&w->mutex);
	return e;
}
