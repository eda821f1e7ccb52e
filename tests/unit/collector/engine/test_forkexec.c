/*
 * Samples of a child of this process from before and behind its exec.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/process/process_events.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "tests/unit/collector/engine/engine_bench.h"
#include "tests/unit/test.h"

#define OWN "test_forkexec" /* our name */

/* A child that executes sleep(1) when it is let. */
struct child {
	int32_t pid;
	int go, done;
};

static struct child
child_fork(void)
{
	int go[2], done[2];
	struct child c;
	char byte;

	CHECK(pipe2(go, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
	c = (struct child){.pid = fork(), .go = go[1], .done = done[0]};
	if (c.pid == 0) {
		close(go[1]);
		(void)!read(go[0], &byte, 1);
		execlp("sleep", "sleep", "600", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	close(done[1]);
	return c;
}

static void
child_exec(const struct child *c)
{
	char byte = 0;

	CHECK_INT(write(c->go, &byte, 1), 1);
	close(c->go);
	CHECK_INT(read(c->done, &byte, 1), 0);
	close(c->done);
}

static void
child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

/* A sample of the child a moment behind time_ns. */
static void
check_child(struct bench *t, const struct child *c, const char *comm,
    int64_t time_ns, const char *service, const char *want)
{
	struct sample_event e = own_event(t);
	const struct process *p;
	struct batch *b;

	aggregate_clear(t->s.aggregate);
	p = services_process(t->services, c->pid, 0);
	CHECK(p != NULL);
	e.start_ns = p != NULL ? p->start_ns : 0;
	e.pid = e.tid = (__u32)c->pid;
	e.time_ns = (uint64_t)time_ns + 1;
	e.flags = EVENT_EH_FRAME;
	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, service, want, 1);
	batch_free(b);
}

static struct bench *
bench_new_watched(void)
{
	struct bench *t = bench_new();
	const struct process_watch_parts parts = {.services = t->services,
	    .maps = t->s.maps};

	CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
	return t;
}

static void
bench_free_watched(struct bench *t)
{
	process_watch_free(t->s.watch);
	t->s.watch = NULL;
	bench_free(t);
}

static void
tell_child(struct bench *t, const struct child *c,
    enum process_event_kind kind, int64_t time_ns)
{
	process_watch_event(t->s.watch, &(struct process_event){.kind = kind,
	    .pid = c->pid, .tid = c->pid, .parent = getpid(),
	    .time_ns = time_ns, .comm = "sleep"}, t->s.now_ns);
}

#define OWN_STACK "{pool=" OWN ",process=" OWN ",}" \
	";root_function;leaf_function"
#define SLEEP_STACK "{pool=sleep,process=sleep,};[no mapping];[unknown]"

/* What a child does before its exec is its parent's, though it was looked at
 * only behind it; or its names before, and its mappings behind it. */
TEST(before_its_exec_a_child_is_its_parents)
{
	struct bench *t = bench_new_watched();
	int seen; /* before its exec */

	for (seen = 0; seen < 2; seen++) {
		int64_t forked_ns = clock_mono_ns(), executed_ns;
		struct child c = child_fork();

		tell_child(t, &c, PROCESS_FORK, forked_ns);
		if (seen)
			CHECK(services_process(t->services, c.pid, 0) != NULL);
		executed_ns = clock_mono_ns();
		child_exec(&c);
		if (!seen) /* and the kernel's word comes later */
			services_look(t->services, c.pid);
		tell_child(t, &c, PROCESS_EXEC, executed_ns);
		check_child(t, &c, OWN, forked_ns, t->service,
		    OWN_STACK);
		check_child(t, &c, "sleep", executed_ns, "sleep", SLEEP_STACK);
		check_child(t, &c, OWN, forked_ns, t->service,
		    OWN_STACK);
		child_end(&c);
	}
	bench_free_watched(t);
}

/* Of two programs, the first one has its own name and mappings.  Where it is
 * not known where a process comes from, it has the sample's name. */
TEST(between_two_execs_it_is_the_first_program)
{
	struct bench *t = bench_new_watched();
	int64_t forked_ns = clock_mono_ns(), first_ns, executed_ns;
	struct child c = child_fork(), d = child_fork();
	struct process_event exec = {.kind = PROCESS_EXEC, .comm = "grep"};

	tell_child(t, &c, PROCESS_FORK, forked_ns);
	exec.time_ns = first_ns = clock_mono_ns();
	tell_own_code(t, c.pid, &exec);
	executed_ns = clock_mono_ns();
	child_exec(&c);
	tell_child(t, &c, PROCESS_EXEC, executed_ns);
	check_child(t, &c, "grep", first_ns, "by its file",
	    "{pool=grep,process=grep,};root_function;leaf_function");
	check_child(t, &c, OWN, forked_ns, t->service, OWN_STACK);
	child_end(&c);
	executed_ns = clock_mono_ns();
	child_exec(&d);
	tell_child(t, &d, PROCESS_EXEC, executed_ns);
	check_child(t, &d, "stranger", forked_ns, "stranger",
	    "{pool=stranger,process=stranger,};[no process]");
	child_end(&d);
	bench_free_watched(t);
}

int
main(void)
{
	RUN(before_its_exec_a_child_is_its_parents);
	RUN(between_two_execs_it_is_the_first_program);
	return test_done();
}
