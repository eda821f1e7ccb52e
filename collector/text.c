/*
 * Cleaning of foreign names, in place.
 */
#include "text.h"

#include <stdint.h>

/* The lowest code point that needs 2, 3, 4 bytes: shorter forms lie. */
static const uint32_t lowest[5] = {0, 0, 0x80, 0x800, 0x10000};

/* Length of the well-formed UTF-8 sequence at p, or 0. */
static int
text_sequence(const unsigned char *p)
{
	int n = p[0] < 0x80 ? 1 : (p[0] & 0xe0) == 0xc0 ? 2 :
	    (p[0] & 0xf0) == 0xe0 ? 3 : (p[0] & 0xf8) == 0xf0 ? 4 : 0;
	uint32_t c;
	int i;

	if (n == 0)
		return 0;
	if (n == 1)
		return p[0] >= 0x20 && p[0] != 0x7f;
	c = p[0] & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ||
	    (c >= 0x80 && c < 0xa0))
		return 0;
	return n;
}

void
text_clean(char *s)
{
	int n;

	while (*s != '\0') {
		n = text_sequence((const unsigned char *)s);
		if (n == 0) {
			*s = '?';
			n = 1;
		}
		s += n;
	}
}
