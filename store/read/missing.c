/*
 * What a reader's answers lack: files that cannot be read, stretches of
 * journals that are gone, what the manifest says is lost.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/read/reader.h"

static int
missing_compare(const void *a, const void *b)
{
	const struct store_missing *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return strcmp(x->why, y->why);
}

const struct store_missing *
store_missing(struct store *s, size_t *n)
{
	qsort(s->missing, s->n_missing, sizeof(s->missing[0]),
	    missing_compare);
	*n = s->n_missing;
	return s->missing;
}

void
store_missing_forget(struct store *s)
{
	s->n_missing = 0;
	s->unwatched = 0;
}

void
store_missing_watch(struct store *s, bool on)
{
	s->unwatched += on ? -1 : 1;
}

uint64_t
store_breaks(const struct store *s)
{
	return s->breaks;
}

/* Too many to tell apart are told as one. */
static void
missing_widen(struct store_missing *m, int64_t from_ns, int64_t until_ns)
{
	if (from_ns < m->from_ns)
		m->from_ns = from_ns;
	if (until_ns > m->until_ns)
		m->until_ns = until_ns;
}

static void
missing_note(struct store *s, const struct store_missing *m)
{
	struct store_missing *last;

	for (size_t i = 0; i < s->n_missing; i++) {
		struct store_missing *x = &s->missing[i];

		if (x->from_ns <= m->until_ns && m->from_ns <= x->until_ns &&
		    strcmp(x->why, m->why) == 0) {
			missing_widen(x, m->from_ns, m->until_ns);
			return;
		}
	}
	if (s->n_missing < STORE_MISSING_MAX) {
		s->missing[s->n_missing++] = *m;
		return;
	}
	last = &s->missing[s->n_missing - 1];
	missing_widen(last, m->from_ns, m->until_ns);
	snprintf(last->why, sizeof(last->why), "damage in many places");
}

void
store_missing_take(struct store *s, const struct store *from)
{
	for (size_t i = 0; i < from->n_missing && s->unwatched == 0; i++)
		missing_note(s, &from->missing[i]);
}

__attribute__((format(printf, 4, 5))) static void
missing_add(struct store *s, uint64_t from, uint64_t until, const char *fmt,
    ...)
{
	int64_t slot = s->manifest.slot_ns;
	struct store_missing m = {(int64_t)from * slot,
	    (int64_t)until * slot, ""};
	va_list ap;

	if (from >= until || s->unwatched != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(m.why, sizeof(m.why), fmt, ap);
	va_end(ap);
	missing_note(s, &m);
}

static uint64_t
missing_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t
missing_sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void
missing_file(struct store *s, const struct reader_file *f, uint64_t from,
    uint64_t until)
{
	if (!f->broken)
		return;
	missing_add(s, missing_later(from, f->entry.since),
	    missing_sooner(until, f->entry.until), "%s %s", f->entry.name,
	    f->gone ? "is missing" : f->breaks == 0 ? "may not be read"
	                                        : "is damaged");
}

void
missing_summary(struct store *s, uint64_t from, uint64_t until)
{
	for (uint32_t i = 0; i < s->n_files; i++) {
		if (s->files[i].entry.kind == MANIFEST_SUMMARY)
			missing_file(s, &s->files[i], from, until);
	}
}

/* A journal that is lost began where the sealed files end.  Where nothing
 * tells of that, it may have been of any time. */
static void
missing_journal(struct store *s, uint32_t i, uint64_t from, uint64_t until)
{
	uint64_t first = 0, end;

	for (uint32_t k = 0; k < s->n_files; k++)
		first = missing_later(first, s->files[k].entry.until);
	for (uint32_t k = 0; k < s->n_journals; k++) {
		uint64_t other = s->journals[k]->span.until_slot;

		if (other != 0 && k < i)
			first = missing_later(first, other - 1);
		else if (other != 0 && first == 0)
			first = s->journals[k]->span.first_slot;
	}
	s->journals[i]->gaps.home = s->journals[i]->gaps.first = first;
	end = first != 0 ? reader_journal_until(s, i) : UINT64_MAX;
	missing_add(s, missing_later(from, first), missing_sooner(until, end),
	    "%s %s", s->journals[i]->name, s->journals[i]->lost);
	missing_add(s, from, missing_sooner(until, first),
	    "%s is lost: late data may be lacking", s->journals[i]->name);
}

void
missing_gaps(struct store *s, uint64_t from, uint64_t until)
{
	for (uint32_t i = 0; i < s->manifest.n_gaps; i++) {
		const struct manifest_gap *g = &s->manifest.gaps[i];

		missing_add(s, missing_later(from, g->from),
		    missing_sooner(until, g->until), "%s", g->why);
	}
	for (uint32_t i = 0; i < s->n_journals; i++) {
		const struct reader_journal *j = s->journals[i];

		if (j->lost != NULL)
			missing_journal(s, i, from, until);
		for (size_t k = 0; k < j->gaps.n; k++)
			missing_add(s, missing_later(from,
			    j->gaps.list[k].from), missing_sooner(until,
			    j->gaps.list[k].until),
			    "%s has damaged records", j->name);
		if (j->torn)
			missing_add(s, missing_later(from, j->gaps.home),
			    missing_sooner(until, j->torn_until),
			    "%s is cut off", j->name);
	}
}
