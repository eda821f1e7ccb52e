/*
 * Where somebody is told of processes that begin and end, the list of all is
 * read when one has, and in the first sweep of a slot; those that are known
 * are looked at all the same.
 */
#include "collector/base/config.h"
#include "collector/process/services.h"
#include "store/base/err.h"
#include "tests/unit/collector/process/made_proc.h"

#define SECOND INT64_C(1000000000)
#define NOW (1795000000 * SECOND)

static struct services *
watched_new(struct config *c)
{
	struct services *s = NULL;

	CHECK_OK(config_load(c, NULL));
	put_stat(50, "old", 0, 500, 1);
	CHECK_OK(services_new_at(&s, c, proc));
	CHECK_OK(services_sweep(s, NOW));
	services_watch(s, true);
	CHECK_OK(services_sweep(s, NOW + SECOND));
	return s;
}

static void
watched_free(struct services *s, struct config *c)
{
	services_free(s);
	config_free(c);
	remove_process(50);
	remove_process(51);
}

TEST(the_list_is_read_when_something_began)
{
	struct config c;
	struct services *s = watched_new(&c);

	put_stat(51, "new", 0, 600, 1);
	CHECK_OK(services_sweep(s, NOW + 2 * SECOND));
	CHECK(services_known(s, 51) == NULL);
	services_stir(s);
	CHECK_OK(services_sweep(s, NOW + 3 * SECOND));
	CHECK(services_known(s, 51) != NULL);
	watched_free(s, &c);
}

TEST(the_list_is_read_as_a_slot_begins)
{
	struct config c;
	struct services *s = watched_new(&c);

	put_stat(51, "new", 0, 600, 1);
	CHECK_OK(services_sweep(s, NOW + 9 * SECOND));
	CHECK(services_known(s, 51) == NULL);
	CHECK_OK(services_sweep(s, NOW + 10 * SECOND));
	CHECK(services_known(s, 51) != NULL);
	watched_free(s, &c);
}

TEST(without_somebody_it_is_read_each_time)
{
	struct config c;
	struct services *s = watched_new(&c);

	put_stat(51, "new", 0, 600, 1);
	services_watch(s, false);
	CHECK_OK(services_sweep(s, NOW + 2 * SECOND));
	CHECK(services_known(s, 51) != NULL);
	remove_process(51);
	CHECK_OK(services_sweep(s, NOW + 3 * SECOND));
	CHECK(services_known(s, 51) == NULL);
	watched_free(s, &c);
}

TEST(those_that_are_known_are_looked_at)
{
	struct config c;
	struct services *s = watched_new(&c);

	put_stat(50, "other", 0, 500, 2);
	CHECK_OK(services_sweep(s, NOW + 2 * SECOND));
	CHECK_STR(services_known(s, 50)->read->service, "other");
	watched_free(s, &c);
}

int
main(void)
{
	if (mkdtemp(proc) == NULL)
		return 1;
	RUN(the_list_is_read_when_something_began);
	RUN(the_list_is_read_as_a_slot_begins);
	RUN(without_somebody_it_is_read_each_time);
	RUN(those_that_are_known_are_looked_at);
	rmdir(proc);
	return test_done();
}
