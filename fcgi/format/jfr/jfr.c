/*
 * Chunks, one after the other, and the smallest values.
 */
#include "fcgi/format/jfr/jfr.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/jfr/jfr_private.h"
#include "fcgi/format/stacks.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define HEADER 68
#define COMPRESSED 1 /* a feature: integers are varints */

const struct err *
jfr_bad(const struct jfr *j, const uint8_t *at, const char *what)
{
	return err_new(ERR_REQUEST, 422, "jfr: byte %zu: %s",
	    (size_t)(at - j->data), what);
}

uint64_t
jfr_varint(struct cur *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 56; shift += 7) {
		uint8_t b = cur_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	return v | (uint64_t)cur_u8(c) << 56;
}

/* ---- strings ---- */

static void
put_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_put_u8(out, (uint8_t)c);
	} else if (c < 0x800) {
		buf_put_u8(out, (uint8_t)(0xc0 | c >> 6));
		buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_put_u8(out, (uint8_t)(0xe0 | c >> 12));
		buf_put_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	} else {
		buf_put_u8(out, (uint8_t)(0xf0 | c >> 18));
		buf_put_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
		buf_put_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
		buf_put_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
	}
}

/* Java's characters, of which two may be one. */
static void
string_chars(struct cur *c, struct buf *out)
{
	uint64_t n = jfr_varint(c);
	uint32_t high = 0;

	while (n-- > 0 && !c->bad) {
		uint32_t v = (uint32_t)jfr_varint(c) & 0xffff;

		if (out == NULL)
			continue;
		if (high != 0 && v >= 0xdc00 && v < 0xe000)
			put_utf8(out, 0x10000 + ((high - 0xd800) << 10) +
			    (v - 0xdc00));
		else if (v < 0xd800 || v >= 0xe000)
			put_utf8(out, v);
		high = v >= 0xd800 && v < 0xdc00 ? v : 0;
	}
}

void
jfr_string(struct cur *c, struct buf *out, uint64_t *pool)
{
	uint8_t encoding = cur_u8(c);
	const uint8_t *p;
	uint64_t n;

	switch (encoding) {
	case 0: /* null */
	case 1: /* empty */
		return;
	case 2:
		*pool = jfr_varint(c);
		return;
	case 3: /* UTF-8 */
	case 5: /* Latin-1 */
		n = jfr_varint(c);
		p = cur_raw(c, n);
		if (p != NULL && out != NULL && encoding == 3)
			buf_put(out, p, n);
		for (uint64_t i = 0; p != NULL && out != NULL &&
		    encoding == 5 && i < n; i++)
			put_utf8(out, p[i]);
		return;
	case 4:
		string_chars(c, out);
		return;
	default:
		c->bad = true;
	}
}

/* ---- chunks ---- */

static void
chunk_forget(struct jfr *j)
{
	jfr_meta_fini(&j->meta);
	for (unsigned i = 0; i < JFR_POOLS; i++)
		map64_fini(&j->pools[i]);
	for (unsigned i = 0; i < 3; i++)
		map64_fini(&j->frames[i]);
	map64_fini(&j->traces);
	map64_fini(&j->nodes);
	j->n_traces = j->n_trace_frames = 0;
}

static void
chunk_range(struct jfr *j, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end_ns;

	if (__builtin_add_overflow(start_ns, duration_ns, &end_ns) ||
	    end_ns > INT64_MAX)
		return;
	if (j->until_ns == 0 || (int64_t)start_ns < j->from_ns)
		j->from_ns = (int64_t)start_ns;
	if ((int64_t)end_ns > j->until_ns)
		j->until_ns = (int64_t)end_ns;
}

/* One chunk; *size says how long it is. */
static const struct err *
chunk_read(struct jfr *j, size_t left, uint64_t *size)
{
	struct cur c = cur_of(j->chunk, left);
	uint64_t constants, metadata, start_ns, duration_ns;
	const struct err *e;
	uint32_t version, features;

	if (left < HEADER || !jfr_looks((const char *)j->chunk, left))
		return jfr_bad(j, j->chunk, "no chunk of a recording");
	cur_raw(&c, 4);
	version = cur_be32(&c) >> 16;
	*size = cur_be64(&c);
	constants = cur_be64(&c);
	metadata = cur_be64(&c);
	start_ns = cur_be64(&c);
	duration_ns = cur_be64(&c);
	cur_be64(&c); /* start in ticks */
	j->ticks_per_s = cur_be64(&c);
	features = cur_be32(&c);
	if (version != 1 && version != 2)
		return jfr_bad(j, j->chunk + 4, "neither version 1 nor 2");
	if ((features & COMPRESSED) == 0)
		return jfr_bad(j, j->chunk + 64, "integers not packed");
	if (*size < HEADER || *size > left)
		return jfr_bad(j, j->chunk + 8, "a chunk not all there");
	if (constants < HEADER || constants >= *size || metadata < HEADER ||
	    metadata >= *size || j->ticks_per_s == 0)
		return jfr_bad(j, j->chunk + 16, "a header with places that "
		    "are not in its chunk, or a clock that stands");
	j->chunk_end = j->chunk + *size;
	chunk_range(j, start_ns, duration_ns);
	if ((e = jfr_meta_read(j, j->chunk + metadata)) == NULL &&
	    (e = jfr_pools_read(j, constants)) == NULL)
		e = jfr_events_read(j);
	return e;
}

static void
jfr_fini(struct jfr *j)
{
	chunk_forget(j);
	free(j->trace);
	free(j->trace_frames);
	buf_fini(&j->name);
	buf_fini(&j->part);
	jfr_labels_free(j->labels);
}

static void
jfr_tell(const struct jfr *j)
{
	if (j->native > 0)
		stacks_skip(j->s, "samples of threads in native methods "
		    "(jdk.NativeMethodSample)", j->native);
	if (j->sleeping > 0)
		stacks_skip(j->s, "samples of threads that slept",
		    j->sleeping);
	if (j->until_ns > 0)
		stacks_set_range(j->s, j->from_ns, j->until_ns);
}

const struct err *
jfr_parse_as(struct stacks *s, const void *data, size_t n,
    const struct jfr_options *o)
{
	struct jfr j = {.s = s, .options = o, .data = data, .n = n,
	    .chunk = data};
	const struct err *e;

	if (n > UINT32_MAX)
		return err_new(ERR_REQUEST, 413, "jfr: more than 4 GB");
	e = jfr_labels_read(&j.labels, o);
	do {
		uint64_t size = 0;

		if (e == NULL)
			e = chunk_read(&j, n - (size_t)(j.chunk - j.data),
			    &size);
		chunk_forget(&j);
		if (e == NULL)
			j.chunk += size;
	} while (e == NULL && stacks_error(s) == NULL && j.chunk < j.data + n);
	jfr_tell(&j);
	jfr_fini(&j);
	return e != NULL ? e : stacks_error(s);
}

const struct err *
jfr_parse(struct stacks *s, const void *data, size_t n)
{
	return jfr_parse_as(s, data, n, &(struct jfr_options){0});
}

bool
jfr_looks(const char *p, size_t n)
{
	return n >= 4 && memcmp(p, "FLR", 4) == 0;
}
