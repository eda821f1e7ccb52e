/*
 * zlib, in steps, so that the bounds hold while it works.
 */
#include "fcgi/format/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "store/base/buf.h"
#include "store/base/err.h"

#define STEP (256u << 10)
#define PACK_STEP (16u << 10)
#define FREE_BYTES (1u << 20) /* before the ratio counts */

bool
gzip_looks(const void *data, size_t n)
{
	const unsigned char *p = data;

	return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* Room for a step, but no more than one byte beyond the bound. */
static const struct err *
gzip_room(z_stream *z, struct buf *out, size_t first, size_t max)
{
	size_t left = max - (out->len - first);
	size_t step = left < STEP ? left + 1 : STEP;

	if (!buf_reserve(out, step))
		return err_nomem();
	z->next_out = out->data + out->len;
	z->avail_out = (uInt)step;
	return NULL;
}

static const struct err *
gzip_check(const z_stream *z, int rc, size_t made, size_t max, size_t taken)
{
	if (rc == Z_MEM_ERROR)
		return err_nomem();
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return err_new(ERR_REQUEST, 422, "gzip: damaged at byte %zu: "
		    "%s", taken, z->msg != NULL ? z->msg : "bad data");
	if (made > max)
		return err_new(ERR_REQUEST, 413,
		    "gzip: larger than %zu bytes when unpacked", max);
	if (made > FREE_BYTES && made / GZIP_RATIO_MAX > taken)
		return err_new(ERR_REQUEST, 413,
		    "gzip: more than %d bytes out of one", GZIP_RATIO_MAX);
	return NULL;
}

/* One member after the other; zlib keeps the rest of the input. */
static const struct err *
gzip_members(z_stream *z, struct buf *out, size_t n, size_t max)
{
	size_t first = out->len;
	const struct err *e;
	int rc = Z_OK;

	for (;;) {
		size_t room;

		if ((e = gzip_room(z, out, first, max)) != NULL)
			return e;
		room = z->avail_out;
		rc = inflate(z, Z_NO_FLUSH);
		out->len += room - z->avail_out;
		e = gzip_check(z, rc, out->len - first, max, n - z->avail_in);
		if (e != NULL)
			return e;
		if (rc == Z_STREAM_END) {
			if (z->avail_in == 0 || *z->next_in != 0x1f)
				return NULL;
			if (inflateReset(z) != Z_OK)
				return err_nomem();
		} else if (z->avail_in == 0 && z->avail_out > 0) {
			return err_new(ERR_REQUEST, 422,
			    "gzip: ends early, after %zu bytes", n);
		}
	}
}

const struct err *
gzip_inflate(struct buf *out, const void *data, size_t n, size_t max)
{
	z_stream z = {0};
	const struct err *e;

	if (n > UINT32_MAX)
		return err_new(ERR_REQUEST, 413, "gzip: larger than 4 GiB");
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)n;
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return err_nomem();
	e = gzip_members(&z, out, n, max);
	inflateEnd(&z);
	return e;
}

/* ---- packing ---- */

struct gzip_out {
	z_stream z;
	struct buf *out;
	bool failed;
};

struct gzip_out *
gzip_begin(struct buf *out)
{
	struct gzip_out *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->out = out;
	if (deflateInit2(&g->z, 5, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

/* Until zlib wants nothing more to do, or has ended. */
static void
gzip_step(struct gzip_out *g, int flush)
{
	int rc = Z_OK;

	do {
		if (g->failed || !buf_reserve(g->out, PACK_STEP)) {
			g->failed = true;
			return;
		}
		g->z.next_out = g->out->data + g->out->len;
		g->z.avail_out = PACK_STEP;
		rc = deflate(&g->z, flush);
		g->out->len += PACK_STEP - g->z.avail_out;
	} while (rc == Z_OK && g->z.avail_out == 0);
	g->failed = flush == Z_FINISH ? rc != Z_STREAM_END
				      : rc != Z_OK && rc != Z_BUF_ERROR;
}

void
gzip_put(struct gzip_out *g, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t part; g != NULL && n > 0; p += part, n -= part) {
		part = n < UINT32_MAX / 2 ? n : UINT32_MAX / 2;
		g->z.next_in = (Bytef *)(uintptr_t)p;
		g->z.avail_in = (uInt)part;
		gzip_step(g, Z_NO_FLUSH);
	}
}

const struct err *
gzip_end(struct gzip_out *g)
{
	bool failed = g == NULL;

	if (g != NULL) {
		gzip_step(g, Z_FINISH);
		failed = g->failed;
		deflateEnd(&g->z);
	}
	free(g);
	return failed ? err_nomem() : NULL;
}

const struct err *
gzip_deflate(struct buf *out, const void *data, size_t n)
{
	struct gzip_out *g = gzip_begin(out);

	gzip_put(g, data, n);
	return gzip_end(g);
}
