/*
 * Which processes are to be looked at, and when.
 */
#include "collector/watch/process_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collector/maps/maps.h"
#include "collector/maps/maps_changes.h"
#include "collector/probe/ends_probe.h"
#include "collector/process/lineage.h"
#include "collector/process/process_count.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "collector/symbols/programs.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/unwind_process.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define WAITING_MAX 256
#define QUIET_NS (2 * NS_PER_MS)   /* no more mappings come ... */
#define QUIET_MAX_NS (20 * NS_PER_MS) /* ... or have come for so long */
#define PAUSE_NS (3 * NS_PER_MS)   /* between two looks at the rings */
#define PAUSE_LONG_NS (100 * NS_PER_MS)
#define WAKE_NS (NS_PER_S / 20) /* between two that are soon, on average */
#define RECENT_NS (50 * NS_PER_MS) /* what was told since need not be known */
#define LOOK_SHARE 500 /* looks take at most 1/500 of a CPU ... */
#define LOOK_SPARE_NS (10 * NS_PER_MS) /* and what they left of that before */
#define AGAIN_MIN_NS (1 * NS_PER_S) /* readings of one process; doubles */
#define AGAIN_MAX_NS (16 * NS_PER_S)

/* Time that may be taken: what has passed since, so much at once. */
struct tokens {
	int64_t full_ns, have_ns, since_ns;
};

/* A process that waits to be looked at. */
struct waiting {
	int32_t pid;
	bool exec;
	bool threads; /* it lives on when its first thread ends */
	int64_t first_ns, due_ns;
};

struct process_watch {
	struct process_watch_parts parts;
	struct process_events *events; /* NULL: not watched */
	size_t fresh; /* records of any kind since the last poll */
	int64_t drained_ns; /* all that was told before is known */
	struct process_count *count;
	struct ends_probe *ends; /* NULL: nobody knows how processes end */
	struct lineage *lineage;
	int epoll, timer;
	bool armed; /* the rings may wake us */
	int64_t now_ns;
	struct tokens looks, wakes;
	struct waiting waiting[WAITING_MAX];
	size_t n_waiting;
};

static struct tokens
tokens_full(int64_t full_ns)
{
	return (struct tokens){full_ns, full_ns, clock_mono_ns()};
}

static int64_t
tokens_left(struct tokens *t, int64_t now_ns)
{
	t->have_ns += now_ns - t->since_ns;
	t->since_ns = now_ns;
	if (t->have_ns > t->full_ns)
		t->have_ns = t->full_ns;
	return t->have_ns;
}

static void
watch_record(void *arg, const struct process_event *e)
{
	struct process_watch *c = arg;

	process_watch_event(c, e, c->now_ns);
}

static const struct err *
watch_watch(struct process_watch *c)
{
	struct epoll_event ev = {.events = EPOLLIN};

	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
	    TFD_NONBLOCK);
	if (c->timer < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &ev) != 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, process_events_fd(c->events),
		&ev) != 0)
		return err_errno("epoll");
	c->armed = true;
	return NULL;
}

static void
watch_end(void *arg, int32_t pid)
{
	ends_probe_watch(arg, pid);
}

static bool
watch_status(void *arg, int32_t pid, int *status)
{
	return ends_probe_take(arg, pid, status);
}

/* Without it an end is an end, whoever wanted it. */
static void
watch_ends(struct process_watch *c)
{
	const struct err *e = ends_probe_open(&c->ends);

	if (e != NULL)
		log_warn("how programs end is not known: %s", e->text);
	else
		process_count_serve(c->count, &(struct process_ends){
		    watch_end, watch_status, c->ends});
}

static bool watch_origin(void *arg, int32_t pid, char *out, size_t size);

const struct err *
process_watch_new(struct process_watch **out,
    const struct process_watch_parts *parts, int epoll, bool rings)
{
	struct process_watch *c = calloc(1, sizeof(*c));
	const struct err *e = NULL;

	*out = c;
	if (c == NULL)
		return err_nomem();
	c->parts = *parts;
	c->epoll = epoll;
	c->timer = -1;
	c->looks = tokens_full(LOOK_SPARE_NS * LOOK_SHARE);
	c->wakes = tokens_full(5 * NS_PER_S);
	c->count = process_count_new(parts->services);
	c->lineage = lineage_new();
	if (c->count == NULL || c->lineage == NULL)
		return err_nomem();
	if (rings)
		e = process_events_open(&c->events, watch_record, c);
	if (e == NULL && rings)
		e = watch_watch(c);
	if (e == NULL && rings)
		watch_ends(c);
	services_serve_origin(parts->services, watch_origin, c);
	services_watch(parts->services, c->events != NULL);
	return e;
}

void
process_watch_begin(struct process_watch *c)
{
	process_count_begin(c->count);
}

void
process_watch_free(struct process_watch *c)
{
	if (c == NULL)
		return;
	services_serve_origin(c->parts.services, NULL, NULL);
	services_watch(c->parts.services, false);
	process_events_close(c->events);
	if (c->timer >= 0)
		close(c->timer);
	ends_probe_close(c->ends);
	process_count_free(c->count);
	lineage_free(c->lineage);
	free(c);
}

/* Has the process looked at soon.  Further mappings put that off a little,
 * as long as the dynamic linker works; a program that maps code all the time
 * is read less and less often. */
static void
watch_wait(struct process_watch *c, int32_t pid, bool exec, int64_t now_ns)
{
	const struct process *p = services_known(c->parts.services, pid);
	struct waiting *w = c->waiting;
	size_t i;

	for (i = 0; i < c->n_waiting && w[i].pid != pid; i++)
		continue;
	if (i == WAITING_MAX) {
		process_count_skip(c->count);
		return;
	}
	w += i;
	if (i == c->n_waiting) {
		c->n_waiting++;
		*w = (struct waiting){.pid = pid};
	}
	if (w->first_ns == 0 || (exec && !w->exec))
		w->first_ns = now_ns;
	w->exec = w->exec || exec;
	w->due_ns = now_ns + QUIET_NS;
	if (w->due_ns > w->first_ns + QUIET_MAX_NS)
		w->due_ns = w->first_ns + QUIET_MAX_NS;
	if (!w->exec && p != NULL && w->due_ns < p->again_ns)
		w->due_ns = p->again_ns;
}

static void
watch_forget(struct process_watch *c, int32_t pid)
{
	size_t i;

	for (i = 0; i < c->n_waiting; i++) {
		if (c->waiting[i].pid != pid)
			continue;
		if (!c->waiting[i].threads)
			c->waiting[i] = c->waiting[--c->n_waiting];
		return;
	}
}

static void
watch_thread(struct process_watch *c, int32_t pid)
{
	size_t i;

	for (i = 0; i < c->n_waiting; i++)
		if (c->waiting[i].pid == pid)
			c->waiting[i].threads = true;
}

static void
watch_exit(struct process_watch *c, const struct process_event *e)
{
	struct process *p = process_find(services_table(c->parts.services),
	    e->pid, 0);

	if (p != NULL && e->time_ns > p->exit_ns)
		p->exit_ns = e->time_ns;
	if (e->tid == e->pid)
		watch_forget(c, e->pid);
}

static void
watch_exec(struct process_watch *c, const struct process_event *e,
    int64_t now_ns)
{
	struct process *p = process_find(services_table(c->parts.services),
	    e->pid, 0);

	if (p != NULL)
		process_executed(p, e->time_ns);
	watch_wait(c, e->pid, true, now_ns);
}

static void
watch_program(struct process_watch *c, const struct process_event *e)
{
	if (c->parts.symbols == NULL)
		return;
	if (e->kind == PROCESS_LOST)
		symbols_programs_missed(c->parts.symbols);
	else
		symbols_program(c->parts.symbols, &(struct program_told){
		    e->start, e->end, e->path, e->time_ns,
		    e->kind == PROCESS_UNLOADED});
}

void
process_watch_event(
    struct process_watch *c, const struct process_event *e, int64_t now_ns)
{
	if (e->kind == PROCESS_LOST)
		maps_lose(c->parts.maps, e->since_ns, e->time_ns);
	if (e->kind == PROCESS_LOST || e->pid == e->tid)
		services_stir(c->parts.services);
	if (e->kind == PROCESS_LOST || e->kind == PROCESS_LOADED ||
	    e->kind == PROCESS_UNLOADED)
		watch_program(c, e);
	if (e->pid <= 0)
		return; /* our namespace does not show it */
	switch (e->kind) {
	case PROCESS_EXEC:
		watch_exec(c, e, now_ns);
		break;
	case PROCESS_MAP:
		maps_cut(c->parts.maps, &(struct maps_change){.pid = e->pid,
		    .start = e->start, .end = e->end, .offset = e->offset,
		    .ino = e->ino, .dev = e->dev, .time_ns = e->time_ns},
		    e->path);
		watch_wait(c, e->pid, false, now_ns);
		break;
	case PROCESS_FORK:
		if (e->pid == e->parent)
			watch_thread(c, e->pid);
		break;
	case PROCESS_EXIT:
		watch_exit(c, e);
		break;
	default:
		break;
	}
	lineage_event(c->lineage, e);
	process_count_event(c->count, e);
}

static bool
watch_is_known(void *arg, int32_t pid)
{
	const struct process_watch_parts *parts = arg;

	return services_last(parts->services, pid) != NULL;
}

bool
process_watch_origin(const struct process_watch *c, int32_t pid,
    int64_t time_ns, struct lineage_origin *out)
{
	struct process_watch_parts parts = c->parts;

	return lineage_find(c->lineage, pid, time_ns, watch_is_known, &parts,
	    out);
}

int64_t
process_watch_next_exec(
    const struct process_watch *c, int32_t pid, int64_t time_ns)
{
	return lineage_next_exec(c->lineage, pid, time_ns);
}

void
process_watch_name(const struct process_watch *c,
    const struct lineage_origin *origin, const char *comm, char *out,
    size_t size)
{
	const struct process *root = services_last(c->parts.services,
	    origin->root);
	const char *rest = "";

	if (origin->program != 0)
		rest = maps_executable(c->parts.maps, origin->program,
		    origin->exec_ns);
	else if (root != NULL)
		rest = root->read->command + strlen(root->read->comm) + 1;
	services_name(c->parts.services, comm, rest,
	    root != NULL ? root->read->cgroup : "", root, out, size);
}

/* Of one that ended a moment ago. */
static bool
watch_origin(void *arg, int32_t pid, char *out, size_t size)
{
	struct process_watch *c = arg;
	int64_t now_ns = clock_mono_ns();
	struct lineage_origin origin;
	const struct process *root;
	const char *comm = origin.comm;

	process_watch_until(c, now_ns - RECENT_NS, c->now_ns);
	if (!process_watch_origin(c, pid, now_ns, &origin))
		return false;
	root = services_last(c->parts.services, origin.root);
	if (origin.program == 0 && root != NULL)
		comm = root->read->comm;
	process_watch_name(c, &origin, comm, out, size);
	return true;
}

/* The next mapping's reading comes later the more of them there are. */
static void
watch_note(struct process *p, int64_t now_ns)
{
	bool calm = now_ns - p->again_ns > AGAIN_MAX_NS;
	int64_t wait_ns = p->again_wait_ns * 2;

	p->again_wait_ns = calm || wait_ns == 0 ? AGAIN_MIN_NS :
	    wait_ns < AGAIN_MAX_NS ? wait_ns : AGAIN_MAX_NS;
	p->again_ns = now_ns + p->again_wait_ns;
}

static void
watch_look(struct process_watch *c, const struct waiting *w, int64_t now_ns)
{
	int64_t began_ns = clock_thread_cpu_ns();
	struct process *p;

	if (tokens_left(&c->looks, now_ns) <= 0) {
		process_count_skip(c->count);
		return;
	}
	p = w->exec ? services_look(c->parts.services, w->pid) :
	    services_process(c->parts.services, w->pid, 0);
	if (p != NULL) {
		watch_note(p, now_ns);
		maps_renew(p);
	}
	if (p != NULL && c->parts.processes != NULL)
		unwind_processes_renew(c->parts.processes, p);
	c->looks.have_ns -= (clock_thread_cpu_ns() - began_ns) * LOOK_SHARE;
}

void
process_watch_do_due(struct process_watch *c, int64_t now_ns)
{
	struct waiting w;
	size_t i = 0;

	while (i < c->n_waiting) {
		if (c->waiting[i].due_ns > now_ns) {
			i++;
			continue;
		}
		w = c->waiting[i];
		c->waiting[i] = c->waiting[--c->n_waiting];
		watch_look(c, &w, now_ns);
	}
}

static void
watch_arm(struct process_watch *c, bool arm)
{
	struct epoll_event ev = {.events = arm ? EPOLLIN : 0};

	if (c->armed != arm && epoll_ctl(c->epoll, EPOLL_CTL_MOD,
	    process_events_fd(c->events), &ev) == 0)
		c->armed = arm;
}

static void
watch_set_timer(struct process_watch *c, int64_t after_ns)
{
	struct itimerspec t = {.it_value = {.tv_nsec = after_ns}};

	timerfd_settime(c->timer, 0, &t, NULL);
}

/* Records that come one by one would wake us each: after some of them the
 * rings are left alone for a moment. */
static void
watch_pause(struct process_watch *c, int64_t now_ns)
{
	int64_t pause_ns = PAUSE_LONG_NS;

	if (tokens_left(&c->wakes, now_ns) >= WAKE_NS) {
		c->wakes.have_ns -= WAKE_NS;
		pause_ns = PAUSE_NS;
	}
	watch_arm(c, false);
	watch_set_timer(c, pause_ns);
}

static bool
watch_is_due_soon(const struct process_watch *c, int64_t now_ns)
{
	size_t i;

	for (i = 0; i < c->n_waiting; i++)
		if (c->waiting[i].due_ns - now_ns < QUIET_MAX_NS)
			return true;
	return false;
}

void
process_watch_serve(struct process_watch *c, struct unwind_processes *processes)
{
	c->parts.processes = processes;
}

void
process_watch_drain(struct process_watch *c, int64_t now_ns)
{
	if (c->events == NULL)
		return;
	c->now_ns = now_ns;
	c->drained_ns = clock_mono_ns();
	maps_round(c->parts.maps);
	c->fresh += process_events_drain(c->events);
}

void
process_watch_until(struct process_watch *c, int64_t time_ns, int64_t now_ns)
{
	if (time_ns >= c->drained_ns)
		process_watch_drain(c, now_ns);
}

/* The timer alone knows, and says it once: a pause that ended by another clock
 * would leave it expired, and the daemon awake. */
static bool
watch_pause_is_over(struct process_watch *c)
{
	uint64_t expired;

	return read(c->timer, &expired, sizeof(expired)) == sizeof(expired);
}

void
process_watch_poll(struct process_watch *c, int64_t now_ns)
{
	size_t n;

	process_watch_drain(c, now_ns);
	if (c->events == NULL)
		return;
	n = c->fresh;
	c->fresh = 0;
	process_watch_do_due(c, now_ns);
	if (c->armed && n > 0) {
		watch_pause(c, now_ns);
	} else if (!c->armed && watch_pause_is_over(c)) {
		if (n > 0 || watch_is_due_soon(c, now_ns)) {
			watch_pause(c, now_ns);
			return;
		}
		watch_arm(c, true);
		/* What came before they were armed. */
		process_watch_drain(c, now_ns);
	}
}

void
process_watch_close_slot(struct process_watch *c, uint64_t slot,
    struct batch *b, int64_t last_ns)
{
	struct process_events_stats stats = {0};

	if (c->events != NULL)
		process_events_stats(c->events, &stats);
	process_count_close_slot(c->count, slot, b, last_ns, stats.lost);
}

size_t
process_watch_waiting(const struct process_watch *c)
{
	return c->n_waiting;
}
