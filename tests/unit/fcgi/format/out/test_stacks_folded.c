/*
 * Stacks as folded text: read again they are the same, with label sets left
 * out and marks for kinds.
 */
#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/out/stacks_folded.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static const struct err *
keep(void *arg, struct buf *out)
{
	buf_put(arg, out->data, out->len);
	buf_clear(out);
	return NULL;
}

static const char *
text(const struct stacks *s, bool bare, struct buf *all)
{
	buf_clear(all);
	CHECK_OK(stacks_put_folded(s, 0, bare, keep, all));
	buf_put_u8(all, 0);
	return (const char *)all->data;
}

TEST(lines_come_as_stacks_were_seen)
{
	static const char in[] = "b;c_[k];d 1\na 2\nb;c_[k] 3\nb;x_[i] 4\n"
	    "b;c_[k];d;e_[j] 5\na;z 6\n";
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct buf all = {0};

	CHECK_OK(folded_parse(s, in, sizeof(in) - 1, NULL));
	CHECK_STR(text(s, false, &all), "b;c_[k] 3\nb;c_[k];d 1\na 2\n"
	    "b;x_[i] 4\nb;c_[k];d;e_[j] 5\na;z 6\n");
	CHECK_STR(text(s, true, &all), "b;c 3\nb;c;d 1\na 2\n"
	    "b;x 4\nb;c;d;e 5\na;z 6\n");
	buf_fini(&all);
	stacks_free(s);
}

TEST(what_would_break_a_line_is_replaced)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct label label = {"region", "eu"};
	struct buf all = {0};
	uint32_t type = stacks_type(s, &folded_samples);
	uint32_t f = stacks_frame_named(s, FRAME_NATIVE, "#a;b\nc", 6);

	stacks_add(s, stacks_child(s, stacks_labels(s, &label, 1), f), type,
	    7);
	stacks_add(s, 0, type, 1);
	stacks_add(s, stacks_labels(s, &label, 1), type, 2);
	CHECK_STR(text(s, false, &all),
	    "[no stack] 1\n[no stack] 2\n:a:b:c 7\n");
	buf_fini(&all);
	stacks_free(s);
}

/* Written, read and written again: the sums of all stacks stay. */
TEST(random_stacks_come_back)
{
	struct buf one = {0}, two = {0};

	srand(3);
	for (int round = 0; round < 100; round++) {
		struct stacks *s = stacks_new(&stacks_limits_push);
		struct stacks *t = stacks_new(&stacks_limits_push);
		uint32_t type = stacks_type(s, &folded_samples);

		for (int n = rand() % 100; n >= 0; n--) {
			uint32_t node = 0;

			for (int d = 1 + rand() % 8; d > 0; d--) {
				char name = (char)('a' + rand() % 3);

				node = stacks_child(s, node,
				    stacks_frame_named(s, FRAME_MANAGED,
				    &name, 1));
			}
			stacks_add(s, node, type, 1 + rand() % 9);
		}
		text(s, false, &one);
		CHECK_OK(folded_parse(t, one.data, one.len - 1, NULL));
		/* nodes without a value need not come in the same order, but
		 * all lines do */
		CHECK_INT(strlen(text(t, false, &two)), one.len - 1);
		stacks_free(s);
		stacks_free(t);
	}
	buf_fini(&one);
	buf_fini(&two);
}

int
main(void)
{
	RUN(lines_come_as_stacks_were_seen);
	RUN(what_would_break_a_line_is_replaced);
	RUN(random_stacks_come_back);
	return test_done();
}
