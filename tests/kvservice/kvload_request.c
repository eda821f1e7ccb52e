/*
 * Requests. Keys are PREFIX and ten digits, so that their order is the order
 * of their numbers; values are slices of one random text.
 */

#include "kvload_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_SIZE	65536
#define KEY_DIGITS	10

struct source {
	struct mix mix;
	uint64_t random;
	char *pool;		/* POOL_SIZE + value_size characters */
};

/* splitmix64, a full-period generator of 64 bits of state. */
static uint64_t
next_random(struct source *s)
{
	uint64_t z = (s->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Of 0..bound-1, evenly but for 2^-32. */
static uint32_t
random_below(struct source *s, uint32_t bound)
{
	return (uint32_t)(((next_random(s) >> 32) * bound) >> 32);
}

struct source *
source_new(const struct mix *mix)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-_";
	struct source *s = calloc(1, sizeof(*s));
	size_t i, n = POOL_SIZE + mix->value_size;

	if (s == NULL)
		return NULL;
	s->mix = *mix;
	s->random = mix->seed;
	s->pool = malloc(n);
	if (s->pool == NULL) {
		free(s);
		return NULL;
	}
	for (i = 0; i < n; i++)
		s->pool[i] = alphabet[next_random(s) & 63];
	return s;
}

void
source_free(struct source *s)
{
	if (s == NULL)
		return;
	free(s->pool);
	free(s);
}

struct request
source_draw(struct source *s)
{
	const uint32_t *w = s->mix.weight;
	uint32_t at = random_below(s, w[OP_SET] + w[OP_GET] + w[OP_SCAN]);
	struct request r = { OP_SCAN, 0, false };

	if (at < w[OP_SET])
		r.op = OP_SET;
	else if (at < w[OP_SET] + w[OP_GET])
		r.op = OP_GET;
	r.key = random_below(s, s->mix.keys);
	if (r.op == OP_GET)
		r.absent = random_below(s, 1000000) < s->mix.missing * 1e6;
	return r;
}

size_t
request_size_max(const struct mix *mix)
{
	return 512 + 3 * strlen(mix->prefix) + mix->value_size;
}

static size_t
write_set(struct source *s, const struct request *r, char *to)
{
	static const char tail[] = "\"}";
	char body[256];
	size_t n, head, size = s->mix.value_size;

	n = (size_t)snprintf(body, sizeof(body),
	    "{\"id\":\"%s%0*" PRIu32 "\",\"value\":\"",
	    s->mix.prefix, KEY_DIGITS, r->key);
	head = (size_t)sprintf(to, "POST /v1/transactions/commit HTTP/1.1\r\n"
	    "Host: kvservice\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n%s\r\n", n + size + sizeof(tail) - 1,
	    s->mix.close ? "Connection: close\r\n" : "");
	memcpy(to + head, body, n);
	head += n;
	memcpy(to + head, s->pool + random_below(s, POOL_SIZE), size);
	head += size;
	memcpy(to + head, tail, sizeof(tail) - 1);
	return head + sizeof(tail) - 1;
}

size_t
request_write(struct source *s, const struct request *r, char *to)
{
	const struct mix *m = &s->mix;
	char range[256] = "";
	uint32_t last;

	if (r->op == OP_SET)
		return write_set(s, r, to);
	last = r->key + m->scan_length - 1;
	if (last < r->key || last >= m->keys)
		last = m->keys - 1;
	if (r->op == OP_SCAN)
		snprintf(range, sizeof(range), "/%s%0*" PRIu32, m->prefix,
		    KEY_DIGITS, last);
	return (size_t)sprintf(to, "GET /v1/transactions/%s%s%0*" PRIu32
	    "%s HTTP/1.1\r\nHost: kvservice\r\n%s\r\n", m->prefix,
	    r->absent ? "absent-" : "", KEY_DIGITS, r->key, range,
	    m->close ? "Connection: close\r\n" : "");
}

/* Does the body begin as the stored one of this key? */
static bool
is_body_of(const struct source *s, const struct request *r,
    const struct answer *a)
{
	char want[256];
	size_t n;

	if (r->absent)
		return false;
	n = (size_t)snprintf(want, sizeof(want), "{\"id\":\"%s%0*" PRIu32 "\"",
	    s->mix.prefix, KEY_DIGITS, r->key);
	return a->begin_size >= n && memcmp(a->begin, want, n) == 0 &&
	    a->last == '}';
}

bool
request_judge(const struct source *s, const struct request *r,
    const struct answer *a, enum outcome *got, enum failure *why)
{
	bool right = true;

	*why = FAIL_STATUS;
	if (a->status != (r->op == OP_SET ? 201 : 200))
		return false;
	*why = FAIL_WRONG;
	if (r->op == OP_SET) {
		*got = GOT_SET;
	} else if (r->op == OP_SCAN) {
		*got = GOT_SCAN;
		right = a->length >= 2 && a->begin[0] == '[' && a->last == ']';
	} else if (a->length == 0) {
		*got = GOT_MISSING;
	} else {
		*got = GOT_FOUND;
		right = is_body_of(s, r, a);
	}
	return right;
}
