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
	uint8_t *path;     /* by node: what matches on the way to it */
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
filter_nodes(struct filter *f, const struct profile *p, int128 *self)
{
	f->path = malloc(p->n_nodes);
	if (f->path == NULL)
		return err_nomem();
	f->path[0] = 0;
	self[0] = f->pattern[0] != NULL ? 0 : p->nodes[0].self;
	for (size_t i = 1; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];
		const struct err *e;
		uint8_t m;

		if ((e = filter_match(f, n->name, &m)) != NULL)
			return e;
		m |= f->path[n->parent];
		f->path[i] = m;
		self[i] = (f->pattern[0] == NULL || (m & FILTER_FOCUS)) &&
		    !(m & FILTER_IGNORE) ? n->self : 0;
	}
	return NULL;
}

const struct err *
flame_filter(const struct profile *p, const char *focus, const char *ignore,
    int128 *self)
{
	struct filter f = {0};
	const struct err *e;

	if (focus == NULL && ignore == NULL) {
		for (size_t i = 0; i < p->n_nodes; i++)
			self[i] = p->nodes[i].self;
		return NULL;
	}
	e = focus ? pattern_new(&f.pattern[0], "focus", focus, 0) : NULL;
	if (e == NULL && ignore != NULL)
		e = pattern_new(&f.pattern[1], "ignore", ignore, 0);
	if (e == NULL)
		e = filter_nodes(&f, p, self);
	for (int i = 0; i < 2; i++)
		pattern_free(f.pattern[i]);
	map64_fini(&f.seen);
	free(f.path);
	return e;
}
