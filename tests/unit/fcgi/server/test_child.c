/*
 * Work in children: what comes back, and what is said of those that fail.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fcgi/server/child.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static const struct child_limits limits = {50 * NS_PER_S, 512u << 20,
    4u << 20};
static struct buf in, out;

static const struct err *
sh(const char *script)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};

	buf_clear(&out);
	return child_exec("work", &limits, argv, &in, &out);
}

static void
check_fails(const char *script, const char *text)
{
	const struct err *e = sh(script);

	CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 503);
	CHECK_STR(e != NULL ? e->text : "", text);
}

/* More than a pipe holds, both ways. */
TEST(a_program_reads_and_writes)
{
	const char *const cat[] = {"/bin/cat", NULL};

	buf_clear(&in);
	buf_clear(&out);
	for (int i = 0; i < 300000; i++)
		buf_put_be64(&in, (uint64_t)i);
	buf_put(&out, "before", 6);
	CHECK_OK(child_exec("work", &limits, cat, &in, &out));
	CHECK_INT(out.len, in.len + 6);
	CHECK(memcmp(out.data + 6, in.data, in.len) == 0);
	CHECK_OK(sh("echo words >&2"));
	CHECK_INT(out.len, 0);
	/* one that reads nothing */
	CHECK_OK(sh("echo done"));
	CHECK_INT(out.len, 5);
}

TEST(a_program_says_why_it_fails)
{
	static const char *const gone[] = {"/nonexistent/draw", NULL};
	const struct err *e;

	buf_clear(&in);
	check_fails("echo a reason >&2; echo and more >&2; exit 1",
	    "work failed: a reason");
	check_fails("exit 3", "work failed");
	check_fails("kill -9 $$", "work failed: signal 9");
	check_fails("yes", "work is too large");
	e = child_exec("work", &limits, gone, &in, &out);
	CHECK(e != NULL && e->code == 503);
	CHECK_STR(e != NULL ? e->text : "", "work failed: "
	    "/nonexistent/draw: No such file or directory");
}

/* More words than their pipe holds keep nobody waiting. */
TEST(a_program_that_talks_too_much)
{
	const struct err *e = sh("yes 'so it goes' | head -c 300000 >&2; "
	    "exit 1");

	CHECK_STR(e != NULL ? e->text : "", "work failed: so it goes");
}

TEST(a_program_gets_nothing_else_of_ours)
{
	char script[200];
	int fd = dup(0), ours;

	ours = fcntl(fd, F_DUPFD, 100);
	snprintf(script, sizeof(script), "[ ! -e /proc/self/fd/%d ]", ours);
	CHECK(ours >= 100);
	CHECK_OK(sh(script));
	CHECK_OK(sh("[ $(ulimit -t) -gt 0 ] && [ $(ulimit -c) = 0 ]"));
#ifndef __SANITIZE_ADDRESS__
	CHECK_OK(sh("[ $(ulimit -d) = 524288 ]"));
#endif
	close(fd);
	close(ours);
}

/* From none on, as many as it takes: a lack of them passes. */
TEST(a_lack_of_descriptors_is_a_503)
{
	int first = dup(STDIN_FILENO), after;
	struct rlimit all, few;
	const struct err *e;

	close(first);
	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	for (int i = 0; i < 5; i++) {
		few.rlim_cur = (rlim_t)(first + i);
		setrlimit(RLIMIT_NOFILE, &few);
		e = sh("echo done");
		setrlimit(RLIMIT_NOFILE, &all);
		CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 503);
		CHECK(e != NULL && strstr(e->text, ": Too many open files"));
		after = dup(STDIN_FILENO);
		close(after);
		CHECK_INT(after, first);
	}
	CHECK_OK(sh("echo done"));
}

TEST(a_program_has_its_time)
{
	static const struct child_limits brief = {NS_PER_S / 5, 512u << 20, 1};
	static const char *const argv[] = {"/bin/sleep", "1000", NULL};
	const struct err *e = child_exec("work", &brief, argv, &in, &out);

	CHECK_STR(e != NULL ? e->text : "", "work took too long");
}

static bool
work_fails(void *arg, struct buf *b)
{
	(void)b;
	if (arg != NULL)
		abort();
	return false;
}

TEST(work_of_our_own)
{
	const struct err *e = child_run("work", &limits, work_fails, NULL,
	    &out);

	CHECK_STR(e != NULL ? e->text : "", "work failed");
	e = child_run("work", &limits, work_fails, &out, &out);
	CHECK_STR(e != NULL ? e->text : "", "work failed: signal 6");
}

int
main(void)
{
	RUN(a_program_reads_and_writes);
	RUN(a_program_says_why_it_fails);
	RUN(a_program_that_talks_too_much);
	RUN(a_program_gets_nothing_else_of_ours);
	RUN(a_lack_of_descriptors_is_a_503);
	RUN(a_program_has_its_time);
	RUN(work_of_our_own);
	buf_fini(&in);
	buf_fini(&out);
	return test_done();
}
