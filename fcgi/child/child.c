/*
 * fork, limits, a pipe, a deadline.
 */
#include "fcgi/child/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

static void
child_bound(int what, rlim_t value)
{
	struct rlimit r = {value, value};

	setrlimit(what, &r);
}

bool
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

void
child_begin(int in, int out, int said)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	dup2(in >= 0 ? in : null, STDIN_FILENO);
	dup2(out >= 0 ? out : null, STDOUT_FILENO);
	dup2(said >= 0 ? said : null, STDERR_FILENO);
	child_bound(RLIMIT_CORE, 0);
}

void
child_limit(const struct child_limits *l)
{
	child_bound(RLIMIT_CPU, (rlim_t)(l->time_ns / NS_PER_S + 1));
#ifndef __SANITIZE_ADDRESS__
	child_bound(RLIMIT_DATA, l->memory_bytes);
#endif
}

const char *
child_await(int fd, int64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = deadline_ns - clock_mono_ns();

		if (left <= 0)
			return "took too long";
		if (gone())
			return "has nobody who waits for it";
		if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) > 0)
			return NULL;
	}
}

const char *
child_read(int fd, int64_t deadline_ns, size_t max, struct buf *out)
{
	size_t before = out->len;
	const char *why;

	while ((why = child_await(fd, deadline_ns)) == NULL) {
		ssize_t n;

		if (!buf_reserve(out, 65536))
			return "needs too much memory";
		n = read(fd, out->data + out->len, 65536);
		if (n == 0)
			return NULL;
		if (n > 0)
			out->len += (size_t)n;
		else if (errno != EINTR)
			return "cannot be read";
		if (out->len - before > max)
			return "is too large";
	}
	return why;
}

const struct err *
child_lacks(const char *what, const char *call)
{
	return err_new(ERR_REQUEST, 503, "%s failed: %s: %s", what, call,
	    strerror(errno));
}

const struct err *
child_failed(const char *what, const char *reason, int status)
{
	if (*reason == '\0' && WIFSIGNALED(status))
		return err_new(ERR_REQUEST, 503, "%s failed: signal %d", what,
		    WTERMSIG(status));
	return err_new(ERR_REQUEST, 503, "%s failed%s%s", what,
	    *reason != '\0' ? ": " : "", reason);
}

int
child_reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Never returns.  _exit(), since the parent's buffers and handlers are not
 * ours to run. */
static void
child_work(const struct child_limits *l, child_fn *fn, void *arg, int fd)
{
	struct buf out = {0};

	child_begin(-1, -1, -1);
	child_limit(l);
	if (!fn(arg, &out) || out.failed ||
	    !child_write(fd, out.data, out.len))
		_exit(1);
	_exit(0);
}

const struct err *
child_run(const char *what, const struct child_limits *l, child_fn *fn,
    void *arg, struct buf *out)
{
	const char *why;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return child_lacks(what, "pipe");
	pid = fork();
	if (pid == 0)
		child_work(l, fn, arg, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return child_lacks(what, "fork");
	}
	why = child_read(fds[0], clock_mono_ns() + l->time_ns,
	    l->output_bytes, out);
	close(fds[0]);
	/* Who took too long or said too much might never end by itself. */
	if (why != NULL)
		kill(pid, SIGKILL);
	status = child_reap(pid);
	if (why != NULL)
		return err_new(ERR_REQUEST, 503, "%s %s", what, why);
	return status == 0 ? NULL : child_failed(what, "", status);
}
