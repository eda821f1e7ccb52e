/*
 * Decimal kilobytes, and milliseconds, rounded.
 */
#include "fcgi/format/amount.h"

#include <math.h>
#include <string.h>

#include "fcgi/format/digits.h"
#include "fcgi/format/writer.h"
#include "store/base/clock.h"
#include "store/model/unit.h"
#include "store/store.h"

/* Samples say more of a time than its nanoseconds do. */
struct amount
amount_of(const char *unit, const char *called, bool sampled)
{
	struct amount a = {.time = unit_is_time(unit),
	    .bytes = unit_is_bytes(unit) && called == NULL};

	a.counted = sampled && (a.time || strcmp(unit, "samples") == 0);
	a.word = called != NULL ? called : a.counted ? "samples"
	    : a.time ? "ns" : unit;
	a.n_word = strnlen(a.word, AMOUNT_WORD_MAX);
	return a;
}

char *
amount_put_word(char *p, const struct amount *a)
{
	return (char *)memcpy(p, a->word, a->n_word) + a->n_word;
}

char *
amount_put_bytes(char *p, int128 bytes)
{
	static const char units[][4] = {" B", " kB", " MB", " GB", " TB",
	    " PB"};
	double v = (double)bytes;
	size_t u = 0, n;

	while (u + 1 < sizeof(units) / sizeof(units[0]) && v >= 999.5) {
		v /= 1000;
		u++;
	}
	p = u == 0 || v >= 99.95
	    ? digits_put_grouped(p, (int128)llround(v)) : v >= 9.995
	    ? digits_put_decimal(p, (uint64_t)lround(v * 10), 1)
	    : digits_put_decimal(p, (uint64_t)lround(v * 100), 2);
	n = strlen(units[u]);
	return (char *)memcpy(p, units[u], n) + n;
}

/* Almost all numbers are small. */
char *
amount_put_seconds(char *p, int128 ns)
{
	uint64_t ms = ns >> 62 == 0
	    ? ((uint64_t)ns + NS_PER_MS / 2) / NS_PER_MS
	    : (uint64_t)((ns + NS_PER_MS / 2) / NS_PER_MS);

	return (char *)memcpy(digits_put_decimal(p, ms, 3), " s", 2) + 2;
}

void
amount_put(struct buf *out, const char *unit, int128 v,
    const struct profile_samples *samples)
{
	if (unit_is_time(unit)) {
		/* nobody reads nanoseconds */
		writer_put_decimal(out, (v + NS_PER_MS / 2) / NS_PER_MS, 3);
		buf_printf(out, " s");
	} else {
		writer_put_grouped(out, v);
		buf_printf(out, " %s", unit);
	}
	/* That there are 0 or more says nothing. */
	if (samples != NULL && samples->total == 0 &&
	    samples->total_unknown != 0)
		return;
	if (samples != NULL && strcmp(unit, "samples") != 0) {
		buf_printf(out, samples->total_unknown != 0 ? ", at least "
							    : ", ");
		writer_put_grouped(out, samples->total);
		buf_printf(out, " samples");
	}
}

const char *
amount_column(const char *unit, int64_t *divisor)
{
	bool time = unit_is_time(unit);

	*divisor = time ? NS_PER_MS : 1;
	return time ? "ms" : unit;
}
