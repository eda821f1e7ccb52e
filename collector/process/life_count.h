/*
 * How many threads and processes of each service began and ended, and which
 * ends and beginnings of processes are worth a mark.  What is stored is said
 * in source_cpu_life.h.
 */
#ifndef COLLECTOR_LIFE_COUNT_H
#define COLLECTOR_LIFE_COUNT_H

#include <stdint.h>

struct batch;
struct life_count;
struct life_event;
struct services;

#define LIFE_MARKS_MAX 8        /* of each kind, a slot */
#define LIFE_SEASONED_NS INT64_C(5000000000) /* shorter lives get no mark */

/* `services` is borrowed.  NULL when out of memory. */
struct life_count *life_count_new(struct services *services);
void life_count_free(struct life_count *c);

void life_count_event(struct life_count *c, const struct life_event *e,
    int64_t now_ns);

/* A process could not be looked at in time. */
void life_count_skip(struct life_count *c);

/* `lost`: records that never came, since the start. */
void life_count_close_slot(struct life_count *c, uint64_t slot,
    struct batch *b, int64_t start_ns, int64_t last_ns, uint64_t lost);

#endif
