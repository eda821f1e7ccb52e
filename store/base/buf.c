/*
 * Growable buffer, bounded cursor, CRC-32C and the stable hash.
 */
#include "store/base/buf.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

bool
buf_reserve(struct buf *b, size_t more)
{
	size_t cap;
	uint8_t *p;

	if (b->failed)
		return false;
	if (b->cap - b->len >= more)
		return true;
	cap = b->cap ? b->cap * 2 : 256;
	if (cap < b->len + more)
		cap = b->len + more;
	p = realloc(b->data, cap);
	if (p == NULL) {
		b->failed = true;
		return false;
	}
	b->data = p;
	b->cap = cap;
	return true;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0 || !buf_reserve(b, n))
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void
buf_put_be32(struct buf *b, uint32_t v)
{
	uint8_t p[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16),
	    (uint8_t)(v >> 8), (uint8_t)v};

	buf_put(b, p, 4);
}

void
buf_put_be64(struct buf *b, uint64_t v)
{
	buf_put_be32(b, (uint32_t)(v >> 32));
	buf_put_be32(b, (uint32_t)v);
}

void
buf_put_long(struct buf *b, uint64_t v)
{
	uint8_t *p;

	if (b->cap - b->len < 10 && !buf_reserve(b, 10))
		return;
	if (b->failed)
		return;
	p = b->data + b->len;
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	b->len = (size_t)(p - b->data);
}

void
buf_put_varint128(struct buf *b, uint128 v)
{
	uint8_t p[19];
	size_t n = 0;

	if (v <= UINT64_MAX) {
		buf_put_varint(b, (uint64_t)v);
		return;
	}
	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	buf_put(b, p, n);
}

void
buf_put_zigzag128(struct buf *b, int128 v)
{
	buf_put_varint128(b, ((uint128)v << 1) ^ (uint128)(v >> 127));
}

void
buf_put_bytes(struct buf *b, const void *p, size_t n)
{
	buf_put_varint(b, n);
	buf_put(b, p, n);
}

void
buf_put_str(struct buf *b, const char *s)
{
	buf_put_bytes(b, s, strlen(s));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && buf_reserve(b, (size_t)n + 1)) {
		vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

struct cur
cur_of(const void *p, size_t n)
{
	return (struct cur){p, n > 0 ? (const uint8_t *)p + n : p, false};
}

const uint8_t *
cur_raw(struct cur *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || (size_t)(c->end - c->p) < n) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

uint32_t
cur_be32(struct cur *c)
{
	const uint8_t *p = cur_raw(c, 4);

	if (p == NULL)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

uint64_t
cur_be64(struct cur *c)
{
	uint64_t high = cur_be32(c);

	return high << 32 | cur_be32(c);
}

/* Ten bytes at most, and all of them there. */
static inline uint64_t
cur_whole_varint(struct cur *c)
{
	const uint8_t *p = c->p;
	uint64_t v = *p & 0x7f;
	unsigned shift = 0;

	while (*p++ >= 0x80) {
		shift += 7;
		if (shift > 63 || (shift == 63 && *p > 1)) {
			c->bad = true;
			return 0;
		}
		v |= (uint64_t)(*p & 0x7f) << shift;
	}
	c->p = p;
	return v;
}

uint64_t
cur_long(struct cur *c)
{
	uint64_t v = 0;
	unsigned shift;

	if (!c->bad && c->end - c->p >= 10)
		return cur_whole_varint(c);
	for (shift = 0; shift < 64; shift += 7) {
		uint8_t byte = cur_u8(c);

		if (shift == 63 && byte > 1)
			c->bad = true;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	if (shift >= 64)
		c->bad = true;
	return c->bad ? 0 : v;
}

uint128
cur_varint128(struct cur *c)
{
	uint128 v = 0;
	unsigned shift;

	for (shift = 0; shift < 128; shift += 7) {
		uint8_t byte = cur_u8(c);

		if (shift == 126 && byte > 3)
			c->bad = true;
		v |= (uint128)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	if (shift >= 128)
		c->bad = true;
	return c->bad ? 0 : v;
}

int128
cur_zigzag128(struct cur *c)
{
	uint128 v = cur_varint128(c);

	return (int128)(v >> 1) ^ -(int128)(v & 1);
}

const uint8_t *
cur_bytes(struct cur *c, size_t *n)
{
	uint64_t len = cur_varint(c);

	*n = 0;
	if (c->bad || len > cur_left(c)) {
		c->bad = true;
		return NULL;
	}
	*n = (size_t)len;
	return cur_raw(c, (size_t)len);
}

static uint32_t
crc32c_bytewise(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n > 0; n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
	}
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t wide = crc, word;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&word, p, 8);
		wide = __builtin_ia32_crc32di(wide, word);
	}
	crc = (uint32_t)wide;
	for (; n > 0; n--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t
crc32c(uint32_t crc, const void *p, size_t n)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc32c_sse42(~crc, p, n);
#endif
	return ~crc32c_bytewise(~crc, p, n);
}

static uint64_t
hash64_mix(uint64_t v)
{
	v ^= v >> 32;
	v *= 0xd6e8feb86659fd93u;
	v ^= v >> 32;
	v *= 0xd6e8feb86659fd93u;
	return v ^ v >> 32;
}

uint64_t
hash64_u64(uint64_t seed, uint64_t v)
{
	return hash64_mix((seed ^ v) + 0x9e3779b97f4a7c15u);
}

uint64_t
hash64(uint64_t seed, const void *p, size_t n)
{
	const uint8_t *s = p;
	uint64_t h = hash64_u64(seed, n), word;
	size_t i;

	for (; n >= 8; n -= 8, s += 8) {
		memcpy(&word, s, 8);
		h = hash64_u64(h, le64toh(word));
	}
	word = 0;
	for (i = 0; i < n; i++)
		word |= (uint64_t)s[i] << 8 * i;
	return hash64_u64(h, word);
}
