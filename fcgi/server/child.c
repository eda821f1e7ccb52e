/*
 * fork, limits, a pipe, a deadline.
 */
#include "fcgi/server/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

/* Either fn or argv is set. */
struct child {
	const char *what;
	const struct child_limits *limits;
	child_fn *fn;
	void *arg;
	const char *const *argv;
	int in;      /* what argv[0] reads */
	int said[2]; /* a pipe that never blocks: its standard error */
};

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

/* The fork begins: nothing of the parent's signals, and the limits.  Where it
 * writes what nobody wants to read is /dev/null. */
static void
child_begin(const struct child_limits *l, int in, int out, int said)
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
	child_limit(RLIMIT_CORE, 0);
	child_limit(RLIMIT_CPU, (rlim_t)(l->time_ns / NS_PER_S + 1));
#ifndef __SANITIZE_ADDRESS__
	child_limit(RLIMIT_DATA, l->memory_bytes);
#endif
}

/* Never returns.  _exit(), since the parent's buffers and handlers are not
 * ours to run. */
static void
child_work(const struct child *c, int fd)
{
	struct buf out = {0};

	child_begin(c->limits, -1, -1, -1);
	if (!c->fn(c->arg, &out) || out.failed ||
	    !child_write(fd, out.data, out.len))
		_exit(1);
	_exit(0);
}

/* Never returns.  The program gets nothing else of ours, as connections. */
static void
child_program(const struct child *c, int fd)
{
	union {
		const char *const *in;
		char *const *out;
	} argv = {.in = c->argv};

	child_begin(c->limits, c->in, fd, c->said[1]);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	execv(c->argv[0], argv.out);
	dprintf(STDERR_FILENO, "%s: %s\n", c->argv[0], strerror(errno));
	_exit(127);
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

/* The first line of what the program has said, or the signal that ended it;
 * else "". */
static void
child_reason(const struct child *c, int status, char *line, size_t room)
{
	ssize_t n = c->argv != NULL ? read(c->said[0], line, room - 1) : 0;

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (*line == '\0' && WIFSIGNALED(status))
		snprintf(line, room, "signal %d", WTERMSIG(status));
}

/* What we lack for it, as processes and descriptors: there may be some in a
 * moment. */
static const struct err *
child_lacks(const struct child *c, const char *call)
{
	return err_new(ERR_REQUEST, 503, "%s failed: %s: %s", c->what, call,
	    strerror(errno));
}

static const struct err *
child_do(const struct child *c, struct buf *out)
{
	int fds[2], status = 0;
	char reason[300];
	const char *why;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return child_lacks(c, "pipe");
	pid = fork();
	if (pid == 0)
		(c->argv != NULL ? child_program : child_work)(c, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return child_lacks(c, "fork");
	}
	why = child_read(fds[0], c->limits, out);
	close(fds[0]);
	/* Who took too long or said too much might never end by itself. */
	if (why != NULL)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (why != NULL)
		return err_new(ERR_REQUEST, 503, "%s %s", c->what, why);
	if (status == 0)
		return NULL;
	child_reason(c, status, reason, sizeof(reason));
	return err_new(ERR_REQUEST, 503, "%s failed%s%s", c->what,
	    *reason != '\0' ? ": " : "", reason);
}

const struct err *
child_run(const char *what, const struct child_limits *l, child_fn *fn,
    void *arg, struct buf *out)
{
	const struct child c = {.what = what, .limits = l, .fn = fn,
	    .arg = arg};

	return child_do(&c, out);
}

/* A file in memory, since a program that draws need not have read all of it
 * when it writes. */
static const struct err *
child_input(struct child *c, const struct buf *in)
{
	c->in = memfd_create("input", MFD_CLOEXEC);
	if (c->in < 0)
		return child_lacks(c, "memfd_create");
	if (child_write(c->in, in->data, in->len) &&
	    lseek(c->in, 0, SEEK_SET) == 0)
		return NULL;
	close(c->in);
	return child_lacks(c, "writing to memory");
}

const struct err *
child_exec(const char *what, const struct child_limits *l,
    const char *const argv[], const struct buf *in, struct buf *out)
{
	struct child c = {.what = what, .limits = l, .argv = argv};
	const struct err *e;

	if (pipe2(c.said, O_CLOEXEC | O_NONBLOCK) < 0)
		return child_lacks(&c, "pipe");
	if ((e = child_input(&c, in)) == NULL) {
		e = child_do(&c, out);
		close(c.in);
	}
	close(c.said[0]);
	close(c.said[1]);
	return e;
}
