/*
 * The reader's journals: following what the writer appends, and judging
 * where one ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/format.h"
#include "store/file/segtree.h"
#include "store/read/reader.h"

#define READER_FAR (1u << 20) /* bytes: longer to scan than an index to read */

static void
reader_close_journal(struct reader_journal *j)
{
	if (j == NULL)
		return;
	if (j->reader.fd >= 0)
		close(j->reader.fd);
	journal_reader_fini(&j->reader);
	openspan_fini(&j->span);
	free(j);
}

/* To be read from its beginning; the span is empty. */
static void
reader_rewind_journal(struct reader_journal *j)
{
	j->reader.offset = 0;
	j->reader.damaged = 0;
	j->gaps = (struct gaps){0};
}

/* Why a journal is left out; NULL: the error is another one. */
static const char *
reader_why_shut(const struct store *s, int error, uint64_t generation)
{
	switch (error) {
	case ENOENT:
		return reader_is_current(s, generation) ? "is missing" : NULL;
	case JOURNAL_ODD:
		return "is no regular file";
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return NULL;
	default:
		return "may not be read";
	}
}

/* What cannot be opened takes nothing but itself out of answers. */
static const struct err *
reader_try_journal(const struct store *s, struct reader_journal *j,
    uint64_t generation)
{
	const struct err *e;

	j->reader.fd = j->span.pages.fd = journal_open(s->dir, j->name);
	j->shut = NULL;
	if (j->reader.fd >= 0)
		return NULL;
	e = err_errno("%s/%s", s->path, j->name);
	j->shut = reader_why_shut(s, e->code, generation);
	return j->shut == NULL ? e : NULL;
}

static const struct err *
reader_open_journal(struct store *s, const char *name, uint64_t generation,
    struct reader_journal **out)
{
	struct reader_journal *j = calloc(1, sizeof(*j));
	const struct err *e;

	*out = NULL;
	if (j == NULL)
		return err_nomem();
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->reader.journal = true;
	j->span.syms = &s->syms;
	reader_rewind_journal(j);
	if ((e = reader_try_journal(s, j, generation)) == NULL)
		*out = j;
	else
		reader_close_journal(j);
	return e;
}

/* Its first slot is known once something was written.  A damaged header is
 * not needed. */
static const struct err *
reader_begin_journal(struct reader_journal *j)
{
	uint64_t first;
	bool empty;
	const struct err *e = journal_first(j->reader.fd, j->name, &first,
	    &empty);

	if (e != NULL && e->domain != ERR_FORMAT)
		return e;
	j->headless = e != NULL && e->code != JOURNAL_COPY;
	if (e != NULL && !j->headless)
		j->shut = "is a copy of another file";
	if (e == NULL && !empty)
		gaps_begin(&j->gaps, first);
	return NULL;
}

/* All records up to the journal's present end; of those that the writer has an
 * index of no more than that. */
static const struct err *
reader_scan_journal(const struct store *s, struct reader_journal *j)
{
	struct open_index index = {j->name, &j->reader, &j->gaps, &j->span};
	const struct err *e = NULL;

	if (j->reader.offset == 0) {
		e = reader_begin_journal(j);
		if (e == NULL && j->shut == NULL && j->gaps.first != 0 &&
		    !j->changed && reader_sees_writer(s))
			open_index_load(s->dir, &index);
	}
	return e == NULL && j->shut == NULL ? open_index_follow(&index) : e;
}

/* Has somebody cut off what was read already?  The writer cuts off nothing
 * but parts of records. */
static bool
reader_was_cut(const struct reader_journal *j)
{
	struct stat st;

	return fstat(j->reader.fd, &st) == 0 &&
	    (uint64_t)st.st_size < j->reader.offset;
}

/* Where so much has come since that the writer's index of it is read sooner.
 * One that is being written is none: what is known stays. */
static void
reader_catch_up(const struct store *s, struct reader_journal *j)
{
	struct openspan span = {.syms = j->span.syms,
	    .pages = {.fd = j->reader.fd}};
	struct gaps gaps = {0};
	const struct open_index index = {j->name, &j->reader, &gaps, &span};
	struct stat st;

	if (j->reader.offset == 0 || j->changed ||
	    fstat(j->reader.fd, &st) != 0 ||
	    (uint64_t)st.st_size < j->reader.offset + READER_FAR)
		return;
	gaps_begin(&gaps, j->gaps.first);
	if (!open_index_is_ahead(s->dir, &index, READER_FAR) ||
	    !reader_sees_writer(s) || !open_index_load(s->dir, &index))
		return;
	openspan_fini(&j->span);
	j->span = span;
	j->gaps = gaps;
}

static const struct err *
reader_follow_journal(struct store *s, struct reader_journal *j)
{
	const struct err *e = NULL;
	uint64_t damaged;

	if (j->reader.fd < 0)
		e = reader_try_journal(s, j, s->manifest.generation);
	if (e != NULL || j->shut != NULL)
		return e;
	if (j->span.pages.changed || reader_was_cut(j)) {
		j->changed = true;
		openspan_fini(&j->span);
		reader_rewind_journal(j);
	}
	reader_catch_up(s, j);
	e = reader_scan_journal(s, j);
	if (e != NULL && j->span.n_dicts == 0)
		reader_rewind_journal(j); /* the span is empty again */
	damaged = j->reader.damaged + (j->span.lost > 0);
	if (damaged > j->counted) {
		s->damaged += damaged - j->counted;
		j->counted = damaged;
	}
	return e;
}

static struct reader_journal *
reader_take_journal(struct store *s, const char *name)
{
	for (uint32_t k = 0; k < s->n_journals; k++) {
		struct reader_journal *j = s->journals[k];

		if (j != NULL && strcmp(j->name, name) == 0) {
			s->journals[k] = NULL;
			return j;
		}
	}
	return NULL;
}

const struct err *
reader_adopt_journals(struct store *s, const struct manifest *m)
{
	struct reader_journal **journals = calloc(m->n + 1, sizeof(*journals));
	const struct err *e = NULL;
	uint32_t n = 0;

	if (journals == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < m->n && e == NULL; i++) {
		const char *name = m->files[i].name;

		if (m->files[i].kind != MANIFEST_JOURNAL)
			continue;
		journals[n] = reader_take_journal(s, name);
		if (journals[n] == NULL)
			e = reader_open_journal(s, name, m->generation,
			    &journals[n]);
		if (journals[n] != NULL)
			journals[n++]->known = m->files[i].bytes;
	}
	for (uint32_t k = 0; k < s->n_journals; k++)
		reader_close_journal(s->journals[k]);
	free(s->journals);
	s->journals = journals;
	s->n_journals = n;
	return e;
}

bool
reader_sees_writer(const struct store *s)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int fd = openat(s->dir, "lock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool seen = fd < 0 || fcntl(fd, F_OFD_GETLK, &lock) != 0 ||
	    lock.l_type != F_UNLCK;

	if (fd >= 0)
		close(fd);
	return seen;
}

uint64_t
reader_journal_until(const struct store *s, uint32_t i)
{
	const struct reader_journal *j = s->journals[i];
	uint64_t until = j->gaps.first + seg_slots(FORMAT_SEAL_LEVEL);

	for (uint32_t k = i + 1; k < s->n_journals; k++) {
		const struct reader_journal *next = s->journals[k];

		if (next->span.until_slot != 0 &&
		    next->span.first_slot >= j->gaps.home &&
		    next->span.first_slot < until)
			until = next->span.first_slot + 1;
	}
	return until;
}

/* Nothing was read from a journal of this size: is there something lost, or
 * nothing written yet?  A header is written at once. */
static const char *
reader_why_empty(const struct reader_journal *j, uint64_t size)
{
	if (size < j->known)
		return "is cut off";
	return j->headless ? "is damaged" : NULL;
}

/* Part of a record at the end may be being written, but not where nobody
 * writes, or writes to a later journal: something was lost there. */
static void
reader_judge_end(struct reader_journal *j, bool written)
{
	uint64_t size;
	struct stat st;

	j->torn = false;
	j->lost = j->shut;
	if (j->lost != NULL || fstat(j->reader.fd, &st) != 0)
		return;
	size = (uint64_t)st.st_size;
	if (j->span.until_slot == 0)
		j->lost = reader_why_empty(j, size);
	j->torn = j->lost == NULL && (size < j->known ||
	    (size > j->reader.offset && !written));
}

static void
reader_judge_ends(struct store *s)
{
	bool later = false;

	for (uint32_t i = s->n_journals; i-- > 0;) {
		struct reader_journal *j = s->journals[i];

		reader_judge_end(j, !later && reader_sees_writer(s));
		j->torn_until = reader_journal_until(s, i);
		later |= j->reader.offset > JOURNAL_HEADER;
	}
}

const struct err *
reader_follow_journals(struct store *s)
{
	const struct err *e = NULL;

	for (uint32_t i = 0; i < s->n_journals && e == NULL; i++)
		e = reader_follow_journal(s, s->journals[i]);
	if (e == NULL)
		reader_judge_ends(s);
	return e;
}

void
reader_close_journals(struct store *s)
{
	for (uint32_t i = 0; i < s->n_journals; i++)
		reader_close_journal(s->journals[i]);
	free(s->journals);
	s->journals = NULL;
	s->n_journals = 0;
}
