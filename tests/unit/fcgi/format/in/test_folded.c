/*
 * Folded text and lines: what is counted, what is left out, and that pieces
 * make the whole.
 */
#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

/* A profile as "name kind self" of each node, depth as dots. */
static const char *
shown(const struct stacks *s)
{
	static struct buf out;
	struct profile *p;

	buf_clear(&out);
	CHECK_OK(stacks_error(s));
	CHECK_OK(stacks_profile(s, 0, &p));
	for (size_t i = 1; i < p->n_nodes; i++)
		buf_printf(&out, "%.*s%s %s %d\n", (int)p->nodes[i].depth,
		    "........", p->nodes[i].name,
		    frame_kind_name(p->nodes[i].kind),
		    (int)p->nodes[i].self);
	buf_put_u8(&out, 0);
	profile_free(p);
	return (const char *)out.data;
}

static const char *
folded(const char *text)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const char *got;

	CHECK_OK(folded_parse(s, text, strlen(text), NULL));
	got = shown(s);
	stacks_free(s);
	return got;
}

TEST(stacks_and_counts)
{
	CHECK_STR(folded("main;read 3\nmain 1\nmain;read 4\n"),
	    ".main managed 1\n..read managed 7\n");
	CHECK_STR(folded("a b;c d  7"), ".a b managed 0\n..c d managed 7\n");
	CHECK_STR(folded("a;b 1\r\n\r\n# a comment 5\r\na;b 2\r\n"),
	    ".a managed 0\n..b managed 3\n");
	CHECK_STR(folded("a;;b 2"),
	    ".a managed 0\n..[unknown] managed 0\n...b managed 2\n");
	CHECK_STR(folded("a 10 20"), ".a 10 managed 20\n");
	CHECK_STR(folded("eight__8;sixteen_sixteen_;b 1\neight__8;b 1"),
	    ".eight__8 managed 0\n..b managed 1\n"
	    "..sixteen_sixteen_ managed 0\n...b managed 1\n");
}

TEST(kinds_are_marked_at_the_end)
{
	CHECK_STR(folded("a_[j];b_[i];c_[k] 1\nc 1\nx_[w] 1\n_[k] 1\n"),
	    "._[k] managed 1\n.a jit 0\n..b inlined 0\n...c kernel 1\n"
	    ".c managed 1\n.x_[w] managed 1\n");
}

TEST(what_is_not_folded_is_counted)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct stacks_skipped skipped;
	const char text[] = "a;b 1\nno count\na;b 2.5\nb 0.0\nb 1.000\n"
	    "5\n-5\n";

	CHECK_OK(folded_parse(s, text, sizeof(text) - 1, NULL));
	CHECK_STR(shown(s), ".a managed 0\n..b managed 4\n.b managed 1\n");
	CHECK_INT(stacks_n_skipped(s), 2);
	stacks_get_skipped(s, 0, &skipped);
	CHECK_INT(skipped.n, 3);
	CHECK_STR(skipped.why, "lines without a count");
	stacks_get_skipped(s, 1, &skipped);
	CHECK_INT(skipped.n, 1);
	stacks_free(s);
}

TEST(a_count_beyond_all_bounds_is_an_error_and_left_out_by_nobody)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const char text[] = "a;b 1\nx 99999999999999999999\nb 2\n";
	const struct err *e = folded_parse(s, text, sizeof(text) - 1, NULL);

	CHECK(e != NULL && e->code == 422);
	CHECK(e != NULL && strstr(e->text, "line 2: a count") != NULL);
	stacks_free(s);
}

TEST(counts_of_63_bits_are_taken)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const char most[] = "a 9223372036854775807\n";
	const char more[] = "a 9223372036854775808\n";

	CHECK_OK(folded_parse(s, most, sizeof(most) - 1, NULL));
	CHECK(stacks_total(s, 0) == INT64_MAX);
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	CHECK_OK(folded_parse(s, "a 1000000000000000000\n", 22, NULL));
	CHECK(stacks_total(s, 0) == INT64_C(1000000000000000000));
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	CHECK(folded_parse(s, more, sizeof(more) - 1, NULL) != NULL);
	stacks_free(s);
}

TEST(negative_counts_are_called_so)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct stacks_skipped skipped;
	const struct err *e;

	CHECK_OK(folded_parse(s, "a 1\nb -5\nc-5\n", 13, NULL));
	CHECK_INT(stacks_n_skipped(s), 2);
	stacks_get_skipped(s, 0, &skipped);
	CHECK_STR(skipped.why, "lines without a count");
	CHECK_INT(skipped.n, 1);
	stacks_get_skipped(s, 1, &skipped);
	CHECK_STR(skipped.why, "lines with a negative count");
	CHECK_INT(skipped.n, 1);
	stacks_free(s);
	s = stacks_new(&stacks_limits_push);
	e = folded_parse(s, "a;b -5\n", 7, NULL);
	CHECK(e != NULL && strstr(e->text, "line 1 has a negative") != NULL);
	stacks_free(s);
}

TEST(text_of_another_kind_is_an_error_with_its_line)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = folded_parse(s, "\n# x 1\nhello\nworld\n", 19,
	    NULL);

	CHECK(e != NULL && e->code == 422);
	CHECK(e != NULL && strstr(e->text, "line 3 ") != NULL);
	stacks_free(s);
}

TEST(pieces_equal_the_whole)
{
	const char text[] = "alpha;beta;gamma 12\nalpha;beta 3\n\nz_[k] 1\n"
	    "alpha;a_name_that_is_longer_than_a_word;gamma 1";
	struct buf want = {0};

	buf_printf(&want, "%s", folded(text));
	for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
		struct stacks *s = stacks_new(&stacks_limits_push);
		struct folded *f = folded_new(s, NULL);
		size_t used = folded_feed(f, text, cut, false);

		CHECK(used <= cut);
		used += folded_feed(f, text + used, sizeof(text) - 1 - used,
		    true);
		CHECK_INT(used, sizeof(text) - 1);
		CHECK_OK(folded_finish(f));
		buf_put_u8(&want, 0);
		CHECK_STR(shown(s), (const char *)want.data);
		want.len--;
		stacks_free(s);
	}
	buf_fini(&want);
}

TEST(a_line_counts_one)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const char text[] = "a;b\n\na;b 7\n#;b\na;b\n";

	CHECK_OK(folded_parse_lines(s, text, sizeof(text) - 1, NULL));
	CHECK_STR(shown(s), ".# managed 0\n..b managed 1\n.a managed 0\n"
	    "..b managed 2\n..b 7 managed 1\n");
	stacks_free(s);
}

/* Stacks go by many together once the tree is large. */
static void
put_lines(struct buf *text, uint32_t n)
{
	uint32_t x = 7;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t depth = i % 5000 == 4999 ? 3000 : 1 + i % 5;

		for (uint32_t k = 0; k < depth; k++) {
			x = x * 1664525 + 1013904223;
			buf_printf(text, "%sf%u", k > 0 ? ";" : "",
			    (x >> 8) % (k < 2 ? 500 : 40));
		}
		buf_printf(text, " %u\n", 1 + i % 3);
	}
}

/* The tree that lines make one by one: the same nodes in the same order. */
static void
check_one_by_one(const struct stacks *got, const char *text)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	size_t wrong = 0;

	for (const char *p = text; *p != '\0'; p += strcspn(p, "\n") + 1)
		CHECK_OK(folded_parse(s, p, strcspn(p, "\n"), NULL));
	CHECK_INT(stacks_n_nodes(got), stacks_n_nodes(s));
	for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
		struct stacks_node a, b;

		stacks_get_node(got, i, &a);
		stacks_get_node(s, i, &b);
		wrong += a.parent != b.parent || a.edge != b.edge ||
		    stacks_value(got, i, 0) != stacks_value(s, i, 0) ||
		    stacks_depth(got, i) != stacks_depth(s, i);
	}
	CHECK_INT(wrong, 0);
	stacks_free(s);
}

TEST(stacks_of_a_large_tree_are_put_in_order)
{
	struct stacks *s = stacks_new(&stacks_limits_file);
	struct buf text = {0};

	put_lines(&text, 60000);
	CHECK_OK(folded_parse(s, text.data, text.len, NULL));
	buf_put_u8(&text, 0);
	CHECK(stacks_n_nodes(s) > 100000);
	check_one_by_one(s, (const char *)text.data);
	stacks_free(s);
	buf_fini(&text);
}

int
main(void)
{
	RUN(stacks_and_counts);
	RUN(kinds_are_marked_at_the_end);
	RUN(what_is_not_folded_is_counted);
	RUN(a_count_beyond_all_bounds_is_an_error_and_left_out_by_nobody);
	RUN(counts_of_63_bits_are_taken);
	RUN(negative_counts_are_called_so);
	RUN(text_of_another_kind_is_an_error_with_its_line);
	RUN(pieces_equal_the_whole);
	RUN(a_line_counts_one);
	RUN(stacks_of_a_large_tree_are_put_in_order);
	return test_done();
}
