/*
 * The line on a terminal, on a real pseudo-terminal, with a clock of ours.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/progress.h"
#include "tests/unit/test.h"

static int master, terminal;

static void
open_terminal(void)
{
	master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(terminal >= 0);
}

/* What the terminal shows since the last time. */
static const char *
seen(void)
{
	static char text[1000];
	ssize_t n = read(master, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

TEST(nothing_in_the_first_second)
{
	struct progress p;

	progress_begin(&p, terminal, "verify", 5);
	progress_show(&p, 5 + NS_PER_S - 1, 0.5);
	progress_end(&p);
	CHECK_STR(seen(), "");
}

TEST(a_line_that_is_written_over_and_taken_away)
{
	struct progress p;

	progress_begin(&p, terminal, "verify", 5);
	progress_show(&p, 5 + 2 * NS_PER_S, 0.5);
	CHECK_STR(seen(), "\rverify:  50 %, 2 s\033[K");
	progress_show(&p, 6 + 2 * NS_PER_S, 0.6); /* too soon */
	CHECK_STR(seen(), "");
	progress_show(&p, 5 + 3 * NS_PER_S, 1.7);
	CHECK_STR(seen(), "\rverify: 100 %, 3 s\033[K");
	progress_end(&p);
	CHECK_STR(seen(), "\r\033[K");
	progress_end(&p);
	CHECK_STR(seen(), "");
}

TEST(nothing_where_there_is_no_terminal)
{
	struct progress p;
	char text[10];
	int ends[2];

	CHECK(pipe2(ends, O_NONBLOCK) == 0);
	progress_begin(&p, ends[1], "verify", 5);
	progress_show(&p, 5 + 9 * NS_PER_S, 0.5);
	progress_end(&p);
	CHECK(read(ends[0], text, sizeof(text)) < 0);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	open_terminal();
	RUN(nothing_in_the_first_second);
	RUN(a_line_that_is_written_over_and_taken_away);
	RUN(nothing_where_there_is_no_terminal);
	return test_done();
}
