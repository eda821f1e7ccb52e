/*
 * Numbers as a picture writes them: no printf, no allocation.
 */
#include <math.h>

#include "flamesvg_private.h"

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

char *
svg_int(char *p, uint64_t v)
{
	char text[20], *t = text + sizeof(text);
	size_t n;

	for (; v >= 100; v /= 100)
		t = memcpy(t - 2, &pairs[2 * (v % 100)], 2);
	if (v >= 10)
		t = memcpy(t - 2, &pairs[2 * v], 2);
	else
		*--t = (char)('0' + v);
	n = (size_t)(text + sizeof(text) - t);
	memcpy(p, t, n);
	return p + n;
}

char *
svg_grouped(char *p, int128 v)
{
	char text[56], *t = text + sizeof(text);
	uint128 rest = v < 0 ? -(uint128)v : (uint128)v;
	size_t n, digits = 0;

	do {
		if (digits > 0 && digits % 3 == 0)
			*--t = ',';
		if (rest <= UINT64_MAX) {
			uint64_t low = (uint64_t)rest;

			*--t = (char)('0' + low % 10);
			rest = low / 10;
		} else {
			*--t = (char)('0' + (int)(rest % 10));
			rest /= 10;
		}
		digits++;
	} while (rest > 0);
	if (v < 0)
		*--t = '-';
	n = (size_t)(text + sizeof(text) - t);
	memcpy(p, t, n);
	return p + n;
}

char *
svg_decimal(char *p, uint64_t v, unsigned digits)
{
	uint64_t factor = 1, fraction;

	for (unsigned i = 0; i < digits; i++)
		factor *= 10;
	p = svg_int(p, v / factor);
	fraction = v % factor;
	if (fraction == 0)
		return p;
	*p++ = '.';
	while (fraction > 0) {
		factor /= 10;
		*p++ = (char)('0' + fraction / factor);
		fraction %= factor;
	}
	return p;
}

char *
svg_percent(char *p, int128 part, int128 whole)
{
	uint64_t n;

	if (whole < (int128)1 << 49)
		n = ((uint64_t)part * 10000 + (uint64_t)whole / 2) /
		    (uint64_t)whole;
	else
		n = (uint64_t)llround((double)part / (double)whole * 10000);
	p = svg_int(p, n / 100);
	*p++ = '.';
	memcpy(p, &pairs[2 * (n % 100)], 2);
	p[2] = '%';
	return p + 3;
}
