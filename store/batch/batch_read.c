/*
 * Records: their header, their checksum, and what stands before the
 * sections (batch_take.c).  The format is in batch.h, that of a journal's
 * in journal.h.
 */
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_private.h"
#include "store/batch/frame_code.h"

/* What kind of record is expected. */
struct batch_form {
	const char *magic;
	uint8_t versions; /* a bit each; those of 2 may need others */
	size_t most, budget;
};

/* *version: of the record. */
static const struct err *
batch_header_within(const void *p, const struct batch_form *form, size_t *n,
    uint8_t *version)
{
	struct cur c = cur_of(p, BATCH_RECORD_HEADER);
	const uint8_t *magic = cur_raw(&c, 4);

	*n = cur_be32(&c) & ~BATCH_RECORD_MORE;
	cur_be32(&c);
	*version = (uint8_t)(magic[3] - '0');
	if (memcmp(magic, form->magic, 3) != 0 || *version > 7 ||
	    (form->versions >> *version & 1) == 0)
		return err_new(ERR_FORMAT, 0, "no record begins here");
	if (cur_be32(&c) != crc32c(0, p, 12))
		return err_new(
		    ERR_FORMAT, 12, "the record's header is damaged");
	if (*n > form->most)
		return err_new(ERR_FORMAT, 4, "the record is too long");
	return NULL;
}

static const struct batch_form batch_plain = {"MLB", 1 << 1, BATCH_MAX_BYTES,
    BATCH_BUDGET};
const struct batch_form batch_of_file = {"MLB",
    1 << 1 | 1 << BATCH_VERSION_DICT, BATCH_DICT_BYTES, SIZE_MAX};
const struct batch_form batch_of_journal = {"MLB", 1 << 1 | 1 << 2,
    BATCH_JOURNAL_BYTES, SIZE_MAX};
const struct batch_form batch_of_stream = {"MLS", 1 << 1, BATCH_MAX_BYTES,
    BATCH_BUDGET};

bool
batch_record_more(const void *p)
{
	struct cur c = cur_of((const uint8_t *)p + 4, 4);

	return (cur_be32(&c) & BATCH_RECORD_MORE) != 0;
}

const struct err *
batch_record_header(const void *p, size_t *n)
{
	uint8_t version;

	return batch_header_within(p, &batch_plain, n, &version);
}

const struct err *
batch_journal_header(const void *p, size_t *n)
{
	uint8_t version;

	return batch_header_within(p, &batch_of_journal, n, &version);
}

const struct err *
batch_stream_header(const void *p, size_t *n)
{
	uint8_t version;

	return batch_header_within(p, &batch_of_stream, n, &version);
}

const struct err *
batch_take_sections(struct batch *b, struct cur *c, const uint8_t *start)
{
	for (size_t i = 0; i < BATCH_SECTIONS && !c->bad; i++) {
		uint64_t tag = cur_varint(c);
		size_t n;
		const uint8_t *p = cur_bytes(c, &n);
		struct cur section;

		if (p == NULL || tag != i + 1)
			break;
		section = cur_of(p, n);
		if (i == BATCH_NAMES && b->stream != 0) {
			b->index->names_budget = b->index->budget;
			b->index->budget = BATCH_BUDGET;
		}
		if (!batch_takers[i](b, &section))
			return err_nomem();
		if (section.bad || section.p != section.end)
			return err_new(ERR_FORMAT, (int)(section.p - start),
			    "section %zu of a batch is malformed", i + 1);
		if (i + 1 == BATCH_SECTIONS && cur_left(c) == 0)
			return NULL;
	}
	return err_new(ERR_FORMAT, (int)(c->p - start),
	    "a batch does not have its seven sections");
}

static const struct err *
batch_take_payload(struct batch *b, struct cur *c, const uint8_t *start,
    uint8_t magic)
{
	const uint8_t *id;
	uint8_t version = cur_u8(c);

	if (version != magic)
		return err_new(ERR_FORMAT, BATCH_RECORD_HEADER,
		    "batch version %u is not known here", version);
	id = cur_raw(c, sizeof(b->id));
	b->slot_ns = cur_varint(c);
	if (id != NULL)
		memcpy(b->id, id, sizeof(b->id));
	if (version == 2)
		batch_take_first(b, c);
	b->index->coded = version == BATCH_VERSION_DICT;
	return batch_take_sections(b, c, start);
}

const struct err *
batch_open_record(const void *record, size_t size,
    const struct batch_form *form, struct cur *c, uint8_t *version)
{
	const uint8_t *start = record;
	const struct err *e;
	size_t n;

	if (size < BATCH_RECORD_HEADER)
		return err_new(ERR_FORMAT, (int)size, "a record is cut short");
	e = batch_header_within(record, form, &n, version);
	if (e != NULL)
		return e;
	if (size != n + BATCH_RECORD_HEADER)
		return err_new(ERR_FORMAT, (int)size, "a record is cut short");
	*c = cur_of(start + 8, 4);
	if (cur_be32(c) != crc32c(0, start + BATCH_RECORD_HEADER, n))
		return err_new(
		    ERR_FORMAT, 8, "the record's payload is damaged");
	*c = cur_of(start + BATCH_RECORD_HEADER, n);
	return NULL;
}

static const struct err *
batch_decode_within(const void *record, size_t size,
    const struct batch_form *form, struct batch **out)
{
	const struct err *e;
	struct batch *b;
	struct cur c;
	uint8_t version;

	*out = NULL;
	if ((e = batch_open_record(record, size, form, &c, &version)) != NULL)
		return e;
	b = batch_alloc();
	if (b == NULL)
		return err_nomem();
	b->index->budget = form->budget;
	b->more = batch_record_more(record);
	e = batch_take_payload(b, &c, record, version);
	if (e != NULL)
		batch_free(b);
	else
		*out = b;
	return e;
}

const struct err *
batch_decode(const void *record, size_t size, struct batch **out)
{
	return batch_decode_within(record, size, &batch_plain, out);
}

const struct err *
batch_decode_dict(const void *record, size_t size, struct batch **out)
{
	const struct err *e = batch_decode_within(record, size,
	    &batch_of_file, out);

	if (e == NULL && (e = frame_code_make_names(*out)) != NULL) {
		batch_free(*out);
		*out = NULL;
	}
	return e;
}

const struct err *
batch_decode_journal(const void *record, size_t size, struct batch **out)
{
	return batch_decode_within(record, size, &batch_of_journal, out);
}
