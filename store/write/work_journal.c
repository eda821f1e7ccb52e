/*
 * What an old journal holds, and what it lacks: records that are damaged or
 * cut off, or all of it.  Once it is sealed nothing but the manifest's gaps
 * tells of that.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/file/gaps.h"
#include "store/journal/journal.h"
#include "store/write/work.h"

/* The newest slot of a batch before `until`, or 0; *oldest goes down. */
static uint64_t
journal_slots(const struct batch *b, uint64_t until, uint64_t *oldest)
{
	uint64_t newest = 0;

	for (size_t i = 0; i < b->n_blocks; i++) {
		uint64_t slot = b->blocks[i].slot;

		if (slot < *oldest)
			*oldest = slot;
		if (slot < until && slot > newest)
			newest = slot;
	}
	return newest;
}

void
work_end_torn(struct change *c, struct manifest_gap *torn)
{
	if (torn->until != 0)
		manifest_add_gap(&c->next, torn->from, torn->until, torn->why);
	*torn = (struct manifest_gap){0};
}

/* Notes what a journal lacks.  What is cut off its end may be of any slot up
 * to the one with which the next journal begins. */
static void
journal_mark(struct sealing *s, const struct old_journal *j,
    const struct gaps *g, uint64_t oldest, bool cut)
{
	struct manifest_gap *torn = &s->torn;
	struct change *c = s->c;
	char why[MANIFEST_WHY];

	if (torn->until != 0 && oldest >= torn->from && oldest < torn->until)
		torn->until = oldest + 1;
	work_end_torn(c, torn);
	snprintf(why, sizeof(why), "%s had damaged records", j->name);
	for (size_t i = 0; i < g->n; i++)
		manifest_add_gap(&c->next, g->list[i].from, g->list[i].until,
		    why);
	if (!cut)
		return;
	torn->from = g->home;
	torn->until = sealing_until(s);
	if (torn->until <= g->home) /* its first slot was guessed */
		torn->until = g->home + 1;
	snprintf(torn->why, sizeof(torn->why), "%s was cut off", j->name);
}

/* All records of an opened one. */
static const struct err *
journal_take_all(struct sealing *s, struct journal_reader *r,
    struct gaps *gaps, uint64_t *oldest)
{
	const struct err *e = NULL;
	struct batch *b;

	while (e == NULL) {
		uint64_t newest;

		e = journal_next(r, &b);
		if (e != NULL || b == NULL)
			break;
		e = work_before_record(s, r, b);
		if (e == NULL)
			e = memspan_add(&s->m, b, &r->names);
		newest = journal_slots(b, sealing_until(s), oldest);
		gaps_take(gaps, &newest, 1, r->damaged + r->names.lost);
		batch_free(b);
		if (e == NULL)
			e = work_after_record(s, r);
	}
	return e;
}

const struct err *
work_read_journal(struct sealing *s, const struct old_journal *j)
{
	struct journal_reader r = {.journal = true};
	uint64_t oldest = UINT64_MAX;
	const struct err *e;
	struct gaps gaps;
	struct stat st;
	bool cut;

	r.names.sole = s->syms.strings.n == 1 && s->syms.n_nodes == 1;
	r.fd = journal_open(s->w->dir, j->name);
	if (r.fd < 0)
		return err_errno("%s/%s", s->w->path, j->name);
	if (j->guessed)
		log_warn("store: %s: its header is damaged; its records are "
		    "read all the same", j->name);
	gaps_begin(&gaps, j->first);
	e = journal_take_all(s, &r, &gaps, &oldest);
	cut = e == NULL && fstat(r.fd, &st) == 0 &&
	    ((uint64_t)st.st_size > r.offset ||
	        (uint64_t)st.st_size < j->known);
	if (e == NULL)
		journal_mark(s, j, &gaps, oldest, cut);
	r.damaged += cut;
	r.damaged += r.names.lost > 0;
	if (r.damaged > 0)
		log_warn("store: %s: %" PRIu64 " damaged records skipped",
		    j->name, r.damaged);
	s->c->damaged += r.damaged;
	journal_reader_fini(&r);
	close(r.fd);
	return e;
}

/* The newest slot of its records, or of the first one that can be read; 0
 * where there is none. */
static uint64_t
journal_newest(struct store_writer *w, const char *name, bool first)
{
	struct journal_reader r = {.journal = true};
	uint64_t oldest = UINT64_MAX, newest = 0;
	struct batch *b = NULL;

	r.fd = journal_open(w->dir, name);
	if (r.fd < 0)
		return 0;
	while (!(first && newest != 0) && journal_next(&r, &b) == NULL &&
	    b != NULL) {
		uint64_t slot = journal_slots(b, UINT64_MAX, &oldest);

		newest = slot > newest ? slot : newest;
		batch_free(b);
	}
	journal_reader_fini(&r);
	close(r.fd);
	return newest;
}

/* A journal begins behind what is sealed, and not before the one before it
 * ends. */
static uint64_t
journal_behind(struct store_writer *w, const char *name)
{
	const struct manifest *m = &w->manifest;
	bool later = false;
	uint64_t from = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];
		uint64_t slot = f->until;

		later |= strcmp(f->name, name) == 0;
		if (f->kind == MANIFEST_JOURNAL && !later)
			slot = journal_newest(w, f->name, false);
		from = slot > from ? slot : from;
	}
	return from;
}

uint64_t
work_present(struct store_writer *w)
{
	uint64_t slot;

	pthread_mutex_lock(&w->mutex);
	slot = writer_slot(w, w->now_ns ? w->now_ns : clock_wall_ns());
	pthread_mutex_unlock(&w->mutex);
	return slot;
}

/* What a damaged header does not tell the first record does: a journal
 * begins with its span, in the present. */
static void
journal_guess(struct store_writer *w, struct old_journal *j)
{
	uint64_t newest = journal_newest(w, j->name, true);
	uint64_t present = work_present(w);

	j->broken = newest == 0;
	j->guessed = !j->broken;
	if (j->broken)
		return;
	j->first = seg_align(newest < present ? newest : present,
	    FORMAT_SEAL_LEVEL);
}

/* What holds no more than a header was begun, if more of it is known. */
static bool
journal_is_cut(int fd, const struct old_journal *j)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size <= JOURNAL_HEADER &&
	    (uint64_t)st.st_size < j->known;
}

const struct err *
work_look_journal(struct store_writer *w, const struct manifest_file *f,
    struct old_journal *j)
{
	int fd = journal_open(w->dir, f->name);
	bool odd = fd < 0 && errno == JOURNAL_ODD;
	const struct err *e;

	if (fd < 0 && errno != ENOENT && !odd)
		return err_errno("%s/%s", w->path, f->name);
	*j = (struct old_journal){.gone = fd < 0 && !odd, .broken = odd,
	    .known = f->bytes};
	snprintf(j->name, sizeof(j->name), "%s", f->name);
	j->empty = j->gone;
	if (fd < 0)
		return NULL;
	e = journal_first(fd, f->name, &j->first, &j->empty);
	j->cut = journal_is_cut(fd, j);
	close(fd);
	if (j->cut) {
		j->empty = j->gone = true;
		return NULL;
	}
	if (e == NULL || e->domain != ERR_FORMAT)
		return e;
	j->copy = j->broken = e->code == JOURNAL_COPY;
	if (!j->copy)
		journal_guess(w, j);
	return NULL;
}

void
work_mark_unread(struct store_writer *w, const struct old_journal *j)
{
	uint64_t from = journal_behind(w, j->name), now = work_present(w);
	uint64_t until = seg_align(from, FORMAT_SEAL_LEVEL) + SEAL_SLOTS;
	char why[MANIFEST_WHY];

	if (from == 0 || (until > now + 1 && now >= from))
		until = now + 1; /* or nothing tells of when it was */
	snprintf(why, sizeof(why), "%s was %s", j->name,
	    j->cut      ? "cut off"
	        : j->gone ? "missing"
	        : j->copy ? "a copy of another file"
	                  : "damaged");
	manifest_add_gap(&w->manifest, from, until, why);
	snprintf(why, sizeof(why), "%s was lost: late data may be lacking",
	    j->name);
	manifest_add_gap(&w->manifest, 0, from, why);
}
