/*
 * Each name is matched once: a profile has few distinct strings, and most
 * come by the same address.
 */
#include "fcgi/format/flame/flame_filter.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/base/pattern.h"
#include "store/store.h"

enum { FILTER_FOCUS = 1, FILTER_IGNORE = 2 };

struct filter {
	regex_t re[2];
	bool used[2];
	struct map64 seen; /* a name's address -> what matches it */
	uint8_t *path;     /* by node: what matches on the way to it */
};

static const struct err *
filter_compile(struct filter *f, int which, const char *field,
    const char *pattern)
{
	char why[128];
	int bad;

	if (pattern == NULL)
		return NULL;
	if (strlen(pattern) > FLAME_PATTERN_MAX)
		return err_field(ERR_REQUEST, 400, field,
		    "the expression is longer than %d bytes",
		    FLAME_PATTERN_MAX);
	if (!pattern_is_bounded(pattern))
		return err_field(ERR_REQUEST, 400, field, "the expression is "
		    "too large with its repetitions written out, or refers "
		    "back");
	bad = regcomp(&f->re[which], pattern, REG_EXTENDED | REG_NOSUB);
	if (bad != 0) {
		regerror(bad, &f->re[which], why, sizeof(why));
		return err_field(ERR_REQUEST, 400, field, "%s", why);
	}
	f->used[which] = true;
	return NULL;
}

static bool
filter_match(struct filter *f, const char *name, uint8_t *bits)
{
	uint64_t key = (uintptr_t)name;
	uint32_t known = map64_get(&f->seen, key);

	if (known == INTERN_NONE) {
		known = 0;
		for (int i = 0; i < 2; i++)
			if (f->used[i] &&
			    regexec(&f->re[i], name, 0, NULL, 0) == 0)
				known |= 1u << i;
		if (!map64_add(&f->seen, key, known))
			return false;
	}
	*bits = (uint8_t)known;
	return true;
}

static const struct err *
filter_nodes(struct filter *f, const struct profile *p, int128 *self)
{
	f->path = malloc(p->n_nodes);
	if (f->path == NULL)
		return err_nomem();
	f->path[0] = 0;
	self[0] = f->used[0] ? 0 : p->nodes[0].self;
	for (size_t i = 1; i < p->n_nodes; i++) {
		const struct profile_node *n = &p->nodes[i];
		uint8_t m;

		if (!filter_match(f, n->name, &m))
			return err_nomem();
		m |= f->path[n->parent];
		f->path[i] = m;
		self[i] = (!f->used[0] || (m & FILTER_FOCUS)) &&
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
	e = filter_compile(&f, 0, "focus", focus);
	if (e == NULL)
		e = filter_compile(&f, 1, "ignore", ignore);
	if (e == NULL)
		e = filter_nodes(&f, p, self);
	for (int i = 0; i < 2; i++)
		if (f.used[i])
			regfree(&f.re[i]);
	map64_fini(&f.seen);
	free(f.path);
	return e;
}
