/*
 * SIGIO tells that something has happened to a connection, poll(2) what.
 */
#include "fcgi/server/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "store/base/gone.h"

#define PATIENCE_S 1 /* of CPU, after a client has gone */

static volatile sig_atomic_t watch_fd = -1, watch_useful;

static void
watch_patience(time_t seconds)
{
	struct itimerval t = {.it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_PROF, &t, NULL);
}

static void
watch_look(void)
{
	struct pollfd p = {.fd = watch_fd};

	if (p.fd < 0 || gone_why() == GONE_CLIENT || poll(&p, 1, 0) != 1 ||
	    (p.revents & (POLLHUP | POLLERR)) == 0)
		return;
	gone_set(GONE_CLIENT);
	watch_patience(PATIENCE_S);
}

static void
watch_on_io(int signal)
{
	int saved = errno;

	(void)signal;
	watch_look();
	errno = saved;
}

/* Replaced without a pause: it is nobody's fault. */
static void
watch_on_patience(int signal)
{
	(void)signal;
	if (gone_why() == GONE_CLIENT && watch_useful)
		watch_patience(PATIENCE_S);
	else if (gone_why() == GONE_CLIENT)
		_exit(0);
}

void
watch_init(void)
{
	struct sigaction io = {.sa_handler = watch_on_io,
	    .sa_flags = SA_RESTART};
	struct sigaction patience = {.sa_handler = watch_on_patience,
	    .sa_flags = SA_RESTART};

	sigaction(SIGIO, &io, NULL);
	sigaction(SIGPROF, &patience, NULL);
}

void
watch_begin(int fd)
{
	watch_fd = fd;
	if (fcntl(fd, F_SETOWN, getpid()) < 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) < 0) {
		watch_fd = -1;
		return;
	}
	/* what happened before that is not told any more */
	watch_look();
}

void
watch_spare(bool useful)
{
	watch_useful = useful;
}

bool
watch_end(void)
{
	bool was;

	if (watch_fd >= 0)
		fcntl(watch_fd, F_SETFL, fcntl(watch_fd, F_GETFL) & ~O_ASYNC);
	watch_fd = -1;
	was = gone_why() == GONE_CLIENT;
	if (was)
		watch_patience(0);
	gone_set(GONE_NOT);
	return was;
}
