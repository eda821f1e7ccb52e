/*
 * The only place that knows the bytes above; what does not decode to exactly
 * its length is refused.
 */
#include "store/batch/purge_request.h"

#include <string.h>

#include "store/base/err.h"

static const char magic[4] = {'M', 'L', 'P', '1'};

const struct err *
purge_request_encode(const struct purge_request *r, struct buf *out)
{
	struct buf payload = {0};
	size_t at = out->len;

	if (strlen(r->selector) > PURGE_SELECTOR_MAX)
		return err_new(ERR_LIMIT, 413, "the selector is too long");
	buf_put_zigzag(&payload, r->from_ns);
	buf_put_zigzag(&payload, r->until_ns);
	buf_put(&payload, r->selector, strlen(r->selector));
	buf_put(out, magic, sizeof(magic));
	buf_put_be32(out, (uint32_t)payload.len);
	buf_put_be32(out, crc32c(0, payload.data, payload.len));
	if (!out->failed)
		buf_put_be32(out, crc32c(0, out->data + at, 12));
	buf_put(out, payload.data, payload.len);
	if (payload.failed)
		out->failed = true;
	buf_fini(&payload);
	return out->failed ? err_nomem() : NULL;
}

bool
purge_request_is(const void *header)
{
	return memcmp(header, magic, sizeof(magic)) == 0;
}

const struct err *
purge_request_length(const void *header, size_t *n)
{
	struct cur c = cur_of(header, PURGE_REQUEST_HEADER);

	(void)cur_be32(&c);
	*n = cur_be32(&c);
	(void)cur_be32(&c);
	if (!purge_request_is(header) ||
	    cur_be32(&c) != crc32c(0, header, 12))
		return err_new(ERR_FORMAT, 0, "no header of a purge");
	if (*n > PURGE_REQUEST_MAX)
		return err_new(ERR_LIMIT, 413, "a purge is too long");
	return NULL;
}

const struct err *
purge_request_decode(const void *record, size_t size, struct purge_request *r)
{
	const struct err *e;
	struct cur c;
	size_t n, left;

	if (size < PURGE_REQUEST_HEADER)
		return err_new(ERR_FORMAT, 0, "a purge is cut");
	if ((e = purge_request_length(record, &n)) != NULL)
		return e;
	c = cur_of((const uint8_t *)record + 8, size - 8);
	if (size != PURGE_REQUEST_HEADER + n ||
	    cur_be32(&c) != crc32c(0,
	        (const uint8_t *)record + PURGE_REQUEST_HEADER, n))
		return err_new(ERR_FORMAT, 8, "a purge is damaged");
	(void)cur_be32(&c);
	r->from_ns = cur_zigzag(&c);
	r->until_ns = cur_zigzag(&c);
	left = cur_left(&c);
	if (c.bad || left > PURGE_SELECTOR_MAX || memchr(c.p, '\0', left))
		return err_new(ERR_FORMAT, PURGE_REQUEST_HEADER,
		    "a purge is malformed");
	memcpy(r->selector, c.p, left);
	r->selector[left] = '\0';
	return NULL;
}
