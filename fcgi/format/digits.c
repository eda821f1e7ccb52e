/*
 * Two digits at a time from a table: a division costs more than all else that a
 * writer does for a number.
 */
#include "fcgi/format/digits.h"

#include <math.h>
#include <string.h>

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324"
    "25262728293031323334353637383940414243444546474849"
    "50515253545556575859606162636465666768697071727374"
    "75767778798081828384858687888990919293949596979899";

/* How many digits v has: the bits times log10(2), and a look. */
static unsigned
digits_count(uint64_t v)
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
digits_put(char *p, uint64_t v)
{
	char *end = p + digits_count(v), *t = end;

	for (; v >= 100; v /= 100)
		t = memcpy(t - 2, &pairs[2 * (v % 100)], 2);
	if (v >= 10)
		memcpy(t - 2, &pairs[2 * v], 2);
	else
		t[-1] = (char)('0' + v);
	return end;
}

char *
digits_put_pair(char *p, unsigned v)
{
	return (char *)memcpy(p, &pairs[2 * v], 2) + 2;
}

/* Three digits, with zeros before. */
static char *
digits_put_three(char *p, unsigned v)
{
	*p++ = (char)('0' + v / 100);
	return digits_put_pair(p, v % 100);
}

static char *
digits_put_thousands(char *p, uint64_t v)
{
	unsigned groups[7], n = 0;

	for (; v >= 1000; v /= 1000)
		groups[n++] = (unsigned)(v % 1000);
	p = digits_put(p, v);
	while (n > 0) {
		*p++ = ',';
		p = digits_put_three(p, groups[--n]);
	}
	return p;
}

char *
digits_put_grouped(char *p, int128 v)
{
	const uint64_t many = 1000000000000000000; /* six groups */
	uint128 rest = v < 0 ? -(uint128)v : (uint128)v;

	if (v < 0)
		*p++ = '-';
	if (rest < many)
		return digits_put_thousands(p, (uint64_t)rest);
	p = digits_put_grouped(p, (int128)(rest / many));
	rest %= many;
	for (uint64_t unit = many / 1000; unit > 0; unit /= 1000) {
		*p++ = ',';
		p = digits_put_three(
		    p, (unsigned)((uint64_t)rest / unit % 1000));
	}
	return p;
}

/* Four digits behind a point, but for zeros at the end. */
static char *
digits_put_fraction(char *p, unsigned v)
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
digits_put_decimal(char *p, uint64_t v, unsigned digits)
{
	switch (digits) { /* constants divide by multiplying */
	case 4:
		return digits_put_fraction(digits_put(p, v / 10000),
		    (unsigned)(v % 10000));
	case 3:
		return digits_put_fraction(digits_put(p, v / 1000),
		    (unsigned)(v % 1000) * 10);
	case 2:
		return digits_put_fraction(digits_put(p, v / 100),
		    (unsigned)(v % 100) * 100);
	default:
		return digits_put_fraction(digits_put(p, v / 10),
		    (unsigned)(v % 10) * 1000);
	}
}

char *
digits_put_percent(char *p, int128 part, int128 whole)
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
