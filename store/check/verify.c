/*
 * Goes from the files' bytes (checksums) to their meaning: every block of a
 * higher level is recomputed from its children, and nothing may stand
 * twice.  Beside a living writer a file may be replaced meanwhile; then it is
 * no problem.
 */
#include "store/check/verify.h"

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

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/text.h"
#include "store/check/remains.h"
#include "store/check/verify_summary.h"
#include "store/file/dbfile.h"
#include "store/file/format.h"
#include "store/file/ids.h"
#include "store/file/lives.h"
#include "store/file/manifest.h"
#include "store/file/sealed.h"
#include "store/file/segtree.h"
#include "store/file/series_index.h"
#include "store/journal/journal.h"
#include "store/journal/open_index.h"
#include "store/journal/open_marks.h"
#include "store/model/histogram.h"

struct verify {
	const char *path;
	int dir;
	struct manifest manifest;
	struct verify_report *report;
	verify_fn *fn;
	void *arg;
	int128 *values; /* dense, for one fold; those of these keys are used: */
	uint32_t first, end;
	struct verify_summary summary; /* file NULL: there is none */
	uint64_t summary_until;        /* slots that it covers */
};

__attribute__((format(printf, 2, 3))) static void
verify_problem(struct verify *v, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text);
	v->report->problems++;
	v->fn(v->arg, text, 0);
}

static enum series_kind
verify_kind(const struct sealed *f, uint32_t series)
{
	return (enum series_kind)f->dict->series[series].kind;
}

/* Adds (or, with sign -1, takes away) a block's entries. */
static bool
verify_entries(struct verify *v, const struct sealed *f, uint32_t series,
    const struct block *b, int sign)
{
	struct entry_reader r = {b->entries, 0};
	uint32_t limit = series_is_profile(verify_kind(f, series))
	    ? f->n_stacks
	    : HISTOGRAM_BUCKETS;
	uint32_t key;
	int128 value;

	if (!series_has_entries(verify_kind(f, series)))
		return true;
	while (entry_next(&r, &key, &value)) {
		if (key >= limit)
			return false;
		v->values[key] += sign * value;
		v->first = key < v->first ? key : v->first;
		v->end = key >= v->end ? key + 1 : v->end;
	}
	return !r.c.bad;
}

/* Were all of them 0?  They are now: metrics have none, and a service few of a
 * file's stacks. */
static bool
verify_zero(struct verify *v)
{
	bool zero = true;

	for (uint32_t i = v->first; i < v->end; i++) {
		zero &= v->values[i] == 0;
		v->values[i] = 0;
	}
	v->first = UINT32_MAX;
	v->end = 0;
	return zero;
}

/* Folds what a block of a level is made of into *sum. */
static const struct err *
verify_children(struct verify *v, struct sealed *f, uint32_t series,
    unsigned level, uint64_t start, struct block *sum, bool *fine)
{
	const struct err *e = NULL;
	const struct block *child;

	for (uint64_t at = start; e == NULL;) {
		e = sealed_part(f, series, level, start, &at, &child);
		if (e != NULL || child == NULL)
			break;
		block_fold(verify_kind(f, series), sum, child,
		    f->meta.slot_ns);
		*fine &= verify_entries(v, f, series, child, -1);
	}
	return e;
}

/* One block of a higher level against its children. */
static const struct err *
verify_parent(struct verify *v, struct sealed *f, uint32_t series,
    unsigned level, const struct block *at)
{
	struct block parent = *at, sum = {.start = at->start};
	enum series_kind kind = verify_kind(f, series);
	const struct err *e = NULL;
	bool fine = verify_entries(v, f, series, &parent, 1);

	for (unsigned i = 0; i < 4 && e == NULL; i++) {
		e = verify_children(v, f, series, level - 1, parent.start +
		    i * seg_slots(level - 1), &sum, &fine);
	}
	fine &= verify_zero(v);
	if (e == NULL && (!fine || !verify_same_numbers(kind, &parent, &sum)))
		e = err_new(ERR_FORMAT, 0,
		    "series %u, level %u, slot %llu: not the fold of its "
		    "children",
		    series, level, (unsigned long long)parent.start);
	return e;
}

static const struct err *
verify_level(struct verify *v, struct sealed *f, uint32_t series,
    unsigned level)
{
	const struct block *b;
	const struct err *e = sealed_seek(f, series, level, 0, &b);

	while (e == NULL && b != NULL) {
		uint64_t start = b->start;

		v->report->blocks++;
		if (start % seg_slots(level) != 0)
			return err_new(ERR_FORMAT, 0,
			    "series %u, level %u: a block at slot %llu",
			    series, level, (unsigned long long)start);
		if (level > f->meta.base)
			e = verify_parent(v, f, series, level, b);
		else if (!verify_entries(v, f, series, b, 1))
			e = err_new(ERR_FORMAT, 0,
			    "series %u, slot %llu: an entry names no stack",
			    series, (unsigned long long)start);
		if (level == f->meta.base)
			verify_zero(v);
		if (e == NULL)
			e = sealed_seek(f, series, level, start + 1, &b);
	}
	return e;
}

static const struct err *
verify_content(struct verify *v, struct sealed *f)
{
	uint32_t n = f->n_stacks > HISTOGRAM_BUCKETS ? f->n_stacks
	                                             : HISTOGRAM_BUCKETS;
	const struct err *e = NULL;

	v->values = calloc(n + 1, sizeof(*v->values));
	if (v->values == NULL)
		return err_nomem();
	v->first = UINT32_MAX;
	v->end = 0;
	for (uint32_t s = 0; s < f->dict->n_series && e == NULL; s++)
		for (unsigned l = f->meta.base; l <= f->meta.top && e == NULL;
		     l++)
			e = verify_level(v, f, s, l);
	free(v->values);
	v->values = NULL;
	return e;
}

/* A dictionary's marks are those that are made of it. */
static const struct err *
verify_marks(struct sealed *f)
{
	struct buf marks = {0}, dict = {0}, again = {0};
	const struct err *e = sealed_read_stream(f, SEALED_MARKS, &marks);

	if (e == NULL && marks.len > 0) {
		e = sealed_read_stream(f, SEALED_DICT, &dict);
		if (e == NULL)
			e = open_marks_make(dict.data, dict.len, &again);
		if (e == NULL && (again.len != marks.len ||
		        memcmp(again.data, marks.data, marks.len) != 0))
			e = err_new(ERR_FORMAT, 0,
			    "the marks are not those of the dictionary");
	}
	buf_fini(&marks);
	buf_fini(&dict);
	buf_fini(&again);
	return e;
}

/* And so is the index of its series. */
static const struct err *
verify_index(struct sealed *f)
{
	struct buf index = {0}, again = {0};
	const struct err *e = sealed_read_stream(f, SEALED_SERIES, &index);

	if (e == NULL && index.len > 0) {
		e = series_index_make(f->dict, f->n_stacks, &again);
		if (e == NULL && (again.len != index.len ||
		        memcmp(again.data, index.data, index.len) != 0))
			e = err_new(ERR_FORMAT, 0, "the index of series is "
			    "not that of the dictionary");
	}
	buf_fini(&index);
	buf_fini(&again);
	return e;
}

/* And what a file tells of its services is that of its blocks. */
static const struct err *
verify_lives(struct sealed *f)
{
	struct series_index x = {.whole = true};
	struct buf lives = {0}, again = {0};
	struct lives series = {0};
	const struct err *e = sealed_read_lives(f, &lives);

	if (e == NULL && lives.len > 0) {
		e = sealed_read_stream(f, SEALED_SERIES, &x.bytes);
		if (e == NULL)
			e = series_index_open(&x);
		if (e == NULL)
			e = lives_of_blocks(f, &series);
		if (e == NULL)
			e = lives_make(&x, x.bytes.data + x.head, &series,
			    &again);
		if (e == NULL && (again.len != lives.len ||
		        memcmp(again.data, lives.data, lives.len) != 0))
			e = err_new(ERR_FORMAT, 0, "the lives of services "
			    "are not those of the blocks");
	}
	series_index_fini(&x);
	lives_fini(&series);
	buf_fini(&lives);
	buf_fini(&again);
	return e;
}

static const struct err *
verify_file(struct verify *v, const struct manifest_file *m)
{
	struct sealed *f = NULL;
	char path[4200];
	const struct err *e;

	snprintf(path, sizeof(path), "%s/%s", v->path, m->name);
	e = dbfile_verify(path);
	if (e == NULL)
		e = sealed_open(&f, path);
	if (e == NULL) {
		if (f->meta.slot_ns != v->manifest.slot_ns)
			e = err_new(ERR_FORMAT, 0, "another slot length");
		else
			e = sealed_check(f, v->dir, m);
		if (e == NULL)
			e = verify_marks(f);
		if (e == NULL)
			e = verify_index(f);
		if (e == NULL)
			e = verify_lives(f);
		if (e == NULL)
			e = verify_content(v, f);
		if (e == NULL && v->summary.file != NULL &&
		    m->kind == MANIFEST_SPAN &&
		    m->level == FORMAT_SPAN_LEVEL &&
		    m->first + m->slots <= v->summary_until)
			e = verify_summary_span(&v->summary, f);
		if (e != NULL)
			e = err_wrap(e, "%s", path);
	}
	sealed_close(f);
	v->report->files++;
	return e;
}

/* The summary stays open beside the spans. */
static void
verify_open_summary(struct verify *v)
{
	for (uint32_t i = 0; i < v->manifest.n; i++) {
		const struct manifest_file *m = &v->manifest.files[i];
		char path[4200];

		if (m->kind != MANIFEST_SUMMARY)
			continue;
		snprintf(path, sizeof(path), "%s/%s", v->path, m->name);
		v->summary_until = m->first + m->slots;
		if (verify_summary_open(&v->summary, path) != NULL)
			verify_summary_close(&v->summary);
	}
}

/* No slot may stand in two span files: it would count twice. */
static void
verify_overlaps(struct verify *v)
{
	const struct manifest_file *f = v->manifest.files;

	for (uint32_t i = 0; i < v->manifest.n; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (f[i].kind == MANIFEST_SPAN &&
			    f[k].kind == MANIFEST_SPAN &&
			    f[i].first < f[k].first + f[k].slots &&
			    f[k].first < f[i].first + f[i].slots)
				verify_problem(v, "%s/%s and %s overlap",
				    v->path, f[i].name, f[k].name);
		}
	}
}

/* What was damaged once and is in no file any more. */
static void
verify_gaps(struct verify *v)
{
	int64_t slot_ns = v->manifest.slot_ns;

	for (uint32_t i = 0; i < v->manifest.n_gaps; i++) {
		const struct manifest_gap *g = &v->manifest.gaps[i];

		verify_problem(v, "%s: data is lacking from %" PRId64 " to %"
		    PRId64 " s: %s", v->path,
		    (int64_t)g->from * slot_ns / NS_PER_S,
		    (int64_t)g->until * slot_ns / NS_PER_S, g->why);
	}
}

/* Is there a writer?  Its files may be made but not named yet, or replaced
 * since the manifest was read; what a crash left it has removed. */
static bool
verify_written(const struct verify *v)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char path[4200];
	bool taken;
	int fd;

	snprintf(path, sizeof(path), "%s/lock", v->path);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return true;
	taken = fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
	close(fd);
	return taken;
}

/* What its end tells, of which `read` bytes are whole records. */
static const struct err *
verify_journal_end(const struct verify *v, const struct manifest_file *m,
    int fd, uint64_t read, bool empty)
{
	unsigned long long size;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_errno("%s/%s", v->path, m->name);
	size = (unsigned long long)st.st_size;
	if (size < m->bytes)
		return err_new(ERR_FORMAT, 0, "%s: it has %llu bytes and had "
		    "%llu: it is cut off", m->name, size,
		    (unsigned long long)m->bytes);
	if (empty || size <= read || verify_written(v))
		return NULL;
	return err_new(ERR_FORMAT, 0, "%s: its last %llu bytes are no whole "
	    "record: it is cut off or damaged", m->name,
	    size - (unsigned long long)read);
}

static const struct err *
verify_journal(struct verify *v, const struct manifest_file *m)
{
	struct journal_reader r = {.journal = true};
	const char *name = m->name;
	const struct err *e;
	struct batch *b;
	uint64_t first;
	bool empty;

	r.fd = journal_open(v->dir, name);
	if (r.fd < 0 && errno == JOURNAL_ODD)
		return err_new(ERR_FORMAT, 0, "%s/%s is no regular file",
		    v->path, name);
	if (r.fd < 0)
		return err_errno("%s/%s", v->path, name);
	e = journal_first(r.fd, name, &first, &empty);
	while (e == NULL && !empty) {
		e = journal_next(&r, &b);
		if (e != NULL || b == NULL)
			break;
		v->report->batches++;
		batch_free(b);
	}
	if (e == NULL && r.damaged > 0)
		e = err_new(ERR_FORMAT, 0, "%s: %llu damaged records", name,
		    (unsigned long long)r.damaged);
	else if (e == NULL)
		e = verify_journal_end(v, m, r.fd, r.offset, empty);
	journal_reader_fini(&r);
	close(r.fd);
	v->report->journals++;
	return e;
}

static const struct err *
verify_ids(struct verify *v, const char *name)
{
	struct ids ids;
	const struct err *e = ids_load(&ids, v->dir, name);

	ids_fini(&ids);
	return e == NULL ? NULL : err_wrap(e, "%s: batches that are sent "
	    "again may count twice", v->path);
}

static bool
verify_expected(const struct verify *v, const char *name)
{
	size_t n = strlen(name);

	return name[0] == '.' || strcmp(name, "manifest") == 0 ||
	    strcmp(name, "lock") == 0 || strcmp(name, "manifest.bad") == 0 ||
	    strcmp(name, OPEN_INDEX_NAME) == 0 ||
	    (n > 4 && strcmp(name + n - 4, ".tmp") == 0) ||
	    remains_is_aside(name) ||
	    manifest_find(&v->manifest, name) != NULL;
}

static void
verify_directory(struct verify *v)
{
	struct remains_of r = {v->path, v->dir, &v->manifest};
	DIR *d = verify_written(v) ? NULL : opendir(v->path);
	const struct err *e;
	struct dirent *entry;

	if (d == NULL)
		return;
	if ((e = remains_check(&r)) != NULL)
		verify_problem(v, "%s: %s; memlens repair makes a new one",
		    v->path, e->text);
	while ((entry = readdir(d)) != NULL) {
		if (!verify_expected(v, entry->d_name))
			verify_problem(v, "%s/%s: not in the manifest",
			    v->path, entry->d_name);
	}
	closedir(d);
}

/* The writer may have replaced a file since the manifest was read. */
static bool
verify_replaced(struct verify *v, const char *name)
{
	struct manifest now;
	bool gone;

	if (manifest_load(&now, v->dir) != NULL)
		return false;
	gone = manifest_find(&now, name) == NULL;
	manifest_fini(&now);
	return gone;
}

static void
verify_all(struct verify *v)
{
	uint64_t all = 0, done = 0;

	for (uint32_t i = 0; i < v->manifest.n; i++)
		all += v->manifest.files[i].bytes;
	for (uint32_t i = 0; i < v->manifest.n; i++) {
		const struct manifest_file *m = &v->manifest.files[i];
		const struct err *e = NULL;

		v->fn(v->arg, NULL, (double)done / (double)(all + 1));
		done += m->bytes;
		if (m->kind == MANIFEST_JOURNAL)
			e = verify_journal(v, m);
		else if (m->kind == MANIFEST_IDS)
			e = verify_ids(v, m->name);
		else
			e = verify_file(v, m);
		if (e != NULL && !verify_replaced(v, m->name))
			verify_problem(v, "%s", e->text);
	}
}

const struct err *
store_verify(const char *dir, verify_fn *fn, void *arg,
    struct verify_report *report)
{
	struct verify v = {.path = dir, .report = report, .fn = fn,
	    .arg = arg};
	const struct err *e;

	*report = (struct verify_report){0};
	v.dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v.dir < 0)
		return err_errno("%s", dir);
	e = manifest_load(&v.manifest, v.dir);
	if (e == NULL) {
		verify_open_summary(&v);
		verify_overlaps(&v);
		verify_gaps(&v);
		verify_all(&v);
		verify_directory(&v);
	}
	verify_summary_close(&v.summary);
	manifest_fini(&v.manifest);
	close(v.dir);
	return e;
}
