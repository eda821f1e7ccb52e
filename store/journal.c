#include "journal.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "batch_private.h"

#define JOURNAL_SCAN 65536

static void
journal_header(struct buf *b, uint64_t first)
{
	buf_put(b, "MLJ2", 4);
	buf_put_be64(b, first);
	buf_put_be32(b, crc32c(0, b->data + b->len - 12, 12));
}

const struct err *
journal_begin(int fd, uint64_t first, struct buf *copy)
{
	ssize_t n;

	if (!buf_reserve(copy, JOURNAL_HEADER))
		return err_nomem();
	journal_header(copy, first);
	n = write(fd, copy->data + copy->len - JOURNAL_HEADER, JOURNAL_HEADER);
	if (n >= 0 && n != JOURNAL_HEADER)
		errno = ENOSPC;
	return n == JOURNAL_HEADER ? NULL : err_errno("journal");
}

const struct err *
journal_first(int fd, uint64_t *first, bool *empty)
{
	uint8_t bytes[JOURNAL_HEADER];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	struct cur c = cur_of(bytes + 4, sizeof(bytes) - 4);

	*first = 0;
	*empty = n >= 0 && n < JOURNAL_HEADER;
	if (n < 0)
		return err_errno("journal");
	if (*empty)
		return NULL;
	*first = cur_be64(&c);
	if ((memcmp(bytes, "MLJ1", 4) != 0 &&
	        memcmp(bytes, "MLJ2", 4) != 0) ||
	    cur_be32(&c) != crc32c(0, bytes, 12))
		return err_new(ERR_FORMAT, 0, "a journal's header is damaged");
	return NULL;
}

void
journal_reader_fini(struct journal_reader *r)
{
	buf_fini(&r->record);
	journal_names_fini(&r->names);
}

static const struct err *
journal_record_header(const struct journal_reader *r, const void *p, size_t *n)
{
	return r->journal ? batch_journal_header(p, n)
	                  : batch_record_header(p, n);
}

/* Reads n bytes at the offset into r->record; *got tells how many came. */
static const struct err *
journal_pread(struct journal_reader *r, size_t n, size_t *got)
{
	ssize_t part;

	buf_clear(&r->record);
	*got = 0;
	if (!buf_reserve(&r->record, n))
		return err_nomem();
	while (*got < n) {
		part = pread(r->fd, r->record.data + *got, n - *got,
		    (off_t)(r->offset + *got));
		if (part < 0)
			return err_errno("journal");
		if (part == 0)
			break;
		*got += (size_t)part;
	}
	r->record.len = *got;
	return NULL;
}

/* After a damaged header: moves to the next place where one is whole. */
static const struct err *
journal_resync(struct journal_reader *r, bool *found)
{
	const struct err *e;
	size_t got, n;

	*found = false;
	r->damaged++;
	r->offset++;
	for (;;) {
		if ((e = journal_pread(r, JOURNAL_SCAN, &got)) != NULL)
			return e;
		for (size_t i = 0; i + BATCH_RECORD_HEADER <= got; i++) {
			const uint8_t *p = r->record.data + i;

			if (*p == 'M' && journal_record_header(r, p, &n) == NULL) {
				r->offset += i;
				*found = true;
				return NULL;
			}
		}
		if (got < JOURNAL_SCAN)
			return NULL;
		r->offset += got - BATCH_RECORD_HEADER + 1;
	}
}

/*
 * r->offset is where the record after a damaged payload should begin.  If
 * none begins there, the damaged one was torn and the next begins in it.
 */
static const struct err *
journal_after_damage(struct journal_reader *r, size_t size)
{
	const struct err *e;
	uint64_t end = r->offset;
	size_t got, n;
	bool found;

	e = journal_pread(r, BATCH_RECORD_HEADER, &got);
	if (e != NULL || got == 0 || (got == BATCH_RECORD_HEADER &&
	        journal_record_header(r, r->record.data, &n) == NULL))
		return e;
	r->offset = end - size;
	e = journal_resync(r, &found);
	r->damaged--; /* counted already */
	if (e == NULL && !found)
		r->offset = end;
	return e;
}

/* A whole record at r->offset into r->record; *whole: there is one. */
static const struct err *
journal_whole(struct journal_reader *r, bool *whole)
{
	const struct err *e;
	size_t got, n, again;

	*whole = false;
	for (;;) {
		e = journal_pread(r, BATCH_RECORD_HEADER, &got);
		if (e != NULL || got < BATCH_RECORD_HEADER)
			return e;
		if (journal_record_header(r, r->record.data, &n) != NULL) {
			uint64_t before = r->offset;
			bool found;

			e = journal_resync(r, &found);
			if (e == NULL && found)
				continue;
			r->offset = before; /* perhaps it is being written */
			r->damaged--;
			return e;
		}
		n += BATCH_RECORD_HEADER;
		if ((e = journal_pread(r, n, &got)) != NULL || got < n)
			return e;
		/* Was a torn record cut off and overwritten meanwhile? */
		if (journal_record_header(r, r->record.data, &again) != NULL ||
		    again + BATCH_RECORD_HEADER != n)
			continue;
		*whole = true;
		return NULL;
	}
}

const struct err *
journal_take(struct journal_reader *r, journal_take_fn *fn, void *arg,
    bool *taken)
{
	const struct err *e;
	bool whole;

	*taken = false;
	for (;;) {
		size_t n;

		if ((e = journal_whole(r, &whole)) != NULL || !whole)
			return e;
		n = r->record.len;
		e = fn(arg, r->record.data, n, r->offset);
		if (e != NULL && e->domain != ERR_FORMAT)
			return e;
		r->last = r->offset;
		r->offset += n;
		*taken = e == NULL;
		if (*taken)
			return NULL;
		r->damaged++;
		if ((e = journal_after_damage(r, n)) != NULL)
			return e;
	}
}

struct journal_decode {
	bool journal;
	struct batch **out;
};

static const struct err *
journal_decode_record(void *arg, const void *record, size_t size,
    uint64_t offset)
{
	const struct journal_decode *d = arg;

	(void)offset;
	return d->journal ? batch_decode_journal(record, size, d->out)
	                  : batch_decode(record, size, d->out);
}

const struct err *
journal_next(struct journal_reader *r, struct batch **out)
{
	struct journal_decode d = {r->journal, out};
	bool taken;

	*out = NULL;
	return journal_take(r, journal_decode_record, &d, &taken);
}
