/*
 * Lists what is there, sets aside what a crash left beside the file that took
 * its place, and writes a manifest of the rest.  Nothing is deleted: what is
 * given up gets another name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/check/remains.h"
#include "store/check/repair_private.h"
#include "store/file/format.h"
#include "store/file/segtree.h"

#define REPAIR_GENERATION_MAX (UINT64_C(1) << 40) /* a damaged number */

void
repair_say(struct repair *r, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->fn(r->arg, text);
}

/* ---- what is there ---- */

static const struct err *
repair_lock(struct repair *r)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	r->dir = open(r->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0)
		return err_errno("%s", r->path);
	r->lock = openat(r->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (r->lock < 0)
		return err_errno("%s/lock", r->path);
	if (fcntl(r->lock, F_OFD_SETLK, &lock) == 0)
		return NULL;
	return err_new(ERR_LIMIT, EWOULDBLOCK, "%s: a writer has this store: "
	    "stop memlensd first", r->path);
}

static const struct err *
repair_put(struct repair *r, const struct found *f)
{
	if (!array_room(&r->found, r->n + 1, &r->cap))
		return err_nomem();
	r->found[r->n++] = *f;
	return NULL;
}

static const struct err *
repair_list(struct repair *r)
{
	DIR *d = opendir(r->path);
	const struct err *e = NULL;
	struct dirent *entry;

	if (d == NULL)
		return err_errno("%s", r->path);
	while (e == NULL && (entry = readdir(d)) != NULL) {
		struct found f = {0};
		struct stat st;

		if (!manifest_name_is(entry->d_name, &f.f.kind, &f.number) ||
		    strlen(entry->d_name) >= MANIFEST_NAME ||
		    fstatat(r->dir, entry->d_name, &st, 0) != 0)
			continue;
		snprintf(f.f.name, sizeof(f.f.name), "%.63s", entry->d_name);
		f.f.bytes = f.f.kind == MANIFEST_JOURNAL
		    ? 0
		    : (uint64_t)st.st_size;
		if (f.number > r->highest)
			r->highest = f.number;
		if (f.f.kind == MANIFEST_IDS && f.number > r->ids)
			r->ids = f.number;
		e = repair_put(r, &f);
	}
	closedir(d);
	return e;
}

static int
repair_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return manifest_is_apart(x->f.name) - manifest_is_apart(y->f.name);
}

/* What a damaged file held: its name tells; of a summary, what there is no
 * span of any more.  An unreadable journal was kept. */
static void
repair_mark(struct repair *r, const struct found *f)
{
	unsigned level = SEG_MAX_LEVEL + 1;
	uint64_t from = 0, until = 0;
	char why[MANIFEST_WHY];

	if (sscanf(f->f.name, "%*[a-z]-%u-%" SCNu64 "-", &level, &from) == 2 &&
	    level <= SEG_MAX_LEVEL)
		until = from + seg_slots(level);
	if (f->f.kind == MANIFEST_SUMMARY)
		until = r->manifest.fine_from;
	snprintf(why, sizeof(why), "%s was damaged", f->f.name);
	manifest_add_gap(&r->manifest, from, until, why);
}

const struct err *
repair_aside(struct repair *r, struct found *f, const char *suffix,
    const char *why)
{
	char name[MANIFEST_NAME + 8];

	f->dropped = true;
	snprintf(name, sizeof(name), "%s.%s", f->f.name, suffix);
	repair_say(r, "%s: %s: set aside as %s", f->f.name, why, name);
	if (faccessat(r->dir, name, F_OK, 0) == 0)
		return err_new(ERR_LIMIT, EEXIST, "%s/%s is there already: "
		    "move it away", r->path, name);
	if (renameat(r->dir, f->f.name, r->dir, name) != 0)
		return err_errno("%s/%s", r->path, f->f.name);
	if (strcmp(suffix, "bad") == 0) {
		r->report->damaged++;
		repair_mark(r, f);
	} else {
		r->report->superseded++;
	}
	return NULL;
}

/* ---- what a crash left beside the file that took its place ---- */

static bool
repair_inside(const struct found *f, const struct found *by)
{
	return f->f.first >= by->f.first && f->f.first + f->f.slots <=
	    by->f.first + by->f.slots;
}

/* One of 64 slots was merged from shorter ones, of which the last to go are
 * still there, or made from journals. */
static bool
repair_was_merged(const struct repair *r, const struct found *span)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct found *f = &r->found[i];

		if (f->f.kind == MANIFEST_SPAN && f->number < span->number &&
		    f->f.level < span->f.level && repair_inside(f, span))
			return true;
	}
	return span->f.level > FORMAT_SEAL_LEVEL;
}

/* Has `by` been made from `f`?  A span that was merged holds what was in its
 * range then, late files too, but for those that were set apart, which is to
 * give them another name.  Of summaries and ids there is one. */
static bool
repair_supersedes(const struct repair *r, const struct found *by,
    const struct found *f)
{
	bool apart = manifest_is_apart(by->f.name);
	uint64_t of, same;

	if (by->dropped)
		return false;
	if (manifest_is_apart(f->f.name)) /* a crash came in between */
		return manifest_is_part(f->f.name, &of) &&
		    manifest_is_part(by->f.name, &same) && of == same &&
		    by->number > f->number;
	if (apart || by->number <= f->number)
		return apart && by->number == f->number;
	if (f->f.kind == MANIFEST_IDS || f->f.kind == MANIFEST_SUMMARY)
		return by->f.kind == f->f.kind;
	if (by->f.kind != MANIFEST_SPAN)
		return false;
	switch (f->f.kind) {
	case MANIFEST_JOURNAL:
		return f->f.first != UINT64_MAX &&
		    f->f.first >= by->f.first &&
		    f->f.first < by->f.first + by->f.slots;
	case MANIFEST_SPAN:
		return repair_inside(f, by);
	default:
		return repair_inside(f, by) && repair_was_merged(r, by);
	}
}

/* Is it a journal that was written anew? */
static bool
repair_copied(const struct repair *r, const struct found *f,
    const struct found *by)
{
	return f->f.kind == MANIFEST_JOURNAL &&
	    by->f.kind == MANIFEST_JOURNAL && !by->dropped &&
	    f->f.first != UINT64_MAX && f->f.first == by->f.first &&
	    remains_is_copy(r->dir, f->f.name, by->f.name);
}

/* Is there a span that was made from this journal to its end?  The list of
 * ids is what sealing makes last. */
static bool
repair_was_sealed(const struct repair *r, const struct found *journal)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->found[i].number < r->ids &&
		    repair_supersedes(r, &r->found[i], journal))
			return true;
	}
	return false;
}

/* Is it a span that a crash left of the sealing of a journal that is still
 * there? */
static bool
repair_is_begun(const struct repair *r, const struct found *span)
{
	if (span->f.kind != MANIFEST_SPAN || span->dropped ||
	    span->number < r->ids || span->f.level > FORMAT_SEAL_LEVEL)
		return false;
	for (size_t i = 0; i < r->n && r->found[i].number < span->number; i++)
		if (r->found[i].f.kind == MANIFEST_JOURNAL &&
		    !r->found[i].dropped &&
		    r->found[i].f.first == span->f.first &&
		    !repair_was_sealed(r, &r->found[i]))
			return true;
	return false;
}

/* A journal is sealed in pieces, the span first: where the last is not known
 * to be there the journal stays, and the pieces go. */
static const struct err *
repair_drop_begun(struct repair *r)
{
	const struct err *e = NULL;
	size_t i = 0;

	while (i < r->n && !repair_is_begun(r, &r->found[i]))
		i++;
	for (; i < r->n && e == NULL; i++) {
		struct found *f = &r->found[i];

		if (!f->dropped && (f->f.kind == MANIFEST_SPAN ||
		    f->f.kind == MANIFEST_LATE))
			e = repair_aside(r, f, "old", "a journal was being "
			    "sealed, and is still there");
	}
	return e;
}

/* What was taken out of files that are still there. */
static const struct err *
repair_drop_parts(struct repair *r)
{
	const struct err *e = NULL;
	uint64_t of;

	for (size_t i = 0; i < r->n; i++) {
		struct found *f = &r->found[i];

		if (f->dropped || !manifest_is_part(f->f.name, &of))
			continue;
		for (size_t k = 0; k < r->n && e == NULL; k++)
			if (r->found[k].number == of && !r->found[k].dropped)
				e = repair_aside(r, f, "old", "what it is a "
				    "part of is still there");
	}
	return e;
}

static const struct err *
repair_supersede(struct repair *r)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < r->n && e == NULL; i++) {
		struct found *f = &r->found[i];

		for (size_t k = i + 1; k < r->n && !f->dropped; k++) {
			char why[160];

			if (!repair_supersedes(r, &r->found[k], f) &&
			    !repair_copied(r, f, &r->found[k]))
				continue;
			snprintf(why, sizeof(why), "%s was made from it",
			    r->found[k].f.name);
			e = repair_aside(r, f, "old", why);
		}
	}
	return e;
}

/* ---- the new manifest ---- */

/* Where the fine slots begin that are still there. */
static uint64_t
repair_fine_from(const struct repair *r)
{
	uint64_t oldest = UINT64_MAX, until = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct manifest_file *f = &r->found[i].f;

		if (r->found[i].dropped)
			continue;
		if (f->kind == MANIFEST_SPAN && f->first < oldest)
			oldest = f->first;
		if (f->kind == MANIFEST_SUMMARY)
			until = f->first + f->slots;
	}
	return oldest < until ? oldest : until;
}

/* Readers and names of files count on it to rise. */
static uint64_t
repair_generation(const struct repair *r)
{
	uint64_t before = 0, named = r->highest / 1000 + 1;

	if (manifest_generation(r->dir, &before) != NULL ||
	    before > REPAIR_GENERATION_MAX)
		before = 0;
	return before > named ? before : named;
}

static const struct err *
repair_write(struct repair *r)
{
	const struct err *e = NULL;
	bool published;

	r->manifest.generation = repair_generation(r);
	r->manifest.fine_from = repair_fine_from(r);
	if (r->manifest.slot_ns <= 0)
		return err_new(ERR_FORMAT, 0, "%s: no file tells the length "
		    "of a slot", r->path);
	for (size_t i = 0; i < r->n && e == NULL; i++) {
		struct manifest_file f = r->found[i].f;

		if (r->found[i].dropped)
			continue;
		if (f.kind == MANIFEST_JOURNAL)
			f.first = 0;
		r->report->kept++;
		e = manifest_add(&r->manifest, &f);
	}
	if (e == NULL && faccessat(r->dir, "manifest", F_OK, 0) == 0 &&
	    linkat(r->dir, "manifest", r->dir, "manifest.bad", 0) != 0 &&
	    errno != EEXIST)
		e = err_errno("%s/manifest.bad", r->path);
	return e == NULL ? manifest_save(&r->manifest, r->dir, &published) : e;
}

/* What is wrong with the manifest: *anew, it must be made anew.  Where only
 * the list of ids is lost, that is mended. */
static const struct err *
repair_judge(struct repair *r, bool *anew)
{
	struct manifest whole;
	struct remains_of remains = {r->path, r->dir, &whole};
	const struct err *e = manifest_load(&whole, r->dir);

	if (e == NULL)
		e = remains_check(&remains);
	*anew = e != NULL && (e->domain == ERR_FORMAT ||
	    (e->domain == ERR_ERRNO && e->code == ENOENT));
	if (e == NULL)
		e = repair_lost_ids(r, &whole);
	manifest_fini(&whole);
	return e;
}

static const struct err *
repair_run(struct repair *r)
{
	const struct err *e = repair_lock(r);
	bool anew;

	if (e != NULL)
		return e;
	e = repair_judge(r, &anew);
	if (!anew)
		return e;
	repair_say(r, "%s", e->text);
	r->report->needed = true;
	if ((e = repair_list(r)) != NULL)
		return e;
	if (r->n == 0)
		return err_new(ERR_FORMAT, 0, "%s: there is no file of a store",
		    r->path);
	qsort(r->found, r->n, sizeof(*r->found), repair_compare);
	manifest_salvage(&r->manifest, r->dir);
	if ((e = repair_check(r)) != NULL ||
	    (e = repair_drop_begun(r)) != NULL ||
	    (e = repair_supersede(r)) != NULL ||
	    (e = repair_drop_parts(r)) != NULL)
		return e;
	return repair_write(r);
}

const struct err *
store_repair(const char *dir, repair_fn *fn, void *arg,
    struct repair_report *report)
{
	struct repair r = {.path = dir, .dir = -1, .lock = -1, .fn = fn,
	    .arg = arg, .report = report};
	const struct err *e;

	*report = (struct repair_report){0};
	e = repair_run(&r);
	manifest_fini(&r.manifest);
	free(r.found);
	if (r.lock >= 0)
		close(r.lock);
	if (r.dir >= 0)
		close(r.dir);
	return e;
}

/* ---- what was set aside ---- */

/* The bytes of DIR/NAME.old. */
static bool
repair_is_old(int dir, const char *name, uint64_t *bytes)
{
	struct stat st;

	if (!remains_is_aside(name) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	*bytes = (uint64_t)st.st_size;
	return true;
}

const struct err *
store_aside(const char *dir, bool clean, struct aside_report *report)
{
	const struct err *e = NULL;
	DIR *d = opendir(dir);
	struct dirent *entry;
	uint64_t bytes;

	*report = (struct aside_report){0};
	if (d == NULL)
		return err_errno("%s", dir);
	while (e == NULL && (entry = readdir(d)) != NULL) {
		if (!repair_is_old(dirfd(d), entry->d_name, &bytes))
			continue;
		if (clean && unlinkat(dirfd(d), entry->d_name, 0) != 0)
			e = err_errno("%s/%s", dir, entry->d_name);
		report->files += e == NULL;
		report->bytes += e == NULL ? bytes : 0;
	}
	closedir(d);
	return e;
}
