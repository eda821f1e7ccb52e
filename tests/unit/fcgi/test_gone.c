/*
 * Clients that go: what is asked of the store for them ends and leaves it in
 * order, and work that does not ask ends with its worker.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/child/child.h"
#include "fcgi/server/watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "tests/unit/store/store_model.h"

static struct model model;
static struct store *store;

static int64_t
total(void)
{
	return ask_total(store, "cpu", 0, INT64_MAX / 2);
}

TEST(questions_end_and_the_store_is_whole)
{
	struct totals_query totals = {.step_ns = SLOT};
	struct metric_query metric = {.step_ns = SLOT};
	struct profile_query profile = {0};
	struct selector *cpu, *all;
	struct metric_series *series;
	struct store_extent x;
	struct totals *sums;
	struct profile *p;
	const struct err *e;
	int64_t before;
	size_t n;

	model_init(&model, 7);
	model_run(&model, 200);
	CHECK_OK(store_open(&store, model.dir, 0));
	before = total();
	CHECK(before > 0);
	store_extent(store, &x);
	CHECK_OK(selector_parse("cpu", &cpu));
	CHECK_OK(selector_parse("{__name__=~\".*\"}",
	    &all));
	profile.selector = cpu;
	metric.selector = all;
	profile.until_ns = x.until_ns;
	totals.selector = profile.selector;
	totals.from_ns = metric.from_ns = x.from_ns;
	totals.until_ns = metric.until_ns = x.until_ns;

	gone_set(GONE_CLIENT);
	e = store_query_profile(store, &profile, &p);
	CHECK(e != NULL && e->code == 499);
	e = store_query_totals(store, &totals, &sums);
	CHECK(e != NULL && e->code == 499);
	e = store_query_metric(store, &metric, &series, &n);
	CHECK(e != NULL && e->code == 499);
	gone_set(GONE_LATE);
	e = store_query_profile(store, &profile, &p);
	CHECK(e != NULL && e->code == 503);
	gone_set(GONE_NOT);

	CHECK_INT(total(), before);
	store_extent(store, &x);
	CHECK_INT(x.damaged, 0);
	selector_free(cpu);
	selector_free(all);
	store_close(store);
	model_fini(&model);
}

static int pair[2];

/* In a process of its own: how does work for this connection end? */
static int
ends(void (*work)(void))
{
	pid_t pid;
	int status;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	pid = fork();
	if (pid == 0) {
		close(pair[1]);
		watch_init();
		watch_begin(pair[0]);
		alarm(60);
		work();
		_exit(watch_end() ? 1 : 2);
	}
	close(pair[0]);
	poll(NULL, 0, 20);
	close(pair[1]);
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void
work_that_asks(void)
{
	while (!gone())
		;
}

static void
work_that_does_not(void)
{
	for (volatile int i = 0;; i = !i)
		;
}

static void
work_for_the_next(void)
{
	int64_t until;

	watch_spare(true);
	while (!gone())
		;
	for (until = clock_cpu_ns() + 5 * NS_PER_S / 2;
	    clock_cpu_ns() < until;)
		;
	watch_spare(false);
}

static bool
child_works(void *arg, struct buf *out)
{
	(void)arg;
	(void)out;
	work_that_does_not();
	return true;
}

static void
work_in_a_child(void)
{
	const struct child_limits limits = {50 * NS_PER_S, 1 << 30, 1};
	struct buf out = {0};
	const struct err *e = child_run("work", &limits, child_works, NULL,
	    &out);

	if (e == NULL || strstr(e->text, "nobody") == NULL)
		_exit(3);
}

TEST(work_ends_with_its_client)
{
	CHECK_INT(ends(work_that_asks), 1);
	CHECK_INT(ends(work_that_does_not), 0);
	CHECK_INT(ends(work_in_a_child), 1);
	CHECK_INT(ends(work_for_the_next), 1);
}

TEST(who_has_gone_before_is_known_at_once)
{
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	watch_init();
	watch_begin(pair[0]);
	CHECK(!gone());
	CHECK(!watch_end());
	/* the web server has said all that it says, and waits */
	shutdown(pair[1], SHUT_WR);
	watch_begin(pair[0]);
	CHECK(!gone());
	CHECK(!watch_end());
	close(pair[1]);
	watch_begin(pair[0]);
	CHECK(gone());
	CHECK(watch_end());
	CHECK(!gone());
	close(pair[0]);
}

int
main(void)
{
	RUN(questions_end_and_the_store_is_whole);
	RUN(work_ends_with_its_client);
	RUN(who_has_gone_before_is_known_at_once);
	return test_done();
}
