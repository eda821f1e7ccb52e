/*
 * A byte there, a struct back; the command in a process group of its own, which
 * ends first where it is late, then what has left it.
 */
#include "fcgi/kv/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/child/child.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define FAULT_WORDS 32
#define FAULT_MEMORY (256u << 20)
#define FAULT_GRACE_NS (5 * NS_PER_S) /* for the helper, beside the command */
#define FAULT_REST_NS (3 * NS_PER_S)  /* of that, for what it has started */

/* Never returns.  The words are those between blanks. */
static void
fault_exec(const struct settings *s, int said)
{
	const struct child_limits limits = {s->fault_time_ns, FAULT_MEMORY,
	    0};
	char line[4096], *rest = line, *argv[FAULT_WORDS + 1];
	size_t n = 0;

	child_begin(-1, said, said);
	child_limit(&limits);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setpgid(0, 0);
	close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
	snprintf(line, sizeof(line), "%s", s->fault_command);
	while (n < FAULT_WORDS && (argv[n] = strsep(&rest, " \t")) != NULL)
		n += *argv[n] != '\0';
	argv[n] = NULL;
	if (chdir("/") == 0)
		execv(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Keeps the beginning of what it prints until it has ended; whether that was
 * in time.  What it leaves running may keep the pipe. */
static bool
fault_listen(pid_t pid, int fd, int64_t deadline_ns, struct fault_done *done)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	siginfo_t ended = {.si_pid = 0};
	char text[512];
	ssize_t n;

	while (clock_mono_ns() < deadline_ns) {
		n = poll(&p, 1, 20) > 0 ? read(fd, text, sizeof(text)) : 0;
		if (n == 0 && waitid(P_PID, (id_t)pid, &ended,
		    WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == pid)
			return true;
		if (n == 0 && (p.revents & POLLHUP) != 0)
			p.fd = -1; /* closed by itself: nothing more comes */
		if (n > 0 && (size_t)n > FAULT_SAID_MAX - done->n_said)
			n = (ssize_t)(FAULT_SAID_MAX - done->n_said);
		if (n > 0)
			memcpy(done->said + done->n_said, text, (size_t)n);
		done->n_said += n > 0 ? (size_t)n : 0;
	}
	return false;
}

/* Those that have become ours, of any session. */
static void
fault_kill_children(void)
{
	char path[64], line[4096], *at = line, *end;
	ssize_t n;
	int fd;
	long pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;
	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	while ((pid = strtol(at, &end, 10)) > 0) {
		/* one of which the number was cut is not ours to kill */
		if (*end == ' ')
			kill((pid_t)pid, SIGKILL);
		at = end;
	}
}

/* Kills and awaits all that the command has left: when a parent ends its
 * children become ours, so until there are none. */
static void
fault_end_rest(int64_t deadline_ns)
{
	pid_t ended;

	while (clock_mono_ns() < deadline_ns) {
		fault_kill_children();
		while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (ended < 0 && errno == ECHILD)
			return;
		poll(NULL, 0, 2);
	}
}

static struct fault_done
fault_carry_out(const struct settings *s)
{
	struct fault_done done = {0};
	int64_t began_ns = clock_mono_ns();
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		done.lacked = errno;
		return done;
	}
	pid = fork();
	if (pid == 0)
		fault_exec(s, fds[1]);
	done.lacked = pid < 0 ? errno : 0;
	close(fds[1]);
	if (pid > 0) {
		done.late = !fault_listen(pid, fds[0],
		    began_ns + s->fault_time_ns, &done);
		if (done.late && kill(-pid, SIGKILL) < 0)
			kill(pid, SIGKILL);
		done.status = child_reap(pid);
		if (done.late)
			fault_end_rest(clock_mono_ns() + FAULT_REST_NS);
	}
	close(fds[0]);
	done.took_ns = clock_mono_ns() - began_ns;
	return done;
}

/* Never returns: answers in its helper's place. */
static void
fault_answer(int socket, const struct settings *s)
{
	struct fault_done done;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	done = fault_carry_out(s);
	_exit(send(socket, &done, sizeof(done), MSG_NOSIGNAL) < 0);
}

/* Never returns; until its worker is gone. */
static void
fault_serve(int socket, const struct settings *s)
{
	struct fault_done lacked = {0};
	char byte;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	while (recv(socket, &byte, 1, 0) == 1) {
		pid = fork();
		if (pid == 0)
			fault_answer(socket, s);
		lacked.lacked = errno;
		if (pid > 0 ? child_reap(pid) != 0 : send(socket, &lacked,
		    sizeof(lacked), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

int
fault_stand_by(const struct settings *s)
{
	int ends[2];
	pid_t pid;

	if (s->fault_command == NULL || socketpair(AF_UNIX,
	    SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		fault_serve(ends[1], s);
	}
	close(ends[1]);
	if (pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Waits for an answer; 0: none came. */
static ssize_t
fault_await(int socket, int64_t deadline_ns, struct fault_done *done)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	int64_t left;

	while ((left = deadline_ns - clock_mono_ns()) > 0)
		if (poll(&p, 1, (int)(left / NS_PER_MS) + 1) > 0)
			return recv(socket, done, sizeof(*done), 0);
	return 0;
}

const struct err *
fault_run(int socket, const struct settings *s, struct fault_done *done)
{
	int64_t deadline_ns = clock_mono_ns() + s->fault_time_ns +
	    FAULT_GRACE_NS;

	if (send(socket, "r", 1, MSG_NOSIGNAL) != 1 ||
	    fault_await(socket, deadline_ns, done) != (ssize_t)sizeof(*done)) {
		raise(SIGTERM); /* this worker ends after its answer */
		return err_new(ERR_REQUEST, 503, "nobody is there who runs "
		    "the command: see the worker's log");
	}
	if (done->lacked != 0)
		return err_new(ERR_REQUEST, 503, "the command was not "
		    "started: %s", strerror(done->lacked));
	if (done->n_said > FAULT_SAID_MAX)
		done->n_said = FAULT_SAID_MAX;
	return NULL;
}
