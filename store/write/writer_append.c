/*
 * Taking batches: into the journal, all of a push or nothing of it.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/file/format.h"
#include "store/file/segtree.h"
#include "store/journal/journal.h"
#include "store/write/writer.h"

#define WRITER_RECORD (256u << 10) /* memory for a record that is kept */
#define WRITER_SHORT (2u << 20) /* bytes of 16 slots, which are much */

const struct err *
writer_check_space(struct store_writer *w)
{
	struct statvfs v;
	uint64_t free_bytes;

	if (w->options.reserve_bytes == 0)
		return NULL;
	if (fstatvfs(w->dir, &v) != 0)
		return err_errno("%s", w->path);
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	if (free_bytes >= (uint64_t)w->options.reserve_bytes)
		return NULL;
	return err_new(ERR_LIMIT, 507,
	    "%s: %llu MB are free, the reserve is %llu MB", w->path,
	    (unsigned long long)(free_bytes >> 20),
	    (unsigned long long)w->options.reserve_bytes >> 20);
}

uint64_t
store_batch_until(const struct batch *b)
{
	uint64_t until = 0;

	for (size_t i = 0; i < b->n_blocks; i++) {
		if (b->blocks[i].slot >= until)
			until = b->blocks[i].slot + 1;
	}
	return until;
}

/* The newest slot that is not in the future; without slots the present. */
static uint64_t
writer_home(const struct store_writer *w, uint64_t until)
{
	int64_t now = w->now_ns ? w->now_ns : clock_wall_ns();
	uint64_t present = writer_slot(w, now);

	return until > 0 && until - 1 < present ? until - 1 : present;
}

/* A torn record must not stay in front of whole ones. */
static bool
writer_cut(struct store_writer *w)
{
	w->current.torn =
	    ftruncate(w->current.fd, (off_t)w->current.bytes) != 0;
	return !w->current.torn;
}

static uint64_t
writer_number(const struct journal_slot *j)
{
	enum manifest_kind kind;
	uint64_t number = 0;

	manifest_name_is(j->name, &kind, &number);
	return number;
}

static bool
writer_is_much(const struct store_writer *w)
{
	return w->current.bytes >= (w->options.short_bytes > 0
	    ? w->options.short_bytes : WRITER_SHORT);
}

uint64_t
writer_journal_end(const struct store_writer *w)
{
	const struct journal_slot *j = &w->current;

	return j->first + (!j->whole && writer_is_much(w)
	    ? seg_slots(FORMAT_SHORT_LEVEL) : writer_journal_slots(j));
}

/*
 * The first slot of the journal for a batch of this slot.  Readers know where
 * each series stands in open journals: where 16 slots have brought much, these
 * are sealed, and those that follow up to the end of the 64.
 */
static uint64_t
writer_journal_first(struct store_writer *w, uint64_t home)
{
	uint64_t span = seg_align(home, FORMAT_SEAL_LEVEL);
	uint64_t part = seg_align(home, FORMAT_SHORT_LEVEL);
	struct journal_slot *j = &w->current;

	if (j->fd < 0 || part <= j->first ||
	    seg_align(j->first, FORMAT_SEAL_LEVEL) != span)
		return span;
	j->whole |= j->first == span && !writer_is_much(w);
	return j->whole ? span : part;
}

/* Makes sure that there is a journal for a batch of this slot.  When the
 * background has no spare one ready, an old journal goes on. */
static const struct err *
writer_take_journal(struct store_writer *w, uint64_t home)
{
	uint64_t first = writer_journal_first(w, home);
	const struct err *e = NULL;

	if (w->current.torn && !writer_cut(w))
		return err_errno("%s/%s", w->path, w->current.name);
	if (w->current.fd >= 0 && first > w->current.first && w->spare.fd >= 0)
		writer_retire(w);
	if (w->current.fd >= 0)
		return NULL;
	if (w->spare.fd < 0) {
		if (w->threaded)
			return err_new(ERR_LIMIT, 503,
			    "the store has no journal yet");
		if ((e = writer_make_spare(w, &w->spare)) != NULL)
			return e;
	}
	buf_clear(&w->spare.tail);
	e = journal_begin(w->spare.fd, first, writer_number(&w->spare),
	    &w->spare.tail);
	if (e != NULL) {
		if (ftruncate(w->spare.fd, 0) != 0) /* never use it */
			writer_forget(&w->spare);
		return e;
	}
	w->current = w->spare;
	w->current.first = first;
	w->current.bytes = JOURNAL_HEADER;
	journal_dict_begin(&w->dict);
	w->spare = (struct journal_slot){.fd = -1};
	return NULL;
}

/* Behind what the journal has; *grown: bytes of its push until now. */
static const struct err *
writer_write(struct store_writer *w, uint64_t *grown)
{
	ssize_t n = write(w->current.fd, w->record.data, w->record.len);

	if (n == (ssize_t)w->record.len) {
		*grown += w->record.len;
		writer_keep(&w->current, w->record.data, w->record.len);
		return NULL;
	}
	if (n >= 0)
		errno = ENOSPC;
	return errno == ENOSPC || errno == EDQUOT
	    ? err_new(ERR_LIMIT, 507, "%s: no space left", w->path)
	    : err_errno("%s/%s", w->path, w->current.name);
}

/* Of what did not come to its end nothing stays; the names of its whole
 * records were in nobody's journal. */
static void
writer_undo(struct store_writer *w, uint64_t grown, size_t tail)
{
	if (w->current.tail.len > tail)
		w->current.tail.len = tail;
	if (grown > 0)
		journal_dict_begin(&w->dict);
	if (!writer_cut(w))
		writer_retire(w);
}

/* Whoever deletes the directory, or puts another one in its place, deletes
 * what is written from then on: nobody is told that it is kept. */
static const struct err *
writer_check_place(const struct store_writer *w)
{
	struct stat ours, there;

	if (fstat(w->dir, &ours) == 0 && ours.st_nlink > 0 &&
	    stat(w->path, &there) == 0 && there.st_dev == ours.st_dev &&
	    there.st_ino == ours.st_ino)
		return NULL;
	return err_new(ERR_LIMIT, 503, "%s is not the directory any more that "
	    "was opened: it was moved or deleted; restart memlensd", w->path);
}

static const struct err *
writer_put(struct store_writer *w, struct batch *b, uint64_t *grown)
{
	const struct err *e = stock_count_begin(&w->observed, b);

	if (e != NULL)
		return e;
	e = journal_dict_encode(&w->dict, b, &w->record);
	if (e == NULL)
		e = writer_write(w, grown);
	stock_count_end(&w->observed, b, e == NULL);
	if (e != NULL)
		return e;
	journal_dict_sent(&w->dict);
	if (w->record.cap > WRITER_RECORD)
		buf_fini(&w->record);
	return NULL;
}

/* One after the other; *grown: bytes that are written. */
static const struct err *
writer_put_parts(struct store_writer *w, const struct store_parts *parts,
    uint64_t *nodes, uint64_t *grown)
{
	const struct err *e = NULL;

	for (size_t i = 0; i < parts->n && e == NULL; i++) {
		struct batch *b;
		uint64_t brought;

		if ((e = parts->get(parts->arg, i, &b)) != NULL)
			break;
		b->more = i + 1 < parts->n;
		if ((e = writer_put(w, b, grown)) == NULL)
			*nodes += brought = journal_dict_brought(&w->dict);
		if (parts->done != NULL)
			parts->done(parts->arg, b, e == NULL ? brought : 0);
	}
	return e;
}

/* They are in the journal, and count from now on. */
static const struct err *
writer_took(struct store_writer *w, const struct store_parts *parts,
    uint64_t nodes, uint64_t grown, int64_t now)
{
	w->current.bytes += grown;
	w->stats.nodes += nodes;
	w->stats.batches += parts->n;
	writer_beat(w);
	w->kicked = true;
	pthread_cond_signal(&w->wake);
	if (parts->until > w->stats.next_slot)
		w->stats.next_slot = parts->until;
	writer_saw(w, parts->until);
	return ids_add(&w->ids, parts->id, now);
}

static const struct err *
writer_append(struct store_writer *w, const struct store_parts *parts)
{
	int64_t now = w->now_ns ? w->now_ns : clock_wall_ns();
	struct stock_count kept = {0};
	uint64_t nodes = 0, grown = 0;
	const struct err *e;
	size_t tail;

	if (ids_has(&w->ids, parts->id)) {
		w->stats.duplicates++;
		return NULL;
	}
	if ((e = writer_check_place(w)) != NULL ||
	    (e = writer_check_space(w)) != NULL)
		return e;
	if ((e = ids_reserve(&w->ids, now)) != NULL)
		return e; /* what is written must be remembered */
	if ((e = writer_take_journal(w, writer_home(w, parts->until))) != NULL)
		return e;
	if (parts->n > 1 &&
	    (e = stock_count_save(&w->observed, &kept)) != NULL)
		return e;
	tail = w->current.tail.len;
	e = writer_put_parts(w, parts, &nodes, &grown);
	if (parts->n > 1)
		stock_count_restore(&w->observed, &kept, e != NULL);
	if (e == NULL)
		return writer_took(w, parts, nodes, grown, now);
	writer_undo(w, grown, tail);
	return e;
}

static const struct err *
writer_check_slots(const struct store_writer *w, const struct batch *b)
{
	if (b->slot_ns == (uint64_t)w->options.slot_ns)
		return NULL;
	return err_new(ERR_FORMAT, 0,
	    "a batch has slots of %llu ns, the store of %lld",
	    (unsigned long long)b->slot_ns, (long long)w->options.slot_ns);
}

const struct err *
store_append_parts(struct store_writer *w, const struct store_parts *parts)
{
	const struct err *e;

	pthread_mutex_lock(&w->mutex);
	e = writer_append(w, parts);
	w->stats.refused += e != NULL;
	writer_note(&w->taking, e);
	writer_say(w);
	pthread_mutex_unlock(&w->mutex);
	return e;
}

static const struct err *
store_give_one(void *arg, size_t i, struct batch **b)
{
	(void)i;
	*b = arg;
	return NULL;
}

const struct err *
store_append(struct store_writer *w, struct batch *b)
{
	struct store_parts one = {.n = 1, .id = b->id, .get = store_give_one,
	    .arg = b};
	const struct err *e;

	if ((e = writer_check_slots(w, b)) != NULL ||
	    (e = batch_finish(b)) != NULL)
		return e;
	one.until = store_batch_until(b);
	return store_append_parts(w, &one);
}

