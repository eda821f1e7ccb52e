/*
 * Module by module, each address in the order of the file; what the cache
 * knows needs no file.
 */
#include "fcgi/symbolize/heap_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/symbolize/heap_cache.h"
#include "fcgi/symbolize/symbolize.h"
#include "store/base/err.h"

_Static_assert(SYMBOLIZED_MAX <= HEAP_CACHE_FRAMES, "all frames are kept");

#define NAME_MAX_BYTES 8192

/* A module's name as frames carry it, and how to read its addresses. */
struct naming {
	struct heap *h;
	const struct heap_names *names;
	const char *module;
	uint32_t file; /* of the cache, or INTERN_NONE */
	bool gone;     /* the cache alone knows of it */
	struct symbolizer *s;
};

static int
address_order(const void *a, const void *b, void *arg)
{
	const struct heap *h = arg;
	const struct heap_address *x = &h->addresses[*(const uint32_t *)a];
	const struct heap_address *y = &h->addresses[*(const uint32_t *)b];

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* "thr", or "thr db.c:52" where lines are wanted. */
static const char *
frame_name(const struct naming *n, const struct symbolized *from,
    char text[NAME_MAX_BYTES])
{
	if (!n->names->lines || from->file == NULL)
		return from->name;
	snprintf(text, NAME_MAX_BYTES, "%s %s:%d", from->name, from->file,
	    from->line);
	return text;
}

static bool
name_address(const struct naming *n, uint32_t address)
{
	struct symbolized found[SYMBOLIZED_MAX];
	struct frame frames[SYMBOLIZED_MAX];
	char (*text)[NAME_MAX_BYTES] = NULL;
	uint64_t at, offset = n->h->addresses[address].offset;
	size_t k = 0;
	bool good;

	if (symbolizer_address(n->s, offset, &at))
		k = symbolizer_find(n->s, at, found);
	if (k == 0 || found[0].name == NULL) {
		if (n->file != INTERN_NONE)
			heap_cache_put(n->names->cache, n->file, offset, NULL,
			    0);
		return true;
	}
	if (n->names->lines && (text = malloc(k * sizeof(*text))) == NULL)
		return false;
	for (size_t i = 0; i < k; i++) {
		if (found[i].name == NULL)
			found[i].name = "[unknown]";
		frames[i] = (struct frame){
		    .kind = found[i].inlined ? FRAME_INLINED : FRAME_NATIVE,
		    .name = frame_name(n, &found[i],
		        text == NULL ? NULL : text[i]),
		    .module = n->module,
		    .build_id = symbolizer_build_id(n->s),
		    .offset = found[i].entry};
	}
	good = heap_name(n->h, address, frames, k);
	if (n->file != INTERN_NONE)
		heap_cache_put(n->names->cache, n->file, offset, frames, k);
	free(text);
	return good;
}

/* The module that --binary is for: the one of its name, else the first,
 * which is the program itself. */
static uint32_t
binary_module(const struct heap *h, const char *binary)
{
	const char *slash = strrchr(binary, '/');
	const char *last = slash == NULL ? binary : slash + 1;

	for (uint32_t i = 0; i < h->n_modules; i++) {
		if (strcmp(last, intern_str(&h->strings,
		    h->modules[i].name)) == 0)
			return i;
	}
	return 0;
}

/* Names what the cache knows; false when out of memory.  *rest: how many it
 * does not know. */
static bool
name_known(const struct naming *n, const uint32_t *addresses, size_t count,
    size_t *rest)
{
	struct frame frames[HEAP_CACHE_FRAMES];

	*rest = 0;
	for (size_t i = 0; i < count; i++) {
		const struct heap_address *a = &n->h->addresses[addresses[i]];
		int k = a->n > 0 ? 0 : n->file == INTERN_NONE ? -1 :
		    heap_cache_get(n->names->cache, n->file, a->offset,
		    frames);

		*rest += k < 0;
		for (int f = 0; f < k; f++)
			frames[f].module = n->module;
		if (k > 0 && !heap_name(n->h, addresses[i], frames,
		    (size_t)k))
			return false;
	}
	return true;
}

/* Is it known already that the file has no name for it? */
static bool
name_tried(const struct naming *n, uint32_t address)
{
	struct frame frames[HEAP_CACHE_FRAMES];

	return n->file != INTERN_NONE && heap_cache_get(n->names->cache,
	    n->file, n->h->addresses[address].offset, frames) >= 0;
}

static void
name_complain(const struct heap_names *names, const char *why, size_t count)
{
	if (names->complain != NULL)
		names->complain(names->arg, why, count);
}

static void
name_gone(const struct heap_names *names, const char *path, size_t count)
{
	char why[4200];

	snprintf(why, sizeof(why), "%s: not the file that was mapped", path);
	name_complain(names, why, count);
}

static const struct err *
name_by_file(struct naming *n, const char *path, bool must,
    const uint32_t *addresses, size_t count)
{
	const struct err *e = symbolizer_open(&n->s, path);

	if (e != NULL && must)
		return e;
	if (e != NULL) {
		name_complain(n->names, e->text, count);
		return NULL;
	}
	for (size_t i = 0; e == NULL && i < count; i++) {
		if (n->h->addresses[addresses[i]].n == 0 &&
		    !name_tried(n, addresses[i]) &&
		    !name_address(n, addresses[i]))
			e = err_nomem();
	}
	symbolizer_close(n->s);
	return e;
}

/*
 * Is there anybody to ask?  Only the file that was mapped has the names of its
 * addresses: another build at its path would have others.
 */
static bool
name_find_file(struct naming *n, const struct heap_module *m, const char *path)
{
	struct heap_cache *c = n->names->cache;

	n->gone = m->gone;
	if (c == NULL)
		return !n->gone;
	if (!n->gone)
		n->file = heap_cache_file(c, path, m->inode);
	if (n->file == INTERN_NONE) {
		n->file = heap_cache_gone(c, path, m->inode);
		n->gone = true;
	}
	return n->file != INTERN_NONE;
}

static const struct err *
name_module(struct heap *h, const struct heap_names *names,
    const uint32_t *addresses, size_t count)
{
	uint32_t module = h->addresses[addresses[0]].module;
	struct naming n = {h, names, NULL, INTERN_NONE, false, NULL};
	char name[4096], path[4096];
	bool named = names->binary != NULL &&
	    module == binary_module(h, names->binary);
	size_t rest;

	/* naming adds strings, which moves those there are */
	snprintf(name, sizeof(name), "%s", intern_str(&h->strings,
	    h->modules[module].name));
	snprintf(path, sizeof(path), "%s", named ? names->binary
	    : intern_str(&h->strings, h->modules[module].path));
	if (path[0] != '/' && !named) /* "[vdso]" */
		return NULL;
	n.module = name;
	if (!named && !name_find_file(&n, &h->modules[module], path)) {
		name_gone(names, path, count);
		return NULL;
	}
	if (!name_known(&n, addresses, count, &rest))
		return err_nomem();
	if (rest > 0 && n.gone)
		name_gone(names, path, rest);
	return rest == 0 || n.gone ? NULL : name_by_file(&n, path, named,
	    addresses, count);
}

const struct err *
heap_names_find(struct heap *h, const struct heap_names *names)
{
	uint32_t *order = malloc((h->n_addresses + 1) * sizeof(*order));
	const struct err *e = order == NULL ? err_nomem() : NULL;
	size_t n = 0, next;

	for (uint32_t i = 0; e == NULL && i < h->n_addresses; i++) {
		if (h->addresses[i].module != HEAP_NONE)
			order[n++] = i;
	}
	if (n > 0)
		qsort_r(order, n, sizeof(*order), address_order, h);
	for (size_t i = 0; e == NULL && i < n; i = next) {
		for (next = i; next < n && h->addresses[order[next]].module ==
		    h->addresses[order[i]].module;)
			next++;
		e = name_module(h, names, order + i, next - i);
	}
	free(order);
	return e;
}
