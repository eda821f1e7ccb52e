/*
 * fork, wait, fork again.
 */
#include "fcgi/crew.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/log.h"

#define PAUSE_MIN_NS (100 * NS_PER_MS)
#define PAUSE_MAX_NS (5 * NS_PER_S)
#define YOUNG_NS NS_PER_S
#define PATIENCE_NS (5 * NS_PER_S) /* for workers to end */

struct crew_worker {
	pid_t pid; /* 0: none */
	int64_t started_ns, due_ns, pause_ns;
};

struct crew {
	struct crew_worker workers[CREW_MAX];
	unsigned n;
	sigset_t signals, before;
	crew_fn *work;
	crew_reload_fn *reload;
	void *arg;
};

static void
crew_child(struct crew *c, unsigned number, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0); /* it died before we asked to be told */
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	exit(c->work(c->arg, number));
}

static void
crew_start(struct crew *c, struct crew_worker *w, int64_t now)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		crew_child(c, (unsigned)(w - c->workers) + 1, parent);
	if (pid < 0) {
		log_err("cannot fork: %s", strerror(errno));
		w->due_ns = now + PAUSE_MAX_NS;
		return;
	}
	w->pid = pid;
	w->started_ns = now;
}

/* Starts what is due; when the next one is, or -1. */
static int64_t
crew_start_due(struct crew *c)
{
	int64_t now = clock_mono_ns(), next = -1;

	for (unsigned i = 0; i < c->n; i++) {
		struct crew_worker *w = &c->workers[i];

		if (w->pid == 0 && w->due_ns <= now)
			crew_start(c, w, now);
		if (w->pid == 0 && (next < 0 || w->due_ns < next))
			next = w->due_ns;
	}
	return next;
}

/* In order, or by somebody's hand: not the worker's own fault. */
static bool
crew_is_fine(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 0;
	return WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM;
}

static void
crew_ended(struct crew_worker *w, int status)
{
	int64_t now = clock_mono_ns();
	bool young = now - w->started_ns < YOUNG_NS;

	if (WIFSIGNALED(status))
		log_warn("worker %d was ended by signal %d", (int)w->pid,
		    WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		log_warn("worker %d ended with status %d", (int)w->pid,
		    WEXITSTATUS(status));
	w->pid = 0;
	if (crew_is_fine(status) || !young)
		w->pause_ns = 0;
	else if (w->pause_ns == 0)
		w->pause_ns = PAUSE_MIN_NS;
	else if ((w->pause_ns *= 2) > PAUSE_MAX_NS)
		w->pause_ns = PAUSE_MAX_NS;
	w->due_ns = now + w->pause_ns;
}

static void
crew_reap(struct crew *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < c->n; i++)
			if (c->workers[i].pid == pid)
				crew_ended(&c->workers[i], status);
}

static void
crew_kill(const struct crew *c, int signal)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->workers[i].pid > 0)
			kill(c->workers[i].pid, signal);
}

static unsigned
crew_alive(const struct crew *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++)
		n += c->workers[i].pid > 0;
	return n;
}

/* The next signal; 0 when none came until the time (-1: wait for ever). */
static int
crew_wait(const struct crew *c, int64_t until_ns)
{
	struct timespec t = {0};
	int64_t left = until_ns - clock_mono_ns();
	int signal;

	if (until_ns < 0) {
		signal = sigwaitinfo(&c->signals, NULL);
	} else {
		if (left > 0) {
			t.tv_sec = left / NS_PER_S;
			t.tv_nsec = left % NS_PER_S;
		}
		signal = sigtimedwait(&c->signals, NULL, &t);
	}
	return signal > 0 ? signal : 0;
}

static void
crew_stop(struct crew *c)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;

	crew_kill(c, SIGTERM);
	for (;;) {
		crew_reap(c);
		if (crew_alive(c) == 0)
			return;
		if (clock_mono_ns() >= end)
			break;
		crew_wait(c, end);
	}
	log_warn("%u workers did not end in time", crew_alive(c));
	crew_kill(c, SIGKILL);
}

int
crew_run(unsigned n, crew_fn *work, crew_reload_fn *reload, void *arg)
{
	struct crew c = {.n = n, .work = work, .reload = reload, .arg = arg};
	int64_t next;

	sigemptyset(&c.signals);
	sigaddset(&c.signals, SIGCHLD);
	sigaddset(&c.signals, SIGTERM);
	sigaddset(&c.signals, SIGINT);
	sigaddset(&c.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &c.signals, &c.before);
	for (;;) {
		next = crew_start_due(&c);
		switch (crew_wait(&c, next)) {
		case SIGTERM:
		case SIGINT:
			crew_stop(&c);
			return 0;
		case SIGHUP:
			if (reload(arg))
				crew_kill(&c, SIGTERM);
			break;
		}
		crew_reap(&c);
	}
}
