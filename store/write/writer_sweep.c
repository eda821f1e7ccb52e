/*
 * What lies in the directory and no manifest names.  Where there is one, what
 * a crash left goes; but data that is in no other file is never deleted.
 * Without a manifest, files are all that is left of a store.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/check/remains.h"
#include "store/write/writer.h"

static bool
sweep_unfinished(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

/* Keeps the bytes for a person, out of the way. */
static const struct err *
sweep_aside(struct store_writer *w, const char *name)
{
	char aside[MANIFEST_NAME + 8];

	snprintf(aside, sizeof(aside), "%.63s.old", name);
	if (linkat(w->dir, name, w->dir, aside, 0) != 0)
		return err_errno("%s/%s", w->path, aside);
	log_warn("store: %s was left by a crash: set aside as %s", name,
	    aside);
	unlinkat(w->dir, name, 0);
	return NULL;
}

static const struct err *
sweep_file(struct store_writer *w, const struct remains_of *r,
    const char *name)
{
	enum manifest_kind kind;
	uint64_t number;
	bool ours = manifest_name_is(name, &kind, &number);

	if (ours && number > w->sequence)
		w->sequence = number;
	if (!(ours && manifest_find(&w->manifest, name) == NULL) &&
	    !sweep_unfinished(name))
		return NULL;
	if (ours && remains_judge(r, name, kind, number) != REMAINS_LEFT)
		return sweep_aside(w, name);
	log_info("store: %s was left by a crash", name);
	unlinkat(w->dir, name, 0);
	return NULL;
}

const struct err *
writer_sweep(struct store_writer *w)
{
	struct remains_of r = {w->path, w->dir, &w->manifest};
	const struct err *e = remains_check(&r);
	struct dirent *entry;
	DIR *d;

	if (e != NULL)
		return e;
	if ((d = opendir(w->path)) == NULL)
		return err_errno("%s", w->path);
	w->sequence = w->manifest.generation * 1000;
	while (e == NULL && (entry = readdir(d)) != NULL)
		e = sweep_file(w, &r, entry->d_name);
	closedir(d);
	return e;
}

/* What a crash left before there was a manifest is empty. */
static bool
sweep_is_empty(const struct store_writer *w, const char *name)
{
	struct stat st;

	return fstatat(w->dir, name, &st, 0) == 0 && st.st_size == 0;
}

struct sweep_refusal {
	const struct store_writer *w;
	struct remains_list full;
};

static const struct err *
sweep_refuse(void *arg, const char *name, enum manifest_kind kind,
    uint64_t number)
{
	struct sweep_refusal *s = arg;

	(void)kind;
	(void)number;
	if (sweep_is_empty(s->w, name))
		unlinkat(s->w->dir, name, 0);
	else
		remains_list_add(&s->full, name);
	return NULL;
}

const struct err *
writer_refuse_remains(struct store_writer *w)
{
	const struct manifest none = {0};
	struct sweep_refusal s = {.w = w};
	const struct err *e = remains_each(&(struct remains_of){w->path,
	    w->dir, &none}, sweep_refuse, &s);

	if (e != NULL || s.full.n == 0)
		return e;
	return err_new(ERR_FORMAT, 0, "there is no manifest, but %zu files of "
	    "a store (%s)", s.full.n, s.full.text);
}
