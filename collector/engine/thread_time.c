/*
 * A table of services by the hash of their names; what does not fit counts as
 * "(other services)".
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

struct times {
	char name[sizeof(((struct process_read *)0)->service)]; /* "": free */
	int64_t now[WAIT_STATES], told[WAIT_STATES];
};

struct thread_time {
	struct times all[TIMES];
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

static void
times_put(struct times *x, struct batch *b, uint64_t slot, int64_t time_ns)
{
	struct label labels[2] = {{"service", x->name}, {"state", NULL}};
	struct series_desc d = {.kind = SERIES_COUNTER,
	    .name = "thread_seconds_total", .unit = "seconds", .scale = 9,
	    .labels = labels, .n_labels = 2};
	int i;

	for (i = 0; i < WAIT_STATES; i++) {
		if (x->now[i] == 0)
			continue;
		labels[1].value = resolve_state_name((enum wait_state)i);
		batch_add_counter(b, batch_series(b, &d), slot, time_ns,
		    x->now[i] - x->told[i], x->now[i]);
	}
	memcpy(x->told, x->now, sizeof(x->told));
}

void
thread_time_put(struct thread_time *t, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	size_t i;

	for (i = 0; i < TIMES; i++)
		if (memcmp(t->all[i].now, t->all[i].told,
		    sizeof(t->all[i].now)) != 0)
			times_put(&t->all[i], b, slot, time_ns);
}
