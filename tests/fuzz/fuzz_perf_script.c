/*
 * perf script's text, whole and in two pieces: the same tree.
 */
#include <stdlib.h>

#include "fcgi/format/in/perf_script.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct stacks_limits limits = {
    .nodes = 1u << 16, .bytes = 1u << 20, .depth = 4096, .labels = 16
};

static int64_t
sum(const struct stacks *s)
{
	int64_t total = 0;

	for (uint32_t t = 0; t < stacks_n_types(s); t++)
		for (uint32_t i = 0; i < stacks_n_nodes(s); i++)
			total ^= stacks_value(s, i, t);
	return total;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stacks *whole = stacks_new(&limits);
	struct stacks *parts = stacks_new(&limits);
	struct perf_script *p = perf_script_new(parts, false);
	size_t cut = n > 0 ? data[n - 1] % (n + 1) : 0, used;
	const struct err *a, *b;

	a = perf_script_parse(whole, data, n);
	used = perf_script_feed(p, (const char *)data, cut, false);
	perf_script_feed(p, (const char *)data + used, n - used, true);
	b = perf_script_finish(p);
	if ((a == NULL) != (b == NULL))
		abort();
	if (a == NULL && (sum(whole) != sum(parts) ||
	    stacks_n_nodes(whole) != stacks_n_nodes(parts)))
		abort();
	(void)perf_script_parse_brief(whole, data, n);
	(void)perf_script_looks((const char *)data, n);
	stacks_free(whole);
	stacks_free(parts);
	return 0;
}
