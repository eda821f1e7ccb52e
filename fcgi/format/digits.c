/*
 * Two digits at a time from a table: a division costs more than all else that a
 * writer does for a number.
 */
#include "fcgi/format/digits.h"

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
