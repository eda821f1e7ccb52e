/*
 * A log-linear histogram of durations: 256 equal buckets in each power of
 * two, so a bucket is at most 0.4 % wide; under 256 ns it is exact.
 */

#ifndef KVLOAD_HIST_H
#define KVLOAD_HIST_H

#include <stdint.h>

struct hist;

/* Returns NULL when out of memory. The caller frees with hist_free. */
struct hist *hist_new(void);
void hist_free(struct hist *);

void hist_record(struct hist *, uint64_t ns);

uint64_t hist_count(const struct hist *);

/* The largest value, exact; 0 if empty. */
uint64_t hist_max(const struct hist *);

/* In ns, exact; 0 if empty. */
double hist_mean(const struct hist *);

/*
 * The value of rank ceil(q * count), q in (0, 1]: the middle of its bucket,
 * but never outside of what was recorded; 0 if empty.
 */
uint64_t hist_quantile(const struct hist *, double q);

#endif
