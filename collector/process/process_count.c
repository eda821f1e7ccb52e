/*
 * A table of services, and a small one of the latest processes, since most
 * processes of a storm are gone before /proc was looked at: they count under
 * the service of their parent.
 */
#include "collector/process/process_count.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"

#define SERVICES 512 /* living ones and those of late; at most 256 live */
#define YOUNG 4096
#define OTHER 0      /* the service of that number is SERVICES_OTHER */
#define EXECS_MAX 64 /* programs that may become worth a mark */

enum what {
	THREADS_STARTED,
	THREADS_EXITED,
	PROCESSES_STARTED,
	PROCESSES_EXITED,
	EXECS,
	WHATS
};

static const char *const names[WHATS] = {
    [THREADS_STARTED] = "memlens_threads_started_total",
    [THREADS_EXITED] = "memlens_threads_exited_total",
    [PROCESSES_STARTED] = "memlens_processes_started_total",
    [PROCESSES_EXITED] = "memlens_processes_exited_total",
    [EXECS] = "memlens_processes_execs_total",
};

struct service {
	char name[64];
	uint64_t now[WHATS], told[WHATS];
	bool living;     /* a process of it was seen at the end of this slot, */
	bool lived;      /* or of the last one */
};

struct young {
	int32_t pid;
	uint32_t service;
};

struct exec {
	int32_t pid;
	int64_t time_ns; /* monotonic */
};

struct process_count {
	struct services *services;
	struct process_ends ends; /* all zero: nobody knows */
	int64_t since_ns; /* boot time: programs of before are no news */
	struct service service[SERVICES];
	uint32_t n;
	struct young young[YOUNG];
	struct exec execs[EXECS_MAX];
	size_t n_execs;
	struct {
		char text[160];
		char name[100]; /* of which all that go on are others */
		int32_t pid;
		int64_t time_ns; /* monotonic */
		bool watched, others; /* others of its name went on */
		bool known; /* with which status: */
		int status;
	} exits[PROCESS_MARKS_MAX + PROCESS_MARKS_WATCHED_MAX];
	size_t n_exits;
	uint64_t skipped, dropped; /* since the start */
	uint64_t lost_told, skipped_told, dropped_told;
};

struct process_count *
process_count_new(struct services *services)
{
	struct process_count *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->services = services;
	c->since_ns = clock_boot_ns();
	snprintf(c->service[OTHER].name, sizeof(c->service[OTHER].name),
	    "%s", SERVICES_OTHER);
	c->n = OTHER + 1;
	return c;
}

void
process_count_free(struct process_count *c)
{
	free(c);
}

void
process_count_serve(struct process_count *c, const struct process_ends *ends)
{
	c->ends = *ends;
}

void
process_count_begin(struct process_count *c)
{
	c->since_ns = clock_boot_ns();
}

void
process_count_skip(struct process_count *c)
{
	c->skipped++;
}

/* The place of a service that has gone, and of which all was told; OTHER when
 * there is none. */
static uint32_t
count_recycle(struct process_count *c)
{
	uint32_t i, k;

	for (i = OTHER + 1; i < c->n; i++) {
		struct service *s = &c->service[i];

		if (s->lived || memcmp(s->now, s->told, sizeof(s->now)) != 0)
			continue;
		for (k = 0; k < YOUNG; k++)
			if (c->young[k].service == i)
				c->young[k].service = OTHER;
		memset(s, 0, sizeof(*s));
		return i;
	}
	return OTHER;
}

static uint32_t
count_service(struct process_count *c, const char *name)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->service[i].name, name) == 0)
			return i;
	if (c->n == SERVICES) {
		i = count_recycle(c);
		if (i != OTHER)
			snprintf(c->service[i].name,
			    sizeof(c->service[i].name), "%s", name);
		return i;
	}
	snprintf(c->service[i].name, sizeof(c->service[i].name), "%s", name);
	return c->n++;
}

/* An event may be read after a sweep that has missed its process already. */
static uint32_t
count_service_of(struct process_count *c, int32_t pid)
{
	const struct process *p = services_last(c->services, pid);
	const struct young *y = &c->young[(uint32_t)pid % YOUNG];

	if (p != NULL)
		return count_service(c, p->read->service);
	return y->pid == pid ? y->service : OTHER;
}

static void
count_fork(struct process_count *c, const struct process_event *e)
{
	bool process = e->pid != e->parent;
	uint32_t i = count_service_of(c, process ? e->parent : e->pid);

	c->service[i].now[THREADS_STARTED]++;
	if (!process)
		return;
	c->service[i].now[PROCESSES_STARTED]++;
	c->young[(uint32_t)e->pid % YOUNG] = (struct young){e->pid, i};
}

static bool
count_is_seasoned(const struct process *p)
{
	return !p->read->kernel_thread &&
	    clock_boot_ns() - (int64_t)p->start_ns >= PROCESS_SEASONED_NS;
}

/* COMM [" :" PORT] [" #" NUMBER] '\t' SERVICE: what listens is told apart
 * from others of its name by its port, else by its number. */
static void
count_name(const struct process *p, bool number, char *name, size_t size)
{
	const struct process_read *r = p->read;
	char by[32] = "";

	if (r->ruled && r->port != 0)
		snprintf(by, sizeof(by), " :%u", r->port);
	if (r->ruled && r->number != 0 && number)
		snprintf(by + strlen(by), sizeof(by) - strlen(by), " #%u",
		    r->number);
	snprintf(name, size, "%s%s\t%s", r->comm, by, r->service);
}

/* PID ' ' and the name; the number of who listens is needed at its beginning
 * alone: it may have died before it did. */
static void
count_describe(const struct process *p, bool began, char *text, size_t size)
{
	char name[sizeof(((struct process_count *)0)->exits[0].name)];

	count_name(p, began || p->read->port == 0, name, sizeof(name));
	snprintf(text, size, "%d %s", p->pid, name);
}

/* Ends that nobody watches take no room from those of watched programs. */
static bool
count_has_room(const struct process_count *c, bool watched)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_exits; i++)
		n += c->exits[i].watched == watched;
	return n < (watched ? PROCESS_MARKS_WATCHED_MAX : PROCESS_MARKS_MAX);
}

/* An end is worth a mark when somebody may have looked at its life. */
static void
count_mark_exit(struct process_count *c, const struct process *p,
    int64_t time_ns)
{
	bool watched = p->read->ruled && p->read->watched > 0;
	size_t i;

	if (!count_is_seasoned(p))
		return;
	if (!count_has_room(c, watched)) {
		c->dropped++;
		return;
	}
	i = c->n_exits++;
	count_describe(p, false, c->exits[i].text, sizeof(c->exits[0].text));
	count_name(p, false, c->exits[i].name, sizeof(c->exits[0].name));
	c->exits[i].pid = p->pid;
	c->exits[i].time_ns = time_ns;
	c->exits[i].watched = watched;
	c->exits[i].others = false;
	c->exits[i].known = watched && c->ends.status != NULL &&
	    c->ends.status(c->ends.arg, p->pid, &c->exits[i].status);
}

static void
count_exit(struct process_count *c, const struct process_event *e)
{
	struct process *p;
	uint32_t i = count_service_of(c, e->pid);

	c->service[i].now[THREADS_EXITED]++;
	if (e->tid != e->pid)
		return;
	c->service[i].now[PROCESSES_EXITED]++;
	/* a sweep may have missed it before we were told */
	p = services_last(c->services, e->pid);
	if (p == NULL || (p->gone && p->read->ended))
		return; /* another has had this number since */
	p->read->ended = true;
	count_mark_exit(c, p, e->time_ns);
}

static void
count_exec(struct process_count *c, const struct process_event *e)
{
	uint32_t i = count_service_of(c, e->pid);

	c->service[i].now[EXECS]++;
	/* The oldest one goes: it has had its chance. */
	if (c->n_execs == EXECS_MAX)
		memmove(c->execs, c->execs + 1,
		    --c->n_execs * sizeof(c->execs[0]));
	c->execs[c->n_execs++] = (struct exec){e->pid, e->time_ns};
}

void
process_count_event(struct process_count *c, const struct process_event *e)
{
	if (e->kind == PROCESS_FORK)
		count_fork(c, e);
	else if (e->kind == PROCESS_EXIT)
		count_exit(c, e);
	else if (e->kind == PROCESS_EXEC)
		count_exec(c, e);
}

/* ---- the end of a slot ---- */

static void
put_counter(struct batch *b, const char *name, const char *label,
    const char *value, uint64_t slot, int64_t time_ns, uint64_t *told,
    uint64_t now)
{
	struct label l = {label, value};
	struct series_desc d = {.kind = SERIES_COUNTER, .name = name,
	    .unit = "", .labels = &l, .n_labels = 1};

	batch_add_counter(b, batch_series(b, &d), slot, time_ns,
	    (int64_t)(now - *told), (int64_t)now);
	*told = now;
}

/* Does its parent belong to another service?  Else it is a worker or helper,
 * as a database's for each connection: those come and go. */
static bool
count_is_program(const struct process_count *c, const struct process *p)
{
	const struct process *parent =
	    services_known(c->services, p->read->stat.parent);

	return parent == NULL ||
	    strcmp(parent->read->service, p->read->service) != 0;
}

/* The close of a slot, as each living process is shown it. */
struct count_close {
	struct process_count *count;
	struct batch *batch;
	int64_t end_ns; /* of the slot, wall time */
	int64_t boot_ns;          /* wall time less boot time */
	int64_t mono_ns;           /* wall time less monotonic time */
	size_t began;
};

static void
count_put_mark(const struct count_close *x, const char *what,
    const char *text, int64_t time_ns)
{
	batch_add_fact(x->batch, time_ns, FACT_MARK, what, text, strlen(text));
}

static void
count_put_program(struct count_close *x, const char *what,
    const struct process *p, int64_t time_ns)
{
	char text[160];

	x->began++;
	count_describe(p, true, text, sizeof(text));
	count_put_mark(x, what, text, time_ns);
}

/* A program that a rule names is watched from its first seconds on; that it
 * began is a mark, and that it listens, where it did not then. */
static void
count_watch(struct count_close *x, struct process *p)
{
	struct process_read *r = p->read;

	if (r->watched > 0 && r->port != 0 && r->port != r->told_port &&
	    !r->ended && x->began < PROCESS_MARKS_WATCHED_MAX) {
		count_put_program(x, "listens", p, x->end_ns);
		r->told_port = r->port;
	}
	if (r->watched != 0 || !r->ruled || !count_is_seasoned(p))
		return;
	if (!count_is_program(x->count, p)) {
		r->watched = -1;
		return;
	}
	if ((int64_t)p->start_ns >= x->count->since_ns) {
		if (x->began == PROCESS_MARKS_WATCHED_MAX)
			return; /* in the next slot */
		count_put_program(x, "began", p,
		    (int64_t)p->start_ns + x->boot_ns);
	}
	r->told_port = r->port;
	r->watched = 1;
	if (x->count->ends.watch != NULL)
		x->count->ends.watch(x->count->ends.arg, p->pid);
}

/* Does it go on where one of its service, name and port has ended?  What began
 * after that end has come back, and is none of the others. */
static void
count_go_on(struct count_close *x, const struct process *p)
{
	struct process_count *c = x->count;
	char name[sizeof(c->exits[0].name)];
	size_t i;

	if (c->n_exits == 0 || !p->read->ruled || p->read->watched < 0 ||
	    !count_is_program(c, p))
		return;
	for (i = 0; i < c->n_exits; i++)
		if (c->exits[i].pid == p->pid)
			return; /* no sweep has missed it yet */
	count_name(p, false, name, sizeof(name));
	for (i = 0; i < c->n_exits; i++)
		if ((int64_t)p->start_ns + x->boot_ns <
		    c->exits[i].time_ns + x->mono_ns &&
		    strcmp(c->exits[i].name, name) == 0)
			c->exits[i].others = true;
}

static void
count_see(void *arg, struct process *p)
{
	struct count_close *x = arg;
	struct process_count *c = x->count;
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (strcmp(c->service[i].name, p->read->service) == 0)
			c->service[i].living = true;
	count_watch(x, p);
	count_go_on(x, p);
}

/* In order, or by somebody who has asked it to: a shell says 128 and more of
 * who handles a signal and exits. */
static bool
count_is_orderly(int status)
{
	static const int asks[] = {SIGTERM, SIGINT, SIGHUP};
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) :
	    WEXITSTATUS(status) - 128;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (signal == asks[i])
			return true;
	return false;
}

static void
put_exit(const struct count_close *x, size_t i, int64_t offset_ns)
{
	const struct process_count *c = x->count;
	const char *what = "exit", *tab = strchr(c->exits[i].text, '\t');
	int status = c->exits[i].status;
	char text[200], why[32] = "";

	if (c->exits[i].watched)
		what = c->exits[i].others ? "fewer" : c->exits[i].known &&
		    count_is_orderly(status) ? "stopped" : "ended";
	if (c->exits[i].known && WIFSIGNALED(status))
		snprintf(why, sizeof(why), " (signal %d)", WTERMSIG(status));
	else if (c->exits[i].known)
		snprintf(why, sizeof(why), " (status %d)",
		    WEXITSTATUS(status));
	snprintf(text, sizeof(text), "%.*s%s%s",
	    (int)(tab - c->exits[i].text), c->exits[i].text, why, tab);
	count_put_mark(x, what, text, c->exits[i].time_ns + offset_ns);
}

/* A series begins with its first event and goes on while the service
 * lives: most services never start anything. */
static void
put_service(struct service *s, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	int i;

	for (i = 0; i < WHATS; i++)
		if (s->now[i] != s->told[i] || (s->now[i] > 0 && s->living))
			put_counter(b, names[i], "service", s->name, slot,
			    time_ns, &s->told[i], s->now[i]);
	s->lived = s->living;
	s->living = false;
}

/* Marks the programs that still run; those that are young yet stay. */
static void
put_execs(const struct count_close *close, int64_t offset_ns)
{
	struct process_count *c = close->count;
	size_t i, n = 0, marks = 0;
	char text[160];

	for (i = 0; i < c->n_execs; i++) {
		const struct exec *x = &c->execs[i];
		const struct process *p;

		if (clock_mono_ns() - x->time_ns < PROCESS_SEASONED_NS) {
			c->execs[n++] = *x;
			continue;
		}
		p = services_known(c->services, x->pid);
		if (p == NULL)
			continue;
		if (marks++ >= PROCESS_MARKS_MAX) {
			c->dropped++;
			continue;
		}
		snprintf(text, sizeof(text), "%d %s\t%s", p->pid, p->read->comm,
		    p->read->service);
		count_put_mark(close, "exec", text, x->time_ns + offset_ns);
	}
	c->n_execs = n;
}

void
process_count_close_slot(struct process_count *c, uint64_t slot,
    struct batch *b, int64_t last_ns, uint64_t lost)
{
	int64_t wall_ns = clock_wall_ns();
	int64_t offset_ns = wall_ns - clock_mono_ns();
	struct count_close close = {c, b, last_ns,
	    wall_ns - clock_boot_ns(), offset_ns, 0};
	size_t i;

	services_each(c->services, count_see, &close);
	for (i = 0; i < c->n; i++)
		put_service(&c->service[i], b, slot, last_ns);
	for (i = 0; i < c->n_exits; i++)
		put_exit(&close, i, offset_ns);
	c->n_exits = 0;
	put_execs(&close, offset_ns);
	put_counter(b, "memlens_life_records_lost_total", "source", "cpu",
	    slot, last_ns, &c->lost_told, lost);
	put_counter(b, "memlens_life_skipped_total", "source", "cpu", slot,
	    last_ns, &c->skipped_told, c->skipped);
	put_counter(b, "memlens_life_marks_dropped_total", "source", "cpu",
	    slot, last_ns, &c->dropped_told, c->dropped);
}
