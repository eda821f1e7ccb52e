/*
 * Files are opened when their first address comes; names come from the cache
 * that heap dumps have.
 */
#include "collector/pull/pull_names.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fcgi/symbolize/heap_cache.h"
#include "fcgi/symbolize/symbolize.h"
#include "store/base/err.h"

#define DEBUG_PATH "/usr/lib/debug/.build-id/"

static bool
names_open(struct pull_names *n, struct pull_names_file *f, const char *path)
{
	if (path[0] != '/')
		return false;
	f->number = heap_cache_file(n->cache, path, 0);
	if (f->number == INTERN_NONE || symbolizer_open(&f->s, path) != NULL)
		return false;
	if (strcasecmp(symbolizer_build_id(f->s), f->build_id) == 0)
		return true;
	symbolizer_close(f->s);
	f->s = NULL;
	return false;
}

/* Does it consist of digits that may be a part of a path? */
static bool
names_is_id(const char *build_id)
{
	size_t n = strspn(build_id, "0123456789abcdefABCDEF");

	return n > 2 && n <= 128 && build_id[n] == '\0';
}

static struct pull_names_file *
names_file(struct pull_names *n, const struct pprof_code *code)
{
	char debug[256];
	struct pull_names_file *f;

	for (uint32_t i = 0; i < n->n_files; i++) {
		f = &n->files[i];
		if (strcmp(f->path, code->path) == 0 &&
		    strcmp(f->build_id, code->build_id) == 0)
			return f;
	}
	if (n->n_files == PULL_NAMES_FILES || !names_is_id(code->build_id))
		return NULL;
	f = &n->files[n->n_files++];
	*f = (struct pull_names_file){code->path, code->build_id,
	    INTERN_NONE, NULL};
	snprintf(debug, sizeof(debug), DEBUG_PATH "%.2s/%s.debug",
	    code->build_id, code->build_id + 2);
	if (!names_open(n, f, code->path))
		names_open(n, f, debug);
	return f;
}

/* Asks the file, and lets the cache know. */
static void
names_ask(struct pull_names *n, const struct pull_names_file *f,
    uint64_t offset)
{
	struct symbolized found[SYMBOLIZED_MAX];
	struct frame frames[PPROF_INLINED_MAX];
	uint64_t at;
	size_t k = 0, m = 0;

	if (symbolizer_address(f->s, offset, &at))
		k = symbolizer_find(f->s, at, found);
	for (size_t i = 0; i < k && m < PPROF_INLINED_MAX; i++)
		if (found[i].name != NULL)
			frames[m++] = (struct frame){.name = found[i].name,
			    .kind = found[i].inlined ? FRAME_INLINED
			    : FRAME_NATIVE, .module = "", .build_id = "",
			    .offset = found[i].entry};
	heap_cache_put(n->cache, f->number, offset, frames, m);
}

size_t
pull_names_locate(void *arg, const struct pprof_code *code,
    struct frame frames[PPROF_INLINED_MAX])
{
	struct pull_names *n = arg;
	struct pull_names_file *f = names_file(n, code);
	struct frame all[HEAP_CACHE_FRAMES];
	int k = 0;

	if (f != NULL && f->s != NULL) {
		k = heap_cache_get(n->cache, f->number, code->offset, all);
		if (k < 0) {
			names_ask(n, f, code->offset);
			k = heap_cache_get(n->cache, f->number, code->offset,
			    all);
		}
	}
	if (k > PPROF_INLINED_MAX)
		k = PPROF_INLINED_MAX;
	n->nameless += k <= 0;
	for (int i = 0; i < k; i++)
		frames[i] = all[i];
	return k > 0 ? (size_t)k : 0;
}

void
pull_names_fini(struct pull_names *n)
{
	for (uint32_t i = 0; i < n->n_files; i++)
		symbolizer_close(n->files[i].s);
	n->n_files = 0;
}
