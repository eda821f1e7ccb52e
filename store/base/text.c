/*
 * What is fit to be shown.
 */
#include "store/base/text.h"

#include <string.h>

#include "store/base/buf.h"

size_t
text_utf8(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len;

	if (n == 0 || p[0] < 0x80)
		return n != 0;
	len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

uint32_t
text_acts(const char *s, size_t len)
{
	static const struct {
		uint32_t first, last;
	} table[] = {
	    {0x01, 0x1f}, {0x7f, 0x9f}, {0x061c, 0x061c}, {0x200e, 0x200f},
	    {0x200b, 0x200b}, {0x2028, 0x202e}, {0x2060, 0x2060},
	    {0x2066, 0x2069}, {0xfeff, 0xfeff},
	};
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c = len == 1 ? p[0] : len == 2
	    ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu) : len == 3
	    ? (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu) : 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (c >= table[i].first && c <= table[i].last)
			return c;
	return 0;
}

bool
text_is_none(const char *s, size_t len)
{
	return len == 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
	    (unsigned char)s[2] >= 0xbe;
}

void
text_clean(char *s)
{
	size_t left = strlen(s), n;

	for (; left > 0; s += n, left -= n) {
		n = text_utf8(s, left);
		if (n == 0 || text_acts(s, n) != 0) {
			*s = '?';
			n = 1;
		}
	}
}

void
text_show(char *out, size_t room, const char *s)
{
	size_t left = strlen(s), at = 0, len, n;
	char one[8];

	for (; left > 0; s += len, left -= len, at += n) {
		uint32_t code;

		len = text_utf8(s, left);
		code = len > 0 ? text_acts(s, len) : (unsigned char)*s;
		n = len;
		if (len == 0 || (code != 0 && code < 0x80))
			n = (size_t)snprintf(one, sizeof(one), "\\x%02x", code);
		else if (code != 0)
			n = (size_t)snprintf(one, sizeof(one), "\\u%04x", code);
		if (at + n >= room)
			break;
		memcpy(out + at, n == len && code == 0 ? s : one, n);
		len = len > 0 ? len : 1;
	}
	out[at] = '\0';
}

void
text_put(struct buf *out, const char *s, size_t n)
{
	size_t len;

	for (; n > 0; s += len, n -= len) {
		uint32_t code;

		for (len = 0; len < n && s[len] >= 0x20 && s[len] < 0x7f;)
			len++;
		if (len > 0) {
			buf_put(out, s, len);
			continue;
		}
		len = text_utf8(s, n);
		code = text_acts(s, len);
		if (len == 0)
			buf_put(out, "\xef\xbf\xbd", 3);
		else if (code != 0)
			buf_printf(out, "\\u%04x", (unsigned)code);
		else
			buf_put(out, s, len);
		len = len > 0 ? len : 1;
	}
}

void
text_print(FILE *out, const char *s)
{
	struct buf b = {0};

	text_put(&b, s, strlen(s));
	fwrite(b.data, 1, b.failed ? 0 : b.len, out);
	buf_fini(&b);
}
