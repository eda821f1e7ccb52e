/*
 * Each name is matched once: a profile has few distinct strings, and most
 * come by the same address.
 */
#include "fcgi/format/flame/flame_filter.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/intern.h"
#include "store/base/pattern.h"
#include "store/store.h"

enum { FILTER_FOCUS = 1, FILTER_IGNORE = 2 };

struct filter {
	struct pattern *pattern[2]; /* NULL: not asked for */
	struct map64 seen; /* a name's address -> what matches it */
};

static const struct err *
filter_match(struct filter *f, const char *name, uint8_t *bits)
{
	uint64_t key = (uintptr_t)name;
	uint32_t known = map64_get(&f->seen, key);
	const struct err *e = NULL;

	if (known == INTERN_NONE) {
		known = 0;
		for (int i = 0; i < 2 && e == NULL; i++) {
			if (f->pattern[i] == NULL)
				continue;
			if (pattern_match(f->pattern[i], name))
				known |= 1u << i;
			e = pattern_check(f->pattern[i]);
		}
		if (e == NULL)
			e = gone_check();
		if (e == NULL && !map64_add(&f->seen, key, known))
			e = err_nomem();
	}
	*bits = (uint8_t)known;
	return e;
}

static const struct err *
filter_nodes(struct filter *f, const struct profile *p, bool *taken)
{
	uint8_t *path = malloc(p->n_nodes); /* what matches on the way there */
	const struct err *e = path == NULL ? err_nomem() : NULL;

	for (size_t i = 0; e == NULL && i < p->n_nodes; i++) {
		uint8_t m = 0;

		if (i > 0) {
			e = filter_match(f, p->nodes[i].name, &m);
			m |= path[p->nodes[i].parent];
		}
		path[i] = m;
		taken[i] = (f->pattern[0] == NULL || (m & FILTER_FOCUS)) &&
		    !(m & FILTER_IGNORE);
	}
	free(path);
	return e;
}

const struct err *
flame_filter(bool **out, const struct profile *p, const char *focus,
    const char *ignore)
{
	struct filter f = {0};
	const struct err *e;

	*out = NULL;
	if (focus == NULL && ignore == NULL)
		return NULL;
	e = focus ? pattern_new(&f.pattern[0], "focus", focus, 0) : NULL;
	if (e == NULL && ignore != NULL)
		e = pattern_new(&f.pattern[1], "ignore", ignore, 0);
	if (e == NULL && (*out = malloc(p->n_nodes)) == NULL)
		e = err_nomem();
	if (e == NULL)
		e = filter_nodes(&f, p, *out);
	if (e != NULL) {
		free(*out);
		*out = NULL;
	}
	for (int i = 0; i < 2; i++)
		pattern_free(f.pattern[i]);
	map64_fini(&f.seen);
	return e;
}
