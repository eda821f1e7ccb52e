/*
 * What a client may send to memlensd: whole batches and those of a stream.
 * The first byte says which; a stream's bytes are cut into records at each
 * 0xfe 0xfe.  Headers and checksums are made here, since no fuzzer finds
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/journal/journal_dict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
record(struct buf *out, const char *magic, const uint8_t *p, size_t n)
{
	buf_clear(out);
	buf_put(out, magic, 4);
	buf_put_be32(out, (uint32_t)n);
	buf_put_be32(out, crc32c(0, p, n));
	buf_put_be32(out, crc32c(0, out->data, 12));
	buf_put(out, p, n);
}

/* All that is named must be there: it goes into a journal. */
static void
use(struct journal_dict *d, struct batch *b)
{
	struct buf out = {0};

	if (journal_dict_encode(d, b, &out) == NULL)
		journal_dict_sent(d);
	buf_clear(&out);
	if (batch_encode(b, &out) != NULL)
		abort();
	buf_fini(&out);
}

static void
stream(struct journal_dict *d, const uint8_t *p, size_t n)
{
	struct batch_stream *s = batch_stream_new();
	struct buf r = {0};

	while (n > 0 && s != NULL) {
		const uint8_t *cut = memmem(p, n, "\xfe\xfe", 2);
		size_t len = cut == NULL ? n : (size_t)(cut - p);
		const struct err *e;
		struct batch *b;

		record(&r, "MLS1", p, len);
		e = batch_stream_decode(s, r.data, r.len, &b);
		if (b != NULL)
			use(d, b);
		if (e != NULL && e->domain != ERR_REQUEST)
			break; /* as the daemon does */
		batch_stream_rest(s);
		p += cut == NULL ? len : len + 2;
		n -= cut == NULL ? len : len + 2;
	}
	buf_fini(&r);
	batch_stream_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal_dict d = {0};
	struct buf r = {0};
	struct batch *b;

	if (size < 1)
		return 0;
	journal_dict_begin(&d);
	if (data[0] & 1) {
		stream(&d, data + 1, size - 1);
	} else {
		record(&r, "MLB1", data + 1, size - 1);
		if (batch_decode(r.data, r.len, &b) == NULL)
			use(&d, b);
		if (b != NULL)
			batch_free(b);
	}
	buf_fini(&r);
	journal_dict_fini(&d);
	return 0;
}
