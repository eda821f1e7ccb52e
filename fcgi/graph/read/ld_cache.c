/*
 * The dynamic linker's cache, read whole and searched from front to back.
 */
#include "fcgi/graph/read/ld_cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "glibc-ld.so.cache1.1"
#define HEAD 48u
#define ENTRY 24u
#define CACHE_MAX (8u << 20)

struct ld_cache {
	size_t size, n;
	char data[];
};

static uint32_t
ld_cache_u32(const struct ld_cache *c, size_t at)
{
	uint32_t v;

	memcpy(&v, c->data + at, sizeof(v));
	return v;
}

static struct ld_cache *
ld_cache_load(FILE *f)
{
	struct ld_cache *c;
	long size;

	if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < (long)HEAD ||
	    size > (long)CACHE_MAX)
		return NULL;
	rewind(f);
	c = malloc(sizeof(*c) + (size_t)size);
	if (c == NULL)
		return NULL;
	c->size = (size_t)size;
	if (fread(c->data, 1, c->size, f) == c->size &&
	    memcmp(c->data, MAGIC, sizeof(MAGIC) - 1) == 0) {
		c->n = ld_cache_u32(c, 20);
		if (c->n <= (c->size - HEAD) / ENTRY)
			return c;
	}
	free(c);
	return NULL;
}

struct ld_cache *
ld_cache_open(const char *path)
{
	FILE *f = fopen(path, "re");
	struct ld_cache *c;

	if (f == NULL)
		return NULL;
	c = ld_cache_load(f);
	fclose(f);
	return c;
}

void
ld_cache_close(struct ld_cache *c)
{
	free(c);
}

/* A string that begins there and ends within the file; else NULL. */
static const char *
ld_cache_string(const struct ld_cache *c, size_t at)
{
	if (at >= c->size || memchr(c->data + at, 0, c->size - at) == NULL)
		return NULL;
	return c->data + at;
}

const char *
ld_cache_find(const struct ld_cache *c, const char *name)
{
	if (c == NULL)
		return NULL;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = HEAD + i * ENTRY;
		const char *key = ld_cache_string(c, ld_cache_u32(c, at + 4));

		if (key != NULL && strcmp(key, name) == 0)
			return ld_cache_string(c, ld_cache_u32(c, at + 8));
	}
	return NULL;
}
