/*
 * Parts, found by the hash of their two names.
 */
#include "collector/objects/observed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/objects/objects.h"
#include "collector/process/process.h"
#include "store/base/array.h"
#include "store/base/buf.h"

void
observed_fini(struct observed *o)
{
	observed_clear(o);
	free(o->parts);
	*o = (struct observed){.n = 0};
}

void
observed_clear(struct observed *o)
{
	map64_fini(&o->services);
	map64_fini(&o->at);
	o->n = 0;
}

static uint64_t
observed_service(const struct process *p)
{
	return hash64(0, p->read->service, strlen(p->read->service));
}

void
observed_hold(struct observed *o, const struct process *p)
{
	if (!observed_has(o, p))
		map64_add(&o->services, observed_service(p), 0);
}

bool
observed_has(const struct observed *o, const struct process *p)
{
	return map64_get(&o->services, observed_service(p)) != INTERN_NONE;
}

/* NULL when out of memory. */
static struct observed_part *
observed_part(struct observed *o, const struct process_read *r,
    uint64_t service)
{
	uint64_t key = hash64(service, r->instance, strlen(r->instance));
	uint32_t i = map64_get(&o->at, key);
	struct observed_part *x;

	if (i != INTERN_NONE)
		return &o->parts[i];
	if (!array_room(&o->parts, o->n + 1, &o->cap) ||
	    !map64_add(&o->at, key, (uint32_t)o->n))
		return NULL;
	x = &o->parts[o->n++];
	*x = (struct observed_part){.processes = {0}};
	snprintf(x->service, sizeof(x->service), "%s", r->service);
	snprintf(x->instance, sizeof(x->instance), "%s", r->instance);
	return x;
}

/* One that is dead and waits for its parent has nothing. */
void
observed_count(struct observed *o, struct process *p)
{
	const struct process_read *r = p->read;
	bool has = p->part[PROCESS_OBJECTS] != NULL;
	struct observed_part *x;
	int64_t mean;

	if (r->zombie || r->kernel_thread || !observed_has(o, p))
		return;
	x = observed_part(o, r, observed_service(p));
	if (x == NULL)
		return;
	x->processes[has]++;
	x->bytes[has] += (int64_t)r->stat.resident_pages *
	    sysconf(_SC_PAGESIZE);
	mean = has ? (int64_t)objects_mean(p) : 0;
	x->mean = mean > x->mean ? mean : x->mean;
}

int64_t
observed_mean(const struct observed *o, const char *service)
{
	int64_t mean = 0;

	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->parts[i].service, service) == 0 &&
		    o->parts[i].mean > mean)
			mean = o->parts[i].mean;
	return mean;
}
