/*
 * Regular expressions: what they find, what is refused, and those that take
 * exponential time.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/base/pattern.h"
#include "store/base/pattern_plain.h"
#include "store/base/text.h"
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

/* What PCRE2 says of a text, or of all of it: -1 no expression, 2 no answer. */
static int
plainly(const char *expression, const char *text, unsigned flags)
{
	uint32_t options = PCRE2_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY |
	    (flags & PATTERN_WHOLE ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0) |
	    (flags & PATTERN_FOLD ? PCRE2_CASELESS : 0);
	pcre2_code *code;
	pcre2_match_data *data;
	size_t at;
	int found;

	code = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
	    options, &found, &at, NULL);
	if (code == NULL)
		return -1;
	data = pcre2_match_data_create(1, NULL);
	found = pcre2_match(code, (PCRE2_SPTR)text, strlen(text), 0, 0, data,
	    NULL);
	pcre2_match_data_free(data);
	pcre2_code_free(code);
	return found >= 0 ? 1 : found == PCRE2_ERROR_NOMATCH ? 0 : 2;
}

/* Up to `most` random tokens. */
static void
put_random(char *to, size_t size, const char *const *tokens, unsigned n,
    unsigned most)
{
	*to = '\0';
	for (unsigned i = (unsigned)rand() % (most + 1); i > 0; i--)
		snprintf(to + strlen(to), size - strlen(to), "%s",
		    tokens[(unsigned)rand() % n]);
}

/* .*x.* is searched as x where that is the same: compared with not doing so. */
TEST(searching_finds_what_matching_finds)
{
	static const char *const tokens[] = {"a", "b", "A", ".*", ".*", ".",
	    "|", "(", ")", "(?:", "(?i)", "(?i:", "(?-s)", "[ab]", "[^a]",
	    "[^]", "[]",
	    "[(]", "[|", "]", "\\", "\\.", "\\Q", "\\E", "\\b", "\\w", "\\1",
	    "*", "+", "?", "{2}", "^", "$", "(?=", "(*ACCEPT)", "(*COMMIT)",
	    "\n", "\xc3\xa4", "(?R)", "#", "(?x)", "\\c"},
	    *const letters[] = {"a", "b", "A", "\n", "\xc3\xa4", "(", "|", "."},
	    *const around[][2] = {{"", ""}, {".*", ".*"}, {".*(?:", ").*"},
	    {".*(", ").*"}, {".*(?:.*", ".*).*"},
	    {".*(?:.*(?:", ").*).*"}};
	char inner[80], expression[120], text[40];
	int valid = 0, matched = 0;

	srand(11);
	for (int i = 0; i < 60000; i++) {
		unsigned flags = PATTERN_WHOLE | (i & 1 ? PATTERN_FOLD : 0);
		const char *const *form = around[i % 6];
		struct pattern *p = NULL;
		int expected;

		put_random(inner, sizeof(inner), tokens,
		    sizeof(tokens) / sizeof(tokens[0]), 6);
		put_random(text, sizeof(text), letters, 8, 8);
		snprintf(expression, sizeof(expression), "%s%s%s", form[0],
		    inner, form[1]);
		expected = plainly(expression, text, flags);
		CHECK((pattern_new(&p, "q", expression, flags) == NULL) ==
		    (expected >= 0));
		if (p == NULL)
			continue;
		valid++;
		matched += expected == 1;
		if (pattern_match(p, text) != (expected == 1))
			printf("# %s of %s\n", expression, text);
		CHECK(pattern_match(p, text) == (expected == 1));
		CHECK((pattern_check(p) != NULL) == (expected == 2));
		pattern_free(p);
	}
	CHECK(!finds(".*[^](]a|b.*[^])].*", "xbxx", PATTERN_WHOLE));
	CHECK(!finds(".*[\\](]a|b.*[x\\])].*", "xbxx", PATTERN_WHOLE));
	CHECK(valid > 10000 && matched > 3000 && valid - matched > 3000);
}

/* Texts with gaps are not left to PCRE2: compared with doing so. */
TEST(plain_ones_find_what_pcre2_finds)
{
	static const char *const tokens[] = {"a", "b", "ab", "a", "b", ".*",
	    ".*", ".+", ".*?", ".+?", ".", "|", "^", "$", "\\.", "\\\\", "]",
	    "-", "\xc3\xa4", "\xef\xbf\xbd", "?", "\\d"},
	    *const letters[] = {"a", "b", "ab", ".", "\\", "\xc3\xa4", "\xff",
	    "\xc3", "\xa4", "]", "-"};
	char expression[80], text[40];
	int plains = 0, matched = 0;

	srand(12);
	for (int i = 0; i < 200000; i++) {
		unsigned flags = i & 1 ? PATTERN_WHOLE : 0;
		struct pattern_plain *p;
		struct buf mended = {0};
		int expected;
		bool found;

		put_random(expression, sizeof(expression), tokens,
		    sizeof(tokens) / sizeof(tokens[0]), 7);
		put_random(text, sizeof(text), letters, 11, 8);
		text_put(&mended, text, strlen(text));
		buf_put_u8(&mended, 0);
		expected = plainly(expression, (char *)mended.data, flags);
		p = expected < 0 ? NULL : pattern_plain_new(expression,
		    strlen(expression), flags == PATTERN_WHOLE);
		found = p != NULL && pattern_plain_match(p, text,
		    strlen(text));
		if (p != NULL && found != expected)
			printf("# %u: %s of %s\n", flags, expression, text);
		CHECK(p == NULL || found == expected);
		plains += p != NULL;
		matched += p != NULL && found;
		pattern_plain_free(p);
		buf_fini(&mended);
	}
	CHECK(plains > 50000 && matched > 10000 && plains - matched > 10000);
}

/* A step back for each gap would take hours. */
TEST(gaps_take_no_steps_back)
{
	static const char expression[] = "^.*a.*a.*a.*a.*a.*a.*a.*a.*b$";
	char *text = malloc(200001);
	struct pattern *p;

	memset(text, 'a', 200000);
	text[200000] = '\0';
	CHECK_OK(pattern_new(&p, "query", expression, 0));
	CHECK(!pattern_match(p, text));
	CHECK_OK(pattern_check(p));
	text[199999] = 'b';
	CHECK(pattern_match(p, text));
	pattern_free(p);
	free(text);
}

/* That it is done at all: a step for each byte would be too many. */
TEST(searching_takes_few_steps)
{
	char *text = malloc(2000001);
	struct pattern *p;

	memset(text, 'a', 2000000);
	text[2000000] = '\0';
	CHECK_OK(pattern_new(&p, "query", ".*(?:.*(c|d).*).*", PATTERN_WHOLE));
	CHECK(!pattern_match(p, text));
	CHECK_OK(pattern_check(p));
	pattern_free(p);
	free(text);
}

int
main(void)
{
	RUN(what_grafana_s_users_type);
	RUN(anchored_at_both_ends_or_nowhere);
	RUN(any_bytes_are_a_text);
	RUN(what_is_refused_says_where);
	RUN(exponential_time_has_no_answer);
	RUN(searching_finds_what_matching_finds);
	RUN(plain_ones_find_what_pcre2_finds);
	RUN(gaps_take_no_steps_back);
	RUN(searching_takes_few_steps);
	return test_done();
}
