/*
 * Work in children: what comes back, and what is said of those that fail.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fcgi/child/child.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static const struct child_limits limits = {50 * NS_PER_S, 512u << 20,
    4u << 20};
static struct buf out;

static bool
work(void *arg, struct buf *b)
{
	struct rlimit r;

	switch (*(const char *)arg) {
	case 'f':
		return false;
	case 'a':
		abort();
	case 'm': /* more than may come back */
		while (b->len < 8u << 20)
			buf_put_u8(b, 'm');
		return true;
	case 's':
		sleep(1000);
		return true;
	default:
		getrlimit(RLIMIT_CORE, &r);
		buf_printf(b, "no core %d", r.rlim_max == 0);
		getrlimit(RLIMIT_CPU, &r);
		buf_printf(b, ", %d s", (int)r.rlim_max);
		return true;
	}
}

static void
check_fails(const char *how, const struct child_limits *l, const char *text)
{
	char arg[2] = {*how, '\0'};
	const struct err *e;

	buf_clear(&out);
	e = child_run("work", l, work, arg, &out);
	CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 503);
	CHECK_STR(e != NULL ? e->text : "", text);
}

TEST(work_of_our_own)
{
	static const struct child_limits brief = {NS_PER_S / 5, 512u << 20, 1};
	char fine[] = "-";

	buf_put(&out, "it has ", 7);
	CHECK_OK(child_run("work", &limits, work, fine, &out));
	buf_put_u8(&out, '\0');
	CHECK_STR((const char *)out.data, "it has no core 1, 51 s");
	check_fails("f", &limits, "work failed");
	check_fails("a", &limits, "work failed: signal 6");
	check_fails("m", &limits, "work is too large");
	check_fails("s", &brief, "work took too long");
}

/* From none on, as many as it takes: a lack of them passes. */
TEST(a_lack_of_descriptors_is_a_503)
{
	int first = dup(STDIN_FILENO), after;
	struct rlimit all, few;
	char fine[] = "-";
	const struct err *e;

	close(first);
	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	for (int i = 0; i < 2; i++) {
		few.rlim_cur = (rlim_t)(first + i);
		setrlimit(RLIMIT_NOFILE, &few);
		e = child_run("work", &limits, work, fine, &out);
		setrlimit(RLIMIT_NOFILE, &all);
		CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 503);
		CHECK(e != NULL && strstr(e->text, ": Too many open files"));
		after = dup(STDIN_FILENO);
		close(after);
		CHECK_INT(after, first);
	}
	CHECK_OK(child_run("work", &limits, work, fine, &out));
}

int
main(void)
{
	RUN(work_of_our_own);
	RUN(a_lack_of_descriptors_is_a_503);
	buf_fini(&out);
	return test_done();
}
