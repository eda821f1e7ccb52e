/*
 * What an idle worker gives back, and when; time passes by setting the clock
 * of the last answer back.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/server/context.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/read/reader.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

static int rested;

static void
count(struct context *c)
{
	(void)c;
	rested++;
}

TEST(who_was_never_asked_has_nothing_to_give)
{
	struct context c = {.settings = NULL};

	CHECK(context_idle(&c, count) == -1);
	CHECK(rested == 0);
}

TEST(a_store_is_closed_after_minutes_and_opened_again)
{
	struct settings settings = {.cache_bytes = 1 << 20};
	struct context c;
	struct store *s;
	struct model m;
	int wait;

	model_init(&m, 1);
	context_init(&c, &settings, m.dir);
	c.workers = 2;
	CHECK_OK(context_store(&c, &s));
	context_asked(&c);
	wait = context_idle(&c, count);
	CHECK(wait > 0 && wait <= 1001 && c.store == s);
	c.asked_ns -= 2 * NS_PER_S;
	c.first_ns -= 2 * NS_PER_S;
	wait = context_idle(&c, count);
	CHECK(wait > 0 && wait <= 118001 && c.store == s && rested == 0);
	c.asked_ns -= 119 * NS_PER_S;
	CHECK(context_idle(&c, count) == -1);
	CHECK(c.store == NULL && rested == 1);
	CHECK(context_idle(&c, count) == -1);
	CHECK(rested == 1); /* once */
	CHECK_OK(context_store(&c, &s));
	CHECK(s != NULL);
	context_asked(&c);
	CHECK(context_idle(&c, count) > 0);
	context_fini(&c);
	model_fini(&m);
}

/* With a larger cache half of the questions were refused. */
TEST(the_bound_of_nodes_is_of_the_memory_alone)
{
	struct settings settings = {.memory_bytes = 1 << 30};
	struct context c;
	struct store *s;
	struct model m;

	model_init(&m, 1);
	for (int i = 0; i < 3; i++) {
		settings.cache_bytes = (int64_t[]){1 << 20, 12 << 20,
		    512 << 20}[i];
		context_init(&c, &settings, m.dir);
		CHECK_OK(context_store(&c, &s));
		CHECK_INT(s->most_nodes, 4194304);
		context_fini(&c);
	}
	model_fini(&m);
}

/* Several pages ask in each second: memory goes back all the same. */
TEST(questions_without_a_pause_do_not_keep_memory)
{
	struct settings settings = {.cache_bytes = 1 << 20};
	struct context c;
	int wait;

	context_init(&c, &settings, "/nowhere");
	context_asked(&c);
	CHECK(context_idle(&c, count) <= 1001);
	c.first_ns -= 6 * NS_PER_S / 10;
	context_asked(&c);
	wait = context_idle(&c, count);
	CHECK(wait > 0 && wait <= 401);
	c.first_ns -= 4 * NS_PER_S / 10;
	context_asked(&c);
	CHECK(context_idle(&c, count) > 1001); /* done; then the store's */
	context_asked(&c);
	wait = context_idle(&c, count);
	CHECK(wait > 401 && wait <= 1001);
	context_fini(&c);
}

int
main(void)
{
	RUN(who_was_never_asked_has_nothing_to_give);
	RUN(a_store_is_closed_after_minutes_and_opened_again);
	RUN(the_bound_of_nodes_is_of_the_memory_alone);
	RUN(questions_without_a_pause_do_not_keep_memory);
	return test_done();
}
