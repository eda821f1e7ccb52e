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
	/* By leaks_read_began(), before leaks_read(); none without.  Who held
	 * something before, and holds a quarter of it at most behind it, was
	 * restarted: what grows is judged by trend_parts(). */
	bool began[LEAKS_STEPS];
	/* From this step on stacks are judged: the daemon has begun in the one
	 * before, and what lived then is one stack since.  0: it has not. */
	size_t anew;
	struct leak *all;          /* by slope, the steepest first */
	size_t n;
	double lost; /* of last, by stacks that are not known; none of them is
	              * followed */
	struct profile *last; /* of the last step with data; NULL: none has */
	char unit[32];
};

/* Steps of whole slots over a range. */
void leaks_steps(struct leaks *l, int64_t from_ns, int64_t until_ns,
    int64_t slot_ns);

/* Sets l->began where a process of the service began in a step, and none that
 * was there before is told of behind it; with `part`, one of its instances, the
 * others may be.  A daemon tells of who lives every 64 slots: of what is
 * younger than that it may be either. */
const struct err *leaks_read_began(struct leaks *l, struct store *s,
    const char *service, bool part);

/* Reads profiles of a selector: amounts of a stock; of a flow, what has come
 * since the range began.  leaks_fini() after any outcome. */
const struct err *leaks_read(struct leaks *l, struct store *s,
    const struct selector *selector);

/* The same of a metric: the total alone. */
const struct err *leaks_read_metric(struct leaks *l, struct store *s,
    const struct selector *selector);
void leaks_fini(struct leaks *l);

/* The last step in which the program of a stack, or of the total (NULL), was
 * restarted; n_steps: in none. */
size_t leaks_restarted(const struct leaks *l, const struct leak *k);

/* In how many steps it was, of those that are judged. */
size_t leaks_restarts(const struct leaks *l, const struct leak *k);

/* Why nothing is said of the trend of either where that is unknown. */
const char *leaks_why_unknown(const struct leaks *l, const struct leak *k);

/* The first step of which the same is judged as what it is now. */
size_t leaks_since(const struct leaks *l, const struct leak *k);

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
