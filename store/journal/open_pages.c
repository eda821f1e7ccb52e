/*
 * Pages are compared with their checksums when they are read again: a journal
 * that was cut off and written anew meanwhile must not answer for the old one.
 */
#include "store/journal/open_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"

#define OPEN_TRUSTED UINT32_MAX  /* in the place of sums */
#define WINDOW_REST (256u << 10) /* memory kept from one read to the next */

bool
open_room(void **array, size_t n, uint32_t *cap, size_t size)
{
	size_t want = *cap + *cap / 2;
	void *p;

	if (n <= *cap)
		return true;
	if (want < n)
		want = n < 4 ? 4 : n;
	if (want > UINT32_MAX || (p = realloc(*array, want * size)) == NULL)
		return false;
	*array = p;
	*cap = (uint32_t)want;
	return true;
}

void
open_pages_fini(struct open_pages *p)
{
	free(p->records);
	free(p->sums);
	buf_fini(&p->window);
	*p = (struct open_pages){.fd = p->fd, .read = p->read, .arg = p->arg};
}

size_t
open_pages_bytes(const struct open_pages *p)
{
	return p->cap_records * sizeof(*p->records) +
	    p->cap_sums * sizeof(*p->sums) + p->window.cap;
}

const struct err *
open_pages_add(struct open_pages *p, uint64_t offset, const void *record,
    size_t size, uint32_t dict)
{
	const uint8_t *data = record;
	uint32_t pages = (uint32_t)((size + OPEN_PAGE - 1) / OPEN_PAGE);

	if (!open_room((void **)&p->records, p->n_records + 1,
	        &p->cap_records, sizeof(*p->records)) ||
	    !open_room((void **)&p->sums, p->n_sums + pages, &p->cap_sums,
	        sizeof(*p->sums)))
		return err_nomem();
	p->records[p->n_records++] = (struct open_record){offset,
	    (uint32_t)size, p->n_sums, dict};
	for (size_t at = 0; at < size; at += OPEN_PAGE)
		p->sums[p->n_sums++] = crc32c(0, data + at,
		    size - at < OPEN_PAGE ? size - at : OPEN_PAGE);
	return NULL;
}

const struct err *
open_pages_trust(struct open_pages *p, uint32_t size)
{
	if (!open_room((void **)&p->records, p->n_records + 1,
	        &p->cap_records, sizeof(*p->records)))
		return err_nomem();
	p->records[p->n_records++] = (struct open_record){0, size,
	    OPEN_TRUSTED, 0};
	return NULL;
}

static const struct err *
open_pages_changed(struct open_pages *p)
{
	p->changed = true;
	buf_clear(&p->window);
	if (p->read != NULL)
		return err_new(ERR_FORMAT, 0,
		    "a dictionary's bytes are not those that were read before");
	return err_new(ERR_ERRNO, ENOENT,
	    "a journal's bytes are not those that were read before");
}

static const struct err *
open_pages_check(struct open_pages *p, const struct open_record *r)
{
	const uint8_t *data = p->window.data;
	size_t left = r->sums == OPEN_TRUSTED ? 0 : p->window.len;

	for (uint32_t i = r->sums + p->page; left > 0; i++) {
		size_t n = left < OPEN_PAGE ? left : OPEN_PAGE;

		if (crc32c(0, data, n) != p->sums[i])
			return open_pages_changed(p);
		data += n;
		left -= n;
	}
	return NULL;
}

static const struct err *
open_pages_pread(int fd, uint64_t offset, uint8_t *to, size_t n, size_t *got)
{
	ssize_t part = 1;

	for (*got = 0; *got < n && part > 0; *got += (size_t)part) {
		part = pread(fd, to + *got, n - *got, (off_t)(offset + *got));
		if (part < 0)
			return err_errno("journal");
	}
	return NULL;
}

/* Fills the window with whole pages, the record's last but for that. */
static const struct err *
open_pages_load(struct open_pages *p, const struct open_record *r,
    uint32_t first, uint32_t end)
{
	size_t from = (size_t)first * OPEN_PAGE, got = 0;
	size_t n = (size_t)end * OPEN_PAGE;
	const struct err *e;

	n = (n < r->size ? n : r->size) - from;
	buf_clear(&p->window);
	if (p->window.cap > WINDOW_REST && n <= WINDOW_REST)
		buf_fini(&p->window);
	if (!buf_reserve(&p->window, n)) {
		buf_fini(&p->window);
		return err_nomem();
	}
	e = p->read != NULL
	    ? p->read(p->arg, r->offset + from, p->window.data, n, &got)
	    : open_pages_pread(p->fd, r->offset + from, p->window.data, n,
	          &got);
	if (e != NULL)
		return e;
	if (got < n)
		return open_pages_changed(p);
	p->window.len = n;
	p->record = (uint32_t)(r - p->records);
	p->page = first;
	return open_pages_check(p, r);
}

const struct err *
open_pages_read(struct open_pages *p, uint32_t record, uint32_t at, size_t n,
    const uint8_t **out)
{
	const struct open_record *r = &p->records[record];
	uint32_t first = at / OPEN_PAGE;
	uint32_t end = (uint32_t)((at + n + OPEN_PAGE - 1) / OPEN_PAGE);
	size_t begin = (size_t)p->page * OPEN_PAGE;
	const struct err *e;

	if (at + n > r->size)
		return open_pages_changed(p);
	if (p->window.len == 0 || p->record != record || at < begin ||
	    at + n > begin + p->window.len) {
		if ((e = open_pages_load(p, r, first, end)) != NULL)
			return e;
		begin = (size_t)first * OPEN_PAGE;
	}
	*out = p->window.data + (at - begin);
	return NULL;
}
