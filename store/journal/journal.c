/*
 * Reads journals that may end in the middle of a record, or are being written
 * meanwhile: what is torn is looked at again, what is damaged is skipped up to
 * the next place where a record is whole.
 */
#include "store/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/file/manifest.h"

#define JOURNAL_SCAN 65536

/* The form before, without a number. */
#define JOURNAL_HEADER_2 16

const struct err *
journal_begin(int fd, uint64_t first, uint64_t number, struct buf *copy)
{
	const uint8_t *header;
	ssize_t n;

	if (!buf_reserve(copy, JOURNAL_HEADER))
		return err_nomem();
	header = copy->data + copy->len;
	buf_put(copy, "MLJ3", 4);
	buf_put_be64(copy, first);
	buf_put_be64(copy, number);
	buf_put_be32(copy, crc32c(0, header, JOURNAL_HEADER - 4));
	n = write(fd, header, JOURNAL_HEADER);
	if (n >= 0 && n != JOURNAL_HEADER)
		errno = ENOSPC;
	return n == JOURNAL_HEADER ? NULL : err_errno("journal");
}

int
journal_open(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = JOURNAL_ODD;
	return -1;
}

/* Where the records begin; 0: the header is damaged. */
static size_t
journal_header(const uint8_t *bytes, size_t n, uint64_t *first,
    uint64_t *number)
{
	bool numbered = memcmp(bytes, "MLJ3", 4) == 0;
	size_t size = numbered ? JOURNAL_HEADER : JOURNAL_HEADER_2;
	struct cur c = cur_of(bytes + 4, size - 4);

	if (n < size || (!numbered && memcmp(bytes, "MLJ1", 4) != 0 &&
	        memcmp(bytes, "MLJ2", 4) != 0))
		return 0;
	*first = cur_be64(&c);
	*number = numbered ? cur_be64(&c) : 0;
	return cur_be32(&c) == crc32c(0, bytes, size - 4) ? size : 0;
}

off_t
journal_body(int fd)
{
	uint8_t bytes[JOURNAL_HEADER] = {0};
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	uint64_t first, number;
	size_t size = n < 0 ? 0
	                    : journal_header(bytes, (size_t)n, &first, &number);

	return size != 0 ? (off_t)size : JOURNAL_HEADER;
}

/* A header is written at once: what is shorter is none yet. */
static bool
journal_headless(const uint8_t *bytes, ssize_t n)
{
	return n < JOURNAL_HEADER_2 ||
	    (n < JOURNAL_HEADER && memcmp(bytes, "MLJ3", 4) == 0);
}

const struct err *
journal_first(int fd, const char *name, uint64_t *first, bool *empty)
{
	uint8_t bytes[JOURNAL_HEADER] = {0};
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	uint64_t number, named;
	enum manifest_kind kind;

	*first = 0;
	*empty = n >= 0 && journal_headless(bytes, n);
	if (n < 0)
		return err_errno("%s", name);
	if (*empty)
		return NULL;
	if (journal_header(bytes, (size_t)n, first, &number) == 0) {
		*first = 0;
		return err_new(ERR_FORMAT, 0, "%s: its header is damaged; "
		    "its records are read all the same", name);
	}
	if (number == 0 || !manifest_name_is(name, &kind, &named) ||
	    named == number)
		return NULL;
	return err_new(ERR_FORMAT, JOURNAL_COPY, "%s: it is a copy of "
	    "journal-%" PRIu64, name, number);
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

			if (*p == 'M' &&
			    journal_record_header(r, p, &n) == NULL) {
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

/* Moves behind the header, where there is one.  Of a damaged one the length
 * is not known: records begin where one is whole. */
static const struct err *
journal_enter(struct journal_reader *r)
{
	uint64_t first, number;
	size_t got, n, size;
	const struct err *e = journal_pread(r,
	    JOURNAL_HEADER + BATCH_RECORD_HEADER, &got);

	if (e != NULL || journal_headless(r->record.data, (ssize_t)got))
		return e;
	size = journal_header(r->record.data, got, &first, &number);
	if (size == 0)
		size = got >= JOURNAL_HEADER + BATCH_RECORD_HEADER &&
		        journal_record_header(r, r->record.data +
		            JOURNAL_HEADER, &n) == NULL
		    ? JOURNAL_HEADER
		    : JOURNAL_HEADER_2;
	r->offset = size;
	return NULL;
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

/* Are all records of its push there?  From headers alone; one that is damaged
 * does not hold up the others. */
static const struct err *
journal_together(struct journal_reader *r, bool *all)
{
	uint8_t header[BATCH_RECORD_HEADER];
	uint64_t at = r->offset;
	bool more = true;
	struct stat st;
	size_t n;

	*all = !r->journal || at < r->together;
	while (!*all && more) {
		ssize_t got = pread(r->fd, header, sizeof(header), (off_t)at);

		if (got < 0)
			return err_errno("journal");
		if (got < (ssize_t)sizeof(header))
			return NULL;
		if (journal_record_header(r, header, &n) != NULL)
			break;
		at += sizeof(header) + n;
		more = batch_record_more(header);
	}
	if (*all)
		return NULL;
	if (fstat(r->fd, &st) != 0)
		return err_errno("journal");
	*all = (uint64_t)st.st_size >= at;
	if (*all)
		r->together = at;
	return NULL;
}

const struct err *
journal_take(struct journal_reader *r, journal_take_fn *fn, void *arg,
    bool *taken)
{
	const struct err *e;
	bool whole;

	*taken = false;
	if (r->journal && r->offset == 0 &&
	    ((e = journal_enter(r)) != NULL || r->offset == 0))
		return e;
	for (;;) {
		size_t n;

		if ((e = journal_whole(r, &whole)) != NULL || !whole)
			return e;
		if (batch_record_more(r->record.data) &&
		    ((e = journal_together(r, &whole)) != NULL || !whole))
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
