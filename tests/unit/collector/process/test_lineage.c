/*
 * Where processes come from that nobody has looked at.
 */
#include <stdlib.h>

#include "collector/process/lineage.h"
#include "collector/process/process_events.h"
#include "tests/unit/test.h"

/* Pids up to this one are known. */
static bool
is_known(void *arg, int32_t pid)
{
	return pid <= *(int32_t *)arg;
}

static void
forked(struct lineage *l, int32_t parent, int32_t pid, int64_t ns)
{
	lineage_event(l,
	    &(struct process_event){.kind = PROCESS_FORK,
		.pid = pid,
		.tid = pid,
		.parent = parent,
		.time_ns = ns});
}

static void
executed(struct lineage *l, int32_t pid, const char *comm, int64_t ns)
{
	struct process_event e = {.kind = PROCESS_EXEC, .pid = pid, .tid = pid,
	    .time_ns = ns};

	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	lineage_event(l, &e);
}

static bool
find(struct lineage *l, int32_t pid, int64_t ns, struct lineage_origin *o)
{
	int32_t known = 99;

	return lineage_find(l, pid, ns, is_known, &known, o);
}

TEST(a_child_is_what_its_parent_is)
{
	struct lineage *l = lineage_new();
	struct lineage_origin o;

	forked(l, 7, 100, 10);
	forked(l, 100, 101, 20);
	CHECK(find(l, 101, 30, &o));
	CHECK_INT(o.root, 7);
	CHECK_INT(o.program, 0);
	CHECK(!find(l, 102, 30, &o));
	lineage_free(l);
}

TEST(until_it_executes_a_program)
{
	struct lineage *l = lineage_new();
	struct lineage_origin o;

	forked(l, 7, 100, 10);
	executed(l, 100, "sh", 20);
	forked(l, 100, 101, 30);
	CHECK(find(l, 100, 15, &o) && o.program == 0 && o.root == 7);
	CHECK(find(l, 100, 25, &o) && o.program == 100 && o.root == 7);
	CHECK_STR(o.comm, "sh");
	CHECK(find(l, 101, 35, &o) && o.program == 100 && o.root == 7);
	executed(l, 101, "grep", 40);
	CHECK(find(l, 101, 45, &o) && o.program == 101);
	CHECK_STR(o.comm, "grep");
	/* What the parent executed after the fork is not the child's. */
	forked(l, 7, 102, 50);
	forked(l, 102, 103, 60);
	executed(l, 102, "later", 70);
	CHECK(find(l, 103, 80, &o) && o.program == 0 && o.root == 7);
	lineage_free(l);
}

TEST(one_program_after_the_other)
{
	struct lineage *l = lineage_new();
	struct lineage_origin o;

	forked(l, 7, 100, 10);
	CHECK_INT(lineage_next_exec(l, 100, 15), 0);
	executed(l, 100, "env", 20);
	executed(l, 100, "grep", 30);
	CHECK(find(l, 100, 15, &o) && o.program == 0 && o.root == 7);
	CHECK(find(l, 100, 25, &o) && o.program == 100);
	CHECK_INT(o.exec_ns, 20);
	CHECK_STR(o.comm, ""); /* env is forgotten */
	CHECK(find(l, 100, 30, &o) && o.exec_ns == 30);
	CHECK_STR(o.comm, "grep");
	CHECK_INT(lineage_next_exec(l, 100, 9), 0); /* another process */
	CHECK_INT(lineage_next_exec(l, 100, 15), 20);
	CHECK_INT(lineage_next_exec(l, 100, 25), 30);
	CHECK_INT(lineage_next_exec(l, 100, 30), 0);
	CHECK_INT(lineage_next_exec(l, 101, 15), 0);
	lineage_free(l);
}

/* Each CPU tells its own. */
TEST(an_exec_is_told_before_its_fork)
{
	struct lineage *l = lineage_new();
	struct lineage_origin o;

	executed(l, 100, "grep", 30);
	executed(l, 100, "env", 20);
	forked(l, 7, 100, 10);
	CHECK(find(l, 100, 15, &o) && o.program == 0 && o.root == 7);
	CHECK(find(l, 100, 25, &o) && o.exec_ns == 20);
	CHECK(find(l, 100, 35, &o) && o.exec_ns == 30 && o.root == 7);
	CHECK_STR(o.comm, "grep");
	executed(l, 100, "next", 50); /* of the next one of that number */
	forked(l, 8, 100, 40);
	executed(l, 100, "grep", 35);
	CHECK(find(l, 100, 45, &o) && o.program == 0 && o.root == 8);
	CHECK_INT(lineage_next_exec(l, 100, 45), 50);
	CHECK(find(l, 100, 55, &o) && o.program == 100);
	CHECK_STR(o.comm, "next");
	lineage_free(l);
}

TEST(numbers_come_again)
{
	struct lineage *l = lineage_new();
	struct lineage_origin o;

	forked(l, 7, 100, 10);
	executed(l, 100, "first", 20);
	forked(l, 8, 100, 30);
	CHECK(find(l, 100, 40, &o) && o.program == 0 && o.root == 8);
	forked(l, 9, 100 + LINEAGE_MAX, 50); /* takes its place */
	CHECK(!find(l, 100, 60, &o));
	executed(l, 101, "unseen", 70); /* its fork was lost */
	CHECK(find(l, 101, 80, &o) && o.program == 101 && o.root == 0);
	/* A circle, which no kernel makes, has an end. */
	forked(l, 105, 104, 90);
	forked(l, 104, 105, 90);
	CHECK(!find(l, 104, 95, &o));
	lineage_free(l);
}

int
main(void)
{
	RUN(a_child_is_what_its_parent_is);
	RUN(until_it_executes_a_program);
	RUN(one_program_after_the_other);
	RUN(an_exec_is_told_before_its_fork);
	RUN(numbers_come_again);
	return test_done();
}
