/*
 * What replicas had that are gone.
 */
#include "collector/pbft/pbft_past.h"
#include "tests/unit/test.h"

static struct pbft_past past;

static struct pbft_who
who(const char *cluster, int port)
{
	struct pbft_who w = {.service = "kv"};

	snprintf(w.cluster, sizeof(w.cluster), "%s", cluster);
	snprintf(w.instance, sizeof(w.instance), ":%d", port);
	return w;
}

static void
keep(const char *cluster, int port, uint64_t executed)
{
	struct pbft_who w = who(cluster, port);
	uint64_t states[PBFT_STATES] = {[PBFT_EXECUTE] = executed};

	pbft_past_keep(&past, &w, states);
}

static int64_t
take(const char *cluster, int port)
{
	struct pbft_who w = who(cluster, port);
	uint64_t states[PBFT_STATES];

	return pbft_past_take(&past, &w, states)
	    ? (int64_t)states[PBFT_EXECUTE] : -1;
}

TEST(one_that_comes_back_goes_on)
{
	keep("a", 1, 10);
	keep("a", 2, 20);
	CHECK_INT(take("a", 3), -1);
	CHECK_INT(take("b", 1), -1);
	CHECK_INT(take("a", 1), 10);
	CHECK_INT(take("a", 1), -1);
	keep("a", 2, 25);
	CHECK_INT(take("a", 2), 25);
	CHECK_INT(take("a", 2), -1);
}

TEST(a_cluster_that_begins_anew_has_no_past)
{
	struct pbft_who w = who("a", 9);

	keep("a", 1, 10);
	keep("b", 1, 11);
	keep("a", 2, 12);
	pbft_past_drop(&past, &w);
	CHECK_INT(take("a", 1), -1);
	CHECK_INT(take("a", 2), -1);
	CHECK_INT(take("b", 1), 11);
}

TEST(the_oldest_goes_where_it_is_full)
{
	for (int i = 0; i <= PBFT_REPLICAS; i++)
		keep("a", i, (uint64_t)i);
	CHECK_INT(past.n, PBFT_REPLICAS);
	CHECK_INT(take("a", 0), -1);
	CHECK_INT(take("a", 1), 1);
	CHECK_INT(take("a", PBFT_REPLICAS), PBFT_REPLICAS);
}

int
main(void)
{
	RUN(one_that_comes_back_goes_on);
	RUN(a_cluster_that_begins_anew_has_no_past);
	RUN(the_oldest_goes_where_it_is_full);
	return test_done();
}
