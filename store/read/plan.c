/*
 * Which blocks of which files cover a range: the summary for what is large,
 * span files for the rest, and each late file by itself.
 */
#include <stdlib.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/file/format.h"
#include "store/file/segtree.h"
#include "store/read/reader.h"

static bool
plan_may_have_metric(const void *of, const char *name)
{
	return apart_may_have_metric(of, name);
}

bool
reader_lacks(const struct reader_file *f, const struct selector *sel,
    unsigned kinds)
{
	const char *service;

	if (f->entry.of[0] == '\0' || sel == NULL)
		return false;
	if ((kinds & READER_PROFILES) == 0 && !selector_may_name(sel,
	        plan_may_have_metric, f->entry.of))
		return true;
	service = selector_equals(sel, "service");
	return service != NULL && !apart_may_have(f->entry.of, service);
}

void
plan_fini(struct plan *p)
{
	free(p->pieces);
	free(p->late);
	*p = (struct plan){0};
}

static const struct err *
plan_put(struct plan *p, struct store *s, struct reader_file *file,
    unsigned level, uint64_t start, uint32_t step)
{
	missing_file(s, file, start, start + seg_slots(level));
	if (!array_room(&p->pieces, p->n + 1, &p->cap))
		return err_nomem();
	p->pieces[p->n++] = (struct plan_piece){file, start, step,
	    (uint8_t)level};
	return NULL;
}

/* Which of the files are not like others. */
static const struct err *
plan_begin(struct plan *p, struct store *s)
{
	p->begun = true;
	p->late = malloc((s->n_files + 1) * sizeof(*p->late));
	if (p->late == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < s->n_files; i++) {
		struct reader_file *f = &s->files[i];

		if (f->entry.kind == MANIFEST_LATE &&
		    !reader_lacks(f, p->selector, p->kinds))
			p->late[p->n_late++] = f;
		if (f->entry.kind == MANIFEST_SUMMARY && !f->broken &&
		    p->summary == NULL)
			p->summary = f;
	}
	return NULL;
}

/* The span file that holds slots [start, start + slots), or any that begins
 * within (*part). */
static struct reader_file *
plan_span(struct plan *p, struct store *s, uint64_t start, uint64_t slots,
    bool *part)
{
	*part = false;
	if (p->span != NULL && p->span->entry.first <= start &&
	    start + slots <= p->span->entry.first + p->span->entry.slots)
		return p->span;
	for (uint32_t i = 0; i < s->n_files; i++) {
		const struct manifest_file *f = &s->files[i].entry;

		if (f->kind != MANIFEST_SPAN)
			continue;
		if (f->first <= start && start + slots <= f->first + f->slots)
			return p->span = &s->files[i];
		*part |= f->first >= start && f->first < start + slots;
	}
	return NULL;
}

/* Covers one aligned block of the tree, from above. */
static const struct err *
plan_block(struct plan *p, struct store *s, unsigned level, uint64_t start,
    uint32_t step)
{
	struct reader_file *summary = p->summary;
	uint64_t slots = seg_slots(level);
	const struct err *e = NULL;
	struct reader_file *span;
	bool part;

	if (level >= FORMAT_SPAN_LEVEL && summary != NULL &&
	    start + slots <= summary->entry.first + summary->entry.slots)
		return plan_put(p, s, summary, level, start, step);
	span = plan_span(p, s, start, slots, &part);
	if (span != NULL)
		return plan_put(p, s, span, level, start, step);
	if (level == 0 || (!part && (summary == NULL ||
	        start >= summary->entry.first + summary->entry.slots))) {
		missing_summary(s, start, start + slots);
		return NULL;
	}
	for (unsigned i = 0; i < 4 && e == NULL; i++)
		e = plan_block(p, s, level - 1,
		    start + i * seg_slots(level - 1), step);
	return e;
}

/* Late files are no part of the summary; each has all its levels. */
static const struct err *
plan_late(struct plan *p, struct store *s, struct reader_file *f,
    uint64_t from, uint64_t until, uint32_t step)
{
	const struct err *e = NULL;

	if (from < f->entry.first)
		from = f->entry.first;
	if (until > f->entry.first + f->entry.slots)
		until = f->entry.first + f->entry.slots;
	while (from < until && e == NULL) {
		unsigned level = seg_level(from, until, f->entry.level);

		e = plan_put(p, s, f, level, from, step);
		from += seg_slots(level);
	}
	return e;
}

const struct err *
plan_add(struct plan *p, struct store *s, uint64_t from, uint64_t until,
    uint32_t step)
{
	const struct err *e = NULL;

	if (!p->begun)
		e = plan_begin(p, s);
	for (uint32_t i = 0; i < p->n_late && e == NULL; i++)
		e = plan_late(p, s, p->late[i], from, until, step);
	while (from < until && e == NULL) {
		unsigned level = seg_level(from, until, SEG_MAX_LEVEL);

		e = plan_block(p, s, level, from, step);
		from += seg_slots(level);
	}
	return e;
}
