/*
 * Facts of one kind, each a whole graph.
 */
#include "fcgi/graph/graph_told.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/fact.h"
#include "store/store.h"

struct told_search {
	const char *name; /* NULL: all names, into `names` */
	int64_t until_ns;
	struct graph_told *told;
	struct buf *names;
};

static bool
told_is_better(const struct told_search *s, int64_t time_ns)
{
	int64_t best = s->told->told_ns;

	if (best == 0)
		return true;
	if (best < s->until_ns)
		return time_ns > best && time_ns < s->until_ns;
	return time_ns < best;
}

static void
told_add_name(struct buf *names, const char *name)
{
	size_t at = 0, n = strlen(name) + 1;

	while (at < names->len) {
		const char *other = (const char *)names->data + at;
		int order = strcmp(name, other);

		if (order == 0)
			return;
		if (order < 0)
			break;
		at += strlen(other) + 1;
	}
	buf_put(names, name, n);
	if (names->failed)
		return;
	memmove(names->data + at + n, names->data + at, names->len - n - at);
	memcpy(names->data + at, name, n);
}

static bool
told_take(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	struct told_search *s = arg;

	if (s->name == NULL) {
		told_add_name(s->names, subject);
	} else if (strcmp(subject, s->name) == 0 &&
	    told_is_better(s, time_ns)) {
		s->told->told_ns = time_ns;
		buf_clear(&s->told->code);
		buf_put(&s->told->code, data, n);
	}
	return true;
}

static const struct err *
told_search(struct told_search *search, struct store *s, int64_t from_ns,
    int64_t now_ns)
{
	const struct err *e;

	/* what damage took is not known; no amount lacks it */
	store_missing_watch(s, false);
	e = store_each_fact(s, FACT_GRAPH, from_ns, now_ns + NS_PER_S,
	    told_take, search);
	store_missing_watch(s, true);
	return e;
}

const struct err *
graph_told_read(struct graph_told *t, struct store *s, const char *name,
    int64_t until_ns, int64_t now_ns)
{
	struct told_search search = {name, until_ns, t, NULL};
	struct store_extent extent;
	const struct err *e;

	*t = (struct graph_told){0};
	e = told_search(&search, s, until_ns - GRAPH_TOLD_BEFORE_NS, now_ns);
	if (e == NULL && (t->told_ns == 0 || t->told_ns >= until_ns)) {
		/* who tells once does not tell each day */
		store_extent(s, &extent);
		e = told_search(&search, s, extent.from_ns, now_ns);
	}
	return e == NULL && t->code.failed ? err_nomem() : e;
}

void
graph_told_fini(struct graph_told *t)
{
	buf_fini(&t->code);
}

const struct err *
graph_told_names(struct buf *names, struct store *s, int64_t until_ns,
    int64_t now_ns)
{
	struct told_search search = {NULL, until_ns, NULL, names};

	return told_search(&search, s, until_ns - GRAPH_TOLD_BEFORE_NS,
	    now_ns);
}
