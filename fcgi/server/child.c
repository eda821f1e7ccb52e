/*
 * fork, limits, a pipe, a deadline.
 */
#include "fcgi/server/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

static void
child_limit(int what, rlim_t value)
{
	struct rlimit r = {value, value};

	setrlimit(what, &r);
}

static bool
child_write(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno != EINTR)
			return false;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return true;
}

/* Never returns.  _exit(), since the parent's buffers and handlers are not
 * ours to run. */
static void
child_main(const struct child_limits *l, int fd, child_fn *fn, void *arg)
{
	struct buf out = {0};
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	child_limit(RLIMIT_CORE, 0);
	child_limit(RLIMIT_CPU, (rlim_t)(l->time_ns / NS_PER_S + 1));
#ifndef __SANITIZE_ADDRESS__
	child_limit(RLIMIT_DATA, l->memory_bytes);
#endif
	if (!fn(arg, &out) || out.failed || !child_write(fd, out.data, out.len))
		_exit(1);
	_exit(0);
}

/* Reads to the end; what went wrong, or NULL. */
static const char *
child_read(int fd, const struct child_limits *l, struct buf *out)
{
	int64_t deadline = clock_mono_ns() + l->time_ns;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t before = out->len;

	for (;;) {
		int64_t left = deadline - clock_mono_ns();
		ssize_t n;

		if (left <= 0)
			return "took too long";
		if (gone())
			return "has nobody who waits for it";
		if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) <= 0)
			continue;
		if (!buf_reserve(out, 65536))
			return "needs too much memory";
		n = read(fd, out->data + out->len, 65536);
		if (n == 0)
			return NULL;
		if (n > 0)
			out->len += (size_t)n;
		else if (errno != EINTR)
			return "cannot be read";
		if (out->len - before > l->output_bytes)
			return "is too large";
	}
}

const struct err *
child_run(const char *what, const struct child_limits *l, child_fn *fn,
    void *arg, struct buf *out)
{
	int fds[2], status = 0;
	const char *why;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno("pipe");
	pid = fork();
	if (pid == 0)
		child_main(l, fds[1], fn, arg);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return err_errno("fork");
	}
	why = child_read(fds[0], l, out);
	close(fds[0]);
	if (why != NULL)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (why == NULL && status != 0)
		why = "failed";
	if (why != NULL)
		return err_new(ERR_REQUEST, 503, "%s %s", what, why);
	return NULL;
}
