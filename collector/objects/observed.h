/*
 * How much of a service its library shows: of each service some of whose
 * processes have it, how many have it and how many do not, by instance, and
 * what is resident in them.  What the others ask for nobody sees.
 */
#ifndef COLLECTOR_OBSERVED_H
#define COLLECTOR_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/intern.h"

struct process;

/* Of one instance ("": of what has none) of a service. */
struct observed_part {
	char service[64], instance[16];
	int64_t processes[2], bytes[2]; /* [1]: of those that have it */
	int64_t mean; /* the largest of those, of intervals (alloc_size.h) */
};

struct observed { /* all zero when empty */
	struct map64 services, at; /* those that have it; where each part is */
	struct observed_part *parts;
	size_t n, cap;
};

void observed_fini(struct observed *o);

/* Begins anew. */
void observed_clear(struct observed *o);

/* A process has the library: all of its service are counted from here on.
 * After an error the service is not. */
void observed_hold(struct observed *o, const struct process *p);

/* Is its service counted? */
bool observed_has(const struct observed *o, const struct process *p);

/* Counts a process where its service is. */
void observed_count(struct observed *o, struct process *p);

/* The largest mean of all parts of a service, 0: none has the library. */
int64_t observed_mean(const struct observed *o, const char *service);

#endif
