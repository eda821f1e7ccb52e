/*
 * The writer's background: each step builds new files beside the old ones
 * and then replaces the manifest, so that a crash anywhere loses nothing and
 * readers see either the state before or the state after.
 *
 *	journals of a span that is over  ->  span file of 64 slots,
 *	                                     late files for other slots
 *	four spans (and their late files) -> one span, up to 4,096 slots
 *	full spans                        -> summary, levels 6 and up
 */
#include "writer.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"
#include "journal.h"
#include "seal.h"
#include "segtree.h"

#define SEAL_SLOTS seg_slots(FORMAT_SEAL_LEVEL)
#define SPAN_SLOTS seg_slots(FORMAT_SPAN_LEVEL)
#define LATE_FOLD 4     /* late files of a full span that make it worth it */
#define WORK_SOURCES 96 /* files that one step takes together */

/* A change of the manifest that is being prepared. */
struct change {
	struct manifest next;
	char gone[WORK_SOURCES + 8][MANIFEST_NAME]; /* to unlink afterwards */
	size_t n_gone;
	char made[WORK_SOURCES + 8][MANIFEST_NAME]; /* to unlink on failure */
	size_t n_made;
	uint64_t damaged; /* records that were skipped */
};

static const struct err *
change_begin(struct store_writer *w, struct change *c)
{
	c->n_gone = c->n_made = 0;
	c->damaged = 0;
	return manifest_copy(&c->next, &w->manifest);
}

static void
change_drop(struct change *c, const char *name)
{
	char copy[MANIFEST_NAME]; /* `name` may stand in the manifest */

	snprintf(copy, sizeof(copy), "%s", name);
	manifest_remove(&c->next, copy);
	if (c->n_gone < WORK_SOURCES + 8) /* else removed at the next start */
		memcpy(c->gone[c->n_gone++], copy, sizeof(copy));
}

static const struct err *
change_end(struct store_writer *w, struct change *c, const struct err *e)
{
	bool published = false;

	if (e == NULL)
		e = manifest_save(&c->next, w->dir, &published);
	if (!published) {
		for (size_t i = 0; i < c->n_made; i++)
			unlinkat(w->dir, c->made[i], 0);
		w->manifest.generation = c->next.generation;
		manifest_fini(&c->next);
		return e;
	}
	manifest_fini(&w->manifest);
	w->manifest = c->next;
	w->stats.damaged_records += c->damaged;
	/* While a crash may bring the old manifest back, its files stay. */
	for (size_t i = 0; i < c->n_gone && e == NULL; i++)
		unlinkat(w->dir, c->gone[i], 0);
	return e;
}

static void
work_path(const struct store_writer *w, const char *name, char *path,
    size_t size)
{
	snprintf(path, size, "%s/%s", w->path, name);
}

/* Builds a file under a temporary name and adds it to the change; a file
 * without content is not kept. */
static const struct err *
work_build(struct store_writer *w, struct change *c, enum manifest_kind kind,
    const struct sealed_meta *meta, const struct seal_source *sources,
    size_t n)
{
	static const char *const words[] = {"span", "late", "summary"};
	struct manifest_file f = {.kind = kind, .level = meta->top,
	    .first = meta->first, .slots = meta->slots};
	char temporary[4200], path[4200];
	struct seal_result result;
	const struct err *e;
	struct stat st;

	snprintf(f.name, sizeof(f.name), "%s-%u-%" PRIu64 "-%" PRIu64 ".mdb",
	    words[kind], meta->top, meta->first, ++w->sequence);
	work_path(w, "building.tmp", temporary, sizeof(temporary));
	work_path(w, f.name, path, sizeof(path));
	unlink(temporary);
	/* Left by a crash it lets Berkeley DB wait for a minute and more. */
	unlinkat(w->dir, "__db.building.tmp", 0);
	e = seal_build(temporary, meta, sources, n, &result);
	if (e != NULL || (result.blocks == 0 && result.facts == 0)) {
		unlink(temporary);
		return e;
	}
	if (stat(temporary, &st) != 0 || rename(temporary, path) != 0)
		return err_errno("%s", path);
	snprintf(c->made[c->n_made++], MANIFEST_NAME, "%s", f.name);
	f.until = result.until;
	f.bytes = (uint64_t)st.st_size;
	if (kind == MANIFEST_LATE)
		w->stats.late_blocks += result.blocks;
	return manifest_add(&c->next, &f);
}

static struct sealed_meta
work_meta(const struct store_writer *w, uint64_t first, unsigned level)
{
	return (struct sealed_meta){.slot_ns = w->options.slot_ns,
	    .first = first, .slots = seg_slots(level), .base = 0,
	    .top = level};
}

static bool
work_inside(const struct manifest_file *f, uint64_t first, uint64_t slots)
{
	return f->first >= first && f->first + f->slots <= first + slots;
}

static bool
work_overlaps(const struct manifest_file *f, uint64_t first, uint64_t slots)
{
	return f->first < first + slots && first < f->first + f->slots;
}

/* ---- journals ---- */

const struct err *
writer_make_spare(struct store_writer *w, struct journal_slot *made)
{
	struct journal_slot j = {.fd = -1};
	struct manifest_file f = {.kind = MANIFEST_JOURNAL};
	const struct err *e;
	bool published = false;

	snprintf(j.name, sizeof(j.name), "journal-%" PRIu64, ++w->sequence);
	snprintf(f.name, sizeof(f.name), "%s", j.name);
	j.fd = openat(w->dir, j.name,
	    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
	if (j.fd < 0)
		return err_errno("%s/%s", w->path, j.name);
	if ((e = manifest_add(&w->manifest, &f)) == NULL)
		e = manifest_save(&w->manifest, w->dir, &published);
	if (!published) {
		manifest_remove(&w->manifest, j.name);
		unlinkat(w->dir, j.name, 0);
	}
	if (e == NULL)
		*made = j;
	else
		close(j.fd); /* if published: an empty journal like others */
	return e;
}

static const struct err *
work_spare(struct store_writer *w)
{
	struct journal_slot made;
	const struct err *e;
	bool needed;

	pthread_mutex_lock(&w->mutex);
	needed = w->spare.fd < 0;
	pthread_mutex_unlock(&w->mutex);
	if (!needed)
		return NULL;
	if ((e = writer_make_spare(w, &made)) != NULL)
		return e;
	pthread_mutex_lock(&w->mutex);
	w->spare = made;
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

static const struct err *
work_sync(struct store_writer *w)
{
	const struct err *e = NULL;
	int present, retired;

	pthread_mutex_lock(&w->mutex);
	present = w->current.fd < 0 ? -1 : dup(w->current.fd);
	retired = w->retired;
	w->retired = -1;
	pthread_mutex_unlock(&w->mutex);
	if (retired >= 0) {
		if (fdatasync(retired) != 0)
			e = err_errno("%s: journal", w->path);
		close(retired);
	}
	if (present >= 0) {
		if (fdatasync(present) != 0)
			e = err_errno("%s: journal", w->path);
		close(present);
	}
	return e;
}

/* A journal that nothing is written to any more. */
struct old_journal {
	char name[MANIFEST_NAME];
	uint64_t first;
	bool empty, broken;
};

/* The old journals, and the start of the oldest span still being written. */
static const struct err *
work_old_journals(struct store_writer *w, struct old_journal *old,
    size_t room, size_t *n, uint64_t *open_from)
{
	char current[MANIFEST_NAME], spare[MANIFEST_NAME];
	const struct err *e = NULL;

	pthread_mutex_lock(&w->mutex);
	snprintf(current, sizeof(current), "%s",
	    w->current.fd < 0 ? "" : w->current.name);
	snprintf(spare, sizeof(spare), "%s",
	    w->spare.fd < 0 ? "" : w->spare.name);
	*open_from = writer_slot(w, w->now_ns ? w->now_ns : clock_wall_ns());
	if (w->current.fd >= 0 && w->current.first < *open_from)
		*open_from = w->current.first;
	pthread_mutex_unlock(&w->mutex);
	*n = 0;
	for (uint32_t i = 0; i < w->manifest.n && e == NULL; i++) {
		const struct manifest_file *f = &w->manifest.files[i];
		struct old_journal *j = &old[*n];
		int fd;

		if (f->kind != MANIFEST_JOURNAL || *n == room ||
		    strcmp(f->name, current) == 0 ||
		    strcmp(f->name, spare) == 0)
			continue;
		snprintf(j->name, sizeof(j->name), "%s", f->name);
		fd = openat(w->dir, f->name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return err_errno("%s/%s", w->path, f->name);
		j->first = 0;
		j->empty = fd < 0;
		j->broken = false;
		(*n)++;
		if (fd < 0)
			continue;
		e = journal_first(fd, &j->first, &j->empty);
		j->broken = e != NULL && e->domain == ERR_FORMAT;
		if (j->broken)
			e = NULL;
		close(fd);
	}
	return e;
}

static const struct err *
work_read_journal(struct store_writer *w, const char *name,
    struct memspan *m, uint64_t *damaged)
{
	struct journal_reader r = {.offset = JOURNAL_HEADER};
	const struct err *e = NULL;
	struct batch *b;
	struct stat st;

	r.fd = openat(w->dir, name, O_RDONLY | O_CLOEXEC);
	if (r.fd < 0)
		return err_errno("%s/%s", w->path, name);
	while (e == NULL) {
		e = journal_next(&r, &b);
		if (e != NULL || b == NULL)
			break;
		e = memspan_add(m, b);
		batch_free(b);
	}
	if (e == NULL && fstat(r.fd, &st) == 0)
		r.damaged += (uint64_t)st.st_size > r.offset; /* torn */
	if (r.damaged > 0)
		log_warn("store: %s: %" PRIu64 " damaged records skipped",
		    name, r.damaged);
	*damaged += r.damaged;
	journal_reader_fini(&r);
	close(r.fd);
	return e;
}

/* The oldest slot of a block at `from` or later outside the main span. */
static uint64_t
work_next_late(const struct memspan *m, uint64_t from, uint64_t skip_from,
    uint64_t skip_until)
{
	uint64_t slot = UINT64_MAX;

	for (size_t i = 0; i < m->n_blocks; i++) {
		uint64_t at = m->blocks[i].numbers.start;

		if (at >= from && at < slot &&
		    (at < skip_from || at >= skip_until))
			slot = at;
	}
	return slot;
}

/* The newest such slot before `until`. */
static uint64_t
work_last_late(const struct memspan *m, uint64_t from, uint64_t until,
    uint64_t skip_from, uint64_t skip_until)
{
	uint64_t slot = from;

	for (size_t i = 0; i < m->n_blocks; i++) {
		uint64_t at = m->blocks[i].numbers.start;

		if (at > slot && at < until &&
		    (at < skip_from || at >= skip_until))
			slot = at;
	}
	return slot;
}

/* Late files: one for each full span that is touched, as small as holds. */
static const struct err *
work_build_late(struct store_writer *w, struct change *c,
    const struct memspan *m, uint64_t skip_from, uint64_t skip_until,
    bool facts)
{
	const struct err *e = NULL;
	uint64_t slot = 0;

	while (e == NULL && c->n_made < WORK_SOURCES) {
		struct seal_source s = {.memory = m, .skip_from = skip_from,
		    .skip_until = skip_until, .facts = facts};
		struct sealed_meta meta;
		unsigned level = FORMAT_SEAL_LEVEL;
		uint64_t last;

		slot = work_next_late(m, slot, skip_from, skip_until);
		if (slot == UINT64_MAX && !facts)
			break;
		if (slot == UINT64_MAX) /* facts alone */
			slot = last = skip_from;
		else
			last = work_last_late(m, slot,
			    seg_align(slot, FORMAT_SPAN_LEVEL) + SPAN_SLOTS,
			    skip_from, skip_until);
		while (seg_align(slot, level) != seg_align(last, level))
			level++;
		meta = work_meta(w, seg_align(slot, level), level);
		s.from = meta.first;
		s.until = meta.first + meta.slots;
		e = work_build(w, c, MANIFEST_LATE, &meta, &s, 1);
		facts = false;
		slot = s.until;
	}
	return e;
}

static bool
work_has_span(const struct manifest *m, uint64_t slot)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind == MANIFEST_SPAN &&
		    work_overlaps(&m->files[i], slot, 1))
			return true;
	}
	return false;
}

static const struct err *
work_build_ids(struct store_writer *w, struct change *c)
{
	struct manifest_file f = {.kind = MANIFEST_IDS};
	struct buf out = {0};
	const struct err *e = NULL;
	int fd;

	for (uint32_t i = c->next.n; i-- > 0;) {
		if (c->next.files[i].kind == MANIFEST_IDS)
			change_drop(c, c->next.files[i].name);
	}
	snprintf(f.name, sizeof(f.name), "ids-%" PRIu64, ++w->sequence);
	pthread_mutex_lock(&w->mutex);
	ids_encode(&w->ids, &out);
	pthread_mutex_unlock(&w->mutex);
	f.bytes = out.len;
	fd = out.failed ? -1
	                : openat(w->dir, f.name,
	                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	if (fd < 0) {
		buf_fini(&out);
		return err_errno("%s/%s", w->path, f.name);
	}
	snprintf(c->made[c->n_made++], MANIFEST_NAME, "%s", f.name);
	if (write(fd, out.data, out.len) != (ssize_t)out.len ||
	    fdatasync(fd) != 0)
		e = err_errno("%s/%s", w->path, f.name);
	close(fd);
	buf_fini(&out);
	return e == NULL ? manifest_add(&c->next, &f) : e;
}

/* Seals what was read from the journals of one span. */
static const struct err *
work_seal_memory(struct store_writer *w, struct change *c, uint64_t first,
    const struct memspan *m)
{
	bool taken = work_has_span(&w->manifest, first) ||
	    first + SEAL_SLOTS <= w->manifest.fine_from;
	uint64_t end = first + SEAL_SLOTS;
	const struct err *e = NULL;

	if (!taken) {
		struct sealed_meta meta = work_meta(w, first,
		    FORMAT_SEAL_LEVEL);
		struct seal_source s = {.memory = m, .from = first,
		    .until = end, .facts = true};

		e = work_build(w, c, MANIFEST_SPAN, &meta, &s, 1);
	}
	if (e == NULL)
		e = work_build_late(w, c, m, first, taken ? first : end,
		    taken && m->n_facts > 0);
	return e == NULL ? work_build_ids(w, c) : e;
}

static const struct err *
work_seal_span(struct store_writer *w, const struct old_journal *old,
    size_t n, uint64_t first)
{
	struct symtab syms;
	struct memspan m = {.syms = &syms};
	struct change *c = malloc(sizeof(*c));
	const struct err *e = c ? symtab_init(&syms) : err_nomem();

	if (e != NULL) {
		free(c);
		return e;
	}
	e = change_begin(w, c);
	if (e == NULL) {
		for (size_t i = 0; i < n && e == NULL; i++) {
			if (old[i].first != first || old[i].empty)
				continue;
			e = work_read_journal(w, old[i].name, &m,
			    &c->damaged);
			change_drop(c, old[i].name);
		}
		if (e == NULL)
			e = work_seal_memory(w, c, first, &m);
		e = change_end(w, c, e);
	}
	memspan_fini(&m);
	symtab_fini(&syms);
	free(c);
	return e;
}

static const struct err *
work_forget_empty(struct store_writer *w, const struct old_journal *j)
{
	const struct err *e;
	bool published;

	if (j->broken) { /* keep the bytes for a person, out of the way */
		char aside[MANIFEST_NAME + 8];

		snprintf(aside, sizeof(aside), "%s.bad", j->name);
		log_warn("store: %s: its header is damaged, set aside as %s",
		    j->name, aside);
		if (linkat(w->dir, j->name, w->dir, aside, 0) != 0 &&
		    errno != EEXIST)
			return err_errno("%s/%s", w->path, j->name);
	}
	manifest_remove(&w->manifest, j->name);
	w->stats.damaged_records += j->broken;
	e = manifest_save(&w->manifest, w->dir, &published);
	if (e == NULL)
		unlinkat(w->dir, j->name, 0);
	return e;
}

/* Seals one span whose journals are all old and whose time is over. */
static const struct err *
work_seal(struct store_writer *w, bool *did, uint64_t *open_from)
{
	struct old_journal old[64];
	const struct err *e;
	uint64_t now, writing;
	size_t n;

	e = work_old_journals(w, old, 64, &n, open_from);
	pthread_mutex_lock(&w->mutex);
	now = writer_slot(w, w->now_ns ? w->now_ns : clock_wall_ns());
	writing = w->current.fd < 0 ? UINT64_MAX : w->current.first;
	pthread_mutex_unlock(&w->mutex);
	for (size_t i = 0; i < n && e == NULL; i++) {
		if (old[i].empty || old[i].broken) {
			e = work_forget_empty(w, &old[i]);
			*did = true;
			return e;
		}
		if (old[i].first + SEAL_SLOTS <= now &&
		    old[i].first != writing) {
			*did = true;
			return work_seal_span(w, old, n, old[i].first);
		}
		if (old[i].first < *open_from)
			*open_from = old[i].first;
	}
	return e;
}

/* ---- merging ---- */

/* Opened inputs of one step. */
struct inputs {
	struct seal_source sources[WORK_SOURCES];
	size_t n;
};

static const struct err *
inputs_add(struct store_writer *w, struct inputs *in,
    const struct manifest_file *f, uint64_t from, uint64_t until, bool facts)
{
	struct seal_source *s = &in->sources[in->n];
	char path[4200];
	const struct err *e;

	*s = (struct seal_source){.from = from, .until = until,
	    .facts = facts};
	work_path(w, f->name, path, sizeof(path));
	e = sealed_open(&s->file, path);
	if (e == NULL)
		in->n++;
	return e;
}

static void
inputs_fini(struct inputs *in)
{
	while (in->n > 0)
		sealed_close(in->sources[--in->n].file);
}

/* Summary of all full spans up to `until`: the old summary, with the spans
 * from `from` on taken anew from the files of the change. */
static const struct err *
work_build_summary(struct store_writer *w, struct change *c, uint64_t from,
    uint64_t until, uint64_t again)
{
	struct inputs *in = calloc(1, sizeof(*in));
	struct sealed_meta meta = {.slot_ns = w->options.slot_ns,
	    .slots = until, .base = FORMAT_SPAN_LEVEL,
	    .top = FORMAT_SPAN_LEVEL};
	struct manifest_file old = {0};
	const struct err *e = in ? NULL : err_nomem();

	while (meta.top < SEG_MAX_LEVEL && seg_slots(meta.top + 1) <= until)
		meta.top++;
	for (uint32_t i = 0; i < c->next.n; i++) {
		if (c->next.files[i].kind == MANIFEST_SUMMARY)
			old = c->next.files[i];
	}
	if (e == NULL && old.name[0] != '\0') {
		e = inputs_add(w, in, &old, 0, from, false);
		if (e == NULL) { /* the span that is taken anew is left out */
			in->sources[0].skip_from = again;
			in->sources[0].skip_until = again + SPAN_SLOTS;
		}
		change_drop(c, old.name);
	}
	for (uint32_t i = 0; e == NULL && i < c->next.n; i++) {
		const struct manifest_file *f = &c->next.files[i];

		if (f->kind == MANIFEST_SPAN &&
		    f->level == FORMAT_SPAN_LEVEL && f->first < until &&
		    (f->first >= from || f->first == again) &&
		    in->n < WORK_SOURCES)
			e = inputs_add(w, in, f, 0, UINT64_MAX, false);
	}
	if (e == NULL)
		e = work_build(w, c, MANIFEST_SUMMARY, &meta, in->sources,
		    in->n);
	if (in != NULL)
		inputs_fini(in);
	free(in);
	return e;
}

static uint64_t
work_summary_until(const struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->files[i].kind == MANIFEST_SUMMARY)
			return m->files[i].first + m->files[i].slots;
	}
	return 0;
}

/* Makes one span of `level` from all files within it. */
static const struct err *
work_merge_span(struct store_writer *w, uint64_t first, unsigned level)
{
	struct sealed_meta meta = work_meta(w, first, level);
	struct inputs *in = calloc(1, sizeof(*in));
	struct change *c = malloc(sizeof(*c));
	uint64_t summary = work_summary_until(&w->manifest);
	const struct err *e = in && c ? change_begin(w, c) : err_nomem();

	if (e != NULL) {
		free(in);
		free(c);
		return e;
	}
	for (uint32_t i = 0; i < w->manifest.n && e == NULL; i++) {
		const struct manifest_file *f = &w->manifest.files[i];

		if ((f->kind != MANIFEST_SPAN && f->kind != MANIFEST_LATE) ||
		    !work_inside(f, first, meta.slots) ||
		    in->n == WORK_SOURCES)
			continue;
		e = inputs_add(w, in, f, 0, UINT64_MAX, true);
		change_drop(c, f->name);
	}
	if (e == NULL)
		e = work_build(w, c, MANIFEST_SPAN, &meta, in->sources, in->n);
	if (e == NULL && level == FORMAT_SPAN_LEVEL &&
	    first + meta.slots <= summary)
		e = work_build_summary(w, c, summary, summary, first);
	e = change_end(w, c, e);
	inputs_fini(in);
	free(in);
	free(c);
	return e;
}

/* How many span and late files lie within a span; *whole: one span file is
 * the span already. */
static void
work_count(const struct manifest *m, uint64_t first, unsigned level,
    size_t *spans, size_t *late, bool *whole)
{
	*spans = *late = 0;
	*whole = false;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (!work_inside(f, first, seg_slots(level)))
			continue;
		*spans += f->kind == MANIFEST_SPAN;
		*late += f->kind == MANIFEST_LATE;
		*whole |= f->kind == MANIFEST_SPAN && f->level == level;
	}
}

/* Merges one span that is complete and worth it. */
static const struct err *
work_merge(struct store_writer *w, uint64_t open_from, bool *did)
{
	const struct manifest *m = &w->manifest;

	for (unsigned level = FORMAT_SEAL_LEVEL + 1;
	     level <= FORMAT_SPAN_LEVEL; level++) {
		for (uint32_t i = 0; i < m->n; i++) {
			const struct manifest_file *f = &m->files[i];
			uint64_t first = seg_align(f->first, level);
			size_t spans, late;
			bool whole;

			if ((f->kind != MANIFEST_SPAN &&
			        f->kind != MANIFEST_LATE) ||
			    f->level > level ||
			    first + seg_slots(level) > open_from ||
			    first < m->fine_from)
				continue;
			work_count(m, first, level, &spans, &late, &whole);
			if (whole ? level < FORMAT_SPAN_LEVEL ||
			            late < LATE_FOLD
			          : spans == 0 && level < FORMAT_SPAN_LEVEL)
				continue;
			*did = true;
			return work_merge_span(w, first, level);
		}
	}
	return NULL;
}

/* Takes the full spans that are complete into the summary. */
static const struct err *
work_summarize(struct store_writer *w, uint64_t open_from, bool *did)
{
	uint64_t have = work_summary_until(&w->manifest), until = have;
	struct change *c;
	const struct err *e;

	for (uint32_t i = 0; i < w->manifest.n; i++) {
		const struct manifest_file *f = &w->manifest.files[i];

		if (f->kind == MANIFEST_SPAN &&
		    f->level == FORMAT_SPAN_LEVEL &&
		    f->first + f->slots > until &&
		    f->first + f->slots <= open_from)
			until = f->first + f->slots;
	}
	if (until == have)
		return NULL;
	if ((c = malloc(sizeof(*c))) == NULL)
		return err_nomem();
	*did = true;
	e = change_begin(w, c);
	if (e == NULL) {
		e = work_build_summary(w, c, have, until, UINT64_MAX -
		    SPAN_SLOTS);
		e = change_end(w, c, e);
	}
	free(c);
	return e;
}

/* ---- retention ---- */

static uint64_t
work_total_bytes(struct store_writer *w)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < w->manifest.n; i++) {
		const struct manifest_file *f = &w->manifest.files[i];
		struct stat st;

		if (f->kind != MANIFEST_JOURNAL)
			bytes += f->bytes;
		else if (fstatat(w->dir, f->name, &st, 0) == 0)
			bytes += (uint64_t)st.st_size;
	}
	return bytes;
}

/* The oldest span or late file; NULL when there is none. */
static const struct manifest_file *
work_oldest(const struct manifest *m)
{
	const struct manifest_file *oldest = NULL;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct manifest_file *f = &m->files[i];

		if (f->kind != MANIFEST_SPAN && f->kind != MANIFEST_LATE)
			continue;
		if (oldest == NULL || f->first < oldest->first)
			oldest = f;
	}
	return oldest;
}

static const struct err *
work_retain(struct store_writer *w, bool *did)
{
	const struct manifest_file *f = work_oldest(&w->manifest);
	const struct store_options *o = &w->options;
	uint64_t bytes = work_total_bytes(w), limit = 0;
	struct change *c;
	const struct err *e;

	pthread_mutex_lock(&w->mutex);
	if (o->retain_fine_ns > 0)
		limit = writer_slot(w, w->now_ns - o->retain_fine_ns);
	w->stats.bytes = bytes;
	w->stats.files = w->manifest.n;
	pthread_mutex_unlock(&w->mutex);
	if (f == NULL || (f->first + f->slots > limit &&
	        (o->max_bytes == 0 || bytes <= (uint64_t)o->max_bytes)))
		return NULL;
	if ((c = malloc(sizeof(*c))) == NULL)
		return err_nomem();
	*did = true;
	e = change_begin(w, c);
	if (e == NULL) {
		if (f->first + f->slots > c->next.fine_from)
			c->next.fine_from = f->first + f->slots;
		change_drop(c, f->name);
		e = change_end(w, c, NULL);
	}
	free(c);
	return e;
}

/* ---- the whole ---- */

const struct err *
writer_work(struct store_writer *w)
{
	const struct err *e = work_sync(w);
	uint64_t open_from;
	bool did = true;

	if (e == NULL)
		e = work_spare(w);
	while (e == NULL && did) {
		did = false;
		e = work_seal(w, &did, &open_from);
		if (e == NULL && !did)
			e = work_merge(w, open_from, &did);
		if (e == NULL && !did)
			e = work_summarize(w, open_from, &did);
		if (e == NULL && !did)
			e = work_retain(w, &did);
		if (e == NULL && did)
			e = work_sync(w);
	}
	pthread_mutex_lock(&w->mutex);
	writer_note(&w->working, e);
	pthread_mutex_unlock(&w->mutex);
	return e;
}
