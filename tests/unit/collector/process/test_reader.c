/*
 * Who shows a process's memory: nobody does of one that has ended, also where
 * its number is still there; who may not be looked at has some.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "collector/process/reader.h"
#include "tests/unit/collector/process/first_thread.h"
#include "tests/unit/test.h"

TEST(one_that_has_ended_has_no_memory)
{
	siginfo_t ended;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK_INT(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	CHECK_INT(reader_find("/proc", pid, pid), 0); /* nobody asked for it */
	waitpid(pid, NULL, 0);
	CHECK_INT(reader_find("/proc", pid, pid), 0);
	CHECK_INT(reader_find("/proc", getpid(), getpid()), getpid());
}

TEST(another_thread_where_the_first_one_has_ended)
{
	struct first_thread f;
	int32_t reader;

	first_thread_begin(&f);
	first_thread_end(&f);
	reader = reader_find("/proc", f.pid, f.pid);
	CHECK(reader != 0 && reader != f.pid);
	first_thread_fini(&f);
}

TEST(one_that_may_not_be_looked_at)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit((getuid() == 0 && setuid(65534) != 0) ||
		    reader_find("/proc", 1, 1) != 1);
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
}

int
main(void)
{
	RUN(one_that_has_ended_has_no_memory);
	RUN(another_thread_where_the_first_one_has_ended);
	RUN(one_that_may_not_be_looked_at);
	return test_done();
}
