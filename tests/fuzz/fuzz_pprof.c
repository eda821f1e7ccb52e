/*
 * pprof, gzip around it or not, and what our writer makes of what was read.
 */
#include <stdlib.h>

#include "fcgi/format/pprof/pprof.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct stacks_limits limits = {20000, 1 << 20, 200, 100};
	struct pprof_options o = {.max_bytes = 1 << 20};
	struct stacks *s = stacks_new(&limits), *again;
	struct profile *p = NULL;
	struct buf out = {0};

	if (s == NULL)
		return 0;
	if (pprof_parse_as(s, data, size, &o) == NULL &&
	    stacks_profile(s, 0, &p) == NULL &&
	    pprof_write(&out, p, "cpu", false, NULL, NULL) == NULL) {
		/* what we write we can read */
		again = stacks_new(&stacks_limits_file);
		if (pprof_parse(again, out.data, out.len) != NULL)
			abort();
		stacks_free(again);
	}
	buf_fini(&out);
	profile_free(p);
	stacks_free(s);
	return 0;
}
