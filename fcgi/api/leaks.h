/*
 * Stacks by what they hold, step by step: those that hold more at the end of
 * a range than at its beginning are followed through it.
 */
#ifndef FCGI_LEAKS_H
#define FCGI_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/query/trend.h"
#include "store/store.h"

struct err;
struct selector;

#define LEAKS_STEPS 48
#define LEAKS_STACKS 256 /* followed: those that have grown most */
/* Bytes between two samples, where nobody has told: what jemalloc, gperftools
 * and Go do unless they are told otherwise. */
#define LEAKS_MEAN 524288.0

struct leak {
	uint64_t hash;   /* of the stack */
	uint32_t node;   /* of leaks.last */
	double value[LEAKS_STEPS];
	double grain;    /* of its samples, see trend.h */
	struct trend trend;
};

struct leaks {
	int64_t from_ns, until_ns, step_ns;
	size_t n_steps;
	bool has[LEAKS_STEPS];     /* is there data in the step? */
	double total[LEAKS_STEPS]; /* of all stacks */
	/* Of a metric the least within each step, which its trend is of: what a
	 * burst takes for a moment is no growth. */
	double least[LEAKS_STEPS];
	bool is_metric;
	/* Requests in each step, NAN where nobody knows; the caller's, before
	 * leaks_read(). */
	double load[LEAKS_STEPS];
	bool loaded;               /* does any step have them? */
	/* Selects counts of objects, where bytes of sampled ones are read; else
	 * NULL; the caller's, as long as leaks_read(). */
	const struct selector *objects;
	double mean;               /* of their samples; the caller's, too */
	double grain;              /* of the samples of all; 0: none */
	/* From this step on stacks are judged: the daemon has begun in the one
	 * before, and what lived then is one stack since.  0: it has not. */
	size_t anew;
	struct leak *all;          /* by slope, the steepest first */
	size_t n;
	struct profile *last; /* of the last step with data; NULL: none has */
	char unit[32];
};

/* Steps of whole slots over a range. */
void leaks_steps(struct leaks *l, int64_t from_ns, int64_t until_ns,
    int64_t slot_ns);

/* Reads profiles of a selector: amounts of a stock; of a flow, what has come
 * since the range began.  leaks_fini() after any outcome. */
const struct err *leaks_read(struct leaks *l, struct store *s,
    const struct selector *selector);

/* The same of a metric: the total alone. */
const struct err *leaks_read_metric(struct leaks *l, struct store *s,
    const struct selector *selector);
void leaks_fini(struct leaks *l);

/* For how long before the range's end a stack has held something all the time,
 * in seconds; *at_least: since all that is known of it in the range. */
double leaks_age(const struct leaks *l, const struct leak *k, bool *at_least);

/* The trend of a stack, or of the total (NULL), a second; beside the load where
 * it is known. */
struct trend leaks_trend(const struct leaks *l, const struct leak *k);

/* That of all stacks that grow together, each of which errs by itself; steady
 * where none does. */
struct trend leaks_sum(const struct leaks *l);

#endif
