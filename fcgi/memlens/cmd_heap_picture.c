/*
 * A heap dump as a flame graph, one against another, and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flamebearer.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "fcgi/memlens/cmd_heap.h"
#include "store/base/err.h"
#include "store/store.h"

static const char *
heap_units(enum heap_type type)
{
	const char *unit = heap_type_of(type).unit;

	return strcmp(unit, "count") == 0 ? "objects" : unit;
}

static const struct flame_options whole = {.max_nodes = -1,
    .other = "(other)"};

static struct flamesvg_options
svg_options(enum heap_type type, const char *title)
{
	return (struct flamesvg_options){.title = heap_type_name(type),
	    .subtitle = title, .units = heap_units(type),
	    .empty = "nothing of this type", .width = 1200,
	    .min_width = 0.1};
}

/* The type as a tree; one that a dump has nothing of is empty. */
static const struct err *
heap_profile(const struct heap *h, enum heap_type type, struct profile **out)
{
	const struct stacks_type t = heap_type_of(type);
	struct stacks *s = stacks_new(&stacks_limits_file);
	const struct err *e = s == NULL ? err_nomem() : heap_put(h, s);

	for (size_t i = 0; e == NULL && i < stacks_n_skipped(s); i++) {
		struct stacks_skipped skipped;

		stacks_get_skipped(s, i, &skipped);
		fprintf(stderr, "memlens heap: left out: %" PRIu64 " %s\n",
		    skipped.n, skipped.why);
	}
	if (e == NULL)
		e = stacks_profile(s, stacks_type(s, &t), out);
	stacks_free(s);
	return e;
}

static const struct err *
svg_single(const struct profile *p, enum heap_type type, const char *title,
    struct buf *out)
{
	struct flamesvg_options o = svg_options(type, title);
	struct flame *f = NULL;
	const struct err *e = flame_new(&f, p, &whole);

	if (e == NULL && !flamesvg_put(out, f, &o))
		e = err_nomem();
	flame_free(f);
	return e;
}

/* Bytes against bytes: a heap that has grown is wider, not only other. */
static const struct err *
svg_pair(const struct profile *base, const struct profile *p,
    enum heap_type type, const char *title, struct buf *out)
{
	struct flamesvg_options o = svg_options(type, title);
	struct flamesvg_pair pair = {.weight = {1, 1},
	    .words = "A is the base, B what came of it; amounts as they are."};
	struct diff *d = NULL;
	struct flame *f = NULL;
	const struct err *e = diff_new(&d, base, p);

	if (e == NULL)
		e = flamesvg_diff_flame(&f, d, &pair, &whole);
	if (e == NULL && !flamesvg_put_diff(out, d, f, &pair, &o))
		e = err_nomem();
	flame_free(f);
	diff_free(d);
	return e;
}

const struct err *
cmd_heap_svg(const struct heap *h, const struct heap *base,
    enum heap_type type, const char *title, struct buf *out)
{
	struct profile *p = NULL, *q = NULL;
	const struct err *e = heap_profile(h, type, &p);

	if (e == NULL && base != NULL)
		e = heap_profile(base, type, &q);
	if (e == NULL)
		e = base == NULL ? svg_single(p, type, title, out)
		    : svg_pair(q, p, type, title, out);
	profile_free(p);
	profile_free(q);
	return e;
}

static const struct err *
put_json(const struct flame *f, enum heap_type type, struct buf *out)
{
	struct writer w = writer_of(out);

	writer_open(&w, '{');
	writer_key_int(&w, "version", 1);
	if (!flamebearer_put(&w, f))
		return err_nomem();
	writer_key_open(&w, "metadata", '{');
	writer_key_str(&w, "format", "single");
	writer_key_str(&w, "name", heap_type_name(type));
	writer_key_str(&w, "units", heap_units(type));
	writer_key_int(&w, "sampleRate", 100);
	writer_close(&w, '}');
	writer_close(&w, '}');
	buf_put_u8(out, '\n');
	return NULL;
}

const struct err *
cmd_heap_json(const struct heap *h, enum heap_type type, struct buf *out)
{
	struct profile *p = NULL;
	struct flame *f = NULL;
	const struct err *e = heap_profile(h, type, &p);

	if (e == NULL)
		e = flame_new(&f, p, &whole);
	if (e == NULL)
		e = put_json(f, type, out);
	flame_free(f);
	profile_free(p);
	return e;
}
