/*
 * Selectors: what they match, of series and of stacks, and at which byte a
 * wrong one says that it is wrong.
 */
#include "store/base/err.h"
#include "store/model/series.h"
#include "tests/unit/test.h"

static bool
matches(const char *text, const struct series_desc *d)
{
	struct selector *s;
	bool yes;

	if (selector_parse(text, &s) != NULL)
		return false;
	yes = selector_match_series(s, d);
	selector_free(s);
	return yes;
}

TEST(series)
{
	struct label l[] = {{"device", "sda"}, {"job", "a\"b"}};
	struct series_desc d = {SERIES_GAUGE, "disk", "", 0, 0, l, 2};

	CHECK(matches("disk", &d));
	CHECK(matches(" disk { device = \"sda\" , } ", &d));
	CHECK(matches("{__name__=\"disk\"}", &d));
	CHECK(matches("disk{job='a\"b'}", &d));
	CHECK(matches("disk{job=\"a\\\"b\"}", &d));
	CHECK(matches("disk{device=~\"sd.\"}", &d));
	CHECK(!matches("disk{device=~\"s\"}", &d)); /* anchored */
	CHECK(matches("disk{device=~\"x|sda\"}", &d));
	CHECK(!matches("disk{device!~\"x|sda\"}", &d));
	CHECK(matches("disk{other=\"\"}", &d));
	CHECK(matches("disk{other!=\"x\"}", &d));
	CHECK(!matches("disc", &d));
	CHECK(!matches("disk{device!=\"sda\"}", &d));
}

TEST(stacks)
{
	struct label l = {"service", "kv"}, p = {"pool", "w*"};
	struct series_desc d = {SERIES_FLOW, "cpu", "", 1, 0, &l, 1};
	struct selector *s;

	CHECK_OK(selector_parse("cpu{service=\"kv\",pool=\"w*\"}", &s));
	CHECK(selector_match_series(s, &d));
	CHECK(selector_match_stack(s, &d, &p, 1));
	CHECK(!selector_match_stack(s, &d, NULL, 0));
	CHECK_STR(selector_equals(s, "service"), "kv");
	CHECK(selector_equals(s, "pool2") == NULL);
	selector_free(s);
}

TEST(errors_name_the_byte)
{
	static const char *const bad[] = {"", "{", "{}", "a{", "a{b", "a{b=",
	    "a{b=\"", "a{b=\"c\" d=\"e\"}", "a b", "a{b=~\"(\"}", "a{=\"b\"}",
	    "a{b==\"c\"}", "1a", "a{b=\"\\"};
	struct selector *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct err *e = selector_parse(bad[i], &s);

		CHECK(e != NULL && s == NULL);
		if (e != NULL) {
			CHECK_INT(e->code, 400);
			CHECK_STR(e->field, "query");
		}
	}
	CHECK(strstr(selector_parse("a{b=\"c\" d", &s)->text, "byte 8"));
}

/* A matcher that has no answer is neither a match nor none. */
TEST(an_expression_that_takes_too_long_is_an_error)
{
	struct label l = {"job", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"};
	struct series_desc d = {SERIES_GAUGE, "disk", "", 0, 0, &l, 1};
	struct selector *s;

	CHECK_OK(selector_parse("disk{job!~\"(a+)+[bd]\"}", &s));
	CHECK_OK(selector_check(s));
	selector_match_series(s, &d);
	CHECK(selector_check(s) != NULL);
	CHECK_STR(selector_check(s)->field, "query");
	selector_free(s);
	CHECK_OK(selector_check(NULL));
}

static bool
is_a(const void *arg, const char *name)
{
	return strcmp(arg, name) == 0;
}

TEST(names_that_are_listed_are_known)
{
	static const struct {
		const char *text;
		bool a, b;
	} cases[] = {
	    {"a", true, false}, {"{__name__=\"a\"}", true, false},
	    {"{__name__=~\"c|a\"}", true, false},
	    {"{__name__=~\"a|b\",x=\"y\"}", true, true},
	    {"{__name__=~\"ab|ba\"}", false, false},
	    {"{__name__=~\"a.*\"}", true, true},
	    {"{__name__!=\"a\",x=\"y\"}", true, true},
	    {"{x=\"a\"}", true, true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct selector *s = NULL;

		CHECK_OK(selector_parse(cases[i].text, &s));
		CHECK_INT(selector_may_name(s, is_a, "a"), cases[i].a);
		CHECK_INT(selector_may_name(s, is_a, "b"), cases[i].b);
		selector_free(s);
	}
}

int
main(void)
{
	RUN(series);
	RUN(stacks);
	RUN(errors_name_the_byte);
	RUN(an_expression_that_takes_too_long_is_an_error);
	RUN(names_that_are_listed_are_known);
	return test_done();
}
