/*
 * Takes a picture with its two descriptors, forks, waits, tells.
 */
#include "fcgi/draw/standby.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/draw/walls.h"
#include "fcgi/server/draw_job.h"

/* The descriptors, -1 where they lack, as they do at the limit of them. */
static ssize_t
standby_take(struct draw_job *job, int fds[2])
{
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {job, sizeof(*job)};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1,
	    .msg_control = &control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	fds[0] = fds[1] = -1;
	do
		n = recvmsg(STDIN_FILENO, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c != NULL && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n;
}

/* Never returns.  It keeps no way to the worker but the pipe. */
static void
standby_work(const struct draw_job *job, const int fds[2], standby_fn *draw,
    int said, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it died before we asked to end with it */
	dup2(fds[0], STDIN_FILENO);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[0]);
	close(fds[1]);
	child_limit(&job->limits);
	walls_enter();
	_exit(draw(job, said)); /* what libraries would tidy up ends with us */
}

/* Its pipe is closed here as soon as the child has it, whose end is then the
 * end of the picture. */
static struct draw_done
standby_draw(const struct draw_job *job, const int fds[2], standby_fn *draw,
    int said)
{
	bool given = fds[0] >= 0 && fds[1] >= 0;
	pid_t parent = getpid(), pid = given ? fork() : -1;
	int why = given ? errno : EMFILE;

	if (pid == 0)
		standby_work(job, fds, draw, said, parent);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (pid < 0)
		return (struct draw_done){0, why};
	return (struct draw_done){child_reap(pid), 0};
}

int
standby_serve(standby_fn *draw, int said)
{
	struct draw_job job;
	int fds[2];

	while (standby_take(&job, fds) == (ssize_t)sizeof(job)) {
		struct draw_done done = standby_draw(&job, fds, draw, said);

		if (send(STDIN_FILENO, &done, sizeof(done), MSG_NOSIGNAL) < 0)
			break;
	}
	return 0;
}
