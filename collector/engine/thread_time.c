/*
 * A table of services by the hash of their names; what does not fit counts as
 * "(other services)".  The place of a service of which nothing was heard for
 * long is given back when places become few: its counters begin anew then.
 */
#include "collector/engine/thread_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/engine/resolve.h"
#include "collector/process/services.h"
#include "store/base/buf.h"
#include "store/batch/batch.h"

#define TIMES 1024 /* a power of two */
#define TIMES_USED (TIMES / 2)
#define TIMES_FEW (TIMES_USED * 3 / 4)
#define TIMES_IDLE 6 /* slots */

/* Behind the states. */
enum {
	TIMES_BIRTHS = WAIT_STATES,
	TIMES_DEATHS,
	TIMES_SUMS
};

struct times {
	char name[sizeof(((struct process_read *)0)->service)]; /* "": free */
	int64_t now[TIMES_SUMS], told[TIMES_SUMS];
	unsigned idle; /* slots since it has grown */
};

struct thread_time {
	struct times all[TIMES], kept[TIMES]; /* the latter: at work */
	size_t n;
};

struct thread_time *
thread_time_new(void)
{
	return calloc(1, sizeof(struct thread_time));
}

void
thread_time_free(struct thread_time *t)
{
	free(t);
}

static struct times *
times_of(struct thread_time *t, const char *service)
{
	size_t i = hash64(0, service, strlen(service)) & (TIMES - 1);

	for (; t->all[i].name[0] != '\0'; i = (i + 1) & (TIMES - 1))
		if (strcmp(t->all[i].name, service) == 0)
			return &t->all[i];
	/* One place is kept for those that are too many. */
	if (t->n + 1 >= TIMES_USED && strcmp(service, SERVICES_OTHER) != 0)
		return times_of(t, SERVICES_OTHER);
	t->n++;
	snprintf(t->all[i].name, sizeof(t->all[i].name), "%s", service);
	return &t->all[i];
}

void
thread_time_add(struct thread_time *t, const char *service,
    const int64_t ns[WAIT_STATES])
{
	struct times *x = times_of(t, service);
	int i;

	for (i = 0; i < WAIT_STATES; i++)
		x->now[i] += ns[i];
}

void
thread_time_add_to(struct thread_time *t, const char *service,
    enum wait_state state, int64_t ns)
{
	times_of(t, service)->now[state] += ns;
}

void
thread_time_move(struct thread_time *t, const char *service,
    enum wait_state from, enum wait_state to, int64_t ns)
{
	struct times *x = times_of(t, service);
	int64_t most = x->now[from] - x->told[from];

	ns = ns < most ? ns : most > 0 ? most : 0;
	x->now[from] -= ns;
	x->now[to] += ns;
}

void
thread_time_count(struct thread_time *t, const char *service, int64_t births,
    int64_t deaths)
{
	struct times *x = times_of(t, service);

	x->now[TIMES_BIRTHS] += births;
	x->now[TIMES_DEATHS] += deaths;
}

static void
times_put_count(struct times *x, struct batch *b, uint64_t slot,
    int64_t time_ns, int i)
{
	struct label label = {"service", x->name};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = i == TIMES_BIRTHS ? "thread_births_total" :
	        "thread_deaths_total",
	    .unit = "threads", .labels = &label, .n_labels = 1};

	batch_add_counter(b, batch_series(b, &d), slot, time_ns,
	    x->now[i] - x->told[i], x->now[i]);
	x->told[i] = x->now[i];
}

static void
times_put(struct times *x, struct batch *b, uint64_t slot, int64_t time_ns)
{
	struct label labels[2] = {{"service", x->name}, {"state", NULL}};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = "thread_seconds_total", .unit = "seconds", .scale = 9,
	    .labels = labels, .n_labels = 2};
	int i;

	for (i = 0; i < WAIT_STATES; i++) {
		if (x->now[i] <= 0 || x->now[i] < x->told[i])
			continue;
		labels[1].value = resolve_state_name((enum wait_state)i);
		batch_add_counter(b, batch_series(b, &d), slot, time_ns,
		    x->now[i] - x->told[i], x->now[i]);
		x->told[i] = x->now[i];
	}
	times_put_count(x, b, slot, time_ns, TIMES_BIRTHS);
	times_put_count(x, b, slot, time_ns, TIMES_DEATHS);
}

/* Keeps those that have grown of late. */
static void
times_give_back(struct thread_time *t)
{
	size_t i;

	memcpy(t->kept, t->all, sizeof(t->kept));
	memset(t->all, 0, sizeof(t->all));
	t->n = 0;
	for (i = 0; i < TIMES; i++)
		if (t->kept[i].name[0] != '\0' &&
		    t->kept[i].idle < TIMES_IDLE)
			*times_of(t, t->kept[i].name) = t->kept[i];
}

void
thread_time_put(struct thread_time *t, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	struct times *x;

	for (x = t->all; x < t->all + TIMES; x++) {
		x->idle++;
		if (memcmp(x->now, x->told, sizeof(x->now)) == 0)
			continue;
		x->idle = 0;
		times_put(x, b, slot, time_ns);
	}
	if (t->n >= TIMES_FEW)
		times_give_back(t);
}

/* ---- one thread's ---- */

bool
thread_slot_is_last(const struct thread_slot_range *slot,
    const struct wait_sums *sums)
{
	int64_t half_ns = (slot->end_ns - slot->begin_ns) / 2;

	return sums->at_ns <= (uint64_t)(slot->begin_ns + half_ns);
}

void
thread_slot_choose(struct thread_slot *x,
    const struct thread_slot_range *slot, const struct wait_sums *sums)
{
	bool last = thread_slot_is_last(slot, sums);
	int i;

	x->ahead = sums->at_ns > (uint64_t)(slot->end_ns + slot->slot_ns / 2);
	for (i = 0; i < WAIT_STATES; i++)
		x->sum[i] = (int64_t)(last ? sums->sum[i] : sums->at[i]);
}

/* The slot is closed when more of them are over, and it is not known how the
 * sums were at its end: what has stacks is of it, and the rest comes with the
 * border that is known. */
static void
thread_slot_lag(struct thread_slot *x)
{
	int i;

	for (i = 0; i < WAIT_STATES; i++)
		if (x->sum[i] - x->told[i] > x->stacked[i])
			x->sum[i] = x->told[i] + x->stacked[i];
}

/* Of the same reason there may be other waits, whose stacks are told. */
static void
thread_slot_lend(const struct thread_slot *x, int64_t grown[WAIT_STATES])
{
	int64_t room, part;
	int i;

	for (i = WAIT_RUN_QUEUE + 1; i < WAIT_STATES; i++) {
		room = grown[WAIT_RUN_QUEUE] - x->stacked[WAIT_RUN_QUEUE];
		part = x->stacked[i] - grown[i];
		part = part < room ? part : room;
		if (part <= 0)
			continue;
		grown[i] += part;
		grown[WAIT_RUN_QUEUE] -= part;
	}
}

/* What each state has grown by.  A moment before the end it may not have been
 * known that a thread was woken: what was told of its reason too much is the
 * run queue's. */
static void
thread_slot_grown(struct thread_slot *x, int64_t grown[WAIT_STATES])
{
	int64_t owed = 0, part;
	int i;

	for (i = 0; i < WAIT_STATES; i++) {
		grown[i] = x->sum[i] - x->told[i];
		if (grown[i] < 0) {
			owed -= grown[i];
			grown[i] = 0;
		}
	}
	for (i = WAIT_STATES; owed > 0 && i-- > 0;) {
		/* The run queue's first, then the others. */
		int k = i == WAIT_STATES - 1 ? WAIT_RUN_QUEUE :
		    i == WAIT_RUN_QUEUE ? WAIT_STATES - 1 : i;

		part = grown[k] < owed ? grown[k] : owed;
		grown[k] -= part;
		owed -= part;
	}
	thread_slot_lend(x, grown);
	for (i = 0; i < WAIT_STATES; i++)
		x->told[i] += grown[i];
}

void
thread_slot_show(struct thread_slot *x, enum wait_state state, uint64_t ns)
{
	x->stacked[state] += (int64_t)ns;
	x->shown[state] += (int64_t)ns;
}

void
thread_slot_close(struct thread_slot *x, int64_t rest[WAIT_STATES],
    int64_t below[WAIT_STATES])
{
	int64_t grown[WAIT_STATES];
	int i;

	if (x->ahead)
		thread_slot_lag(x);
	thread_slot_grown(x, grown);
	for (i = 0; i < WAIT_STATES; i++) {
		below[i] = grown[i] - x->stacked[i];
		x->stacked[i] = below[i] < 0 ? -below[i] : 0;
		rest[i] = grown[i] - x->shown[i];
		x->shown[i] = 0;
	}
}

void
thread_slot_part(struct thread_slot *x, const struct wait_sums *sums,
    int64_t rest[WAIT_STATES], int64_t below[WAIT_STATES])
{
	const struct thread_slot end = *x;
	int i;

	x->ahead = false;
	for (i = 0; i < WAIT_STATES; i++)
		x->sum[i] = (int64_t)sums->sum[i];
	thread_slot_close(x, rest, below);
	x->ahead = end.ahead;
	memcpy(x->sum, end.sum, sizeof(x->sum));
}
