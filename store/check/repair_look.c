/*
 * What repair finds in a file: is it whole, and what does it hold?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/check/repair_private.h"
#include "store/file/dbfile.h"
#include "store/file/ids.h"
#include "store/file/sealed.h"
#include "store/journal/journal.h"

/* The start of its oldest block; its end where it has facts alone. */
static const struct err *
repair_since(struct sealed *s, uint64_t *since)
{
	const struct err *e = NULL;
	const struct block *b;

	*since = s->meta.until;
	for (uint32_t i = 0; i < s->dict->n_series && e == NULL; i++) {
		e = sealed_seek(s, i, s->meta.base, 0, &b);
		if (e == NULL && b != NULL && b->start < *since)
			*since = b->start;
	}
	return e;
}

static const struct err *
repair_look(struct repair *r, struct found *f)
{
	struct sealed *s = NULL;
	char path[4200];
	const struct err *e;

	snprintf(path, sizeof(path), "%s/%s", r->path, f->f.name);
	if ((e = dbfile_verify(path)) == NULL &&
	    (e = sealed_open(&s, path)) == NULL &&
	    (e = repair_since(s, &f->f.since)) == NULL) {
		f->f.level = s->meta.top;
		f->f.first = s->meta.first;
		f->f.slots = s->meta.slots;
		f->f.until = s->meta.until;
		if (f->f.kind == MANIFEST_LATE)
			apart_tell(s->dict, f->f.of);
		if (r->manifest.slot_ns == 0)
			r->manifest.slot_ns = s->meta.slot_ns;
		if (r->manifest.slot_ns != s->meta.slot_ns)
			e = err_new(ERR_FORMAT, 0, "another slot length");
		else if (s->meta.number != 0 && s->meta.number != f->number)
			e = err_new(ERR_FORMAT, 0, "a copy of another file");
	}
	sealed_close(s);
	return e;
}

/* A journal is kept as it is: its readers pass over damage.  Its first slot
 * tells whether it was sealed; an unreadable one tells nothing. */
static const struct err *
repair_journal(struct repair *r, struct found *f)
{
	struct journal_reader j = {.journal = true};
	struct batch *b = NULL;
	const struct err *e;
	bool empty;

	j.fd = journal_open(r->dir, f->f.name);
	if (j.fd < 0)
		return err_errno("%s/%s", r->path, f->f.name);
	e = journal_first(j.fd, f->f.name, &f->f.first, &empty);
	if (e != NULL && e->domain == ERR_FORMAT && e->code == JOURNAL_COPY) {
		close(j.fd);
		return repair_aside(r, f, "bad", "a copy of another file");
	}
	if (e != NULL || empty)
		f->f.first = UINT64_MAX;
	e = journal_next(&j, &b);
	if (e == NULL && b != NULL && r->manifest.slot_ns == 0)
		r->manifest.slot_ns = (int64_t)b->slot_ns;
	if (b != NULL)
		batch_free(b);
	journal_reader_fini(&j);
	close(j.fd);
	return e;
}

/* May another attempt, or another user, find it whole? */
static bool
repair_is_want(const struct err *e)
{
	return e->code == ENOMEM || e->code == EMFILE || e->code == ENFILE ||
	    e->code == EACCES;
}

/* A list of ids that cannot be read is of no use: without one a new one
 * begins. */
static const struct err *
repair_ids(struct repair *r, struct found *f)
{
	struct ids ids;
	const struct err *e = ids_load(&ids, r->dir, f->f.name);
	char why[300];

	ids_fini(&ids);
	if (e == NULL || !ids_lost(e))
		return e;
	snprintf(why, sizeof(why), "%.200s: batches that are sent again may "
	    "count twice", e->text);
	if (e->code != ENOENT)
		return repair_aside(r, f, "old", why);
	f->dropped = true;
	repair_say(r, "%s", why);
	return NULL;
}

/* All is well but for the list of ids: a manifest without it. */
const struct err *
repair_lost_ids(struct repair *r, struct manifest *m)
{
	const struct err *e = NULL;
	bool published, lost = false;

	for (uint32_t i = m->n; i-- > 0 && e == NULL;) {
		struct found f = {.f = m->files[i]};

		if (f.f.kind != MANIFEST_IDS)
			continue;
		e = repair_ids(r, &f);
		if (e != NULL || !f.dropped)
			continue;
		manifest_remove(m, f.f.name);
		lost = true;
	}
	r->report->needed |= lost;
	r->report->kept = m->n;
	return e == NULL && lost ? manifest_save(m, r->dir, &published) : e;
}

const struct err *
repair_check(struct repair *r)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < r->n && e == NULL; i++) {
		struct found *f = &r->found[i];
		char why[300];

		if (f->f.kind == MANIFEST_IDS) {
			e = repair_ids(r, f);
			continue;
		}
		if (f->f.kind == MANIFEST_JOURNAL) {
			e = repair_journal(r, f);
			continue;
		}
		e = repair_look(r, f);
		if (e == NULL || repair_is_want(e))
			continue;
		snprintf(why, sizeof(why), "%.299s", e->text);
		e = repair_aside(r, f, "bad", why);
	}
	return e;
}
