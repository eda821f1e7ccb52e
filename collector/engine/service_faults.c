/*
 * A table of services, found by the hash of their names.
 */
#include "collector/engine/service_faults.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/process/services.h"
#include "store/base/buf.h"
#include "store/batch/batch.h"

#define BUCKETS 256
#define NONE UINT32_MAX

static const char *const lost_reasons[LOST_REASONS] = {
    [LOST_HELD_FULL] = "held full",
    [LOST_AGGREGATE_FULL] = "aggregate full",
    [LOST_LOCKS_FULL] = "locks full",
    [LOST_TABLE_UNREAD] = "table unread",
};

struct faults {
	char name[sizeof(((struct process_read *)0)->service)];
	struct service_counts now, told;
	uint64_t slot; /* the last one that it had anything in */
	uint32_t next; /* in its bucket */
};

struct service_faults {
	const char *source; /* label of all */
	struct faults all[SERVICE_FAULTS_MAX];
	uint32_t buckets[BUCKETS];
	uint32_t n;
};

struct service_faults *
service_faults_new(const char *source)
{
	struct service_faults *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	memset(f->buckets, 0xff, sizeof(f->buckets));
	f->source = source;
	return f;
}

void
service_faults_free(struct service_faults *f)
{
	free(f);
}

static uint32_t *
faults_bucket(struct service_faults *f, const char *name)
{
	return &f->buckets[hash64(0, name, strlen(name)) % BUCKETS];
}

static bool
faults_are_told(const struct faults *x)
{
	return memcmp(&x->now, &x->told, sizeof(x->now)) == 0;
}

/* Room for one more.  A service that has something to tell stays; were all
 * such, the last one would be forgotten, which no slot has services for. */
static uint32_t
faults_room(struct service_faults *f)
{
	uint32_t i, oldest = SERVICE_FAULTS_MAX - 1, *at;
	uint64_t slot = UINT64_MAX;

	if (f->n < SERVICE_FAULTS_MAX)
		return f->n++;
	for (i = 0; i < f->n; i++) {
		if (!faults_are_told(&f->all[i]) || f->all[i].slot >= slot)
			continue;
		slot = f->all[i].slot;
		oldest = i;
	}
	at = faults_bucket(f, f->all[oldest].name);
	while (*at != oldest)
		at = &f->all[*at].next;
	*at = f->all[oldest].next;
	return oldest;
}

struct service_counts *
service_faults_of(struct service_faults *f, const char *service)
{
	uint32_t i = *faults_bucket(f, service), *bucket;

	while (i != NONE && strcmp(f->all[i].name, service) != 0)
		i = f->all[i].next;
	if (i != NONE)
		return &f->all[i].now;
	i = faults_room(f);
	f->all[i] = (struct faults){.slot = 0};
	snprintf(f->all[i].name, sizeof(f->all[i].name), "%s", service);
	bucket = faults_bucket(f, f->all[i].name);
	f->all[i].next = *bucket;
	*bucket = i;
	return &f->all[i].now;
}

/* Where a batch gets what is told. */
struct faults_target {
	struct batch *batch;
	const char *service, *source;
	uint64_t slot;
	int64_t time_ns;
};

/* reason NULL: without that label. */
static void
faults_put_unit(const struct faults_target *t, const char *name,
    const char *unit, const char *reason, uint64_t now, uint64_t told)
{
	struct label labels[3] = {{"reason", reason},
	    {"service", t->service}, {"source", t->source}};
	bool alone = reason == NULL;
	struct series_desc d = {.kind = SERIES_COUNTER, .name = name,
	    .unit = unit, .labels = labels + alone, .n_labels = 3 - alone};

	batch_add_counter(t->batch, batch_series(t->batch, &d), t->slot,
	    t->time_ns, (int64_t)(now - told), (int64_t)now);
}

static void
faults_put_counter(const struct faults_target *t, const char *name,
    const char *reason, uint64_t now, uint64_t told)
{
	faults_put_unit(t, name, "", reason, now, told);
}

/* What the lost ones stand for, where they are of memory. */
static void
faults_put_weight(const struct faults_target *t, const char *reason,
    const struct objects_weight *now, const struct objects_weight *told)
{
	if (now->bytes == 0)
		return;
	faults_put_unit(t, "memlens_service_lost_bytes_total", "bytes",
	    reason, (uint64_t)now->bytes, (uint64_t)told->bytes);
	faults_put_counter(t, "memlens_service_lost_objects_total", reason,
	    (uint64_t)objects_whole(now->objects),
	    (uint64_t)objects_whole(told->objects));
}

static void
faults_put(struct faults *x, const struct faults_target *t)
{
	const struct service_counts *now = &x->now, *told = &x->told;
	int i;

	faults_put_counter(t, "memlens_service_samples_total", NULL,
	    now->samples, told->samples);
	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++)
		if (now->broken[i] > 0)
			faults_put_counter(t,
			    "memlens_service_stacks_broken_total",
			    broken_reasons[i].reason, now->broken[i],
			    told->broken[i]);
	for (i = 0; i < LOST_REASONS; i++) {
		if (now->lost[i] > 0)
			faults_put_counter(t,
			    "memlens_service_samples_lost_total",
			    lost_reasons[i], now->lost[i], told->lost[i]);
		faults_put_weight(t, lost_reasons[i], &now->lost_of[i],
		    &told->lost_of[i]);
	}
	x->told = x->now;
	x->slot = t->slot;
}

void
service_faults_put(struct service_faults *f, struct batch *b, uint64_t slot,
    int64_t time_ns)
{
	struct faults_target t = {b, NULL, f->source, slot, time_ns};
	uint32_t i;

	for (i = 0; i < f->n; i++) {
		if (faults_are_told(&f->all[i]))
			continue;
		t.service = f->all[i].name;
		faults_put(&f->all[i], &t);
	}
}
