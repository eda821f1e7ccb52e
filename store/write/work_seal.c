/*
 * Sealing: the journals of a span that is over become a span file of 64
 * slots, or 16; what they hold of other slots becomes late files, facts too.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/journal/journal.h"
#include "store/write/work.h"

/* Names and values of which a piece is made, in memory, about: the file that
 * is made of them takes as much again, and so may one more record. */
#define SEAL_BYTES (12u << 20)

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

		if (f->kind == MANIFEST_JOURNAL && *n < room &&
		    strcmp(f->name, current) != 0 &&
		    strcmp(f->name, spare) != 0)
			e = work_look_journal(w, f, &old[(*n)++]);
	}
	return e;
}

/* Of which slot the block is, or the fact behind them. */
static uint64_t
work_slot(const struct memspan *m, size_t i)
{
	return i < m->n_blocks ? m->blocks[i].slot
	                       : m->facts[i - m->n_blocks].slot;
}

/* The oldest slot with anything at `from` or later outside the main span. */
static uint64_t
work_next_late(const struct memspan *m, uint64_t from, uint64_t skip_from,
    uint64_t skip_until)
{
	uint64_t slot = UINT64_MAX;

	for (size_t i = 0; i < m->n_blocks + m->n_facts; i++) {
		uint64_t at = work_slot(m, i);

		if (at >= from && at < slot &&
		    (at < skip_from || at >= skip_until))
			slot = at;
	}
	return slot;
}

/* Facts near the span are its own. */
static void
work_place_facts(struct memspan *m, uint64_t first, uint64_t end)
{
	for (size_t i = 0; i < m->n_facts; i++) {
		uint64_t *slot = &m->facts[i].slot;

		if (*slot < first && first - *slot <= FORMAT_FACT_SLACK)
			*slot = first;
		else if (*slot >= end && *slot - end < FORMAT_FACT_SLACK)
			*slot = end - 1;
	}
}

/* The newest such slot before `until`. */
static uint64_t
work_last_late(const struct memspan *m, uint64_t from, uint64_t until,
    uint64_t skip_from, uint64_t skip_until)
{
	uint64_t slot = from;

	for (size_t i = 0; i < m->n_blocks + m->n_facts; i++) {
		uint64_t at = work_slot(m, i);

		if (at > slot && at < until &&
		    (at < skip_from || at >= skip_until))
			slot = at;
	}
	return slot;
}

/* Late files: one for each full span that is touched, as small as holds. */
static const struct err *
work_build_late(struct store_writer *w, struct change *c,
    const struct memspan *m, uint64_t skip_from, uint64_t skip_until)
{
	const struct err *e = NULL;
	uint64_t slot = 0;

	while (e == NULL) {
		struct seal_source s = {.memory = m, .skip_from = skip_from,
		    .skip_until = skip_until, .facts = true};
		struct sealed_meta meta;
		unsigned level = FORMAT_SEAL_LEVEL;
		uint64_t last;

		slot = work_next_late(m, slot, skip_from, skip_until);
		if (slot == UINT64_MAX)
			break;
		last = work_last_late(m, slot,
		    seg_align(slot, FORMAT_SPAN_LEVEL) + SPAN_SLOTS,
		    skip_from, skip_until);
		while (seg_align(slot, level) != seg_align(last, level))
			level++;
		meta = work_meta(w, seg_align(slot, level), level);
		s.from = meta.first;
		s.until = meta.first + meta.slots;
		e = work_build(w, c, MANIFEST_LATE, &meta, &s, 1);
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
			work_drop(c, c->next.files[i].name);
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
	if ((e = work_made(c, f.name)) != NULL) {
		unlinkat(w->dir, f.name, 0);
	} else if (write(fd, out.data, out.len) != (ssize_t)out.len ||
	    fdatasync(fd) != 0)
		e = err_errno("%s/%s", w->path, f.name);
	close(fd);
	buf_fini(&out);
	return e == NULL ? manifest_add(&c->next, &f) : e;
}

/* Files of what was read: the first piece is the span, what comes after it
 * is late.  `last`: nobody will need the names. */
static const struct err *
work_seal_piece(struct sealing *s, bool last)
{
	const struct memspan *m = &s->m;
	uint64_t first = s->first, end = sealing_until(s);
	bool taken = s->early || work_has_span(&s->c->next, first) ||
	    end <= s->c->next.fine_from;
	const struct err *e = NULL;
	bool late;

	work_place_facts(&s->m, first, end);
	late = work_next_late(m, 0, first, end) != UINT64_MAX;
	if (!taken) {
		struct sealed_meta meta = work_meta(s->w, first, s->level);
		struct seal_source from = {.memory = m, .from = first,
		    .until = end, .facts = true, .last = last && !late};

		e = work_build(s->w, s->c, MANIFEST_SPAN, &meta, &from, 1);
	}
	if (e == NULL)
		e = work_build_late(s->w, s->c, m, first, taken ? first : end);
	memspan_fini(&s->m);
	return e;
}

static size_t
work_piece_bytes(const struct sealing *s)
{
	return s->w->options.seal_bytes > 0 ? s->w->options.seal_bytes
	                                    : SEAL_BYTES;
}

const struct err *
work_before_record(struct sealing *s, struct journal_reader *r,
    const struct batch *b)
{
	struct journal_names *names = &r->names;
	const struct err *e = NULL;
	uint64_t lost = names->lost;

	if (b->index->dictionary == names->dictionary &&
	    names->dictionary != 0)
		return NULL;
	if (symtab_bytes(&s->syms) < work_piece_bytes(s))
		return NULL;
	if (s->m.n_blocks > 0 || s->m.n_facts > 0)
		e = work_seal_piece(s, true);
	journal_names_fini(names);
	names->lost = lost;
	names->sole = true;
	symtab_fini(&s->syms);
	s->named = 0;
	return e == NULL ? symtab_init_unshown(&s->syms) : e;
}

const struct err *
work_after_record(struct sealing *s, struct journal_reader *r)
{
	if (memspan_bytes(&s->m) + symtab_bytes(&s->syms) <
	    work_piece_bytes(s) + s->named)
		return NULL;
	buf_fini(&r->record);
	symtab_rest(&s->syms);
	s->named = symtab_bytes(&s->syms);
	return work_seal_piece(s, false);
}

static const struct err *
work_seal_journals(struct sealing *s, const struct old_journal *old, size_t n)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < n && e == NULL; i++) {
		if (old[i].first != s->first || old[i].empty || old[i].broken)
			continue;
		e = work_read_journal(s, &old[i]);
		work_drop(s->c, old[i].name);
	}
	if (s->early && s->torn.until > work_present(s->w) + 1)
		s->torn.until = work_present(s->w) + 1;
	work_end_torn(s->c, &s->torn);
	symtab_rest(&s->syms);
	if (e == NULL)
		e = work_seal_piece(s, true);
	return e == NULL ? work_build_ids(s->w, s->c) : e;
}

static const struct err *
work_seal_span(struct store_writer *w, const struct old_journal *old,
    size_t n, uint64_t first, unsigned level, bool early)
{
	struct sealing s = {.w = w, .first = first, .level = level,
	    .early = early};
	const struct err *e;

	s.m.syms = &s.syms;
	if ((s.c = malloc(sizeof(*s.c))) == NULL)
		return err_nomem();
	e = symtab_init_unshown(&s.syms);
	if (e == NULL)
		e = work_begin(w, s.c);
	if (e == NULL)
		e = work_end(w, s.c, work_seal_journals(&s, old, n));
	memspan_fini(&s.m);
	symtab_fini(&s.syms);
	free(s.c);
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
		log_warn("store: %s: %s, set aside as %s", j->name, j->copy
		    ? "it is a copy of another file"
		    : "its header is damaged, and no record is whole", aside);
		if (linkat(w->dir, j->name, w->dir, aside, 0) != 0 &&
		    errno != EEXIST && errno != EPERM) /* of a directory */
			return err_errno("%s/%s", w->path, j->name);
	}
	if (j->gone)
		log_warn("store: %s is %s", j->name,
		    j->cut ? "cut off" : "missing");
	if (j->gone || j->broken)
		work_mark_unread(w, j);
	manifest_remove(&w->manifest, j->name);
	pthread_mutex_lock(&w->mutex);
	w->stats.damaged_records += j->broken;
	pthread_mutex_unlock(&w->mutex);
	e = manifest_save(&w->manifest, w->dir, &published);
	if (e == NULL)
		unlinkat(w->dir, j->name, 0);
	return e;
}

/* Is it in the 64 slots that begin with `span`, and not at their beginning? */
static bool
work_is_part(uint64_t first, uint64_t span)
{
	return first > span && first - span < SEAL_SLOTS;
}

/* A journal is for 16 slots where one follows within the 64, or has. */
static unsigned
work_level(const struct store_writer *w, const struct old_journal *old,
    size_t n, uint64_t first, uint64_t writing)
{
	uint64_t span = seg_align(first, FORMAT_SEAL_LEVEL);
	bool part = first != span || work_is_part(writing, span);

	for (size_t i = 0; i < n && !part; i++)
		part = !old[i].empty && !old[i].broken &&
		    work_is_part(old[i].first, span);
	for (uint32_t i = 0; i < w->manifest.n && !part; i++)
		part = w->manifest.files[i].kind == MANIFEST_SPAN &&
		    work_is_part(w->manifest.files[i].first, span);
	return part ? FORMAT_SHORT_LEVEL : FORMAT_SEAL_LEVEL;
}

/* Seals one span whose journals are all old and whose time is over. */
const struct err *
work_seal(struct store_writer *w, bool *did, uint64_t *open_from)
{
	struct old_journal old[64];
	const struct err *e;
	uint64_t now, writing;
	unsigned level;
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
		level = work_level(w, old, n, old[i].first, writing);
		if (old[i].first + seg_slots(level) <= now &&
		    old[i].first != writing) {
			*did = true;
			return work_seal_span(w, old, n, old[i].first, level,
			    false);
		}
		if (old[i].first < *open_from)
			*open_from = old[i].first;
	}
	return e;
}

const struct err *
work_seal_early(struct store_writer *w)
{
	struct old_journal old[64];
	const struct err *e;
	uint64_t open_from;
	size_t n;

	for (;;) {
		e = work_old_journals(w, old, 64, &n, &open_from);
		if (e != NULL || n == 0)
			return e;
		if (old[0].empty || old[0].broken)
			e = work_forget_empty(w, &old[0]);
		else
			e = work_seal_span(w, old, n, old[0].first,
			    FORMAT_SEAL_LEVEL, true);
		if (e != NULL)
			return e;
	}
}
