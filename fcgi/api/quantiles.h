/*
 * The quantiles of a step of a histogram, as a row of an answer.
 */
#ifndef FCGI_QUANTILES_H
#define FCGI_QUANTILES_H

#include <stdint.h>

struct histogram_point;
struct writer;

/* The member "columns" of an open object: what a row has. */
void quantiles_put_columns(struct writer *w);
/* A row; `scale` is the series'. */
void quantiles_put_point(struct writer *w, int64_t time_ns, int scale,
    const struct histogram_point *p);

#endif
