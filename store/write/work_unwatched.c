/*
 * Retention by class: what services have that nobody watches goes out of the
 * oldest files, as a purge takes it out, one file a step.  A sweep looks at
 * each file that is old enough, and takes nothing out of one that has nothing
 * of them; the next one comes when as much data as a file holds, or as the age
 * tells, has become old, or with other names.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/unwatched.h"
#include "store/seal/seal_sieve.h"
#include "store/store.h"
#include "store/write/work.h"

const struct err *
store_retain_unwatched(struct store_writer *w, const char *const *names,
    size_t n, int64_t age_ns)
{
	struct unwatched *u, *before;
	const struct err *e = unwatched_new(&u, names, n, age_ns);

	if (e != NULL)
		return e;
	pthread_mutex_lock(&w->mutex);
	before = w->unwatched_told;
	w->unwatched_told = u;
	pthread_mutex_unlock(&w->mutex);
	unwatched_free(before);
	return NULL;
}

/* What the caller has told since becomes what is swept by. */
static void
sweep_take_up(struct store_writer *w)
{
	struct unwatched *told;

	pthread_mutex_lock(&w->mutex);
	told = w->unwatched_told;
	w->unwatched_told = NULL;
	pthread_mutex_unlock(&w->mutex);
	if (told == NULL)
		return;
	unwatched_free(w->sweep.unwatched);
	w->sweep = (struct writer_sweep){.unwatched = told};
}

/* The number in its name: of two files the newer has the higher. */
static uint64_t
sweep_number(const struct manifest_file *f)
{
	enum manifest_kind kind;
	uint64_t number;

	return manifest_name_is(f->name, &kind, &number) ? number : 0;
}

static bool
sweep_before(const struct manifest_file *a, const struct manifest_file *b)
{
	return a->first != b->first ? a->first < b->first
	                            : sweep_number(a) < sweep_number(b);
}

/* The oldest span or late file before `limit` that this sweep has still to
 * look at; what was made since it began is of the next one. */
static const struct manifest_file *
sweep_next(const struct store_writer *w, uint64_t limit)
{
	const struct writer_sweep *s = &w->sweep;
	const struct manifest_file *next = NULL;

	for (uint32_t i = 0; i < w->manifest.n; i++) {
		const struct manifest_file *f = &w->manifest.files[i];

		if ((f->kind == MANIFEST_SPAN || f->kind == MANIFEST_LATE) &&
		    f->first + f->slots <= limit &&
		    sweep_number(f) <= s->newest &&
		    (!s->begun || sweep_before(&s->done, f)) &&
		    (next == NULL || sweep_before(f, next)))
			next = f;
	}
	return next;
}

static const struct manifest_file *
sweep_find_summary(const struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind == MANIFEST_SUMMARY)
			return &m->files[i];
	}
	return NULL;
}

/* The first slot of what is to go out of a file; it is looked for once. */
static const struct err *
sweep_look(struct store_writer *w, const struct manifest_file *f,
    const struct seal_drop *drop, uint64_t *first)
{
	struct writer_sweep *s = &w->sweep;
	const struct err *e;
	struct inputs *in;

	*first = s->seen_first;
	if (strcmp(s->seen, f->name) == 0)
		return NULL;
	if ((in = calloc(1, sizeof(*in))) == NULL)
		return err_nomem();
	e = work_open_input(w, in, f, 0, UINT64_MAX, false);
	if (e == NULL)
		e = seal_sieve_first(in->sources[0].file, drop, first);
	work_close_inputs(w, in, e);
	free(in);
	if (e != NULL)
		return e;
	memcpy(s->seen, f->name, sizeof(s->seen));
	s->seen_first = *first;
	return NULL;
}

static void
sweep_count(struct store_writer *w, uint64_t until)
{
	pthread_mutex_lock(&w->mutex);
	w->stats.thinned++;
	if (until > w->stats.thinned_until)
		w->stats.thinned_until = until;
	pthread_mutex_unlock(&w->mutex);
}

/* Looks at one file, and takes out of it what is to go. */
static const struct err *
sweep_file(struct store_writer *w, const struct manifest_file *next,
    const struct seal_drop *drop, bool *did)
{
	struct manifest_file f = *next; /* which goes with the manifest */
	const struct err *e;
	uint64_t first;

	if ((e = sweep_look(w, &f, drop, &first)) != NULL)
		return e;
	if (first < drop->until) {
		if (!work_may_go(w, f.slots))
			return NULL;
		if ((e = purge_file(w, &f, drop)) != NULL)
			return e;
		sweep_count(w, f.until);
	}
	w->sweep.done = f;
	w->sweep.begun = *did = true;
	return NULL;
}

/* What fine retention has left in the summary alone; *over: nothing of it is
 * left to go. */
static const struct err *
sweep_summary(struct store_writer *w, struct seal_drop drop, bool *over)
{
	const struct manifest_file *f = sweep_find_summary(&w->manifest);
	const struct err *e;
	uint64_t first;

	if (drop.until > w->manifest.fine_from)
		drop.until = w->manifest.fine_from;
	drop.until = seg_align(drop.until, FORMAT_SPAN_LEVEL);
	*over = f == NULL || drop.until == 0;
	if (*over || (e = sweep_look(w, f, &drop, &first)) != NULL)
		return *over ? NULL : e;
	drop.from = seg_align(first, FORMAT_SPAN_LEVEL);
	*over = drop.from >= drop.until;
	if (*over)
		return NULL;
	if (drop.until - drop.from > CALM_SLOTS) /* the rest in another hour */
		drop.until = drop.from + CALM_SLOTS;
	if (!work_may_go(w, drop.until - drop.from))
		return NULL;
	if ((e = purge_summary(w, &drop)) == NULL)
		sweep_count(w, drop.until);
	return e;
}

/* This sweep is over. */
static void
sweep_end(struct store_writer *w, uint64_t limit)
{
	struct unwatched *u = w->sweep.unwatched;
	uint64_t age = (uint64_t)(u->age_ns / w->options.slot_ns);

	w->sweep = (struct writer_sweep){.unwatched = u,
	    .due = limit + (age < SPAN_SLOTS ? age : SPAN_SLOTS)};
}

const struct err *
work_retain_unwatched(struct store_writer *w, bool *did)
{
	struct writer_sweep *s = &w->sweep;
	struct seal_drop drop = {.slot_ns = w->options.slot_ns};
	const struct manifest_file *next;
	const struct err *e;
	bool over;

	sweep_take_up(w);
	drop.unwatched = s->unwatched;
	if (s->unwatched == NULL || s->unwatched->age_ns == 0)
		return NULL;
	drop.until = work_limit(w, s->unwatched->age_ns);
	if (drop.until == 0 || drop.until < s->due)
		return NULL;
	if (s->newest == 0)
		s->newest = w->sequence;
	if ((next = sweep_next(w, drop.until)) != NULL)
		return sweep_file(w, next, &drop, did);
	e = sweep_summary(w, drop, &over);
	if (e == NULL && over)
		sweep_end(w, drop.until);
	return e;
}
