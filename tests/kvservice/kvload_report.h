/*
 * The result of a run as one JSON object.
 */

#ifndef KVLOAD_REPORT_H
#define KVLOAD_REPORT_H

#include <stdio.h>

#include "kvload_run.h"

struct preload {
	uint64_t count;		/* keys set before, 0 for --no-preload */
	double elapsed_s;
};

/* Times are seconds; quantiles of nothing are null. */
void report_write(FILE *, const struct run_options *, const struct preload *,
    const struct run_result *);

#endif
