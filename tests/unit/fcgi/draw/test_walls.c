/*
 * What drawing cannot do any more; each case in a child of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/draw/walls.h"
#include "tests/unit/test.h"

enum { NO_WALLS = 254 };

/* The status of fn() in a child behind the walls. */
static int
behind(int (*fn)(void))
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(walls_enter() ? fn() : NO_WALLS);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
nothing(void)
{
	return 0;
}

static int
write_a_file(void)
{
	return open("/tmp/memlens-test-walls", O_WRONLY | O_CREAT, 0600) < 0
	    ? errno : 0;
}

static int
write_to_a_device(void)
{
	return open("/dev/null", O_RDWR) < 0 ? errno : 0;
}

static int
change_a_folder(void)
{
	return mkdir("/tmp/memlens-test-walls.d", 0700) < 0 ? errno : 0;
}

static int
remove_a_file(void)
{
	return unlink("/tmp/memlens-test-walls") < 0 ? errno : 0;
}

static int
start_a_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return errno;
}

static int
start_a_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid < 0 ? errno : 0;
}

static int
talk_here(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
}

static int
talk_there(void)
{
	return socket(AF_INET, SOCK_DGRAM, 0) < 0 ? errno : 0;
}

static int
raise_a_limit(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_CPU, &r);
	return setrlimit(RLIMIT_CPU, &r) < 0 ? errno : 0;
}

static int
gain_rights(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
}

static int
read_a_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static void *
thread(void *arg)
{
	return arg;
}

/* librsvg and pango have them. */
static int
start_a_thread(void)
{
	pthread_t t;
	int r = pthread_create(&t, NULL, thread, NULL);

	return r != 0 ? r : pthread_join(t, NULL);
}

TEST(what_is_refused)
{
	CHECK_INT(behind(write_a_file), EPERM);
	CHECK_INT(behind(write_to_a_device), EPERM);
	CHECK_INT(behind(change_a_folder), EPERM);
	CHECK_INT(behind(remove_a_file), EPERM);
	CHECK_INT(behind(start_a_program), EPERM);
	CHECK_INT(behind(start_a_process), EPERM);
	CHECK_INT(behind(talk_here), EPERM);
	CHECK_INT(behind(talk_there), EPERM);
	CHECK_INT(behind(raise_a_limit), EPERM);
	CHECK_INT(behind(gain_rights), 0);
}

TEST(what_drawing_needs)
{
	CHECK_INT(behind(read_a_file), 0);
	CHECK_INT(behind(start_a_thread), 0);
}

int
main(void)
{
	if (behind(nothing) == NO_WALLS) {
		puts("skip - walls: this kernel filters no system calls");
		return 77;
	}
	RUN(what_is_refused);
	RUN(what_drawing_needs);
	return test_done();
}
