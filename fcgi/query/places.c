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
#include "store/model/fact.h"
#include "store/store.h"

#define ITEMS_MAX 262144u

struct places {
	const char *service; /* of the answer, borrowed; NULL: of several */
	struct intern items;
	struct buf scratch;
	const char **sorted;
	bool failed;
};

/* Is it another service's than the answer's? */
static bool
places_foreign(const struct places *p, const struct fact_place *at)
{
	return p->service != NULL && at->service.p != NULL &&
	    !fact_part_is(at->service, fact_part_of(p->service));
}

static bool
places_take(void *arg, int64_t time_ns, const char *subject,
    const void *data, size_t n)
{
	struct places *p = arg;
	struct fact_place at;

	(void)time_ns;
	if (!fact_take_place(data, n, &at) || places_foreign(p, &at))
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

/* What item i says, which is of this name. */
static bool
places_at(const struct places *p, uint32_t i, const char *name,
    struct fact_place *at)
{
	const char *text = p->sorted[i] + strlen(name) + 1;

	return fact_take_place(text, strlen(text), at);
}

static void
place_put(struct writer *w, const struct fact_place *at)
{
	writer_open(w, '{');
	writer_key(w, "file");
	writer_strn(w, at->file.p, at->file.n);
	writer_key_int(w, "line", at->line);
	writer_key(w, "module");
	writer_strn(w, at->module.p, at->module.n);
	writer_key(w, "build_id");
	writer_strn(w, at->build_id.p, at->build_id.n);
	writer_key(w, "service");
	if (at->service.p != NULL)
		writer_strn(w, at->service.p, at->service.n);
	else
		writer_null(w);
	writer_close(w, '}');
}

/* Makes one of two places of a file where samples alone say a line: that of
 * the definition, else the first.  False where they stay two. */
static bool
place_join(struct fact_place *a, const struct fact_place *b)
{
	if (!fact_part_is(a->service, b->service) ||
	    !fact_part_is(a->file, b->file) ||
	    !fact_part_is(a->module, b->module) || (!a->seen && !b->seen))
		return false;
	if (a->seen && (!b->seen || a->line == 0 ||
	    (b->line != 0 && b->line < a->line)))
		*a = *b;
	return true;
}

static size_t
places_add(struct fact_place *shown, size_t n, const struct fact_place *at)
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
	struct fact_place shown[PLACES_SHOWN_MAX], at;
	size_t n = 0;

	for (uint32_t i = places_first(p, name); i < p->items.n &&
	     strcmp(p->sorted[i], name) == 0; i++)
		if (places_at(p, i, name, &at))
			n = places_add(shown, n, &at);
	writer_open(w, '[');
	for (size_t i = 0; i < n; i++)
		place_put(w, &shown[i]);
	writer_close(w, ']');
}

static bool
place_same(const struct fact_place *a, const struct fact_place *b)
{
	return a->line == b->line && fact_part_is(a->file, b->file);
}

bool
places_find(const struct places *p, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line)
{
	struct fact_place at, found = {0};

	for (uint32_t i = places_first(p, name); i < p->items.n &&
	     strcmp(p->sorted[i], name) == 0; i++) {
		if (!places_at(p, i, name, &at) ||
		    (at.service.p != NULL && p->service == NULL) ||
		    !fact_part_is(fact_part_of(module), at.module) ||
		    (found.file.p != NULL && place_join(&found, &at)))
			continue;
		if (found.file.p != NULL && !place_same(&found, &at))
			return false;
		found = at;
	}
	*file = found.file.p;
	*n = found.file.n;
	*line = found.line;
	return found.file.p != NULL;
}
