/*
 * Numbers as a picture writes them: no printf, no allocation.
 */
#include <math.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/flame/flamesvg_private.h"

/* Three digits, with zeros before. */
static char *
number_group(char *p, unsigned v)
{
	*p++ = (char)('0' + v / 100);
	return digits_put_pair(p, v % 100);
}

static char *
number_grouped(char *p, uint64_t v)
{
	unsigned groups[7], n = 0;

	for (; v >= 1000; v /= 1000)
		groups[n++] = (unsigned)(v % 1000);
	p = digits_put(p, v);
	while (n > 0) {
		*p++ = ',';
		p = number_group(p, groups[--n]);
	}
	return p;
}

char *
svg_grouped(char *p, int128 v)
{
	const uint64_t many = 1000000000000000000; /* six groups */
	uint128 rest = v < 0 ? -(uint128)v : (uint128)v;

	if (v < 0)
		*p++ = '-';
	if (rest < many)
		return number_grouped(p, (uint64_t)rest);
	p = svg_grouped(p, (int128)(rest / many));
	rest %= many;
	for (uint64_t unit = many / 1000; unit > 0; unit /= 1000) {
		*p++ = ',';
		p = number_group(p, (unsigned)((uint64_t)rest / unit % 1000));
	}
	return p;
}

/* Four digits behind a point, but for zeros at the end. */
static char *
number_fraction(char *p, unsigned v)
{
	if (v == 0)
		return p;
	*p++ = '.';
	p = digits_put_pair(digits_put_pair(p, v / 100), v % 100);
	while (p[-1] == '0')
		p--;
	return p;
}

char *
svg_decimal(char *p, uint64_t v, unsigned digits)
{
	switch (digits) { /* constants divide by multiplying */
	case 4:
		return number_fraction(digits_put(p, v / 10000),
		    (unsigned)(v % 10000));
	case 3:
		return number_fraction(digits_put(p, v / 1000),
		    (unsigned)(v % 1000) * 10);
	case 2:
		return number_fraction(digits_put(p, v / 100),
		    (unsigned)(v % 100) * 100);
	default:
		return number_fraction(digits_put(p, v / 10),
		    (unsigned)(v % 10) * 1000);
	}
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
	p = digits_put(p, n / 100);
	*p++ = '.';
	p = digits_put_pair(p, (unsigned)(n % 100));
	*p++ = '%';
	return p;
}
