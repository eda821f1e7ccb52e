/*
 * How many threads and processes of each service began and ended, and which
 * ends and beginnings of processes are worth a mark.  What is stored is said
 * in process_watch.h.
 */
#ifndef COLLECTOR_PROCESS_COUNT_H
#define COLLECTOR_PROCESS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct process_count;
struct process_event;
struct services;

/* Who knows with which status a watched program ends. */
struct process_ends {
	void (*watch)(void *arg, int32_t pid);
	/* The status of waitpid(); false: nobody knows. */
	bool (*status)(void *arg, int32_t pid, int *status);
	void *arg;
};

#define PROCESS_MARKS_MAX 8        /* of each kind, a slot ... */
#define PROCESS_MARKS_WATCHED_MAX 64 /* and of programs that rules name */
#define PROCESS_SEASONED_NS INT64_C(5000000000) /* shorter lives get no mark */

/* `services` is borrowed.  NULL when out of memory. */
struct process_count *process_count_new(struct services *services);
void process_count_free(struct process_count *c);

/* From now on; nothing is known of ends before that. */
void process_count_serve(struct process_count *c,
    const struct process_ends *ends);

/* What has begun until now is no news. */
void process_count_begin(struct process_count *c);

void process_count_event(struct process_count *c,
    const struct process_event *e);

/* A process could not be looked at in time. */
void process_count_skip(struct process_count *c);

/* `lost`: records that never came, since the start.  Marks have the times of
 * what they tell, which may be those of earlier slots. */
void process_count_close_slot(struct process_count *c, uint64_t slot,
    struct batch *b, int64_t last_ns, uint64_t lost);

#endif
