/*
 * The writer: JSON and XML are well-formed whatever goes in, numbers exact.
 */
#include "fcgi/format/writer.h"
#include "tests/unit/test.h"

static struct buf out;
static struct writer w;

static void
begin(void)
{
	buf_clear(&out);
	w = writer_of(&out);
}

static const char *
text(void)
{
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

static const char *
quotient(int128 num, uint128 den, int scale)
{
	begin();
	writer_quotient(&w, num, den, scale);
	return text();
}

static const char *
decimal(int128 value, unsigned scale)
{
	begin();
	writer_decimal(&w, value, scale);
	return text();
}

static const char *
string(const char *s, size_t n)
{
	begin();
	writer_strn(&w, s, n);
	return text();
}

static const char *
xml(const char *s, size_t n)
{
	begin();
	writer_put_xml(&out, s, n);
	return text();
}

TEST(commas_come_by_themselves)
{
	begin();
	writer_open(&w, '{');
	writer_key(&w, "a");
	writer_int(&w, 1);
	writer_key(&w, "b");
	writer_open(&w, '[');
	writer_null(&w);
	writer_bool(&w, true);
	writer_open(&w, '[');
	writer_close(&w, ']');
	writer_str(&w, "x");
	writer_close(&w, ']');
	writer_key_any(&w, "c\"");
	writer_open(&w, '{');
	writer_close(&w, '}');
	writer_close(&w, '}');
	CHECK_STR(text(), "{\"a\":1,\"b\":[null,true,[],\"x\"],\"c\\\"\":{}}");
}

TEST(strings_are_escaped)
{
	CHECK_STR(string("a\"\\\n\t\x01z", 7), "\"a\\\"\\\\\\n\\t\\u0001z\"");
	CHECK_STR(string("a\0b", 3), "\"a\\u0000b\"");
	CHECK_STR(string("\x7f", 1), "\"\\u007f\"");
	CHECK_STR(string("h\xc3\xa9", 3), "\"h\xc3\xa9\"");
	CHECK_STR(string("\xc2\x9b", 2), "\"\\u009b\"");
	CHECK_STR(string("\xe2\x80\xae", 3), "\"\\u202e\"");
	CHECK_STR(string("\xff\xc3", 2),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	CHECK_STR(string("\xed\xa0\x80", 3),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(utf8_is_strict)
{
	CHECK(writer_utf8_valid("\xf0\x9f\x98\x80", 4));
	CHECK(!writer_utf8_valid("\xc0\xaf", 2));
	CHECK(!writer_utf8_valid("\xf4\x90\x80\x80", 4));
	CHECK(!writer_utf8_valid("\xe2\x82", 2));
	CHECK(writer_utf8_valid("", 0));
}

TEST(seconds_are_whole_or_exact)
{
	begin();
	writer_seconds(&w, 1796100310000000000);
	writer_seconds(&w, -1000000000);
	writer_seconds(&w, 1796100310000000001);
	CHECK_STR(text(), "1796100310,-1,1796100310.000000001");
}

TEST(decimals_are_exact)
{
	CHECK_STR(decimal(0, 6), "0");
	CHECK_STR(decimal(1, 6), "0.000001");
	CHECK_STR(decimal(-1500000, 6), "-1.5");
	CHECK_STR(decimal(100, 0), "100");
	CHECK_STR(decimal(1000000, 6), "1");
	CHECK_STR(decimal(INT64_MAX, 18), "9.223372036854775807");
	CHECK_STR(decimal(INT64_MIN, 0), "-9223372036854775808");
	CHECK_STR(decimal((int128)1 << 126, 0),
	    "85070591730234615865843651857942052864");
	CHECK_STR(decimal(-((int128)1 << 126) * 2, 38),
	    "-1.70141183460469231731687303715884105728");
	CHECK_STR(decimal((int128)100000000000000000 * 100000000000000000 + 7,
	    0), "10000000000000000000000000000000007");
	CHECK_STR(decimal((int128)INT64_MAX * 1000, 2),
	    "92233720368547758070");
}

TEST(quotients_round_once)
{
	CHECK_STR(quotient(1, 3, 0), "0.33333333333333333");
	CHECK_STR(quotient(2, 3, 0), "0.66666666666666667");
	CHECK_STR(quotient(-2, 3, 0), "-0.66666666666666667");
	CHECK_STR(quotient(1, 8, 0), "0.125");
	CHECK_STR(quotient(0, 7, 3), "0");
	CHECK_STR(quotient(10, 2, 1), "0.5");
	CHECK_STR(quotient(7, 7000, 0), "0.001");
	CHECK_STR(quotient(99, 10, -1), "99");
	CHECK_STR(quotient(1, 3, -3), "333.33333333333333");
	CHECK_STR(quotient(5, 1, -9), "5000000000");
	CHECK_STR(quotient(123456789123456789, 1, 9), "123456789.123456789");
	CHECK_STR(quotient((int128)29999999999999999 * 10, 30, 0),
	    "9999999999999999.7");
	/* the carry of a rounding can make one digit more */
	CHECK_STR(quotient((int128)99999999999999999 * 10 + 9, 10, 1),
	    "10000000000000000");
	CHECK_STR(quotient(2999999999999999999, 3, 18), "1");
}

TEST(big_numbers_are_grouped)
{
	begin();
	writer_put_grouped(&out, 1234567);
	CHECK_STR(text(), "1,234,567");
	begin();
	writer_put_grouped(&out, -999);
	CHECK_STR(text(), "-999");
	begin();
	writer_put_grouped(&out, 1000);
	CHECK_STR(text(), "1,000");
}

TEST(xml_holds_any_bytes)
{
	CHECK_STR(xml("<a b='\"&\">", 10),
	    "&lt;a b=&#39;&quot;&amp;&quot;&gt;");
	CHECK_STR(xml("\0\xff", 2), "\xef\xbf\xbd\xef\xbf\xbd");
	CHECK_STR(xml("\xef\xbf\xbe", 3), "\xef\xbf\xbd");
	CHECK_STR(xml("]]>", 3), "]]&gt;");
}

/* Names that differ in a control, or in what nobody sees, stay two. */
TEST(xml_shows_controls_apart)
{
	CHECK_STR(xml("\x01=1\x0b\x0c\x1b\x7f", 7),
	    "\\u0001=1\\u000b\\u000c\\u001b\\u007f");
	CHECK_STR(xml("\xef\xbb\xbf" "a\xe2\x80\x8b", 7),
	    "\\ufeffa\\u200b");
}

int
main(void)
{
	RUN(commas_come_by_themselves);
	RUN(strings_are_escaped);
	RUN(utf8_is_strict);
	RUN(seconds_are_whole_or_exact);
	RUN(decimals_are_exact);
	RUN(quotients_round_once);
	RUN(big_numbers_are_grouped);
	RUN(xml_holds_any_bytes);
	RUN(xml_shows_controls_apart);
	buf_fini(&out);
	return test_done();
}
