/*
 * Runs of plain bytes are copied as they are.
 */
#include "fcgi/format/folded_name.h"

#include <string.h>

#include "store/base/buf.h"
#include "store/base/text.h"

static bool
folded_is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != ';';
}

void
folded_put_name(struct buf *out, const char *name, bool begins)
{
	size_t left = strlen(name), n;

	if (begins && *name == '#') {
		buf_put_u8(out, ':');
		name++;
		left--;
	}
	for (; left > 0; name += n, left -= n) {
		uint32_t code;

		for (n = 0; n < left && folded_is_plain(name[n]);)
			n++;
		if (n > 0) {
			buf_put(out, name, n);
			continue;
		}
		n = text_utf8(name, left);
		code = text_acts(name, n);
		n = n > 0 ? n : 1;
		if (strchr(";\n\r", *name) != NULL)
			buf_put_u8(out, ':');
		else if (code != 0)
			buf_printf(out, "\\u%04x", (unsigned)code);
		else
			buf_put(out, name, n);
	}
}
