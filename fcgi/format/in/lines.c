/*
 * What folded.c does, without the counts.
 */
#include "fcgi/format/in/lines.h"

#include <string.h>

#include "fcgi/format/in/folded.h"
#include "store/base/err.h"

const struct err *
lines_parse(struct stacks *s, const void *data, size_t n,
    const struct stacks_type *type)
{
	struct folded *f = folded_new_lines(s, type);

	if (f == NULL)
		return err_nomem();
	if (n > 0)
		folded_feed(f, data, n, true);
	return folded_finish(f);
}

bool
lines_looks(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return n > 0 && *p != '{' && memchr(p, ';', n) != NULL;
}
