/*
 * The facts as items "NAME NUL file:line TAB module TAB build id", and "TAB
 * service" of those that are of one service alone, each once, in their order:
 * the places of a name lie side by side.
 */
#include "fcgi/query/places.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/batch/batch.h"
#include "store/store.h"

#define ITEMS_MAX 262144u

struct places {
	const char *service; /* of the answer, borrowed; NULL: of several */
	struct intern items;
	struct buf scratch;
	const char **sorted;
	bool failed;
};

/* Is it another service's than the answer's?  That is the third tab's. */
static bool
places_foreign(const struct places *p, const char *data, size_t n)
{
	const char *end = data + n, *tab = data;

	for (int i = 0; i < 3; i++) {
		tab = memchr(tab, '\t', (size_t)(end - tab));
		if (tab == NULL)
			return false;
		tab++;
	}
	return p->service != NULL && ((size_t)(end - tab) !=
	    strlen(p->service) || memcmp(tab, p->service,
	    strlen(p->service)) != 0);
}

static bool
places_take(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct places *p = arg;

	(void)time_ns;
	if (places_foreign(p, data, n))
		return true;
	buf_clear(&p->scratch);
	buf_put(&p->scratch, subject, strlen(subject) + 1);
	buf_put(&p->scratch, data, n);
	p->failed = p->scratch.failed || intern_put(&p->items,
	    p->scratch.data, p->scratch.len) == INTERN_NONE;
	return !p->failed && p->items.n < ITEMS_MAX;
}

static int
places_order(const void *a, const void *b)
{
	const char *x = *(const char *const *)a;
	const char *y = *(const char *const *)b;
	int order = strcmp(x, y);

	return order != 0 ? order : strcmp(x + strlen(x) + 1,
	    y + strlen(y) + 1);
}

const struct err *
places_read(struct places **out, struct store *s, const char *service,
    int64_t from_ns, int64_t until_ns)
{
	struct places *p = calloc(1, sizeof(*p));
	const struct err *e;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	p->service = service;
	from_ns = from_ns > PLACES_BEFORE_NS ? from_ns - PLACES_BEFORE_NS : 0;
	/* a place that damage took is not known; the amounts do not lack it */
	store_missing_watch(s, false);
	e = store_each_fact(s, FACT_PLACE, from_ns, until_ns, places_take, p);
	store_missing_watch(s, true);
	if (e == NULL && !p->failed)
		p->sorted = calloc(p->items.n + 1, sizeof(*p->sorted));
	if (e == NULL && p->sorted == NULL)
		e = err_nomem();
	if (e != NULL) {
		places_free(p);
		return e;
	}
	for (uint32_t i = 0; i < p->items.n; i++)
		p->sorted[i] = intern_at(&p->items, i);
	if (p->items.n > 0)
		qsort(p->sorted, p->items.n, sizeof(*p->sorted),
		    places_order);
	*out = p;
	return NULL;
}

void
places_free(struct places *p)
{
	if (p == NULL)
		return;
	intern_fini(&p->items);
	buf_fini(&p->scratch);
	free(p->sorted);
	free(p);
}

struct place {
	const char *file, *module, *build_id;
	const char *service; /* NULL: of all */
	size_t n_file, n_module, n_build_id;
	int64_t line;
	bool seen; /* "12+": seen in samples, the definition is before it */
};

/* What comes from a file may be any bytes: false where it is no place. */
static bool
place_read(struct place *at, const char *text)
{
	const char *tab = strchr(text, '\t'), *colon, *id, *service;
	char *end;

	id = tab == NULL ? NULL : strchr(tab + 1, '\t');
	colon = tab == NULL ? NULL : memrchr(text, ':', (size_t)(tab - text));
	if (id == NULL || colon == NULL)
		return false;
	service = strchr(id + 1, '\t');
	*at = (struct place){.file = text, .n_file = (size_t)(colon - text),
	    .module = tab + 1, .n_module = (size_t)(id - tab - 1),
	    .build_id = id + 1, .n_build_id = strcspn(id + 1, "\t"),
	    .service = service != NULL ? service + 1 : NULL,
	    .line = strtol(colon + 1, &end, 10)};
	at->seen = *end == '+';
	return true;
}

/* The first item of a name, or where it would be. */
static uint32_t
places_first(const struct places *p, const char *name)
{
	uint32_t low = 0, high = p->items.n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (strcmp(p->sorted[mid], name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
place_put(struct writer *w, const struct place *at)
{
	writer_open(w, '{');
	writer_key(w, "file");
	writer_strn(w, at->file, at->n_file);
	writer_key(w, "line");
	writer_int(w, at->line);
	writer_key(w, "module");
	writer_strn(w, at->module, at->n_module);
	writer_key(w, "build_id");
	writer_strn(w, at->build_id, at->n_build_id);
	writer_key(w, "service");
	if (at->service != NULL)
		writer_str(w, at->service);
	else
		writer_null(w);
	writer_close(w, '}');
}

static bool
text_same(const char *a, size_t n, const char *b, size_t m)
{
	return n == m && memcmp(a, b, n) == 0;
}

/* Makes one of two places of a file where samples alone say a line: that of
 * the definition, else the first.  False where they stay two. */
static bool
place_join(struct place *a, const struct place *b)
{
	if ((a->service == NULL) != (b->service == NULL) ||
	    (a->service != NULL && strcmp(a->service, b->service) != 0) ||
	    !text_same(a->file, a->n_file, b->file, b->n_file) ||
	    !text_same(a->module, a->n_module, b->module, b->n_module) ||
	    (!a->seen && !b->seen))
		return false;
	if (a->seen && (!b->seen || a->line == 0 ||
	    (b->line != 0 && b->line < a->line)))
		*a = *b;
	return true;
}

static size_t
places_add(struct place *shown, size_t n, const struct place *at)
{
	for (size_t i = 0; i < n; i++)
		if (place_join(&shown[i], at))
			return n;
	if (n < PLACES_SHOWN_MAX)
		shown[n++] = *at;
	return n;
}

void
places_put(struct writer *w, const struct places *p, const char *name)
{
	struct place shown[PLACES_SHOWN_MAX], at;
	size_t n = 0;

	for (uint32_t i = places_first(p, name); i < p->items.n &&
	     strcmp(p->sorted[i], name) == 0; i++)
		if (place_read(&at, p->sorted[i] + strlen(name) + 1))
			n = places_add(shown, n, &at);
	writer_open(w, '[');
	for (size_t i = 0; i < n; i++)
		place_put(w, &shown[i]);
	writer_close(w, ']');
}

static bool
place_same(const struct place *a, const struct place *b)
{
	return a->line == b->line &&
	    text_same(a->file, a->n_file, b->file, b->n_file);
}

bool
places_find(const struct places *p, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line)
{
	struct place at, found = {0};

	for (uint32_t i = places_first(p, name); i < p->items.n &&
	     strcmp(p->sorted[i], name) == 0; i++) {
		if (!place_read(&at, p->sorted[i] + strlen(name) + 1) ||
		    (at.service != NULL && p->service == NULL) ||
		    !text_same(module, strlen(module), at.module,
		    at.n_module) ||
		    (found.file != NULL && place_join(&found, &at)))
			continue;
		if (found.file != NULL && !place_same(&found, &at))
			return false;
		found = at;
	}
	*file = found.file;
	*n = found.n_file;
	*line = found.line;
	return found.file != NULL;
}
