/*
 * Pictures of any stacks: two folded texts, split at the first NUL, with
 * options from the first byte, as one picture and as a difference.  The mass
 * stays, and what comes out is UTF-8 without control characters.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/flamesvg.h"
#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct stacks_limits limits = {
    .nodes = 1u << 12, .bytes = 1u << 18, .depth = 200, .labels = 16
};

static void
check_xml(const struct buf *b)
{
	if (!writer_utf8_valid((const char *)b->data, b->len))
		abort();
	for (size_t i = 0; i < b->len; i++)
		if (b->data[i] < 0x20 && b->data[i] != '\n')
			abort();
}

static void
check_mass(const struct flame *f)
{
	const struct flame_frame *a;
	struct flame_walk w;
	int128 self = 0;

	if (!flame_walk_init(&w, f))
		abort();
	while ((a = flame_walk_next(&w)) != NULL)
		self += a->self;
	flame_walk_fini(&w);
	if (self != f->total)
		abort();
}

static void
draw(struct stacks *s, const struct flame_options *o,
    const struct flamesvg_options *svg)
{
	struct flame *f = NULL;
	struct buf out = {0};

	stacks_type(s, &folded_samples);
	if (flame_new_stacks(&f, s, 0, o) == NULL) {
		check_mass(f);
		if (!flamesvg_put(&out, f, svg))
			abort();
		check_xml(&out);
	}
	buf_fini(&out);
	flame_free(f);
}

static void
draw_pair(const struct stacks *a, const struct stacks *b,
    const struct flamesvg_options *svg, bool by_b)
{
	struct flame_options all = {.max_nodes = -1, .other = "(other)"};
	struct flamesvg_pair pair = {.weight = {0.5, 1}, .words = "",
	    .by_b = by_b};
	struct profile *pa = NULL, *pb = NULL;
	struct diff *d = NULL;
	struct flame *f = NULL;
	struct buf out = {0};

	if (stacks_profile(a, 0, &pa) != NULL ||
	    stacks_profile(b, 0, &pb) != NULL ||
	    diff_new(&d, pa, pb) != NULL ||
	    flamesvg_diff_flame(&f, d, &pair, &all) != NULL ||
	    !flamesvg_put_diff(&out, d, f, &pair, svg))
		abort();
	check_xml(&out);
	buf_fini(&out);
	flame_free(f);
	diff_free(d);
	profile_free(pa);
	profile_free(pb);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t bits = n > 0 ? data[0] : 0;
	struct flame_options o = {.max_nodes = bits & 1 ? 3 : -1,
	    .min_share = bits & 2 ? 0.2 : 0, .reverse = bits & 4,
	    .by_module = bits & 8, .focus = bits & 16 ? "a" : NULL,
	    .other = "(other)"};
	struct flamesvg_options svg = {.title = "t", .subtitle = "s",
	    .units = bits & 32 ? "bytes" : "samples", .empty = "",
	    .width = 400, .min_width = bits & 64 ? 30 : 0,
	    .upwards = bits & 128};
	struct stacks *a = stacks_new(&limits), *b = stacks_new(&limits);
	const uint8_t *zero = n > 1 ? memchr(data + 1, 0, n - 1) : NULL;
	size_t first = zero != NULL ? (size_t)(zero - data) : n;

	if (n > 1) {
		(void)foreign_guess(data, n);
		if (folded_parse(a, data + 1, first - 1, NULL) == NULL &&
		    folded_parse(b, data + first, n - first, NULL) == NULL) {
			stacks_type(a, &folded_samples);
			stacks_type(b, &folded_samples);
			draw_pair(a, b, &svg, bits & 32);
			draw(a, &o, &svg); /* which takes them */
			draw(b, &o, &svg);
		}
	}
	stacks_free(a);
	stacks_free(b);
	return 0;
}
