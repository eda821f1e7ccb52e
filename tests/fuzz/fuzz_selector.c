/*
 * Selectors, and the patterns of focus and ignore.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/flame/flame.h"
#include "store/model/series.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
match(const struct selector *s)
{
	static const struct label labels[] = {{"pool", "worker-1"},
	    {"service", "kv"}};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010, 0,
	    &labels[1], 1};

	selector_match_series(s, &d);
	selector_match_stack(s, &d, labels, 2);
	selector_equals(s, "service");
}

static void
focus(const char *pattern)
{
	struct profile_node nodes[] = {
	    {"", "", FRAME_MARK, 0, 0, 0, 0, 3},
	    {"main", "prog", FRAME_NATIVE, 1, 0, 0, 1, 3},
	    {"read", "libc.so.6", FRAME_NATIVE, 2, 1, 0, 2, 2},
	};
	struct profile p = {.nodes = nodes, .n_nodes = 3, .period = 1};
	struct flame_options o = {
	    .max_nodes = -1, .focus = pattern, .other = "(other)"
	};
	struct flame *f;

	flame_new(&f, &p, &o);
	flame_free(f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct selector *s;

	if (text == NULL || size > 200) {
		free(text);
		return 0;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	if (selector_parse(text, &s) == NULL)
		match(s);
	selector_free(s);
	focus(text);
	free(text);
	return 0;
}
