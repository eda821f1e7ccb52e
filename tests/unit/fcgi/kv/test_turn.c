/*
 * Turns of processes: one at a time, and none of the dead.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/kv/turn.h"
#include "store/base/gone.h"
#include "tests/unit/test.h"

/* A child that has a turn until it is ended. */
static pid_t
holder(int fd, enum turn which)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = fork();
	if (pid == 0) {
		byte = turn_try(fd, which) ? 'y' : 'n';
		if (write(ready[1], &byte, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	CHECK(byte == 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(one_process_has_a_turn_until_its_end)
{
	int fd = turn_open();
	pid_t pid = holder(fd, TURN_ACTION);

	CHECK(!turn_try(fd, TURN_ACTION));
	CHECK(turn_try(fd, TURN_KEYS)); /* another one */
	end(pid);
	CHECK(turn_try(fd, TURN_ACTION));
	turn_end(fd, TURN_ACTION);
	pid = holder(fd, TURN_ACTION);
	end(pid);
	close(fd);
}

TEST(who_waits_is_told_that_nobody_waits_for_him)
{
	int fd = turn_open();
	pid_t pid = holder(fd, TURN_KEYS);

	gone_set(GONE_CLIENT);
	CHECK(turn_wait(fd, TURN_KEYS) != NULL);
	gone_set(GONE_NOT);
	end(pid);
	CHECK(turn_wait(fd, TURN_KEYS) == NULL);
	close(fd);
}

TEST(without_a_file_everybody_has_each)
{
	CHECK(turn_try(-1, TURN_KEYS));
	CHECK(turn_wait(-1, TURN_KEYS) == NULL);
	turn_end(-1, TURN_KEYS);
}

int
main(void)
{
	RUN(one_process_has_a_turn_until_its_end);
	RUN(who_waits_is_told_that_nobody_waits_for_him);
	RUN(without_a_file_everybody_has_each);
	return test_done();
}
