/*
 * A file is judged by what it holds, never by its age: it may go only where
 * each slot of it is readable elsewhere.
 */
#include "store/check/remains.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/sealed.h"
#include "store/journal/journal.h"

/* The highest number of a file that the manifest names. */
static uint64_t
remains_known(const struct manifest *m)
{
	enum manifest_kind kind;
	uint64_t known = 0, number;

	for (uint32_t i = 0; i < m->n; i++) {
		if (manifest_name_is(m->files[i].name, &kind, &number) &&
		    number > known)
			known = number;
	}
	return known;
}

/* Is a file gone that holds data? */
static bool
remains_missing(const struct remains_of *r)
{
	const struct manifest *m = r->manifest;

	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind != MANIFEST_IDS &&
		    faccessat(r->dir, m->files[i].name, F_OK, 0) != 0)
			return true;
	}
	return false;
}

/* ---- journals ---- */

static bool
remains_same(int a, int b)
{
	off_t at = journal_body(a), by = journal_body(b);
	char x[16384], y[16384];
	ssize_t n, k;

	while ((n = pread(a, x, sizeof(x), at)) > 0) {
		k = pread(b, y, (size_t)n, by);
		if (k != n || memcmp(x, y, (size_t)n) != 0)
			return false;
		at += n;
		by += n;
	}
	return n == 0;
}

bool
remains_is_copy(int dir, const char *journal, const char *longer)
{
	int a = journal_open(dir, journal);
	int b = journal_open(dir, longer);
	bool same = a >= 0 && b >= 0 && remains_same(a, b);

	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return same;
}

/* Is there a batch in it that can be read? */
static bool
remains_holds(const struct remains_of *r, const char *name)
{
	struct journal_reader j = {.journal = true};
	struct batch *b = NULL;
	bool holds;

	j.fd = journal_open(r->dir, name);
	if (j.fd < 0)
		return true;
	holds = journal_next(&j, &b) != NULL || b != NULL;
	batch_free(b);
	journal_reader_fini(&j);
	close(j.fd);
	return holds;
}

static enum remains
remains_journal(const struct remains_of *r, const char *name)
{
	const struct manifest *m = r->manifest;
	struct stat st;

	if (fstatat(r->dir, name, &st, 0) == 0 && st.st_size <= JOURNAL_HEADER)
		return REMAINS_LEFT;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind == MANIFEST_JOURNAL &&
		    remains_is_copy(r->dir, name, m->files[i].name))
			return REMAINS_LEFT;
	}
	return remains_holds(r, name) ? REMAINS_BEYOND : REMAINS_SPARE;
}

/* ---- sealed files ---- */

/* End of the newest slot of [from, until) of which a journal has a block. */
static uint64_t
remains_journal_until(const struct remains_of *r, const char *name,
    uint64_t from, uint64_t until)
{
	struct journal_reader j = {.journal = true};
	uint64_t newest = 0;
	struct batch *b;

	j.fd = journal_open(r->dir, name);
	if (j.fd < 0)
		return 0;
	while (journal_next(&j, &b) == NULL && b != NULL) {
		for (size_t i = 0; i < b->n_blocks; i++) {
			uint64_t slot = b->blocks[i].slot;

			if (slot >= from && slot < until && slot >= newest)
				newest = slot + 1;
		}
		batch_free(b);
	}
	journal_reader_fini(&j);
	close(j.fd);
	return newest;
}

/* The same of all that the manifest names. */
static uint64_t
remains_until(const struct remains_of *r, uint64_t from, uint64_t until)
{
	const struct manifest *m = r->manifest;
	uint64_t newest = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];
		uint64_t end = f->until;

		if (f->kind == MANIFEST_JOURNAL)
			end = remains_journal_until(r, f->name, from, until);
		else if (f->since >= until || end <= from)
			continue;
		newest = end > newest ? end : newest;
	}
	return newest;
}

static enum remains
remains_sealed(const struct remains_of *r, const char *name)
{
	struct sealed *f;
	char path[4200];
	uint64_t first, until;

	if (remains_missing(r))
		return REMAINS_BEYOND;
	snprintf(path, sizeof(path), "%s/%s", r->path, name);
	if (sealed_open(&f, path) != NULL)
		return REMAINS_SPARE;
	first = f->meta.first;
	until = f->meta.until;
	sealed_close(f);
	if (until <= r->manifest->fine_from) /* retention gave it up */
		return REMAINS_SPARE;
	return until > remains_until(r, first, until) ? REMAINS_BEYOND
	                                              : REMAINS_SPARE;
}

enum remains
remains_judge(const struct remains_of *r, const char *name,
    enum manifest_kind kind, uint64_t number)
{
	struct stat st;

	if (number < remains_known(r->manifest) ||
	    (fstatat(r->dir, name, &st, 0) == 0 && st.st_size == 0))
		return REMAINS_LEFT;
	if (kind == MANIFEST_IDS)
		return REMAINS_SPARE;
	return kind == MANIFEST_JOURNAL ? remains_journal(r, name)
	                                : remains_sealed(r, name);
}

const struct err *
remains_each(const struct remains_of *r, remains_fn *fn, void *arg)
{
	DIR *d = opendir(r->path);
	const struct err *e = NULL;
	enum manifest_kind kind;
	struct dirent *entry;
	uint64_t number;

	if (d == NULL)
		return err_errno("%s", r->path);
	while (e == NULL && (entry = readdir(d)) != NULL)
		if (manifest_name_is(entry->d_name, &kind, &number) &&
		    manifest_find(r->manifest, entry->d_name) == NULL)
			e = fn(arg, entry->d_name, kind, number);
	closedir(d);
	return e;
}

bool
remains_is_aside(const char *name)
{
	size_t n = strlen(name);
	enum manifest_kind kind;
	char was[MANIFEST_NAME];
	uint64_t number;

	if (n < 4 || n - 4 >= sizeof(was) || strcmp(name + n - 4, ".old") != 0)
		return false;
	memcpy(was, name, n - 4);
	was[n - 4] = '\0';
	return manifest_name_is(was, &kind, &number);
}

void
remains_list_add(struct remains_list *l, const char *name)
{
	size_t at = strlen(l->text);

	if (++l->n <= 4)
		snprintf(l->text + at, sizeof(l->text) - at, "%s%.50s",
		    l->n > 1 ? ", " : "", l->n > 3 ? "..." : name);
}

struct remains_found {
	const struct remains_of *r;
	struct remains_list beyond;
};

static const struct err *
remains_find_beyond(void *arg, const char *name, enum manifest_kind kind,
    uint64_t number)
{
	struct remains_found *f = arg;

	if (remains_judge(f->r, name, kind, number) == REMAINS_BEYOND)
		remains_list_add(&f->beyond, name);
	return NULL;
}

const struct err *
remains_check(const struct remains_of *r)
{
	struct remains_found f = {.r = r};
	const struct err *e = remains_each(r, remains_find_beyond, &f);

	if (e != NULL || f.beyond.n == 0)
		return e;
	return err_new(ERR_FORMAT, 0, "the manifest is older than %zu files "
	    "(%s), which hold what those that it names do not", f.beyond.n,
	    f.beyond.text);
}
