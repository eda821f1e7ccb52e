/*
 * Which of several told graphs is the one of a range.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/graph/graph_told.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/fact.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN (102400 * SLOT)
#define DAY (24 * 3600 * NS_PER_S)

static void
tell(struct store_writer *w, int64_t time_ns, const char *code)
{
	struct batch *b = batch_new(SLOT);

	batch_add_fact(b, time_ns, FACT_GRAPH, "shop", code, strlen(code));
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

/* What is asked for a range that ends then. */
static void
check(struct store *s, int64_t until_ns, int64_t told_ns, const char *code)
{
	struct graph_told t;

	CHECK_OK(graph_told_read(&t, s, "shop", until_ns, BEGIN + 40 * DAY));
	CHECK_INT(t.told_ns, told_ns);
	CHECK_INT(t.code.len, strlen(code));
	CHECK(t.code.data != NULL &&
	    memcmp(t.code.data, code, strlen(code)) == 0);
	graph_told_fini(&t);
}

TEST(the_newest_before_the_end_else_the_first_after)
{
	char dir[] = "/tmp/test-graph-told-XXXXXX", command[80];
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;
	struct store *s;

	if (mkdtemp(dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&w, dir, &o));
	tell(w, BEGIN, "first");
	tell(w, BEGIN + DAY, "second");
	tell(w, BEGIN + 20 * DAY, "third");
	CHECK_OK(store_writer_close(w));
	CHECK_OK(store_open(&s, dir, 0));
	check(s, BEGIN - DAY, BEGIN, "first");
	check(s, BEGIN + DAY, BEGIN, "first");
	check(s, BEGIN + DAY + 1, BEGIN + DAY, "second");
	/* who tells once does not tell each day */
	check(s, BEGIN + 15 * DAY, BEGIN + DAY, "second");
	check(s, BEGIN + 39 * DAY, BEGIN + 20 * DAY, "third");
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	RUN(the_newest_before_the_end_else_the_first_after);
	return test_done();
}
