/*
 * Flight recordings, with labels made of their end.
 */
#include <stdint.h>

#include "fcgi/format/jfr/jfr.h"
#include "fcgi/format/stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stacks_limits limits = {20000, 1 << 20, 200, 100};
	struct jfr_options o = {0};
	struct stacks *s = stacks_new(&limits);

	if (s == NULL)
		return 0;
	if (size > 0 && data[size - 1] & 1) {
		o.n_labels = size < 100 ? size : 100;
		o.labels = data + size - o.n_labels;
	}
	(void)jfr_parse_as(s, data, size, &o);
	stacks_free(s);
	return 0;
}
