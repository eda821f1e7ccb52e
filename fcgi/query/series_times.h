/*
 * Over which time the parts of a sum are averaged.
 *
 * One reading takes all instances of a service (memlens_instance_*): one that
 * it has nothing of was not there.  So the mean of their sum is that of what
 * was there at a time, as the service's own figure is, and an instance that
 * ran for a moment counts for a moment.  Other series are measured by
 * themselves, some more often than others: each has its own mean.
 */
#ifndef FCGI_SERIES_TIMES_H
#define FCGI_SERIES_TIMES_H

#include <stddef.h>

struct err;
struct series_over;
struct series_sum;
struct step_page;
struct store;

#define SERIES_TIMES_FINE 64   /* parts of a step that are looked at, and */
#define SERIES_TIMES_STEPS 32u /* steps of an answer: beyond, or in a shorter
                                * time, what had most data stands for all */

/* Sets `times` of the sums of instances: for each step in how many readings
 * (of counters: slots) any part had data. */
const struct err *series_times(const struct step_page *page, struct store *s,
    const struct series_over *over, struct series_sum *sums, size_t n);

#endif
