/*
 * SIGTERM and a worker: at whatever moment it comes, the request in its hands
 * is answered, and an idle worker ends.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
/* after sys/ptrace.h, whose enumerators it has as macros */
#include <linux/ptrace.h>

#include "fcgi/listen.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/serve.h"
#include "fcgi/server/settings.h"
#include "fcgi/site.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static char path[64];
static int listening;
static struct settings settings;

static void
listen_begin(void)
{
	snprintf(path, sizeof(path), "/tmp/memlens-serve.%d", (int)getpid());
	CHECK_OK(listen_unix(path, &listening));
}

static void
listen_end(void)
{
	close(listening);
	unlink(path);
}

static pid_t
worker(bool traced)
{
	struct draw draw = {0};
	struct serve_options o = {&site, listening, "/nonexistent", &settings,
	    &draw, POOL_ALL, 0, 1, 1, -1, -1};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (traced && (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 ||
	    raise(SIGSTOP) != 0))
		_exit(99);
	_exit(serve_run(&o));
}

/* Its status, or -1 when it has not ended after a time that is long for any
 * machine. */
static int
ended(pid_t pid)
{
	int status, patience = 20000;

	while (waitpid(pid, &status, WNOHANG) == 0 && patience-- > 0)
		usleep(1000);
	if (patience > 0 && WIFEXITED(status))
		return WEXITSTATUS(status);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

/* ---- a request in its hands ---- */

static const char request[] =
    "\1\1\0\1\0\10\0\0" "\0\1\0\0\0\0\0\0"     /* begin: responder */
    "\1\4\0\1\0\56\0\0" "\16\3REQUEST_METHODGET" /* parameters */
    "\13\16REQUEST_URI/api/v1/health"
    "\1\4\0\1\0\0\0\0" "\1\5\0\1\0\0\0\0";     /* no more, no body */

static int
connected(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

/* Until the other side has read all of it. */
static void
say(int fd, const char *bytes, size_t n)
{
	int left = 1;

	CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
	while (ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0)
		usleep(1000);
}

TEST(the_request_in_hand_is_answered)
{
	char answer[4096] = "";
	size_t half = 30, n = 0;
	ssize_t got;
	pid_t pid;
	int fd;

	listen_begin();
	pid = worker(false);
	fd = connected();
	say(fd, request, half);
	kill(pid, SIGTERM);
	CHECK(send(fd, request + half, sizeof(request) - 1 - half,
	    MSG_NOSIGNAL) > 0);
	while (n < sizeof(answer) - 1 &&
	    (got = read(fd, answer + n, sizeof(answer) - 1 - n)) > 0)
		n += (size_t)got;
	CHECK(n > 8 && strncmp(answer + 8, "Status: 200", 11) == 0);
	CHECK_INT(ended(pid), 0);
	close(fd);
	listen_end();
}

/* ---- at each instruction before it waits ---- */

#ifdef __x86_64__
#define SYSCALL_BYTES 2
#else
#define SYSCALL_BYTES 4
#endif
#define NEAR 4096 /* bytes of code around serve_run() */

static struct ptrace_syscall_info info;

static bool
stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
	    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0;
}

static bool
waits_for_work(void)
{
	uint64_t nr = info.entry.nr;

	return info.op == PTRACE_SYSCALL_INFO_ENTRY && (nr == SYS_epoll_pwait ||
#ifdef SYS_epoll_wait
	    nr == SYS_epoll_wait ||
#endif
	    nr == SYS_accept || nr == SYS_accept4);
}

/* Lets it run to its n-th stop at a system call. */
static pid_t
run_to(int n)
{
	pid_t pid = worker(true);
	bool good = stopped(pid) && ptrace(PTRACE_SETOPTIONS, pid, 0,
	    PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0;

	for (int i = 0; i < n && good; i++)
		good = ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && stopped(pid);
	CHECK(good);
	return pid;
}

/* The number of the stop at which it first waits for work. */
static int
first_wait(uint64_t *ip)
{
	pid_t pid = run_to(0);
	int n = 0;

	do {
		n++;
		CHECK(ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && stopped(pid));
	} while (!waits_for_work() && n < 10000);
	*ip = info.instruction_pointer - SYSCALL_BYTES;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return n;
}

static bool ours[100000]; /* is the instruction after n steps serve.c's? */

/* Steps from the system call before, up to `most`; how many. */
static int
step(pid_t pid, uint64_t until, int most)
{
	uint64_t here = (uint64_t)(uintptr_t)serve_run;
	int n = 0;

	while (n < most && info.instruction_pointer != until) {
		CHECK(ptrace(PTRACE_SINGLESTEP, pid, 0, 0) == 0 &&
		    stopped(pid));
		ours[n++] = info.instruction_pointer + NEAR > here &&
		    info.instruction_pointer < here + NEAR;
	}
	return n;
}

/* Tells a worker to end `n` steps on; false when it goes on waiting. */
static bool
ends_after(int wait, uint64_t until, int n)
{
	pid_t pid = run_to(wait - 1);

	step(pid, until, n);
	ptrace(PTRACE_DETACH, pid, 0, SIGTERM);
	return ended(pid) == 0;
}

TEST(an_idle_worker_ends_whenever_it_is_told)
{
	int wait, steps, tried = 0;
	bool good = true;
	uint64_t until;
	pid_t pid;

	listen_begin();
	wait = first_wait(&until);
	pid = run_to(wait - 1);
	steps = step(pid, until, (int)sizeof(ours));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int n = 1; n <= steps && good; n++) {
		if (!ours[n - 1])
			continue;
		good = ends_after(wait, until, n);
		tried++;
	}
	printf("# %d of %d instructions before it waits\n", tried, steps);
	CHECK(good);
	CHECK(tried > 0);
	listen_end();
}

int
main(void)
{
	CHECK_OK(settings_load(&settings, NULL));
	RUN(the_request_in_hand_is_answered);
	RUN(an_idle_worker_ends_whenever_it_is_told);
	settings_free(&settings);
	return test_done();
}
