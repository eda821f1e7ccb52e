/*
 * Bytes out and bytes in.
 *
 * struct buf grows; its first failed allocation makes it `failed`, after
 * which every put is a no-op: check once, at the end.
 * struct cur reads; its first read past the end (or malformed varint) makes
 * it `bad`, after which every get returns 0: check once, at the end.
 *
 * Varints are unsigned LEB128, seven bits a byte, least significant first;
 * signed numbers are zigzag (0, -1, 1, -2 ... = 0, 1, 2, 3 ...) before that.
 * Fixed-width integers are big endian, so that they sort as bytes.
 */
#ifndef STORE_BASE_BUF_H
#define STORE_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __int128 int128;
typedef unsigned __int128 uint128;

struct buf {
	uint8_t *data; /* owned; NULL when cap == 0 */
	size_t len, cap;
	bool failed;
};

void buf_fini(struct buf *b);                 /* frees data, zeroes b */
void buf_clear(struct buf *b);                /* len = 0, keeps memory */
bool buf_reserve(struct buf *b, size_t more); /* false when out of memory */
void buf_put(struct buf *b, const void *p, size_t n);
void buf_put_be32(struct buf *b, uint32_t v);
void buf_put_be64(struct buf *b, uint64_t v);
void buf_put_long(struct buf *b, uint64_t v); /* any varint */
void buf_put_varint128(struct buf *b, uint128 v);
void buf_put_zigzag128(struct buf *b, int128 v);
/* varint length, then the bytes */
void buf_put_bytes(struct buf *b, const void *p, size_t n);
void buf_put_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* One byte at a time is what sealing does most: no calls. */
static inline void
buf_put_u8(struct buf *b, uint8_t v)
{
	if (b->len < b->cap ? !b->failed : buf_reserve(b, 1))
		b->data[b->len++] = v;
}

static inline void
buf_put_varint(struct buf *b, uint64_t v)
{
	if (v < 0x80 && b->len < b->cap && !b->failed)
		b->data[b->len++] = (uint8_t)v;
	else
		buf_put_long(b, v);
}

static inline void
buf_put_zigzag(struct buf *b, int64_t v)
{
	buf_put_varint(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

struct cur {
	const uint8_t *p, *end; /* borrowed */
	bool bad;
};

struct cur cur_of(const void *p, size_t n);
uint32_t cur_be32(struct cur *c);
uint64_t cur_be64(struct cur *c);
uint64_t cur_long(struct cur *c); /* any varint */
uint128 cur_varint128(struct cur *c);
int128 cur_zigzag128(struct cur *c);
/* n raw bytes, borrowed from the cursor's memory; NULL when bad */
const uint8_t *cur_raw(struct cur *c, size_t n);
/* varint length and bytes; *n receives the length; NULL when bad */
const uint8_t *cur_bytes(struct cur *c, size_t *n);

static inline size_t
cur_left(const struct cur *c)
{
	return c->bad ? 0 : (size_t)(c->end - c->p);
}

static inline uint8_t
cur_u8(struct cur *c)
{
	if (!c->bad && c->p < c->end)
		return *c->p++;
	c->bad = true;
	return 0;
}

static inline uint64_t
cur_varint(struct cur *c)
{
	if (!c->bad && c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cur_long(c);
}

static inline int64_t
cur_zigzag(struct cur *c)
{
	uint64_t v = cur_varint(c);

	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* CRC-32C (Castagnoli), as in RFC 3720; seed with 0. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

/* 64-bit mix of bytes; stable for ever: format.h's cut of slots uses it. */
uint64_t hash64(uint64_t seed, const void *p, size_t n);
uint64_t hash64_u64(uint64_t seed, uint64_t v);

#endif
