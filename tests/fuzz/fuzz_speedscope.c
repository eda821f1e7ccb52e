/* speedscope's files: any bytes are read or refused, in bounded time. */
#include <stdint.h>
#include <stdlib.h>

#include "fcgi/format/in/speedscope.h"
#include "fcgi/format/stacks.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	if (s == NULL)
		return 0;
	(void)speedscope_looks((const char *)data, n);
	if (speedscope_parse(s, data, n) == NULL) {
		for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
			for (uint32_t t = 0; t < stacks_n_types(s); t++) {
				if (stacks_value(s, i, t) < 0)
					abort();
			}
		}
	}
	stacks_free(s);
	return 0;
}
