/*
 * Sealed files that turn out to be damaged when they are merged: without the
 * bad one, the work would stop at it for good.
 */
#include "work.h"

#include "base/err.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dbfile.h"
#include "histogram.h"

/* May a file's damage be the cause, and not want of something? */
static bool
damage_possible(const struct err *e)
{
	static const int others[] = {ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE,
	    EACCES, EROFS};

	if (e->domain != ERR_DB && e->domain != ERR_FORMAT)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (e->domain == ERR_DB && e->code == others[i])
			return false;
	}
	return true;
}

/* Pages may be whole and what they say be wrong: a block of stacks that the
 * file does not have. */
static const struct err *
damage_in_series(struct sealed *f, uint32_t series)
{
	enum series_kind kind =
	    (enum series_kind)f->dict->series[series].kind;
	uint32_t key, limit = series_is_profile(kind) ? f->n_stacks
	                                              : HISTOGRAM_BUCKETS;
	const struct block *b;
	const struct err *e = sealed_seek(f, series, f->meta.base, 0, &b);
	int128 value;

	while (e == NULL && b != NULL) {
		struct entry_reader r = {b->entries, 0};
		uint64_t start = b->start;

		while (series_has_entries(kind) &&
		    entry_next(&r, &key, &value))
			r.c.bad |= key >= limit;
		if (r.c.bad)
			return err_new(ERR_FORMAT, 0, "a block is malformed");
		e = sealed_seek(f, series, f->meta.base, start + 1, &b);
	}
	return e;
}

static bool
damage_found(const struct store_writer *w, const char *name)
{
	const struct manifest_file *f = manifest_find(&w->manifest, name);
	char path[4200];
	struct sealed *file;
	const struct err *e;

	work_path(w, name, path, sizeof(path));
	e = sealed_open(&file, path);
	if (e == NULL) {
		if (f != NULL)
			e = sealed_check(file, w->dir, f);
		for (uint32_t i = 0; e == NULL && i < file->dict->n_series; i++)
			e = damage_in_series(file, i);
		sealed_close(file);
		if (e == NULL)
			e = dbfile_verify(path);
	}
	return e != NULL && damage_possible(e);
}

void
work_find_damage(struct store_writer *w, const struct inputs *in,
    const struct err *e)
{
	if (!damage_possible(e))
		return;
	for (size_t i = 0; i < in->n_names; i++) {
		if (!damage_found(w, in->names[i]))
			continue;
		snprintf(w->damaged, sizeof(w->damaged), "%s", in->names[i]);
		return;
	}
}

/* Spans stand in for a summary, but for those whose fine slots are gone. */
static void
damage_mark(struct change *c, const struct manifest_file *f, bool gone)
{
	uint64_t until = f->until;
	char why[MANIFEST_WHY];

	if (f->kind == MANIFEST_SUMMARY && until > c->next.fine_from)
		until = c->next.fine_from;
	snprintf(why, sizeof(why), "%s was %s", f->name,
	    gone ? "missing" : "damaged");
	manifest_add_gap(&c->next, f->since, until, why);
}

const struct err *
work_set_aside(struct store_writer *w)
{
	char aside[MANIFEST_NAME + 8];
	struct change *c = malloc(sizeof(*c));
	const struct err *e = c ? change_begin(w, c) : err_nomem();
	const struct manifest_file *f;
	bool gone = faccessat(w->dir, w->damaged, F_OK, 0) != 0;

	if (e == NULL) {
		if (gone)
			log_err("store: %s is missing", w->damaged);
		else
			log_err("store: %s is damaged: set aside as %s.bad",
			    w->damaged, w->damaged);
		snprintf(aside, sizeof(aside), "%s.bad", w->damaged);
		if (linkat(w->dir, w->damaged, w->dir, aside, 0) != 0 &&
		    errno != EEXIST && errno != ENOENT)
			e = err_errno("%s/%s", w->path, aside);
		if ((f = manifest_find(&c->next, w->damaged)) != NULL)
			damage_mark(c, f, gone);
		change_drop(c, w->damaged);
		c->damaged = 1;
		e = change_end(w, c, e);
	}
	w->damaged[0] = '\0';
	free(c);
	return e;
}
