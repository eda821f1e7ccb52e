/*
 * Sealed files that turn out to be damaged when they are merged: without the
 * bad one, the work would stop at it for good.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/file/dbfile.h"
#include "store/model/histogram.h"
#include "store/write/work.h"

/* Reads all that merging would, or that a check finds wrong. */
static bool
damage_found(const struct store_writer *w, const char *name)
{
	const struct manifest_file *f = manifest_find(&w->manifest, name);
	uint64_t from = 0, until = 0;
	struct salvage v = {0};
	struct sealed *file;
	const struct block *b;
	const struct err *e;
	char path[4200];

	work_path(w, name, path, sizeof(path));
	if ((e = sealed_open(&file, path)) != NULL)
		return salvage_is_damage(e);
	if (f != NULL)
		e = sealed_check(file, w->dir, f);
	if (e == NULL)
		e = salvage_init(&v, file);
	for (uint32_t i = 0; e == NULL && i < file->dict->n_series; i++) {
		uint64_t slot = 0;

		while ((e = salvage_seek(&v, file, i, slot, &b)) == NULL &&
		    b != NULL)
			slot = b->start + 1;
	}
	sealed_close(file);
	if (e == NULL && v.lost != NULL && !salvage_next_lost(&v, &from,
	        &until))
		e = dbfile_verify(path);
	else if (e == NULL)
		e = err_new(ERR_FORMAT, 0, "blocks are lost");
	salvage_fini(&v);
	return e != NULL && salvage_is_damage(e);
}

void
work_find_damage(struct store_writer *w, const struct inputs *in,
    const struct err *e)
{
	if (!salvage_is_damage(e))
		return;
	for (size_t i = 0; i < in->n_names; i++) {
		if (!damage_found(w, in->names[i]))
			continue;
		snprintf(w->damaged, sizeof(w->damaged), "%s", in->names[i]);
		return;
	}
}

/* Notes that [from, until) of a file is lost.  Spans stand in for a summary,
 * but for those whose fine slots are gone. */
static void
damage_mark(struct change *c, const struct manifest_file *f, uint64_t from,
    uint64_t until, const char *how)
{
	char why[MANIFEST_WHY];

	if (from < f->since)
		from = f->since;
	if (until > f->until)
		until = f->until;
	if (f->kind == MANIFEST_SUMMARY && until > c->next.fine_from)
		until = c->next.fine_from;
	snprintf(why, sizeof(why), "%s was %s", f->name, how);
	manifest_add_gap(&c->next, from, until, why);
}

/* How many blocks of slots some series has lost. */
static size_t
damage_mark_lost(struct change *c, const struct manifest_file *f,
    const struct salvage *v)
{
	uint64_t from, until = 0;
	size_t n = 0;

	while (salvage_next_lost(v, &from, &until)) {
		damage_mark(c, f, from, until, "damaged");
		n += (size_t)((until - from) / v->each);
	}
	return n;
}

/* Writes anew what can be read of it.  ERR_FORMAT or ERR_DB: nothing can. */
static const struct err *
damage_salvage(struct store_writer *w, struct change *c,
    const struct manifest_file *f)
{
	struct seal_source s = {.until = UINT64_MAX, .facts = true};
	struct salvage v = {0};
	struct sealed_meta meta;
	enum manifest_kind kind;
	const struct err *e;
	uint64_t number;
	char path[4200];

	work_path(w, f->name, path, sizeof(path));
	if ((e = sealed_open(&s.file, path)) != NULL)
		return e;
	meta = s.file->meta;
	if (meta.first != f->first || meta.slots != f->slots ||
	    (meta.number != 0 && manifest_name_is(f->name, &kind, &number) &&
	        number != meta.number))
		e = err_new(ERR_FORMAT, 0, "another file's content");
	if (e == NULL)
		e = salvage_init(&v, s.file);
	s.salvage = &v;
	if (e == NULL)
		e = work_build(w, c, f->kind, &meta, &s, 1);
	if (e == NULL)
		log_err("store: %s is damaged: %zu of %zu stretches of %"
		    PRIu64 " slots have lost something; the rest was written "
		    "anew", f->name, damage_mark_lost(c, f, &v), v.n, v.each);
	salvage_fini(&v);
	sealed_close(s.file);
	return e;
}

/* What is lost of it stays said. */
static const struct err *
damage_take_out(struct store_writer *w, struct change *c,
    const struct manifest_file *f)
{
	const struct err *e;

	if (faccessat(w->dir, f->name, F_OK, 0) != 0) {
		log_err("store: %s is missing", f->name);
		damage_mark(c, f, 0, UINT64_MAX, "missing");
		return NULL;
	}
	e = damage_salvage(w, c, f);
	if (e == NULL || !salvage_is_damage(e))
		return e;
	log_err("store: %s is damaged, and all of it lost: %s", f->name,
	    e->text);
	damage_mark(c, f, 0, UINT64_MAX, "damaged");
	return NULL;
}

/* Keeps the bytes for a person, out of the way. */
static const struct err *
damage_aside(const struct store_writer *w, const char *name)
{
	char aside[MANIFEST_NAME + 8];

	snprintf(aside, sizeof(aside), "%s.bad", name);
	if (linkat(w->dir, name, w->dir, aside, 0) != 0 && errno != EEXIST &&
	    errno != ENOENT)
		return err_errno("%s/%s", w->path, aside);
	return NULL;
}

const struct err *
work_set_aside(struct store_writer *w)
{
	struct change *c = malloc(sizeof(*c));
	const struct err *e = c ? work_begin(w, c) : err_nomem();
	const struct manifest_file *f;

	if (e == NULL) {
		e = damage_aside(w, w->damaged);
		if (e == NULL &&
		    (f = manifest_find(&w->manifest, w->damaged)) != NULL)
			e = damage_take_out(w, c, f);
		work_drop(c, w->damaged);
		c->damaged = 1;
		e = work_end(w, c, e);
	}
	w->damaged[0] = '\0';
	free(c);
	return e;
}
