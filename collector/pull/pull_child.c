/*
 * Both ends of the socket.  What comes back is not trusted: lengths are
 * checked, and memlensd looks at the batches as at a stranger's.
 */
#include "collector/pull/pull_child.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/pull/pull_sandbox.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define RECORDS_MAX (64u << 20)
#define CHILD_NAME "memlens-pull" /* of its thread: 15 bytes */

struct pull_answer {
	bool good;
	uint32_t n, nameless;
	uint64_t skipped;
	char why[160];
};

/* ---- messages: bytes and a descriptor, or -1 ---- */

static bool
child_send(int socket, const void *p, size_t n, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)p, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
		    .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd))};
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)n;
}

/* 1: a message; 0: none yet; -1: the other end is gone. */
static int
child_receive(int socket, void *p, size_t n, int *fd, int flags)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {p, n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *h;
	ssize_t got;

	*fd = -1;
	while ((got = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC)) < 0 &&
	    errno == EINTR)
		;
	if (got < 0)
		return errno == EAGAIN ? 0 : -1;
	h = CMSG_FIRSTHDR(&m);
	if (h != NULL && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(h), sizeof(*fd));
	return got == (ssize_t)n ? 1 : -1;
}

/* A memory file with these bytes; -1 where there is no room. */
static int
child_memory(const void *data, size_t n)
{
	int fd = memfd_create("memlens-pull", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t wrote;

	while (fd >= 0 && done < n) {
		wrote = write(fd, (const char *)data + done, n - done);
		if (wrote <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)wrote;
	}
	return fd;
}

/* Reads all of it: one that becomes shorter meanwhile is no harm. */
static bool
child_read_memory(int fd, size_t max, struct buf *out)
{
	struct stat st;
	ssize_t got = 1;

	if (fstat(fd, &st) != 0 || st.st_size < 0 ||
	    (size_t)st.st_size > max || !buf_reserve(out,
	    (size_t)st.st_size + 1))
		return false;
	while (got > 0 && out->len < (size_t)st.st_size) {
		got = pread(fd, out->data + out->len,
		    (size_t)st.st_size - out->len, (off_t)out->len);
		if (got > 0)
			out->len += (size_t)got;
	}
	return out->len == (size_t)st.st_size;
}

/* ---- the child ---- */

static void
child_answer(int socket, const struct err *e, struct pull_made *made)
{
	struct pull_answer a = {.good = e == NULL, .n = made->n,
	    .nameless = made->nameless, .skipped = made->skipped};
	int fd = -1;

	snprintf(a.why, sizeof(a.why), "%s", e == NULL ? made->why : e->text);
	if (e == NULL && made->n > 0 &&
	    (fd = child_memory(made->records.data, made->records.len)) < 0) {
		a.good = false;
		snprintf(a.why, sizeof(a.why), "no memory for the batches");
	}
	if (!child_send(socket, &a, sizeof(a), fd))
		_exit(1);
	if (fd >= 0)
		close(fd);
}

static void
child_serve(int socket)
{
	struct pull *p = pull_new();
	struct pull_ask ask;
	int fd;

	while (p != NULL &&
	    child_receive(socket, &ask, sizeof(ask), &fd, 0) > 0) {
		struct pull_made made = {0};
		struct buf body = {0};
		const struct err *e = NULL;

		if (!child_read_memory(fd, PULL_PLAIN_MAX, &body))
			e = err_nomem();
		close(fd);
		if (e == NULL)
			e = pull_take(p, &ask, body.data, body.len, &made);
		buf_fini(&body);
		child_answer(socket, e, &made);
		buf_fini(&made.records);
		malloc_trim(0);
	}
	_exit(0);
}

static void
child_begin(int socket, pid_t parent)
{
	const char *step;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, CHILD_NAME, 0, 0, 0);
	if (!pull_sandbox_enter(socket, &step)) {
		struct pull_made none = {0};

		child_answer(socket, err_new(ERR_CONFIG, 0, "no walls for "
		    "the parser: %s", step), &none);
		_exit(1);
	}
	child_serve(socket);
}

/* ---- the scraper ---- */

void
pull_child_end(struct pull_child *c)
{
	if (c->socket < 0)
		return;
	close(c->socket);
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*c = (struct pull_child){.socket = -1};
}

static const struct err *
child_start(struct pull_child *c)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno("socketpair");
	c->pid = fork();
	if (c->pid == 0)
		child_begin(pair[1], parent);
	close(pair[1]);
	if (c->pid < 0) {
		const struct err *e = err_errno("fork");

		close(pair[0]);
		return e;
	}
	c->socket = pair[0];
	return NULL;
}

const struct err *
pull_child_ask(struct pull_child *c, const struct pull_ask *ask,
    const void *data, size_t n)
{
	const struct err *e;
	int fd;

	if (c->socket < 0 && (e = child_start(c)) != NULL)
		return e;
	if ((fd = child_memory(data, n)) < 0)
		return err_errno("memfd_create");
	c->busy = child_send(c->socket, ask, sizeof(*ask), fd);
	c->since_ns = clock_mono_ns();
	close(fd);
	if (c->busy)
		return NULL;
	pull_child_end(c);
	return err_new(ERR_CONFIG, 0, "the parser has died");
}

/* Do the records fill the bytes, as many as it says? */
static bool
child_records_add_up(const struct buf *b, uint32_t n)
{
	struct cur c = cur_of(b->data, b->len);

	while (n > 0 && !c.bad) {
		cur_raw(&c, cur_be32(&c));
		n--;
	}
	return !c.bad && cur_left(&c) == 0;
}

static const struct err *
child_take(struct pull_answer *a, int fd, struct pull_made *made)
{
	a->why[sizeof(a->why) - 1] = '\0';
	for (char *s = a->why; *s != '\0'; s++)
		if ((unsigned char)*s < ' ')
			*s = '?';
	if (!a->good)
		return err_new(ERR_REQUEST, 422, "%s", a->why);
	*made = (struct pull_made){.n = a->n, .nameless = a->nameless,
	    .skipped = a->skipped};
	snprintf(made->why, sizeof(made->why), "%s", a->why);
	if (a->n == 0 || (fd >= 0 &&
	    child_read_memory(fd, RECORDS_MAX, &made->records) &&
	    child_records_add_up(&made->records, a->n)))
		return NULL;
	buf_fini(&made->records);
	return err_new(ERR_REQUEST, 422, "over %u bytes of batches",
	    RECORDS_MAX);
}

bool
pull_child_done(struct pull_child *c, struct pull_made *made,
    const struct err **e)
{
	struct pull_answer a;
	int fd, got;

	*made = (struct pull_made){0};
	*e = NULL;
	if (!c->busy)
		return false;
	got = child_receive(c->socket, &a, sizeof(a), &fd, MSG_DONTWAIT);
	if (got == 0 && clock_mono_ns() - c->since_ns <
	    PULL_CHILD_DEADLINE_NS)
		return false;
	c->busy = false;
	if (got > 0)
		*e = child_take(&a, fd, made);
	else
		*e = err_new(ERR_REQUEST, 422, "the parser %s", got == 0
		    ? "takes too long" : "has died of it");
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		pull_child_end(c);
	return true;
}
