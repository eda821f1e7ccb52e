/*
 * The API's language of time.
 */
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define NOW (INT64_C(1700000000) * NS_PER_S)

/* Nanoseconds, or -1 for an error. */
static int64_t
at(const char *text)
{
	int64_t ns;

	return timespec_parse(text, NOW, &ns) == NULL ? ns : -1;
}

static int64_t
span(const char *text)
{
	int64_t ns;

	return timespec_parse_duration(text, &ns) == NULL ? ns : -1;
}

TEST(relative)
{
	CHECK_INT(at("now"), NOW);
	CHECK_INT(at("now-90s"), NOW - 90 * NS_PER_S);
	CHECK_INT(at("now-1h"), NOW - 3600 * NS_PER_S);
	CHECK_INT(at("now-7d"), NOW - 7 * 86400 * NS_PER_S);
	CHECK_INT(at("now-3h30m"), NOW - 12600 * NS_PER_S);
	CHECK_INT(at("now-250ms"), NOW - 250 * NS_PER_MS);
	CHECK_INT(at("now-200y"), 0);
}

TEST(digits_tell_the_unit)
{
	CHECK_INT(at("0"), 0);
	CHECK_INT(at("1700000000"), NOW);
	CHECK_INT(at("1700000000123"), NOW + 123 * NS_PER_MS);
	CHECK_INT(at("1700000000123456"), NOW + 123456000);
	CHECK_INT(at("1700000000123456789"), NOW + 123456789);
	CHECK_INT(at("1700000000.5"), NOW + 500 * NS_PER_MS);
	CHECK_INT(at("1700000000.1234567899"), NOW + 123456789);
	CHECK_INT(at("1700000000000.5"), NOW + 500000);
}

TEST(dates)
{
	CHECK_INT(at("1970-01-01T00:00:00Z"), 0);
	CHECK_INT(at("2023-11-14T22:13:20Z"), NOW);
	CHECK_INT(at("2023-11-14T23:13:20+01:00"), NOW);
	CHECK_INT(at("2023-11-14T23:13:20 01:00"), NOW);
	CHECK_INT(at("2023-11-14 14:13:20.25-08:00"), NOW + 250 * NS_PER_MS);
	CHECK_INT(at("2024-02-29T12:00:00z"), INT64_C(1709208000) * NS_PER_S);
	CHECK_INT(at("2016-12-31T23:59:60Z"), INT64_C(1483228800) * NS_PER_S);
	CHECK_INT(at("2000-03-01T00:00:00Z"), INT64_C(951868800) * NS_PER_S);
}

TEST(what_is_no_time)
{
	static const char *const bad[] = {"", "soon", "now+1h", "now-", "now-1",
	    "now-1x", "now-h", "now -1h", "-5", "1e9", "0x10", "1700000000.",
	    "17000000000000000000", "99999999999", "2023-02-29T00:00:00Z",
	    "2023-13-01T00:00:00Z", "2023-00-01T00:00:00Z",
	    "2023-11-14T24:00:00Z", "2023-11-14T22:13:20",
	    "2023-11-14T22:13:20Zx", "2023-11-14", "2023-11-14T22:13:20+25:00",
	    "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01",
	    "2300-01-01T00:00:00Z", "now-99999999999999999999s",
	    "now-9999999999y", "2023-", "2023-1-1T00:00:00Z"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (at(bad[i]) != -1)
			printf("# accepted: %s\n", bad[i]);
		CHECK_INT(at(bad[i]), -1);
	}
}

TEST(errors_name_the_byte)
{
	int64_t ns;

	CHECK_STR(timespec_parse("now-5q", NOW, &ns)->text, "no unit (ms, s, "
	    "m, h, d, w or y) at byte 5 of \"now-5q\"");
	CHECK_INT(timespec_parse("now-5q", NOW, &ns)->code, 400);
}

TEST(durations)
{
	CHECK_INT(span("10s"), 10 * NS_PER_S);
	CHECK_INT(span("1m30s"), 90 * NS_PER_S);
	CHECK_INT(span("15"), 15 * NS_PER_S);
	CHECK_INT(span("0.5"), 500 * NS_PER_MS);
	CHECK_INT(span("20ms"), 20 * NS_PER_MS);
	CHECK_INT(span("0"), -1);
	CHECK_INT(span("0s"), -1);
	CHECK_INT(span(""), -1);
	CHECK_INT(span("-5s"), -1);
	/* what a slot is added to must not overflow */
	CHECK_INT(span("8800000000"), TIMESPEC_MAX);
	CHECK_INT(span("9223372036s"), -1);
	CHECK_INT(span("213504d"), -1);
	CHECK_INT(span("292y292y"), -1);
	CHECK_INT(at("now-213504d"), -1);
	CHECK_INT(at("9223372036854775807"), TIMESPEC_MAX);
	CHECK_INT(span("1.5h"), -1);
}

int
main(void)
{
	RUN(relative);
	RUN(digits_tell_the_unit);
	RUN(dates);
	RUN(what_is_no_time);
	RUN(errors_name_the_byte);
	RUN(durations);
	return test_done();
}
