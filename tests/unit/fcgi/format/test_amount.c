/*
 * Amounts for people: one rule for pictures, pages, tables and commands.
 */
#include <string.h>

#include "fcgi/format/amount.h"
#include "store/store.h"
#include "tests/unit/test.h"

TEST(what_a_number_is_called)
{
	static const struct {
		const char *unit, *called;
		bool sampled;
		const char *word;
		bool counted, time, bytes;
	} cases[] = {
	    {"nanoseconds", NULL, true, "samples", true, true, false},
	    {"nanoseconds", NULL, false, "ns", false, true, false},
	    {"nanoseconds", "waits", true, "waits", true, true, false},
	    {"bytes", NULL, true, "bytes", false, false, true},
	    {"bytes", "pages", false, "pages", false, false, false},
	    {"count", NULL, false, "count", false, false, false},
	    {"samples", NULL, true, "samples", true, false, false},
	    {"furlongs", NULL, true, "furlongs", false, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct amount a = amount_of(cases[i].unit, cases[i].called,
		    cases[i].sampled);

		CHECK_STR(a.word, cases[i].word);
		CHECK_INT(a.n_word, strlen(a.word));
		CHECK(a.counted == cases[i].counted);
		CHECK(a.time == cases[i].time);
		CHECK(a.bytes == cases[i].bytes);
	}
}

static const char *
told(const char *unit, int128 v, const struct profile_samples *samples)
{
	static char text[200];
	struct buf b = {0};

	amount_put(&b, unit, v, samples);
	buf_put_u8(&b, 0);
	snprintf(text, sizeof(text), "%s", (const char *)b.data);
	buf_fini(&b);
	return text;
}

TEST(a_whole_amount)
{
	struct profile_samples some = {.total = 1234},
	    least = {.total = 1234, .total_unknown = 5};

	CHECK_STR(told("nanoseconds", 12464600000, &some),
	    "12.465 s, 1,234 samples");
	CHECK_STR(told("nanoseconds", 499999, NULL), "0 s");
	CHECK_STR(told("bytes", 1234567, NULL), "1,234,567 bytes");
	CHECK_STR(told("count", 77, &least),
	    "77 count, at least 1,234 samples");
	least.total = 0;
	CHECK_STR(told("count", 0, &least), "0 count");
	CHECK_STR(told("samples", 1234, &some), "1,234 samples");
	CHECK_STR(told("bytes", -((int128)1 << 70), NULL),
	    "-1,180,591,620,717,411,303,424 bytes");
}

static const char *
put(char *(*fn)(char *, int128), int128 v)
{
	static char text[AMOUNT_MAX];

	*fn(text, v) = '\0';
	return text;
}

TEST(bytes_have_three_digits_and_seconds_all)
{
	CHECK_STR(put(amount_put_bytes, 0), "0 B");
	CHECK_STR(put(amount_put_bytes, 999), "999 B");
	CHECK_STR(put(amount_put_bytes, 1000), "1 kB");
	CHECK_STR(put(amount_put_bytes, 1234567), "1.23 MB");
	CHECK_STR(put(amount_put_bytes, 12345678), "12.3 MB");
	CHECK_STR(put(amount_put_bytes, 999600000), "1 GB");
	CHECK_STR(put(amount_put_bytes, (int128)5e18), "5,000 PB");
	CHECK_STR(put(amount_put_seconds, 12464600000), "12.465 s");
	CHECK_STR(put(amount_put_seconds, 0), "0 s");
}

TEST(a_column_of_time_is_in_milliseconds)
{
	int64_t divisor;

	CHECK_STR(amount_column("nanoseconds", &divisor), "ms");
	CHECK_INT(divisor, 1000000);
	CHECK_STR(amount_column("bytes", &divisor), "bytes");
	CHECK_INT(divisor, 1);
}

int
main(void)
{
	RUN(what_a_number_is_called);
	RUN(a_whole_amount);
	RUN(bytes_have_three_digits_and_seconds_all);
	RUN(a_column_of_time_is_in_milliseconds);
	return test_done();
}
