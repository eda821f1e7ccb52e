/*
 * A socket to the program, two descriptors for each picture, a deadline.  One
 * that cannot be trusted any more, as after a deadline, is killed, and what it
 * is just drawing with it; the next picture starts it anew.
 */
#include "fcgi/server/draw.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/server/draw_job.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define DRAW_IDLE_NS (60 * NS_PER_S)

static struct draw_file
draw_look(const char *program)
{
	struct stat st;

	if (stat(program, &st) < 0)
		return (struct draw_file){0};
	return (struct draw_file){st.st_dev, st.st_ino,
	    st.st_ctim.tv_sec * NS_PER_S + st.st_ctim.tv_nsec};
}

static bool
draw_same(const struct draw_file *a, const struct draw_file *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	    a->changed_ns == b->changed_ns;
}

void
draw_init(struct draw *d, const char *program)
{
	*d = (struct draw){.program = program};
	if (program != NULL)
		d->file = draw_look(program);
}

bool
draw_is_replaced(const struct draw *d)
{
	struct draw_file now;

	if (d->program == NULL)
		return false;
	now = draw_look(d->program);
	return now.ino != 0 && !draw_same(&now, &d->file);
}

void
draw_end(struct draw *d)
{
	if (d->pid == 0)
		return;
	kill(d->pid, SIGKILL);
	child_reap(d->pid);
	close(d->socket);
	close(d->said);
	d->pid = 0;
}

int
draw_idle(struct draw *d)
{
	int64_t left = d->used_ns + DRAW_IDLE_NS - clock_mono_ns();

	if (d->pid != 0 && left <= 0)
		draw_end(d);
	return d->pid == 0 ? -1 : (int)(left / NS_PER_MS) + 1;
}

/* Never returns.  The program gets nothing else of ours, as connections. */
static void
draw_exec(const char *program, int socket, int said)
{
	const char *const in[] = {program, "serve", NULL};
	union {
		const char *const *in;
		char *const *out;
	} argv = {.in = in};

	child_begin(socket, -1, said);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	execv(program, argv.out);
	dprintf(STDERR_FILENO, "%s: %s\n", program, strerror(errno));
	_exit(127);
}

/* What it says never makes it wait. */
static const struct err *
draw_start(struct draw *d, const char *what)
{
	const struct err *e = NULL;
	int ends[2], said[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return child_lacks(what, "socketpair");
	if (pipe2(said, O_CLOEXEC | O_NONBLOCK) < 0) {
		e = child_lacks(what, "pipe");
		close(ends[0]);
		close(ends[1]);
		return e;
	}
	d->pid = fork();
	if (d->pid == 0)
		draw_exec(d->program, ends[1], said[1]);
	close(ends[1]);
	close(said[1]);
	d->socket = ends[0];
	d->said = said[0];
	if (d->pid > 0)
		return NULL;
	d->pid = 0;
	e = child_lacks(what, "fork");
	close(d->socket);
	close(d->said);
	return e;
}

static bool
draw_send(const struct draw *d, const struct draw_job *job, const int fds[2])
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct draw_job copy = *job;
	struct iovec part = {&copy, sizeof(copy)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1,
	    .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), fds, 2 * sizeof(int));
	do
		n = sendmsg(d->socket, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(copy);
}

/* To one that stands by, if it still does and is still what the path says;
 * else to a new one.  That a new one takes nothing is told by its silence. */
static const struct err *
draw_ask(struct draw *d, const char *what, const struct draw_job *job,
    const int fds[2])
{
	const struct err *e;

	if (d->pid != 0) {
		struct draw_file now = draw_look(d->program);

		if (draw_same(&now, &d->file) && draw_send(d, job, fds))
			return NULL;
		draw_end(d);
	}
	if ((e = draw_start(d, what)) == NULL)
		draw_send(d, job, fds);
	return e;
}

/* The first line of what it has said, else ""; the rest is forgotten. */
static void
draw_reason(const struct draw *d, char *line, size_t room)
{
	ssize_t n = read(d->said, line, room - 1);
	char rest[512];

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	while (read(d->said, rest, sizeof(rest)) > 0)
		;
}

/* It has ended, and with it the picture. */
static const struct err *
draw_lost(struct draw *d, const char *what)
{
	char reason[300];
	int status = child_reap(d->pid);

	draw_reason(d, reason, sizeof(reason));
	close(d->socket);
	close(d->said);
	d->pid = 0;
	return child_failed(what, reason, status);
}

static const struct err *
draw_take(struct draw *d, const char *what, const struct child_limits *l,
    int fd, struct buf *out)
{
	int64_t deadline_ns = clock_mono_ns() + l->time_ns;
	const char *why = child_read(fd, deadline_ns, l->output_bytes, out);
	struct draw_done done;
	char reason[300];

	if (why == NULL)
		why = child_await(d->socket, deadline_ns);
	if (why != NULL) { /* it might never end by itself */
		draw_end(d);
		return err_new(ERR_REQUEST, 503, "%s %s", what, why);
	}
	if (recv(d->socket, &done, sizeof(done), MSG_DONTWAIT) !=
	    (ssize_t)sizeof(done))
		return draw_lost(d, what);
	d->used_ns = clock_mono_ns();
	errno = done.lacked;
	if (done.lacked != 0)
		return child_lacks(what, "fork");
	if (done.status == 0)
		return NULL;
	draw_reason(d, reason, sizeof(reason));
	return child_failed(what, reason, done.status);
}

static const struct err *
draw_through_pipe(struct draw *d, const char *what,
    const struct draw_job *job, int in, struct buf *out)
{
	const struct err *e;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return child_lacks(what, "pipe");
	e = draw_ask(d, what, job, (int[2]){in, fds[1]});
	close(fds[1]);
	if (e == NULL)
		e = draw_take(d, what, &job->limits, fds[0], out);
	close(fds[0]);
	return e;
}

/* The input is a file in memory, since who draws need not have read all of it
 * when it writes. */
static const struct err *
draw_picture(struct draw *d, const char *what, const struct draw_job *job,
    const struct buf *in, struct buf *out)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	const struct err *e;

	if (fd < 0)
		return child_lacks(what, "memfd_create");
	if (child_write(fd, in->data, in->len) && lseek(fd, 0, SEEK_SET) == 0)
		e = draw_through_pipe(d, what, job, fd, out);
	else
		e = child_lacks(what, "writing to memory");
	close(fd);
	return e;
}

const struct err *
draw_png(struct draw *d, const struct buf *svg, int scale, struct buf *out)
{
	const struct draw_job job = {DRAW_PNG, scale,
	    {15 * NS_PER_S, 1u << 30, RESPONSE_BODY_MAX}};

	return draw_picture(d, "drawing the picture", &job, svg, out);
}

const struct err *
draw_graph(struct draw *d, const struct buf *dot, struct buf *out)
{
	const struct draw_job job = {DRAW_GRAPH, 1,
	    {15 * NS_PER_S, 512u << 20, 16u << 20}};

	return draw_picture(d, "drawing the graph", &job, dot, out);
}
