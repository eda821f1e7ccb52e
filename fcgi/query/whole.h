/*
 * Are the stacks of the last minutes whole?  For health: which share of the
 * host's is not, which services are worst, and why.
 */
#ifndef FCGI_WHOLE_H
#define FCGI_WHOLE_H

#include <stddef.h>

#include "store/store.h"

#define WHOLE_PERCENT 1 /* more of the stacks are a reason to worry */
#define WHOLE_SAMPLES 100 /* of a service of fewer no share is judged */
#define WHOLE_WORST 3   /* services that are named */

struct buf;

/* Series over one span, each with one point or none. */
struct whole {
	const struct metric_series *services; /* MEASURE_SERVICE_SAMPLES */
	size_t n_services;
	const struct metric_series *broken;   /* MEASURE_SERVICE_BROKEN */
	size_t n_broken;
	const struct metric_series *host;     /* MEASURE_BROKEN, among others */
	size_t n_host;
	const char *source; /* only of this one */
	int128 samples;     /* the host's; -1: it counts none */
};

/* Appends a sentence, NUL-terminated and without "; "; nothing when all is
 * well, or `out` stays empty. */
void whole_judge(const struct whole *whole, struct buf *out);

#endif
