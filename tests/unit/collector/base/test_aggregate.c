/*
 * The slot's aggregate against a naive model, its bounds, folding of names.
 */
#include <stdlib.h>

#include "collector/base/aggregate.h"
#include "store/base/text.h"
#include "tests/unit/test.h"

static const struct aggregate_limits wide = {1000, 100000, 1000000};

static bool
add(struct aggregate *a, uint32_t group, const uint32_t *frames, size_t n,
    int64_t value)
{
	return aggregate_add(a, &(struct aggregate_stack){.group = group,
	    .n = (uint32_t)n, .frames = frames, .value = value,
	    .samples = 1});
}

TEST(fold_digits)
{
	static const char *const cases[][2] = {
	    {"worker-12", "worker-*"}, {"worker-1", "worker-*"},
	    {"12", "*"}, {"a1b22c333", "a*b*c*"}, {"", ""}, {"none", "none"},
	    {"kworker/0:1-ev", "kworker/*:*-ev"}, {"a\nb\x80", "a?b?"}};
	char out[32];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		aggregate_fold_digits(out, sizeof(out), cases[i][0]);
		CHECK_STR(out, cases[i][1]);
	}
	aggregate_fold_digits(out, 4, "abcdef");
	CHECK_STR(out, "abc");
	aggregate_fold_digits(out, 1, "abcdef");
	CHECK_STR(out, "");
}

TEST(clean_text)
{
	static const char *const cases[][2] = {
	    {"plain", "plain"}, {"\x1b[31m", "?[31m"},
	    {"caf\xc3\xa9", "caf\xc3\xa9"},     /* é */
	    {"\xe2\x82\xac", "\xe2\x82\xac"},   /* € */
	    {"\xc0\xaf", "??"},                 /* overlong / */
	    {"\xed\xa0\x80", "???"},            /* surrogate */
	    {"\xf4\x90\x80\x80", "????"},       /* beyond U+10FFFF */
	    {"a\xe2\x82", "a??"},               /* cut short */
	    {"\xc2\x85", "??"}, {"\x7f", "?"}, /* controls */
	    {"a\xe2\x80\xae" "b", "a???b"},  /* right to left */
	    {"\xe2\x81\xa6", "???"}, {"\xd8\x9c", "??"}};
	char s[32];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(s, sizeof(s), "%s", cases[i][0]);
		text_clean(s);
		CHECK_STR(s, cases[i][1]);
	}
}

TEST(groups)
{
	struct aggregate *a = aggregate_new(&wide);
	struct aggregate_group g = {.service = "kv",
	    .process = "server", .pool = "worker-*", .cgroup = ""}, got;
	uint32_t first = aggregate_group(a, &g), second;

	CHECK_INT(aggregate_group(a, &g), first);
	g.pool = "";
	second = aggregate_group(a, &g);
	CHECK(second != first);
	/* The same bytes in other fields are another group. */
	CHECK(aggregate_group(a, &(struct aggregate_group){.service = "kv",
	    .process = "", .pool = "server", .cgroup = "worker-*"}) != first);
	got = aggregate_get_group(a, first);
	CHECK_STR(got.service, "kv");
	CHECK_STR(got.pool, "worker-*");
	CHECK_INT(aggregate_groups(a), 3);
	aggregate_clear(a);
	CHECK_INT(aggregate_groups(a), 0);
	CHECK_INT(aggregate_group(a, &g), 0);
	aggregate_free(a);
}

#define MODEL 3000

struct model {
	uint32_t group, n, frames[6];
	int64_t value;
};

static struct model *
model_find(struct model *m, size_t *n, uint32_t group,
    const uint32_t *frames, uint32_t depth)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (m[i].group == group && m[i].n == depth &&
		    memcmp(m[i].frames, frames, depth * 4) == 0)
			return &m[i];
	m[i].group = group;
	m[i].n = depth;
	memcpy(m[i].frames, frames, depth * 4);
	m[i].value = 0;
	(*n)++;
	return &m[i];
}

TEST(stacks_as_the_model)
{
	static struct model model[MODEL];
	struct aggregate *a = aggregate_new(&wide);
	uint32_t frames[6], depth, j, group;
	size_t n = 0, i;

	srandom(7);
	for (i = 0; i < 20000 && n < MODEL - 1; i++) {
		group = (uint32_t)random() % 3;
		depth = (uint32_t)random() % 6;
		for (j = 0; j < depth; j++)
			frames[j] = (uint32_t)random() % 4;
		CHECK(add(a, group, frames, depth, 1 + i % 3));
		model_find(model, &n, group, frames, depth)->value +=
		    1 + (int64_t)(i % 3);
	}
	CHECK_INT(aggregate_stacks(a), n);
	for (i = 0; i < n; i++) {
		struct aggregate_stack s = aggregate_get_stack(a, i);

		/* Both number stacks by first sight. */
		CHECK_INT(s.group, model[i].group);
		CHECK_INT(s.n, model[i].n);
		CHECK_INT(s.value, model[i].value);
		CHECK(memcmp(s.frames, model[i].frames, s.n * 4) == 0);
	}
	aggregate_free(a);
}

TEST(bounds)
{
	static const struct aggregate_limits tight = {2, 3, 10};
	struct aggregate *a = aggregate_new(&tight);
	struct aggregate_group g = {.service = "a", .process = "",
	    .pool = "", .cgroup = ""};
	uint32_t frames[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	CHECK_INT(aggregate_group(a, &g), 0);
	g.service = "b";
	CHECK_INT(aggregate_group(a, &g), 1);
	g.service = "c";
	CHECK(aggregate_group(a, &g) == AGGREGATE_NONE);
	CHECK(add(a, 0, frames, 8, 1));
	CHECK(!add(a, 0, frames, 7, 1)); /* numbers */
	CHECK(add(a, 0, frames, 8, 1));  /* known: fits */
	CHECK(add(a, 0, frames, 1, 1));
	CHECK(add(a, 0, frames, 0, 1));
	CHECK(!add(a, 1, frames, 0, 1)); /* stacks */
	CHECK_INT(aggregate_get_stack(a, 0).value, 2);
	aggregate_clear(a);
	CHECK(add(a, 1, frames, 7, 1));
	aggregate_free(a);
}

int
main(void)
{
	RUN(fold_digits);
	RUN(clean_text);
	RUN(groups);
	RUN(stacks_as_the_model);
	RUN(bounds);
	return test_done();
}
