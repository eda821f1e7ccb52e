/*
 * What is written into a sealed file: streams in chunks, small strips many to
 * a record, large records in pieces, so that pages are full.
 */
#include <string.h>

#include "store/base/err.h"
#include "store/file/dbfile.h"
#include "store/file/deflate.h"
#include "store/file/format.h"
#include "store/file/sealed.h"

#define SEALED_SMALL 1000 /* bytes of a packed strip that is bundled */

/*
 * A parent tells nothing that its children do not, and costs most where there
 * is least to be folded: stacks that were seen once.  So short files, which
 * are merged within hours, have their slots alone, and others every second
 * level: sixteen blocks are added in the place of four.  What is above spans is
 * kept for good and read by whoever asks for months.
 */
uint32_t
sealed_levels(unsigned base, unsigned top)
{
	uint32_t levels = 0;

	for (unsigned l = base; l <= top; l++)
		if (base > 0 || l == 0 ||
		    (top > FORMAT_SEAL_LEVEL && l % 2 == 0))
			levels |= UINT32_C(1) << l;
	return levels;
}

void
sealed_strip_key(struct buf *key, uint32_t series, unsigned level,
    uint64_t last)
{
	buf_clear(key);
	buf_put_u8(key, SEALED_STRIPS);
	buf_put_be32(key, series);
	buf_put_u8(key, (uint8_t)level);
	buf_put_be64(key, last);
}

void
sealed_stream_key(struct buf *key, enum sealed_stream stream, uint32_t chunk)
{
	buf_clear(key);
	buf_put_u8(key, (uint8_t)stream);
	buf_put_be32(key, chunk);
}

static const struct err *
sealed_put_pieces(struct dbfile *db, struct buf *key, const uint8_t *p,
    size_t n)
{
	size_t first = key->len, part;
	const struct err *e = NULL;

	for (uint32_t piece = 0; e == NULL && n > 0; piece++) {
		if (piece > 0) {
			key->len = first;
			buf_put_be32(key, piece);
		}
		part = dbfile_piece(db, key->len, n);
		e = dbfile_put(db, key, p, part);
		p += part;
		n -= part;
	}
	return e;
}

/* A chunk behind what is in `chunk`: be32 its own bytes, be32 those deflated,
 * the deflated. */
static const struct err *
sealed_put_chunk(struct dbfile *db, struct buf *key, const uint8_t *p,
    size_t n, struct buf chunk)
{
	struct buf packed = {0};
	const struct err *e = deflate_put(&packed, p, n, false);

	buf_put_be32(&chunk, (uint32_t)n);
	buf_put_be32(&chunk, (uint32_t)packed.len);
	buf_put(&chunk, packed.data, packed.len);
	if (e == NULL && chunk.failed)
		e = err_nomem();
	if (e == NULL)
		e = sealed_put_pieces(db, key, chunk.data, chunk.len);
	buf_fini(&packed);
	buf_fini(&chunk);
	return e;
}

const struct err *
sealed_put_stream(struct dbfile *db, struct buf *key,
    enum sealed_stream stream, const struct buf *bytes)
{
	const struct err *e = bytes->failed ? err_nomem() : NULL;
	uint32_t chunk = 0;

	for (size_t at = 0; at < bytes->len && e == NULL;
	     at += SEALED_CHUNK) {
		size_t n = bytes->len - at;

		n = n < SEALED_CHUNK ? n : SEALED_CHUNK;
		sealed_stream_key(key, stream, chunk++);
		e = stream == SEALED_META
		    ? dbfile_put(db, key, bytes->data + at, n)
		    : sealed_put_chunk(db, key, bytes->data + at, n,
		          (struct buf){0});
	}
	return e;
}

/* ---- strips ---- */

void
sealed_writer_fini(struct sealed_writer *w)
{
	buf_fini(&w->bundle);
	buf_fini(&w->last);
}

const struct err *
sealed_put_end(struct sealed_writer *w)
{
	struct buf chunk = {0};
	const struct err *e;

	if (w->bundle.failed || w->last.failed)
		return err_nomem();
	if (w->bundle.len == 0)
		return NULL;
	buf_put_u8(&chunk, SEALED_BUNDLE);
	e = sealed_put_chunk(w->db, &w->last, w->bundle.data, w->bundle.len,
	    chunk);
	buf_clear(&w->bundle);
	return e;
}

const struct err *
sealed_put_strip(struct sealed_writer *w, struct buf *key, const void *p,
    size_t n)
{
	bool alone = n > SEALED_SMALL && strip_is_packed(p, n);
	const struct err *e = NULL;

	if (alone || w->bundle.len + key->len + 2 + n > SEALED_CHUNK)
		e = sealed_put_end(w);
	if (alone)
		return e == NULL ? sealed_put_pieces(w->db, key, p, n) : e;
	buf_put(&w->bundle, key->data, key->len);
	buf_put_bytes(&w->bundle, p, n);
	buf_clear(&w->last);
	buf_put(&w->last, key->data, key->len);
	return e;
}

bool
sealed_bundle_next(struct cur *c, struct cur *key, struct cur *strip)
{
	const uint8_t *p = cur_raw(c, SEALED_STRIP_KEY);
	size_t n = 0;

	if (p == NULL)
		return false;
	*key = cur_of(p, SEALED_STRIP_KEY);
	p = cur_bytes(c, &n);
	if (p == NULL)
		return false;
	*strip = cur_of(p, n);
	return true;
}
