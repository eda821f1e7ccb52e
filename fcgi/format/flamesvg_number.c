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

/* How many digits v has: the bits times log10(2), and a look. */
static unsigned
number_digits(uint64_t v)
{
	static const uint64_t tens[] = {0, 10, 100, 1000, 10000, 100000,
	    1000000, 10000000, 100000000, 1000000000, 10000000000,
	    100000000000, 1000000000000, 10000000000000, 100000000000000,
	    1000000000000000, 10000000000000000, 100000000000000000,
	    1000000000000000000, 10000000000000000000u};
	unsigned n = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= tens[n]);
}

char *
svg_int(char *p, uint64_t v)
{
	char *end = p + number_digits(v), *t = end;

	for (; v >= 100; v /= 100)
		t = memcpy(t - 2, &pairs[2 * (v % 100)], 2);
	if (v >= 10)
		memcpy(t - 2, &pairs[2 * v], 2);
	else
		t[-1] = (char)('0' + v);
	return end;
}

/* Three digits, with zeros before. */
static char *
number_group(char *p, unsigned v)
{
	p[0] = (char)('0' + v / 100);
	memcpy(p + 1, &pairs[2 * (v % 100)], 2);
	return p + 3;
}

static char *
number_grouped(char *p, uint64_t v)
{
	unsigned groups[7], n = 0;

	for (; v >= 1000; v /= 1000)
		groups[n++] = (unsigned)(v % 1000);
	p = svg_int(p, v);
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
	*p = '.';
	memcpy(p + 1, &pairs[2 * (v / 100)], 2);
	memcpy(p + 3, &pairs[2 * (v % 100)], 2);
	for (p += 5; p[-1] == '0';)
		p--;
	return p;
}

char *
svg_decimal(char *p, uint64_t v, unsigned digits)
{
	switch (digits) { /* constants divide by multiplying */
	case 4:
		return number_fraction(svg_int(p, v / 10000),
		    (unsigned)(v % 10000));
	case 3:
		return number_fraction(svg_int(p, v / 1000),
		    (unsigned)(v % 1000) * 10);
	case 2:
		return number_fraction(svg_int(p, v / 100),
		    (unsigned)(v % 100) * 100);
	default:
		return number_fraction(svg_int(p, v / 10),
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
	p = svg_int(p, n / 100);
	*p++ = '.';
	memcpy(p, &pairs[2 * (n % 100)], 2);
	p[2] = '%';
	return p + 3;
}
