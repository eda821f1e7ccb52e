/*
 * The store's profile and the store's places, handed to the writer.
 */
#include "fcgi/query/pprof_page.h"

#include "fcgi/format/pprof/pprof.h"
#include "fcgi/query/places.h"
#include "fcgi/query/profile_page.h"
#include "store/base/err.h"
#include "store/store.h"

static bool
pprof_page_place(void *arg, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line)
{
	return places_find(arg, name, module, file, n, line);
}

const struct err *
pprof_page_put(struct buf *out, struct store *s, const struct profile *p,
    const char *service, const char *type, bool gzip)
{
	struct places *places;
	const struct err *e;

	e = places_read(&places, s, service, p->from_ns, p->until_ns);
	if (e == NULL)
		e = pprof_write(out, p, type, gzip, pprof_page_place, places);
	places_free(places);
	return e;
}

const struct err *
pprof_page_ask(struct buf *out, struct store *s,
    const struct profile_query *q, const char *type)
{
	struct profile_query sets = *q;
	struct profile *p = NULL;
	const struct err *e;

	sets.split = "";
	e = store_query_profile(s, &sets, &p);
	if (e == NULL)
		profile_page_type(p, q->selector);
	if (e == NULL)
		e = pprof_page_put(out, s, p,
		    selector_equals(q->selector, "service"), type, true);
	profile_free(p);
	return e;
}
