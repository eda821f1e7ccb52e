/*
 * zlib and back by libdeflate, which takes half of its time, in one step each.
 * What repeats is 8 KB long at most, so that zlib's window and tables are
 * small; letters share their codes for 32,768 of them.
 */
#include "store/file/deflate.h"

#include <libdeflate.h>
#include <zlib.h>

#include "store/base/buf.h"
#include "store/base/err.h"

#define LEVEL 6
#define RATIO 1032 /* more than this many out of one cannot be */

/* zlib does not write where it says that it reads, but for its types. */
static Bytef *
deflate_in(const void *p)
{
	union {
		const void *in;
		Bytef *out;
	} alias = {p};

	return alias.out;
}

const struct err *
deflate_put(struct buf *out, const void *p, size_t n, bool letters)
{
	z_stream z = {0};
	uLong most;
	int rc;

	if (n > UINT32_MAX / 2)
		return err_new(ERR_LIMIT, 0, "%zu bytes to deflate", n);
	if (deflateInit2(&z, LEVEL, Z_DEFLATED, letters ? -9 : -13,
	        letters ? 9 : 7,
	        letters ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY) != Z_OK)
		return err_nomem();
	most = deflateBound(&z, (uLong)n);
	if (!buf_reserve(out, most)) {
		deflateEnd(&z);
		return err_nomem();
	}
	z.next_in = deflate_in(p);
	z.avail_in = (uInt)n;
	z.next_out = out->data + out->len;
	z.avail_out = (uInt)most;
	rc = deflate(&z, Z_FINISH);
	out->len += z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? NULL : err_nomem();
}

const struct err *
deflate_take(struct buf *out, size_t n, const void *p, size_t size)
{
	struct libdeflate_decompressor *d;
	enum libdeflate_result rc;
	size_t taken = 0;

	if (size > UINT32_MAX / 2 / RATIO || n > size * RATIO)
		return err_new(ERR_FORMAT, 0,
		    "%zu bytes deflated to %zu", n, size);
	if (!buf_reserve(out, n + 1) ||
	    (d = libdeflate_alloc_decompressor()) == NULL)
		return err_nomem();
	rc = libdeflate_deflate_decompress_ex(d, p, size, out->data + out->len,
	    n, &taken, NULL);
	libdeflate_free_decompressor(d);
	if (rc != LIBDEFLATE_SUCCESS || taken != size)
		return err_new(ERR_FORMAT, 0, "%zu bytes that were deflated "
		    "to %zu are damaged", n, size);
	out->len += n;
	return NULL;
}
