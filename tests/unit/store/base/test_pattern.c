/*
 * Regular expressions: what they find, what is refused, and those that take
 * exponential time.
 */
#include "store/base/err.h"
#include "store/base/pattern.h"
#include "tests/unit/test.h"

static bool
finds(const char *expression, const char *text, unsigned flags)
{
	struct pattern *p;
	bool found;

	CHECK_OK(pattern_new(&p, "query", expression, flags));
	if (p == NULL)
		return false;
	found = pattern_match(p, text);
	CHECK_OK(pattern_check(p));
	pattern_free(p);
	return found;
}

TEST(what_grafana_s_users_type)
{
	CHECK(finds("worker-\\d+", "worker-17", PATTERN_WHOLE));
	CHECK(!finds("worker-\\d+", "worker-d", PATTERN_WHOLE));
	CHECK(finds("(?i)KV.*", "kvservice", PATTERN_WHOLE));
	CHECK(finds("(?i:k)v", "Kv", PATTERN_WHOLE));
	CHECK(finds("a+?b", "aab", PATTERN_WHOLE));
	CHECK(finds("\\pL+", "\xc3\xa4rger", PATTERN_WHOLE));
	CHECK(finds("[[:alpha:]]{3}", "abc", PATTERN_WHOLE));
	CHECK(finds("^a|b$", "b", PATTERN_WHOLE));
}

TEST(anchored_at_both_ends_or_nowhere)
{
	CHECK(!finds("s", "sda", PATTERN_WHOLE));
	CHECK(!finds("x|sd", "sda", PATTERN_WHOLE));
	CHECK(finds("x|sda", "sda", PATTERN_WHOLE));
	CHECK(finds("d", "sda", 0));
	CHECK(finds("", "", PATTERN_WHOLE) && !finds("", "a", PATTERN_WHOLE));
	CHECK(!finds("a", "a\n", PATTERN_WHOLE) && !finds("a$", "a\n", 0));
	CHECK(finds(".*", "a\nb", PATTERN_WHOLE));
	CHECK(finds("GET", "get", PATTERN_FOLD));
}

/* Bytes that are not UTF-8 are one character each. */
TEST(any_bytes_are_a_text)
{
	CHECK(finds(".*", "a\xff" "b", PATTERN_WHOLE));
	CHECK(finds("a..b", "a\xff\xfe" "b", PATTERN_WHOLE));
	CHECK(finds("b$", "\xc3" "b", 0));
	CHECK(!finds("a.b", "a\xff\xfe" "b", PATTERN_WHOLE));
	CHECK(finds("a.b", "a\xc3\xa4" "b", PATTERN_WHOLE));
}

TEST(what_is_refused_says_where)
{
	static const struct {
		const char *text, *at;
	} bad[] = {{"a(", "byte 2"}, {"ab)", "byte 2"}, {"*a", "byte 0"},
	    {"a[", "byte 2"}, {"\\", "byte 1"}, {"a\\C", "byte 3"},
	    {"\xff", "byte 0"}, {"((a{999}){999}){999}", "byte"},
	    {"a)(b", "byte 1"}};
	struct pattern *p;
	char longest[PATTERN_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct err *e = pattern_new(&p, "query", bad[i].text,
		    PATTERN_WHOLE);

		CHECK(e != NULL && p == NULL);
		if (e == NULL || strstr(e->text, bad[i].at) == NULL)
			printf("# %s: %s\n", bad[i].text, e ? e->text : "ok");
		CHECK(e != NULL && e->code == 400 &&
		    strstr(e->text, bad[i].at) != NULL);
		CHECK(e != NULL && strcmp(e->field, "query") == 0);
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	CHECK(pattern_new(&p, "query", longest, 0) != NULL && p == NULL);
	memset(longest, '(', PATTERN_MAX);
	longest[PATTERN_MAX] = '\0';
	CHECK(pattern_new(&p, "query", longest, 0) != NULL && p == NULL);
}

/* Not "no match": no answer, until it is taken back. */
TEST(exponential_time_has_no_answer)
{
	static const char *const slow[] = {"(a+)+[bd]", "(a|a)*[bd]",
	    "((a+)+)+[bd]", "(\\w+\\s?)*[bd]"};
	const char *text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac";

	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		struct pattern *p;
		char with[64];

		CHECK_OK(pattern_new(&p, "focus", slow[i], PATTERN_WHOLE));
		CHECK(p != NULL && !pattern_match(p, text));
		if (p == NULL)
			continue;
		CHECK(pattern_check(p) != NULL);
		CHECK(pattern_check(p) == NULL ||
		    (pattern_check(p)->code == 400 &&
		    strcmp(pattern_check(p)->field, "focus") == 0));
		CHECK(!pattern_match(p, "aab"));
		pattern_reset(p);
		snprintf(with, sizeof(with), "aab");
		CHECK(pattern_match(p, with));
		CHECK_OK(pattern_check(p));
		pattern_free(p);
	}
}

int
main(void)
{
	RUN(what_grafana_s_users_type);
	RUN(anchored_at_both_ends_or_nowhere);
	RUN(any_bytes_are_a_text);
	RUN(what_is_refused_says_where);
	RUN(exponential_time_has_no_answer);
	return test_done();
}
