/*
 * What the probe of waits shares with the daemon: the table of reasons against
 * the kernel's numbers, and the sums of a thread's time against a model that
 * keeps every nanosecond's state.
 */
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collector/bpf/wait_reason.h"
#include "collector/bpf/wait_time.h"
#include "tests/unit/test.h"

#ifndef SYS_futex_wait /* younger than the headers */
#define SYS_futex_wait 455
#endif

#define NUMBER_IS(number, name, rule) CHECK_INT(SYS_##name, number);

TEST(calls_have_the_kernels_numbers)
{
	WAIT_CALLS(NUMBER_IS)
}

TEST(reasons)
{
	CHECK_INT(wait_rule(SYS_futex), WAIT_RULE_FUTEX);
	CHECK_INT(wait_rule(SYS_futex_waitv), WAIT_RULE_LOCK);
	CHECK_INT(wait_rule(SYS_futex_wait), WAIT_RULE_LOCK);
	CHECK_INT(wait_futex_reason(FUTEX_WAIT_PRIVATE), WAIT_LOCK);
	CHECK_INT(wait_futex_reason(FUTEX_LOCK_PI_PRIVATE), WAIT_LOCK);
	CHECK_INT(wait_futex_reason(FUTEX_WAIT_BITSET |
	    FUTEX_CLOCK_REALTIME), WAIT_CONDITION);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_fsync)), WAIT_DISK);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_accept4)), WAIT_NETWORK);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_epoll_wait)), WAIT_POLL);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_nanosleep)), WAIT_TIMER);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_mlock)), WAIT_FAULT);
	CHECK_INT(wait_rule_reason(wait_rule(SYS_wait4)), WAIT_OTHER);
	CHECK_INT(wait_rule(SYS_read), WAIT_RULE_FILE);
	CHECK_INT(wait_rule(WAIT_NO_CALL), WAIT_RULE_OTHER);
	CHECK_INT(wait_rule(WAIT_CALLS_MAX), WAIT_RULE_OTHER);
	CHECK_INT(wait_file_reason(S_IFSOCK | 0777), WAIT_NETWORK);
	CHECK_INT(wait_file_reason(S_IFIFO), WAIT_PIPE);
	CHECK_INT(wait_file_reason(S_IFREG | 0644), WAIT_DISK);
	CHECK_INT(wait_file_reason(S_IFBLK), WAIT_DISK);
	CHECK_INT(wait_file_reason(S_IFCHR), WAIT_OTHER);
	CHECK_INT(wait_file_reason(0), WAIT_OTHER); /* an event descriptor */
}

#define KILLABLE 0x102
#define IDLE 0x402

TEST(workers_of_io_uring_by_how_they_wait)
{
	CHECK_INT(wait_worker_reason(WAIT_UNINTERRUPTIBLE, true), WAIT_DISK);
	CHECK_INT(wait_worker_reason(WAIT_UNINTERRUPTIBLE, false), WAIT_DISK);
	CHECK_INT(wait_worker_reason(KILLABLE, false), WAIT_DISK);
	CHECK_INT(wait_worker_reason(WAIT_INTERRUPTIBLE, true), WAIT_DISK);
	CHECK_INT(wait_worker_reason(WAIT_INTERRUPTIBLE, false), WAIT_POLL);
	CHECK_INT(wait_worker_reason(IDLE, false), WAIT_OTHER);
}

#define LIFE 20000 /* "nanoseconds" */
#define SLOT 1000
#define BEGIN 300 /* of the first slot */

/* The state of each nanosecond. */
struct model {
	unsigned char state[LIFE];
};

static void
model_sum(const struct model *m, __u64 end, __u64 out[WAIT_ROOM])
{
	__u64 i;

	memset(out, 0, WAIT_ROOM * sizeof(out[0]));
	for (i = 1; i < end; i++) /* 0 is no time */
		out[m->state[i]]++;
}

static bool
same(const __u64 a[WAIT_ROOM], const __u64 b[WAIT_ROOM])
{
	return memcmp(a, b, WAIT_ROOM * sizeof(a[0])) == 0;
}

/* At each switch and at each border the sums are what the model has. */
static void
live(unsigned seed, struct model *m)
{
	const struct wait_slots slots = {BEGIN, SLOT};
	struct wait_thread t = {.state = WAIT_RUN_QUEUE};
	__u64 now = 1, want[WAIT_ROOM], run_delay = 0;
	unsigned i = 0;

	srand(seed);
	while (now < LIFE - 5000) {
		__u64 wait = (__u64)rand() % 2500, queued = wait > 0 ?
		    (__u64)rand() % (wait + 1) : 0;
		__u64 run = (__u64)rand() % (i % 3 == 0 ? 2500 : 90);
		unsigned char reason = (unsigned char)(1 + rand() % 9);

		/* it comes, ... */
		if (reason == WAIT_RUN_QUEUE)
			queued = wait;
		t.reason = reason;
		t.left_ns = now;
		memset(m->state + now, reason, wait - queued);
		memset(m->state + now + wait - queued, WAIT_RUN_QUEUE,
		    queued);
		now += wait;
		t.since_ns = now;
		t.run_delay = run_delay;
		run_delay += queued;
		/* ... and leaves */
		memset(m->state + now, WAIT_ON_CPU, run);
		wait_settle(&t, run_delay, &slots);
		wait_add(&t, WAIT_ON_CPU, now, now + run, &slots);
		now += run;
		t.since_ns = now;
		i++;
		model_sum(m, now, want);
		CHECK(same(t.sums.sum, want));
		if (now < BEGIN + SLOT)
			continue;
		CHECK_INT((t.sums.at_ns - BEGIN) % SLOT, 0);
		CHECK(now - t.sums.at_ns < SLOT);
		CHECK_INT(t.border_ns, t.sums.at_ns + SLOT);
		model_sum(m, t.sums.at_ns, want);
		CHECK(same(t.sums.at, want));
	}
}

TEST(sums_are_those_of_every_nanosecond)
{
	static struct model m;
	unsigned seed;

	for (seed = 1; seed <= 50; seed++) {
		memset(&m, 0, sizeof(m));
		live(seed, &m);
	}
}

/* The scheduler's clock is another: it may say more than there was. */
TEST(no_more_is_queued_than_was_waited)
{
	CHECK_INT(wait_queued(WAIT_LOCK, 100, 1030, 1000), 30);
	CHECK_INT(wait_queued(WAIT_LOCK, 100, 1130, 1000), 100);
	CHECK_INT(wait_queued(WAIT_LOCK, 100, 990, 1000), 100);
	CHECK_INT(wait_queued(WAIT_RUN_QUEUE, 100, 1030, 1000), 100);
}

int
main(void)
{
	RUN(calls_have_the_kernels_numbers);
	RUN(reasons);
	RUN(workers_of_io_uring_by_how_they_wait);
	RUN(sums_are_those_of_every_nanosecond);
	RUN(no_more_is_queued_than_was_waited);
	return test_done();
}
