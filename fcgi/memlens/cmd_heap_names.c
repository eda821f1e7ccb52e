/*
 * The addresses of a heap dump by the programs and libraries on this
 * machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/heap/heap.h"
#include "fcgi/memlens/cmd_heap.h"
#include "fcgi/memlens/symbolize.h"
#include "store/base/err.h"

#define NAME_MAX_BYTES 8192

/* A module's name as frames carry it, and how to read its addresses. */
struct naming {
	struct heap *h;
	const struct cmd_heap_names *names;
	const char *module;
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
	uint64_t at;
	size_t k = 0;
	bool good;

	if (!symbolizer_address(n->s, n->h->addresses[address].offset, &at))
		return true;
	k = symbolizer_find(n->s, at, found);
	if (k == 0 || found[0].name == NULL)
		return true;
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

static const struct err *
name_module(struct heap *h, const struct cmd_heap_names *names,
    const uint32_t *addresses, size_t n)
{
	uint32_t module = h->addresses[addresses[0]].module;
	struct naming naming = {h, names, intern_str(&h->strings,
	    h->modules[module].name), NULL};
	char copy[4096];
	bool named = names->binary != NULL &&
	    module == binary_module(h, names->binary);
	const char *path = named ? names->binary
	    : intern_str(&h->strings, h->modules[module].path);
	const struct err *e;

	if (path[0] != '/' && !named) /* "[vdso]" */
		return NULL;
	e = symbolizer_open(&naming.s, path);
	if (e != NULL && named)
		return e;
	if (e != NULL) {
		fprintf(stderr, "memlens heap: %s: %zu addresses stay "
		    "without names\n", e->text, n);
		return NULL;
	}
	/* naming adds strings, which moves those there are */
	snprintf(copy, sizeof(copy), "%s", naming.module);
	naming.module = copy;
	for (size_t i = 0; e == NULL && i < n; i++) {
		if (h->addresses[addresses[i]].n == 0 &&
		    !name_address(&naming, addresses[i]))
			e = err_nomem();
	}
	symbolizer_close(naming.s);
	return e;
}

const struct err *
cmd_heap_name(struct heap *h, const struct cmd_heap_names *names)
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
