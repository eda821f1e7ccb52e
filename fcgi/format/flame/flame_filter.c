/*
 * Each name is matched once: a profile has few distinct strings, and most
 * come by the same address.
 */
#include "fcgi/format/flame/flame_filter.h"

#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/intern.h"
#include "store/base/pattern.h"
#include "store/model/types.h"
#include "store/store.h"

/* Of stacks that wait for work by their reason, or perhaps, or perhaps by such
 * frames, and of who is at work, or may be. */
enum { FILTER_FOCUS = 1, FILTER_IGNORE = 2, FILTER_FRAMES = 4,
	FILTER_DOUBT = 8, FILTER_BUSY = 16, FILTER_REASONS = 32,
	FILTER_OTHERS = 64, FILTER_CERTAIN = 128, FILTER_LOST = 256 };

#define FILTERS 9 /* by the bits above */
#define OF_REASONS (FILTER_REASONS | FILTER_OTHERS | FILTER_CERTAIN)

struct filter {
	struct pattern *pattern[FILTERS]; /* NULL: not asked for */
	struct map64 seen; /* a name's address -> what matches it */
};

static const struct err *
filter_match(struct filter *f, const char *name, uint16_t *bits)
{
	uint64_t key = (uintptr_t)name;
	uint32_t known = map64_get(&f->seen, key);
	const struct err *e = NULL;

	if (known == INTERN_NONE) {
		known = 0;
		for (int i = 0; i < FILTERS && e == NULL; i++) {
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
	*bits = (uint16_t)known;
	return e;
}

/* Those that what stands at a depth may set: where reasons are, they are no
 * frames. */
static uint16_t
filter_bits(bool reasons, uint32_t depth)
{
	return reasons && depth == 1 ? OF_REASONS : (uint16_t)~OF_REASONS;
}

static bool
filter_is_idle(uint16_t m)
{
	const uint16_t sure = FILTER_REASONS | FILTER_LOST;
	const uint16_t other = FILTER_FRAMES | FILTER_OTHERS;

	return (m & FILTER_BUSY) == 0 && ((m & sure) == FILTER_REASONS ||
	    ((m & FILTER_DOUBT) == 0 && ((m & FILTER_CERTAIN) != 0 ||
	    (m & other) == other)));
}

static const struct err *
filter_nodes(struct filter *f, const struct profile *p, bool reasons,
    bool *taken)
{
	/* what matches on the way there */
	uint16_t *path = malloc(p->n_nodes * sizeof(*path));
	const struct err *e = path == NULL ? err_nomem() : NULL;

	for (size_t i = 0; e == NULL && i < p->n_nodes; i++) {
		uint16_t m = 0;

		if (i > 0) {
			e = filter_match(f, p->nodes[i].name, &m);
			m &= filter_bits(reasons, p->nodes[i].depth);
			m |= path[p->nodes[i].parent];
		}
		path[i] = m;
		taken[i] = (f->pattern[0] == NULL || (m & FILTER_FOCUS)) &&
		    !(m & FILTER_IGNORE) && !filter_is_idle(m);
	}
	free(path);
	return e;
}

bool
flame_is_filtered(const struct flame_options *o)
{
	return o->focus != NULL || o->ignore != NULL || o->idle != NULL;
}

const struct err *
flame_filter(bool **out, const struct profile *p, const struct flame_options *o)
{
	static const char *const fields[FILTERS] = {"focus", "ignore", "idle",
	    "idle", "idle", "idle", "idle", "idle", "idle"};
	const struct type none = {.name = NULL}, *t = o->idle ? o->idle : &none;
	const char *const texts[FILTERS] = {o->focus, o->ignore, t->idle_frames,
	    t->doubt_frames, t->busy_frames, t->idle_reasons,
	    t->idle_other_reasons, t->idle_certain_reasons,
	    t->lost_frames};
	struct filter f = {0};
	const struct err *e = NULL;

	*out = NULL;
	if (!flame_is_filtered(o))
		return NULL;
	for (int i = 0; i < FILTERS && e == NULL; i++)
		if (texts[i] != NULL)
			e = pattern_new(&f.pattern[i], fields[i], texts[i],
			    1 << i & OF_REASONS ? PATTERN_WHOLE : 0);
	if (e == NULL && (*out = malloc(p->n_nodes)) == NULL)
		e = err_nomem();
	if (e == NULL)
		e = filter_nodes(&f, p, o->idle != NULL, *out);
	if (e != NULL) {
		free(*out);
		*out = NULL;
	}
	for (int i = 0; i < FILTERS; i++)
		pattern_free(f.pattern[i]);
	map64_fini(&f.seen);
	return e;
}
