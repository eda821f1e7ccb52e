/*
 * Pyroscope's transport trie and tree: its own bytes, and worse ones.
 */
#include <stdlib.h>

#include "fcgi/format/in/tree.h"
#include "fcgi/format/in/trie.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

typedef const struct err *parse_fn(struct stacks *s, const void *data,
    size_t n, const struct stacks_type *type);

static struct stacks *
parse(parse_fn *fn, const void *data, size_t n, int code)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	const struct err *e = fn(s, data, n, NULL);

	if (code == 0) {
		CHECK_OK(e);
	} else {
		CHECK(e != NULL);
		if (e != NULL && e->domain == ERR_REQUEST)
			CHECK_INT(e->code, code);
		else if (e != NULL)
			CHECK_INT(e->domain, ERR_FORMAT);
	}
	return s;
}

/* "a;b 1\n" of each node with a value. */
static const char *
list(const struct stacks *s)
{
	static char out[4000];
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < stacks_n_nodes(s); i++) {
		char text[1000] = "", more[1000];
		struct stacks_node node;
		struct frame f;

		if (stacks_value(s, i, 0) == 0)
			continue;
		for (uint32_t k = i; k != 0; k = node.parent) {
			stacks_get_node(s, k, &node);
			stacks_get_frame(s, node.edge, &f);
			snprintf(more, sizeof(more), "%.400s%s%.400s", f.name,
			    *text ? ";" : "", text);
			strcpy(text, more);
		}
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s %lld\n",
		    text, (long long)stacks_value(s, i, 0));
	}
	return out;
}

static void
check(parse_fn *fn, const void *data, size_t n, const char *want)
{
	struct stacks *s = parse(fn, data, n, 0);

	CHECK_STR(list(s), want);
	stacks_free(s);
}

TEST(golden_trie)
{
	static const uint8_t bytes[] = {0, 0, 1, 2, 'a', 'b', 0, 2, 1, 'c', 1,
	    0, 1, 'd', 2, 0};

	check(trie_parse, bytes, sizeof(bytes), "abc 1\nabd 2\n");
}

TEST(golden_tree)
{
	static const uint8_t bytes[] = {0, 0, 1, 1, 'a', 0, 2, 1, 'b', 1, 0, 1,
	    'c', 2, 0};

	check(tree_parse, bytes, sizeof(bytes), "a;b 1\na;c 2\n");
}

/* {"a;b": 3, "a;bc": 4, "a;bd;e": 5}, cut in the middle of frames. */
TEST(trie_cuts_anywhere)
{
	static const uint8_t bytes[] = {0, 0, 1, 2, 'a', ';', 0, 1, 1, 'b', 3,
	    2, 1, 'c', 4, 0, 3, 'd', ';', 'e', 5, 0};

	check(trie_parse, bytes, sizeof(bytes),
	    "a;b 3\na;bc 4\na;bd;e 5\n");
}

TEST(values_on_the_way)
{
	static const uint8_t trie[] = {0, 0, 1, 2, 'a', ';', 7, 0};
	static const uint8_t tree[] = {0, 9, 1, 1, 'a', 5, 1, 1, 'b', 6, 0};

	check(trie_parse, trie, sizeof(trie), "a 7\n");
	check(tree_parse, tree, sizeof(tree), "[unknown] 9\na 5\na;b 6\n");
}

TEST(lies_are_refused)
{
	static const uint8_t children[] = {0, 0, 0xff, 0xff, 0xff, 0x7f};
	static const uint8_t length[] = {0xff, 0xff, 0xff, 0xff, 0x0f, 'a'};
	static const uint8_t more[] = {0, 0, 0, 1};
	static const uint8_t huge[] = {1, 'a', 0xff, 0xff, 0xff, 0xff, 0xff,
	    0xff, 0xff, 0xff, 0xff, 0x01, 0};
	parse_fn *const fns[] = {trie_parse, tree_parse};

	for (size_t i = 0; i < 2; i++) {
		stacks_free(parse(fns[i], children, sizeof(children), 422));
		stacks_free(parse(fns[i], length, sizeof(length), 422));
		stacks_free(parse(fns[i], more, sizeof(more), 422));
		stacks_free(parse(fns[i], huge, sizeof(huge), 422));
		stacks_free(parse(fns[i], "", 0, 422));
	}
}

/* One child below the other, a million times. */
TEST(depth_is_bounded)
{
	size_t n = 4000000;
	uint8_t *bytes = malloc(n);

	for (size_t i = 0; i < n; i += 4)
		memcpy(bytes + i, "\x01" "a" "\x01\x01", 4);
	stacks_free(parse(tree_parse, bytes, n, 413));
	stacks_free(parse(trie_parse, bytes, n, 413));
	free(bytes);
}

/* Each node of a trie names a long frame again. */
TEST(work_is_bounded)
{
	struct buf b = {0};
	uint8_t *name = malloc(1 << 20);

	memset(name, 'x', 1 << 20);
	buf_put_bytes(&b, name, (1 << 20) - 1);
	buf_put_varint(&b, 1);
	buf_put_varint(&b, 1000000);
	for (size_t i = 0; i < 1000000; i++)
		buf_put(&b, "\0\x01\0", 3);
	stacks_free(parse(trie_parse, b.data, b.len, 413));
	buf_fini(&b);
	free(name);
}

int
main(void)
{
	RUN(golden_trie);
	RUN(golden_tree);
	RUN(trie_cuts_anywhere);
	RUN(values_on_the_way);
	RUN(lies_are_refused);
	RUN(depth_is_bounded);
	RUN(work_is_bounded);
	return test_done();
}
