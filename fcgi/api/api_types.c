/*
 * GET /api/v1/types: the table of profile types, and what else the store
 * holds: names and units that strangers have pushed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/api/pages.h"
#include "fcgi/format/writer.h"
#include "fcgi/server/context.h"
#include "fcgi/server/partial.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/model/typeid.h"
#include "store/model/types.h"
#include "store/model/unit.h"

/* What the store has, each once: a byte for the kind, the unit, a NUL, the
 * name. */
struct types_held {
	struct intern all;
	struct buf key;
	bool failed;
};

static const struct buf *
types_key(struct types_held *h, enum series_kind kind, const char *name,
    const char *unit)
{
	unit = unit_of_type(name, unit, NULL);
	buf_clear(&h->key);
	buf_put_u8(&h->key, (uint8_t)kind);
	buf_put(&h->key, unit, strlen(unit) + 1);
	buf_put(&h->key, name, strlen(name));
	h->failed |= h->key.failed;
	return &h->key;
}

static void
types_hold(struct types_held *h, enum series_kind kind, const char *name,
    const char *unit)
{
	const struct buf *key = types_key(h, kind, name, unit);

	if (!h->failed)
		h->failed = intern_put(&h->all, key->data, key->len) ==
		    INTERN_NONE;
}

static void
types_take(void *arg, enum series_kind kind, const char *name,
    const char *unit)
{
	const struct type *made = types_made_with(name);
	struct types_held *h = arg;

	types_hold(h, kind, name, unit);
	if (made != NULL)
		types_hold(h, made->kind, made->name, made->unit);
}

/* A matcher of stacks by what they wait for. */
static void
types_put_reasons(struct writer *w, const char *key, const char *reasons)
{
	char matcher[100];

	snprintf(matcher, sizeof(matcher), "reason=~\"%s\"", reasons);
	writer_key_str(w, key, matcher);
}

/* Which stacks wait for work: by a matcher of their labels; and, if the type
 * goes by frames, by two others where none of these is in doubt, of which one
 * wants one of them; none where yet another of these matches: what idle=hide
 * hides. */
static void
types_put_idle(struct writer *w, const struct type *t)
{
	if (t->idle_reasons == NULL)
		return;
	writer_key_open(w, "idle", '{');
	types_put_reasons(w, "labels", t->idle_reasons);
	if (t->idle_frames != NULL) {
		writer_key_str(w, "lost", t->lost_frames);
		types_put_reasons(w, "certain", t->idle_certain_reasons);
		types_put_reasons(w, "others", t->idle_other_reasons);
		writer_key_str(w, "frames", t->idle_frames);
		writer_key_str(w, "doubt", t->doubt_frames);
		writer_key_str(w, "unless", t->busy_frames);
	}
	writer_close(w, '}');
}

/* What it is the sum of. */
static void
types_put_parts(struct writer *w, const struct type *t)
{
	if (t->parts == NULL)
		return;
	writer_key_open(w, "parts", '[');
	for (size_t i = 0; t->parts[i] != NULL; i++)
		writer_str(w, t->parts[i]);
	writer_close(w, ']');
}

static void
types_put_pair(struct writer *w, const char *key, const char *type,
    const char *unit)
{
	writer_key_open(w, key, '{');
	writer_key_str(w, "type", type);
	writer_key_str(w, "unit", unit);
	writer_close(w, '}');
}

static void
types_put(struct writer *w, const struct type *t, bool present)
{
	const char *unit = unit_of_type(t->name, t->unit, NULL);
	struct typeid id;

	typeid_of(&id, t->name, unit);
	writer_open(w, '{');
	writer_key_str(w, "name", t->name);
	writer_key_str(w, "title", t->title);
	writer_key_str(w, "unit", unit);
	writer_key_str(w, "kind", series_kind_name(t->kind));
	writer_key(w, "time");
	writer_bool(w, unit_is_time(unit));
	writer_key_str(w, "source", types_source_name(t->source));
	writer_key_str(w, "pyroscope", id.text);
	types_put_pair(w, "pprof", id.type, id.unit);
	types_put_pair(w, "period", id.period_type, id.period_unit);
	writer_key(w, "present");
	writer_bool(w, present);
	types_put_parts(w, t);
	types_put_idle(w, t);
	writer_close(w, '}');
}

static int
types_compare(const void *a, const void *b, void *all)
{
	const char *x = intern_str(all, *(const uint32_t *)a);
	const char *y = intern_str(all, *(const uint32_t *)b);
	int order = strcmp(x + 1 + strlen(x + 1) + 1,
	    y + 1 + strlen(y + 1) + 1);

	return order != 0 ? order
	                  : intern_compare(all, *(const uint32_t *)a,
	                        *(const uint32_t *)b);
}

/* What has no row in the table, by name. */
static void
types_put_others(struct writer *w, struct types_held *h)
{
	uint32_t *order = malloc((h->all.n + 1) * sizeof(*order));

	h->failed |= order == NULL;
	for (uint32_t i = 0; i < h->all.n && !h->failed; i++)
		order[i] = i;
	if (!h->failed)
		qsort_r(order, h->all.n, sizeof(*order), types_compare,
		    &h->all);
	for (uint32_t i = 0; i < h->all.n && !h->failed; i++) {
		const char *text = intern_str(&h->all, order[i]);
		const char *unit = text + 1;
		const struct type other = types_other(
		    unit + strlen(unit) + 1, unit, (enum series_kind)*text);

		if (types_find(other.name) == NULL)
			types_put(w, &other, true);
	}
	free(order);
}

/* The rows of the table, then the others. */
static void
types_put_all(struct writer *w, struct types_held *h)
{
	writer_key_open(w, "types", '[');
	for (size_t i = 0; i < n_types; i++) {
		const struct buf *key = types_key(h, types[i].kind,
		    types[i].name, types[i].unit);

		types_put(w, &types[i], intern_find(&h->all, key->data,
		    key->len) != INTERN_NONE);
	}
	types_put_others(w, h);
	writer_close(w, ']');
}

const struct err *
api_types(struct context *c, struct request *rq, struct response *rs)
{
	struct writer w = writer_of(&rs->body);
	struct types_held h = {0};
	struct store_extent extent;
	struct store *s;
	const struct err *e;

	(void)rq;
	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	e = store_each_type(s, types_take, &h);
	if (e == NULL && !h.failed) {
		writer_open(&w, '{');
		partial_put_state(&w, s, extent.from_ns, extent.until_ns);
		types_put_all(&w, &h);
		writer_close(&w, '}');
	}
	if (e == NULL && h.failed)
		e = err_nomem();
	buf_fini(&h.key);
	intern_fini(&h.all);
	return e;
}
