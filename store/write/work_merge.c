/*
 * Merging: four spans and their late files become one, up to 4,096 slots;
 * full spans go into the summary.
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

#define LATE_FOLD 4 /* late files of a full span that make it worth it */

struct sealed_meta
work_summary_meta(const struct store_writer *w, uint64_t until)
{
	struct sealed_meta meta = {.slot_ns = w->options.slot_ns,
	    .slots = until, .base = FORMAT_SPAN_LEVEL,
	    .top = FORMAT_SPAN_LEVEL};

	while (meta.top < SEG_MAX_LEVEL && seg_slots(meta.top + 1) <= until)
		meta.top++;
	return meta;
}

struct manifest_file
work_summary(const struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->files[i].kind == MANIFEST_SUMMARY)
			return m->files[i];
	return (struct manifest_file){0};
}

/* The spans that go into it, beside the old one. */
static const struct err *
work_open_spans(struct store_writer *w, struct change *c, struct inputs *in,
    struct work_room *room, uint64_t from, uint64_t until, uint64_t again)
{
	struct work_list *list = calloc(1, sizeof(*list));
	const struct err *e = NULL;

	if (list == NULL)
		return err_nomem();
	room->left /= 2; /* the next ones need some, too */
	for (uint32_t i = 0; i < c->next.n; i++) {
		const struct manifest_file *f = &c->next.files[i];

		if (f->kind == MANIFEST_SPAN &&
		    f->level == FORMAT_SPAN_LEVEL && f->first < until &&
		    (f->first >= from || f->first == again) &&
		    in->n + list->n < WORK_SOURCES)
			list->files[list->n++] = *f;
	}
	e = work_open_inputs(w, c, in, room, list);
	free(list);
	return e;
}

const struct err *
work_build_summary(struct store_writer *w, struct change *c, uint64_t from,
    uint64_t until, uint64_t again, const struct seal_drop *drop)
{
	struct inputs *in = calloc(1, sizeof(*in));
	struct sealed_meta meta = work_summary_meta(w, until);
	struct manifest_file old = work_summary(&c->next);
	struct work_room room = work_room(w, &old);
	const struct err *e = in ? NULL : err_nomem();

	if (e == NULL && old.name[0] != '\0') {
		e = work_open_input(w, in, &old, 0, from, false);
		if (e == NULL) { /* the span that is taken anew is left out */
			in->sources[0].skip_from = again;
			in->sources[0].skip_until = again + SPAN_SLOTS;
			in->sources[0].drop = drop;
		}
		work_drop(c, old.name);
	}
	if (e == NULL)
		e = work_open_spans(w, c, in, &room, from, until, again);
	if (e == NULL)
		e = work_build(w, c, MANIFEST_SUMMARY, &meta, in->sources,
		    in->n);
	if (in != NULL)
		work_close_inputs(w, in, e);
	free(in);
	return e;
}

uint64_t
work_summary_until(const struct manifest *m)
{
	struct manifest_file f = work_summary(m);

	return f.first + f.slots;
}

/* The files of a span; late ones that are too many wait for the next time. */
static void
work_list_span(const struct manifest *m, const struct sealed_meta *meta,
    enum manifest_kind kind, struct work_list *list)
{
	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (f->kind == kind && !manifest_is_apart(f->name) &&
		    list->n < WORK_SOURCES &&
		    work_inside(f, meta->first, meta->slots))
			list->files[list->n++] = *f;
	}
}

static const struct err *
work_merge_files(struct store_writer *w, struct change *c, struct inputs *in,
    const struct sealed_meta *meta)
{
	struct manifest_file summary = work_summary(&w->manifest);
	bool again = meta->top == FORMAT_SPAN_LEVEL && meta->first +
	    meta->slots <= summary.first + summary.slots;
	struct work_room room = work_room(w, again ? &summary : NULL);
	struct work_list *list = calloc(1, sizeof(*list));
	const struct err *e = NULL;

	if (list == NULL)
		return err_nomem();
	list->facts = list->replaced = true;
	work_list_span(&w->manifest, meta, MANIFEST_SPAN, list);
	work_list_span(&w->manifest, meta, MANIFEST_LATE, list);
	e = work_open_inputs(w, c, in, &room, list);
	free(list);
	if (e == NULL)
		e = work_build(w, c, MANIFEST_SPAN, meta, in->sources, in->n);
	if (e == NULL && again)
		e = work_build_summary(w, c, summary.first + summary.slots,
		    summary.first + summary.slots, meta->first, NULL);
	return e;
}

const struct err *
work_merge_span(struct store_writer *w, uint64_t first, unsigned level)
{
	struct sealed_meta meta = work_meta(w, first, level);
	struct inputs *in = calloc(1, sizeof(*in));
	struct change *c = malloc(sizeof(*c));
	const struct err *e = in && c ? work_begin(w, c) : err_nomem();

	if (e == NULL) {
		e = work_end(w, c, work_merge_files(w, c, in, &meta));
		work_close_inputs(w, in, e);
	}
	free(in);
	free(c);
	return e;
}

/* How many span and late files lie within a span; *whole: one span file is
 * the span already. */
static void
work_count(const struct manifest *m, uint64_t first, unsigned level,
    size_t *spans, size_t *late, bool *whole)
{
	*spans = *late = 0;
	*whole = false;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (!work_inside(f, first, seg_slots(level)) ||
		    manifest_is_apart(f->name))
			continue;
		*spans += f->kind == MANIFEST_SPAN;
		*late += f->kind == MANIFEST_LATE;
		*whole |= f->kind == MANIFEST_SPAN && f->level == level;
	}
}

/* Merges one span that is complete and worth it. */
const struct err *
work_merge(struct store_writer *w, uint64_t open_from, bool *did)
{
	const struct manifest *m = &w->manifest;

	for (unsigned level = FORMAT_SHORT_LEVEL + 1;
	     level <= FORMAT_SPAN_LEVEL; level++) {
		for (uint32_t i = 0; i < m->n; i++) {
			const struct manifest_file *f = &m->files[i];
			uint64_t first = seg_align(f->first, level);
			size_t spans, late;
			bool whole;

			/* a span that is whole is found by its late files:
			 * else each would be counted for, with every file */
			if (manifest_is_apart(f->name) ||
			    (f->kind != MANIFEST_LATE &&
			        (f->kind != MANIFEST_SPAN ||
			            f->level == level)) ||
			    f->level > level ||
			    first + seg_slots(level) > open_from ||
			    first < m->fine_from)
				continue;
			work_count(m, first, level, &spans, &late, &whole);
			if (whole ? level < FORMAT_SPAN_LEVEL ||
			            late < LATE_FOLD
			          : spans == 0 && level < FORMAT_SPAN_LEVEL)
				continue;
			*did = true;
			return work_merge_span(w, first, level);
		}
	}
	return NULL;
}

/* The end of the first full span that ends after `slot`; of facts alone there
 * is no summary. */
static uint64_t
work_next_full(const struct manifest *m, uint64_t slot)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (f->kind == MANIFEST_SPAN && f->until != 0 &&
		    f->level == FORMAT_SPAN_LEVEL &&
		    f->first + f->slots > slot && f->first + f->slots < next)
			next = f->first + f->slots;
	}
	return next;
}

/*
 * The summary is written anew as a whole, so it waits until the spans that
 * are to go into it are a 64th of those that are in it: what it costs a slot
 * does not grow with the store.  They are few at any time: answers read their
 * blocks one by one.
 */
#define SUMMARY_SHARE 64
#define SUMMARY_WAIT 12

static bool
work_summary_waits(const struct manifest *m, uint64_t have, uint64_t until)
{
	uint64_t waiting = 0, within = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (f->kind == MANIFEST_SUMMARY)
			within = (have - f->since) / SPAN_SLOTS;
		waiting += f->kind == MANIFEST_SPAN &&
		    f->level == FORMAT_SPAN_LEVEL && f->first >= have &&
		    f->first < until;
	}
	return waiting < SUMMARY_WAIT && waiting * SUMMARY_SHARE < within;
}

/* Takes the full spans that are complete into the summary. */
const struct err *
work_summarize(struct store_writer *w, uint64_t open_from, bool *did)
{
	uint64_t have = work_summary_until(&w->manifest), until = have;
	struct change *c;
	const struct err *e;

	/* one after the other, as many as one step takes */
	for (unsigned n = 0; n < WORK_SOURCES - 1; n++) {
		uint64_t next = work_next_full(&w->manifest, until);

		if (next > open_from)
			break;
		until = next;
	}
	if (until == have || work_summary_waits(&w->manifest, have, until))
		return NULL;
	if ((c = malloc(sizeof(*c))) == NULL)
		return err_nomem();
	*did = true;
	e = work_begin(w, c);
	if (e == NULL) {
		e = work_build_summary(w, c, have, until, WORK_NO_SPAN, NULL);
		e = work_end(w, c, e);
	}
	free(c);
	return e;
}
