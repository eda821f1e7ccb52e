/*
 * fork, wait, fork again.
 */
#include "fcgi/prefork.h"

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

struct prefork_worker {
	pid_t pid; /* 0: none */
	int64_t started_ns, due_ns, pause_ns;
};

struct prefork {
	struct prefork_worker workers[PREFORK_MAX];
	unsigned n;
	sigset_t signals, before;
	prefork_fn *work;
	prefork_reload_fn *reload;
	void *arg;
};

static void
prefork_child(struct prefork *c, unsigned number, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0); /* it died before we asked to be told */
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	exit(c->work(c->arg, number));
}

static void
prefork_start(struct prefork *c, struct prefork_worker *w, int64_t now)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		prefork_child(c, (unsigned)(w - c->workers) + 1, parent);
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
prefork_start_due(struct prefork *c)
{
	int64_t now = clock_mono_ns(), next = -1;

	for (unsigned i = 0; i < c->n; i++) {
		struct prefork_worker *w = &c->workers[i];

		if (w->pid == 0 && w->due_ns <= now)
			prefork_start(c, w, now);
		if (w->pid == 0 && (next < 0 || w->due_ns < next))
			next = w->due_ns;
	}
	return next;
}

/* In order, or by somebody's hand: not the worker's own fault. */
static bool
prefork_is_fine(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 0;
	return WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM;
}

static void
prefork_ended(struct prefork_worker *w, int status)
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
	if (prefork_is_fine(status) || !young)
		w->pause_ns = 0;
	else if (w->pause_ns == 0)
		w->pause_ns = PAUSE_MIN_NS;
	else if ((w->pause_ns *= 2) > PAUSE_MAX_NS)
		w->pause_ns = PAUSE_MAX_NS;
	w->due_ns = now + w->pause_ns;
}

static void
prefork_reap(struct prefork *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < c->n; i++)
			if (c->workers[i].pid == pid)
				prefork_ended(&c->workers[i], status);
}

static void
prefork_kill(const struct prefork *c, int signal)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->workers[i].pid > 0)
			kill(c->workers[i].pid, signal);
}

static unsigned
prefork_alive(const struct prefork *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++)
		n += c->workers[i].pid > 0;
	return n;
}

/* The next signal; 0 when none came until the time (-1: wait for ever). */
static int
prefork_wait(const struct prefork *c, int64_t until_ns)
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
prefork_stop(struct prefork *c)
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;

	prefork_kill(c, SIGTERM);
	for (;;) {
		prefork_reap(c);
		if (prefork_alive(c) == 0)
			return;
		if (clock_mono_ns() >= end)
			break;
		prefork_wait(c, end);
	}
	log_warn("%u workers did not end in time", prefork_alive(c));
	prefork_kill(c, SIGKILL);
}

int
prefork_run(unsigned n, prefork_fn *work, prefork_reload_fn *reload, void *arg)
{
	struct prefork c = {.n = n, .work = work, .reload = reload, .arg = arg};
	int64_t next;

	sigemptyset(&c.signals);
	sigaddset(&c.signals, SIGCHLD);
	sigaddset(&c.signals, SIGTERM);
	sigaddset(&c.signals, SIGINT);
	sigaddset(&c.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &c.signals, &c.before);
	for (;;) {
		next = prefork_start_due(&c);
		switch (prefork_wait(&c, next)) {
		case SIGTERM:
		case SIGINT:
			prefork_stop(&c);
			return 0;
		case SIGHUP:
			if (reload(arg))
				prefork_kill(&c, SIGTERM);
			break;
		}
		prefork_reap(&c);
	}
}
