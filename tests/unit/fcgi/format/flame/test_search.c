/*
 * What the search box finds: names by its two languages, and the amount of
 * the stacks with a match, each counted once.
 */
#include "fcgi/format/flame/diff.h"
#include "fcgi/format/flame/flame.h"
#include "fcgi/format/flame/search.h"
#include "fcgi/format/flame/table.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

static bool
finds(const char *text, const char *name)
{
	struct search *s;
	bool found;

	CHECK_OK(search_new(&s, text));
	found = search_test(s, name);
	CHECK(search_test(s, name) == found);
	search_free(s);
	return found;
}

static void
refused(const char *text)
{
	struct search *s;
	const struct err *e = search_new(&s, text);

	CHECK(e != NULL && e->code == 400 && s == NULL);
	CHECK_STR(e->field, "search");
}

TEST(contains_or_matches)
{
	CHECK(finds("INTERNAL", "leveldb::InternalKey"));
	CHECK(finds("a.b", "xa.by") && !finds("a.b", "aXb"));
	CHECK(finds("/", "a/b") && finds("//", "a//b"));
	CHECK(finds("/a/b", "x/a/bc") && !finds("/a/b", "a"));
	CHECK(finds("/^Get$/", "Get") && !finds("/^Get$/", "get"));
	CHECK(finds("/^get$/i", "Get") && finds("/put|get/smu", "a get"));
	CHECK(finds("/a\\.b/", "a.b") && !finds("/a\\.b/", "aXb"));
	CHECK(finds("/\\w::/", "a::b") && finds("/[a-c]+x/", "bcx"));
	CHECK(finds("/^T\\d+$/", "T17") && finds("/[\\w]/", "a"));
	CHECK(finds("/^(a)\\1$/", "aa") && !finds("/\\d/", "d"));
}

TEST(what_browsers_read_otherwise_is_refused)
{
	char longest[1100];

	refused("/(/");
	refused("/a\\z/");
	refused("/[\\h]/");
	refused("/((a{99}){99}){99}/");
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	refused(longest);
}

/* Samples of 10 ns: total 12; a 7 (self 1; b 4 with a below it 3; c 2), c 5
 * (self 2, b 3). */
static struct profile_node nodes[] = {{"", "", FRAME_MARK, 0, 0, 0, 0, 120},
    {"a", "", FRAME_NATIVE, 1, 0, 0, 10, 70},
    {"b", "", FRAME_NATIVE, 2, 1, 0, 10, 40},
    {"a", "", FRAME_NATIVE, 3, 2, 0, 30, 30},
    {"c", "", FRAME_NATIVE, 2, 1, 0, 20, 20},
    {"c", "", FRAME_NATIVE, 1, 0, 0, 20, 50},
    {"b", "", FRAME_NATIVE, 2, 5, 0, 30, 30}};

static void
check_amount(const char *text, int64_t want, size_t rows)
{
	struct profile p = {.nodes = nodes, .n_nodes = 7, .period = 10,
	    .unit = "nanoseconds"};
	struct flame_options o = {.max_nodes = -1, .other = "(other)"};
	struct search *s;
	struct flame *f;
	struct table *t;
	struct diff *d;
	struct search_sum found;
	int128 sum[2];

	CHECK_OK(search_new(&s, text));
	CHECK_OK(flame_new(&f, &p, &o));
	CHECK_OK(table_of_flame(&t, f));
	search_flame(s, f, &found);
	CHECK_INT(found.amount, want * 10);
	CHECK(found.sampled);
	CHECK_INT(found.samples, want);
	search_table(s, t);
	CHECK_INT(t->n_rows, rows);
	CHECK_OK(diff_new(&d, &p, &p));
	search_diff(s, d, sum);
	CHECK(sum[0] == want * 10 && sum[1] == want * 10);
	diff_free(d);
	table_free(t);
	flame_free(f);
	search_free(s);
}

TEST(each_stack_counts_once)
{
	check_amount("a", 7, 1);
	check_amount("b", 4 + 3, 1);
	check_amount("c", 2 + 5, 1);
	check_amount("/a|b/", 7 + 3, 2);
	check_amount("/./", 12, 3);
	check_amount("nobody", 0, 0);
	check_amount("total", 0, 0); /* the root is no function */
}

int
main(void)
{
	RUN(contains_or_matches);
	RUN(what_browsers_read_otherwise_is_refused);
	RUN(each_stack_counts_once);
	return test_done();
}
