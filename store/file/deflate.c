/*
 * zlib in one step each.  What repeats is 8 KB long at most, so that its window
 * and tables are small; letters share their codes for 32,768 of them.
 */
#include "store/file/deflate.h"

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
	z_stream z = {0};
	int rc;

	if (size > UINT32_MAX / 2 / RATIO || n > size * RATIO)
		return err_new(ERR_FORMAT, 0,
		    "%zu bytes deflated to %zu", n, size);
	if (!buf_reserve(out, n + 1) || inflateInit2(&z, -15) != Z_OK)
		return err_nomem();
	z.next_in = deflate_in(p);
	z.avail_in = (uInt)size;
	z.next_out = out->data + out->len;
	z.avail_out = (uInt)n + 1; /* one more would be seen */
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		return err_nomem();
	if (rc != Z_STREAM_END || z.total_out != n || z.avail_in != 0)
		return err_new(ERR_FORMAT, (int)z.total_in,
		    "deflated bytes are damaged");
	out->len += n;
	return NULL;
}
