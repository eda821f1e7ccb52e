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
static char said[4096], stopped[1024];

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
say(void *arg, bool trouble, const char *service, const char *why)
{
	char *to = trouble ? said : stopped;
	size_t at = strlen(to), room = trouble ? sizeof(said) : sizeof(stopped);

	(void)arg;
	snprintf(to + at, room - at, "%s: %s\n", service, why);
}

static const char *
judge(void)
{
	said[0] = stopped[0] = '\0';
	programs_judge(marks, n_marks, NOW, say, NULL);
	n_marks = 0;
	return said;
}

TEST(one_that_ended)
{
	CHECK_STR(judge(), "");
	add(20, "ended", "7 kv_service #1", "kv");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 7) ended at 22:13:00 UTC "
	    "and has not come back\n");
	add(3601, "ended", "7 kv_service #1", "kv");
	CHECK_STR(judge(), "");
}

TEST(one_that_came_back)
{
	add(60, "ended", "7 kv_service #1", "kv");
	add(50, "began", "9 kv_service #1", "kv");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 7) ended at 22:12:20 UTC "
	    "and came back as pid 9\n");
	add(400, "ended", "7 kv_service #1", "kv");
	add(310, "began", "9 kv_service #1", "kv");
	CHECK_STR(judge(), "");
	add(90, "ended", "7 kv_service #1", "kv");
	add(80, "began", "8 kv_service #1", "kv");
	add(60, "ended", "8 kv_service #1", "kv");
	add(50, "began", "9 kv_service #1", "kv");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 8) ended at 22:12:20 UTC "
	    "and came back as pid 9, not for the first time in five "
	    "minutes\n");
}

TEST(another_does_not_bring_it_back)
{
	add(60, "ended", "7 kv_service #1", "kv");
	add(50, "began", "9 backup #1", "kv");
	add(40, "began", "10 kv_service #1", "kv2");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 7) ended at 22:12:20 UTC "
	    "and has not come back\n");
	add(60, "began", "9 kv_service #1", "kv");
	add(50, "ended", "7 kv_service #1", "kv");
	CHECK(strstr(judge(), "has not come back") != NULL);
}

/* Of several that are dead a new one is that of its number; it was the
 * oldest. */
TEST(replicas_without_ports_are_told_apart_by_their_numbers)
{
	add(60, "ended", "7 kv_service #1", "kv");
	add(55, "ended", "8 kv_service #2", "kv");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 7) ended at 22:12:20 UTC "
	    "and has not come back\n"
	    "kv: kv_service #2 (pid 8) ended at 22:12:25 UTC "
	    "and has not come back\n");
	add(60, "ended", "7 kv_service #1", "kv");
	add(55, "ended", "8 kv_service #2", "kv");
	add(50, "began", "9 kv_service #2", "kv");
	CHECK_STR(judge(), "kv: kv_service #1 (pid 7) ended at 22:12:20 UTC "
	    "and has not come back\n"
	    "kv: kv_service #2 (pid 8) ended at 22:12:25 UTC "
	    "and came back as pid 9\n");
	add(60, "ended", "7 kv_service #1", "kv");
	add(55, "ended", "7 kv_service #11", "kv");
	add(50, "began", "9 kv_service #3", "kv");
	judge();
	CHECK(strstr(said, "#1 (pid 7)") != NULL);
	CHECK(strstr(said, "#11 (pid 7)") != NULL);
	CHECK(strstr(said, "came back") == NULL);
}

/* One that does not listen brought back whatever had died first. */
TEST(who_listens_not_is_not_one_that_did)
{
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(58, "ended", "8 kv_service :2004 (signal 9)", "kv");
	add(50, "began", "9 kv_service #1", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:20 UTC and has not come back\n"
	    "kv: kv_service :2004 (pid 8) ended (signal 9) "
	    "at 22:12:22 UTC and has not come back\n");
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(58, "ended", "8 kv_service :2004 (signal 9)", "kv");
	add(50, "began", "9 kv_service #2", "kv");
	add(20, "listens", "9 kv_service :2004 #2", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:20 UTC and has not come back\n"
	    "kv: kv_service :2004 (pid 8) ended (signal 9) "
	    "at 22:12:22 UTC and came back as pid 9\n");
	/* it died before it listened, and listens now */
	add(60, "ended", "7 kv_service #2 (signal 9)", "kv");
	add(50, "began", "9 kv_service :2004 #2", "kv");
	CHECK(strstr(judge(), "#2 (pid 7) ended (signal 9) at 22:12:20 UTC "
	    "and came back as pid 9") != NULL);
	/* one beginning brings back what died before it listened, and after */
	add(80, "ended", "7 kv_service :2004", "kv");
	add(70, "began", "8 kv_service #2", "kv");
	add(60, "ended", "8 kv_service #2", "kv");
	add(50, "began", "9 kv_service :2004 #2", "kv");
	CHECK_STR(judge(), "kv: kv_service :2004 (pid 7) ended at 22:12:00 "
	    "UTC and came back as pid 9\n"
	    "kv: kv_service #2 (pid 8) ended at 22:12:20 UTC and came back "
	    "as pid 9\n");
}

TEST(who_cannot_be_told_clears_nothing)
{
	add(60, "ended", "7 kv_service", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK_STR(judge(), "kv: kv_service (pid 7) ended at 22:12:20 UTC; "
	    "whether it came back cannot be told\n");
	add(60, "ended", "7 kv_service #1", "kv");
	add(50, "began", "9 kv_service", "kv");
	CHECK(strstr(judge(), "has not come back") != NULL);
}

TEST(replicas_are_told_apart_by_their_ports)
{
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(50, "began", "9 kv_service :2004 #2", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:20 UTC and has not come back\n");
	add(60, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(50, "began", "9 kv_service :2003 #4", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:20 UTC and came back as pid 9\n");
	add(60, "ended", "7 a :b (c) #3", "kv");
	CHECK(strstr(judge(), "a :b (c) #3 (pid 7)") != NULL);
}

TEST(what_was_stopped_on_purpose_is_no_trouble)
{
	add(60, "stopped", "7 kv_service #1 (status 0)", "kv");
	CHECK_STR(judge(), "");
	CHECK_STR(stopped, "kv: kv_service #1 (pid 7) was stopped (status 0) "
	    "at 22:12:20 UTC\n");
	add(3600, "stopped", "7 kv_service #1 (status 0)", "kv");
	add(90, "stopped", "7 kv_service :2003 #2 (status 0)", "kv");
	add(80, "began", "8 kv_service :2003", "kv");
	add(70, "stopped", "9 kv_service :2004 #3 (status 0)", "kv");
	add(60, "began", "10 kv_service #3", "kv");
	add(50, "ended", "10 kv_service :2004 #3", "kv");
	add(40, "stopped", "11 kv_service", "kv");
	add(30, "stopped", "12 kv_service (signal 15)", "kv");
	CHECK_STR(judge(), "kv: kv_service :2004 (pid 10) ended at 22:12:30 "
	    "UTC and has not come back\n");
	CHECK_STR(stopped, "kv: kv_service (pid 12) was stopped (signal 15) "
	    "at 22:12:50 UTC\n");
	add(90, "stopped", "7 kv_service #1", "kv");
	add(80, "began", "8 kv_service #1", "kv");
	add(60, "ended", "8 kv_service #1 (signal 11)", "kv");
	CHECK(strstr(judge(), "(pid 8)") != NULL);
}

TEST(how_one_ended_is_said_of_its_mark)
{
	static const struct {
		const char *what, *text, *words;
		bool trouble;
	} cases[] = {
	    {"ended", "7 kv :2003 #4 (signal 9)", "ended (signal 9)", true},
	    {"ended", "7 kv", "ended", true},
	    {"stopped", "7 kv (status 0)", "was stopped (status 0)", false},
	    {"fewer", "7 kv (signal 9)",
	    "ended, others of its name go on (signal 9)", false},
	    {"began", "7 kv", NULL, false},
	    {"note", "7 kv (signal 9)", NULL, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct programs_end end;
		bool is;

		add(1, cases[i].what, cases[i].text, "kv");
		is = programs_end(&marks[--n_marks], &end);
		CHECK_INT(is, cases[i].words != NULL);
		if (!is)
			continue;
		CHECK_STR(end.words, cases[i].words);
		CHECK_INT(end.trouble, cases[i].trouble);
	}
}

/* It "came back as pid 8", which had been stopped since. */
TEST(the_last_that_happened_is_told)
{
	add(80, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(70, "began", "8 kv_service :2003 #4", "kv");
	add(25, "stopped", "8 kv_service :2003 #4 (signal 15)", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:00 UTC, came back as pid 8 and was stopped (signal 15) "
	    "at 22:12:55 UTC\n");
	add(80, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(70, "began", "8 kv_service :2003 #4", "kv");
	add(25, "stopped", "8 kv_service :2003 #4 (signal 15)", "kv");
	add(20, "stopped", "5 kv_service :2004 #5 (signal 15)", "kv");
	add(10, "began", "9 kv_service :2003", "kv");
	CHECK_STR(judge(), "kv: kv_service :2003 (pid 7) ended (signal 9) "
	    "at 22:12:00 UTC and came back as pid 9\n");
	/* who is started anew long after is no news of that end */
	add(900, "ended", "7 kv_service :2003 (signal 9)", "kv");
	add(890, "began", "8 kv_service :2003 #4", "kv");
	add(25, "stopped", "8 kv_service :2003 #4 (signal 15)", "kv");
	add(10, "began", "9 kv_service :2003", "kv");
	CHECK_STR(judge(), "");
	/* nobody has seen it begin */
	add(80, "ended", "7 kv_service #2 (signal 9)", "kv");
	add(25, "stopped", "8 kv_service :2003 #2", "kv");
	CHECK_STR(judge(), "kv: kv_service #2 (pid 7) ended (signal 9) at "
	    "22:12:00 UTC, came back as pid 8 and was stopped at 22:12:55 "
	    "UTC\n");
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

/* How many of the instances have their last end after all that they began. */
static int
gone(size_t n)
{
	int gone[4] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		gone[atoi(strchr(marks[i].text, '#') + 1)] =
		    strcmp(marks[i].what, "ended") == 0;
	for (int i = 0; i < 4; i++)
		sum += gone[i];
	return sum;
}

TEST(as_many_are_gone_as_a_count_says)
{
	char text[32];

	for (unsigned round = 0; round < 2000; round++) {
		int want, told = 0;

		srand(round);
		for (int i = 0; i < 12; i++) {
			snprintf(text, sizeof(text), "7 a #%d", rand() % 4);
			add(100 - i, rand() % 2 ? "ended" : "began", text,
			    "s");
		}
		want = gone(n_marks);
		judge();
		for (char *at = said; (at = strstr(at, "has not come")) !=
		    NULL; at++)
			told++;
		CHECK_INT(told, want);
	}
}

int
main(void)
{
	RUN(one_that_ended);
	RUN(one_that_came_back);
	RUN(another_does_not_bring_it_back);
	RUN(replicas_without_ports_are_told_apart_by_their_numbers);
	RUN(who_listens_not_is_not_one_that_did);
	RUN(who_cannot_be_told_clears_nothing);
	RUN(replicas_are_told_apart_by_their_ports);
	RUN(what_was_stopped_on_purpose_is_no_trouble);
	RUN(how_one_ended_is_said_of_its_mark);
	RUN(the_last_that_happened_is_told);
	RUN(what_was_before_the_daemon_began_is_past);
	RUN(as_many_are_gone_as_a_count_says);
	return test_done();
}
