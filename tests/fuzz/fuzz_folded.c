/*
 * Folded text, whole, in two pieces, its stacks one by one or together as those
 * of large trees are, and written again: the sums stay.  With two counts a line
 * it has both types or none.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/folded_pair.h"
#include "fcgi/format/out/stacks_folded.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct stacks_limits limits = {
    .nodes = 1u << 16, .bytes = 1u << 20, .depth = 500, .labels = 16
};

static int64_t
sum(const struct stacks *s)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < stacks_n_nodes(s); i++)
		total += stacks_value(s, i, 0);
	return total;
}

static const struct err *
keep(void *arg, struct buf *out)
{
	buf_put(arg, out->data, out->len);
	buf_clear(out);
	return NULL;
}

static void
again(const struct stacks *s)
{
	struct stacks *t = stacks_new(&limits);
	struct buf text = {0};

	if (stacks_put_folded(s, 0, false, keep, &text) != NULL)
		abort();
	/* longer names may not fit any more */
	if (folded_parse(t, text.data, text.len, NULL) == NULL &&
	    sum(t) != sum(s))
		abort();
	buf_fini(&text);
	stacks_free(t);
}

static void
pair(const uint8_t *data, size_t n)
{
	struct stacks *s = stacks_new(&limits);

	(void)folded_pair_looks((const char *)data, n);
	if (folded_pair_parse(s, data, n) == NULL &&
	    stacks_n_types(s) != 2)
		abort();
	stacks_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stacks *whole = stacks_new(&limits);
	struct stacks *parts = stacks_new(&limits);
	struct stacks *lines = stacks_new(&limits);
	struct folded *f = folded_new(parts, NULL);
	size_t cut = n > 0 ? data[0] % (n + 1) : 0, used;
	const struct err *a, *b;

	folded_together(f, n > 0 && data[n - 1] & 1 ? SIZE_MAX : 0);
	a = folded_parse(whole, data, n, NULL);
	used = folded_feed(f, (const char *)data, cut, false);
	folded_feed(f, (const char *)data + used, n - used, true);
	b = folded_finish(f);
	if ((a == NULL) != (b == NULL))
		abort();
	if (a == NULL && (sum(whole) != sum(parts) ||
	    stacks_n_nodes(whole) != stacks_n_nodes(parts)))
		abort();
	if (a == NULL)
		again(whole);
	(void)folded_parse_lines(lines, data, n, NULL);
	pair(data, n);
	stacks_free(whole);
	stacks_free(parts);
	stacks_free(lines);
	return 0;
}
