/*
 * What is told of programs that ended, on marks made by hand; and the rule
 * against a naive count, on random ones.
 */
#include <stdlib.h>

#include "fcgi/query/programs.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#define NOW (INT64_C(1700000000) * NS_PER_S)

static struct mark marks[64];
static size_t n_marks;
static char said[4096];

static void
add(int64_t before_s, const char *what, const char *text, const char *service)
{
	struct mark *m = &marks[n_marks++];

	m->time_ns = NOW - before_s * NS_PER_S;
	snprintf(m->what, sizeof(m->what), "%s", what);
	snprintf(m->text, sizeof(m->text), "%s", text);
	snprintf(m->service, sizeof(m->service), "%s", service);
}

static void
say(void *arg, const char *service, const char *why)
{
	size_t at = strlen(said);

	(void)arg;
	snprintf(said + at, sizeof(said) - at, "%s: %s\n", service, why);
}

static const char *
judge(void)
{
	said[0] = '\0';
	programs_judge(marks, n_marks, NOW, say, NULL);
	n_marks = 0;
	return said;
}

TEST(one_that_ended)
{
	CHECK_STR(judge(), "");
	add(20, "ended", "7 kv_service", "kv");
	CHECK_STR(judge(), "kv: kv_service (pid 7) ended at 22:13:00 UTC and "
	    "has not come back\n");
	add(3601, "ended", "7 kv_service", "kv");
	CHECK_STR(judge(), "");
}

TEST(one_that_came_back)
{
	add(60, "ended", "7 kv_service", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK_STR(judge(), "kv: kv_service (pid 7) ended at 22:12:20 UTC and "
	    "came back as pid 9\n");
	add(400, "ended", "7 kv_service", "kv");
	add(310, "began", "9 kv_service", "kv");
	CHECK_STR(judge(), "");
	add(90, "ended", "7 kv_service", "kv");
	add(80, "began", "8 kv_service", "kv");
	add(60, "ended", "8 kv_service", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK_STR(judge(), "kv: kv_service (pid 8) ended at 22:12:20 UTC and "
	    "came back as pid 9, not for the first time in five minutes\n");
}

TEST(another_does_not_bring_it_back)
{
	add(60, "ended", "7 kv_service", "kv");
	add(50, "began", "9 backup", "kv");
	add(40, "began", "10 kv_service", "kv2");
	CHECK_STR(judge(), "kv: kv_service (pid 7) ended at 22:12:20 UTC and "
	    "has not come back\n");
	add(60, "began", "9 kv_service", "kv");
	add(50, "ended", "7 kv_service", "kv");
	CHECK(strstr(judge(), "has not come back") != NULL);
}

TEST(two_replicas)
{
	add(60, "ended", "7 kv_service", "kv");
	add(55, "ended", "8 kv_service", "kv");
	CHECK_STR(judge(), "kv: 2 programs have ended and not come back, the "
	    "last one kv_service (pid 8) at 22:12:25 UTC\n");
	add(60, "ended", "7 kv_service", "kv");
	add(55, "ended", "8 kv_service", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK_STR(judge(), "kv: kv_service (pid 8) ended at 22:12:25 UTC and "
	    "has not come back\n");
}

TEST(replicas_are_told_apart_by_their_ports)
{
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(50, "began", "9 kv_service :2004", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended at 22:12:20 "
	    "UTC (signal 9) and has not come back\n");
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(50, "began", "9 kv_service :2003", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended at 22:12:20 "
	    "UTC (signal 9) and came back as pid 9\n");
	add(60, "ended", "7 kv_service :2003 (status 3)", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK(strstr(judge(), "(status 3) and came back as pid 9") != NULL);
	add(60, "ended", "7 a :b (c)", "kv");
	CHECK(strstr(judge(), "a :b (c) (pid 7)") != NULL);
}

TEST(what_was_stopped_on_purpose_is_not_told)
{
	add(60, "stopped", "7 kv_service (status 0)", "kv");
	CHECK_STR(judge(), "");
	add(90, "stopped", "7 kv_service", "kv");
	add(80, "began", "8 kv_service", "kv");
	add(60, "ended", "8 kv_service (signal 11)", "kv");
	CHECK(strstr(judge(), "(pid 8)") != NULL);
}

TEST(what_was_before_the_daemon_began_is_past)
{
	add(60, "ended", "7 kv_service", "kv");
	add(50, "memlensd", "start", "");
	CHECK_STR(judge(), "");
	add(60, "memlensd", "reload", "");
	add(50, "ended", "7 kv_service", "kv");
	CHECK(strstr(judge(), "(pid 7)") != NULL);
}

/* One name: as many are gone as the largest surplus of ends over beginnings
 * that follow them, counted from the end backwards. */
TEST(as_many_are_gone_as_a_count_says)
{
	for (unsigned round = 0; round < 2000; round++) {
		int gone = 0, spare = 0;
		char want[32];

		srand(round);
		for (int i = 0; i < 12; i++)
			add(100 - i, rand() % 2 ? "ended" : "began", "7 a",
			    "s");
		for (int i = 11; i >= 0; i--) {
			if (strcmp(marks[i].what, "began") == 0)
				spare++;
			else if (spare > 0)
				spare--;
			else
				gone++;
		}
		snprintf(want, sizeof(want), "s: %d programs", gone);
		judge();
		CHECK(gone < 2 || strncmp(said, want, strlen(want)) == 0);
		CHECK(gone != 1 || strstr(said, "has not come") != NULL);
		CHECK(gone > 0 || strstr(said, "not come") == NULL);
	}
}

int
main(void)
{
	RUN(one_that_ended);
	RUN(one_that_came_back);
	RUN(another_does_not_bring_it_back);
	RUN(two_replicas);
	RUN(replicas_are_told_apart_by_their_ports);
	RUN(what_was_stopped_on_purpose_is_not_told);
	RUN(what_was_before_the_daemon_began_is_past);
	RUN(as_many_are_gone_as_a_count_says);
	return test_done();
}
