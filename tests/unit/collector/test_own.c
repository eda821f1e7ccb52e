/*
 * Which workers are of this installation.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/own.h"
#include "tests/unit/test.h"

#define NOBODY 65534

/* A process with these arguments behind its own; it waits until it is
 * killed. */
static pid_t
begin(unsigned uid, const char *a, const char *b)
{
	int said[2];
	char c;
	pid_t pid;

	CHECK(pipe(said) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(said[1], 1);
		if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0))
			_exit(1);
		execl("/bin/sh", "memlens-fcgi", "-c",
		    "echo; while :; do sleep 1; done", "memlens-fcgi", "-p",
		    "query", a, b, (char *)NULL);
		_exit(1);
	}
	CHECK(read(said[0], &c, 1) == 1); /* it has executed it */
	close(said[0]);
	close(said[1]);
	return pid;
}

static int
own(unsigned uid, const char *directory, const char *a, const char *b)
{
	pid_t pid = begin(uid, a, b);
	int is = own_worker(pid, directory);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return is;
}

TEST(a_worker_is_of_the_store_that_it_serves)
{
	char ours[] = "/tmp/own-XXXXXX", other[] = "/tmp/own-XXXXXX";
	char glued[64], equals[64];

	CHECK(mkdtemp(ours) != NULL && mkdtemp(other) != NULL);
	snprintf(glued, sizeof(glued), "-s%s/", ours);
	snprintf(equals, sizeof(equals), "--store=%s", ours);
	CHECK_INT(own(0, ours, "-s", ours), 1);
	CHECK_INT(own(0, ours, "--store", ours), 1);
	CHECK_INT(own(0, ours, glued, NULL), 1);
	CHECK_INT(own(0, ours, equals, NULL), 1);
	CHECK_INT(own(0, ours, "-s", other), 0);
	CHECK_INT(own(0, ours, "-s", "/nowhere"), 0);
	CHECK_INT(own(0, ours, NULL, NULL), 0); /* the one built in */
	CHECK_INT(own_worker(0x7ffffff0, ours), -1);
	rmdir(ours);
	rmdir(other);
}

TEST(nobody_is_none_of_ours_whatever_it_says)
{
	char ours[] = "/tmp/own-XXXXXX";

	if (geteuid() != 0)
		return; /* there is nobody else to be */
	CHECK(mkdtemp(ours) != NULL);
	chmod(ours, 0755);
	CHECK_INT(own(NOBODY, ours, "-s", ours), 0);
	CHECK(chown(ours, 0, NOBODY) == 0); /* the store's group */
	CHECK_INT(own(NOBODY, ours, "-s", ours), 1);
	rmdir(ours);
}

int
main(void)
{
	RUN(a_worker_is_of_the_store_that_it_serves);
	RUN(nobody_is_none_of_ours_whatever_it_says);
	return test_done();
}
