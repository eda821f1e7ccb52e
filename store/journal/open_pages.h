/*
 * The bytes of a journal's records, or of a sealed file's dictionary, read
 * again where a query needs them: each page of a record has a checksum from
 * when the whole record was scanned.
 */
#ifndef STORE_OPEN_PAGES_H
#define STORE_OPEN_PAGES_H

#include "store/base/buf.h"

struct err;

#define OPEN_PAGE 4096

struct open_record {
	uint64_t offset; /* in the journal */
	uint32_t size;
	uint32_t sums;   /* its first page's */
	uint32_t dict;   /* whose numbers it has; of the open span */
};

/* n bytes from `offset` on; fewer (*got) where they end. */
typedef const struct err *open_read_fn(void *arg, uint64_t offset, void *to,
    size_t n, size_t *got);

struct open_pages {
	int fd;            /* borrowed */
	open_read_fn *read; /* NULL: of fd */
	void *arg;
	struct open_record *records;
	uint32_t *sums;    /* CRC-32C of the pages of all records */
	uint32_t n_records, cap_records, n_sums, cap_sums;
	struct buf window; /* what was read last: */
	uint32_t record, page;
	bool changed;      /* bytes are not those that were scanned */
};

void open_pages_fini(struct open_pages *p);
size_t open_pages_bytes(const struct open_pages *p);

/* Takes up a record whose checksum was right; its number is n_records - 1. */
const struct err *open_pages_add(struct open_pages *p, uint64_t offset,
    const void *record, size_t size, uint32_t dict);

/* The same of the one record of a file whose pages have checksums of their
 * own, unread. */
const struct err *open_pages_trust(struct open_pages *p, uint32_t size);

/*
 * n bytes at `at` of a record; *out lives until the next call.  Where they
 * are not what was scanned, p->changed and an error: ERR_FORMAT of a sealed
 * file; else with code ENOENT: the journal has to be scanned anew.
 */
const struct err *open_pages_read(struct open_pages *p, uint32_t record,
    uint32_t at, size_t n, const uint8_t **out);

/* Room for n elements of an array, growing by half. */
bool open_room(void **array, size_t n, uint32_t *cap, size_t size);

#endif
