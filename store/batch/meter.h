/*
 * Readings of metrics that wait for the end of their slot.
 *
 * A source or a scraper reads gauges and counters more often than once a
 * slot; the meter resolves the counters, keeps what was read by slot, and
 * puts a slot's readings into a batch when the slot is over.
 *
 *	meter_gauge()     value at a time
 *	meter_counter()   raw value; the increase is found here: nothing at
 *	                  first sight, raw - previous, or raw after a reset
 *	meter_increase()  an increase that the caller has found himself; the
 *	                  raw value is their sum
 *	meter_close()     -> batch
 *
 * An increase grew evenly between the two readings that it lies between, for
 * all one knows: where a slot ends between them, each slot has its part by
 * time, and the raw value at the border is what follows from the parts.  They
 * add up to the increase.  So the reading that is the first after the end of a
 * slot comes before that slot is closed, however late both are.
 *
 * Of a reading's time whole milliseconds are kept.
 *
 * A series that was not read for METER_IDLE_SLOTS closed slots is forgotten;
 * when it comes back, that is its first sight.
 */
#ifndef STORE_METER_H
#define STORE_METER_H

#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

#define METER_SERIES_MAX 65536
#define METER_READINGS_MAX (1u << 20)
#define METER_IDLE_SLOTS 64

struct batch;
struct err;
struct meter;

struct meter_stats {
	uint64_t series;  /* known now */
	uint64_t dropped; /* readings lost: out of memory or over a bound */
	uint64_t resets;  /* counters that went back */
};

struct meter *meter_new(uint64_t slot_ns); /* NULL when out of memory */
void meter_free(struct meter *m);

/* One value of a gauge at a time, which names the slot. */
void meter_gauge(struct meter *m, const struct series_desc *d,
    int64_t time_ns, int64_t value);

/* The raw value of a counter, and when it was read. */
void meter_counter(struct meter *m, const struct series_desc *d,
    int64_t time_ns, int64_t raw);

/* The same for a counter that nothing can reset: a reading below the last
 * one (the kernel's idle times do that) counts as no increase. */
void meter_counter_steady(struct meter *m, const struct series_desc *d,
    int64_t time_ns, int64_t raw);

/* An increase, >= 0, between two times, of a counter whose first raw value is
 * `first_raw`. */
struct meter_span {
	int64_t from_ns, until_ns;
};
void meter_increase(struct meter *m, const struct series_desc *d,
    struct meter_span span, int64_t increase, int64_t first_raw);

/* Puts all readings of slots up to `slot` into the batch, those of earlier
 * slots (the clock went back) at the start of `slot`. */
void meter_close(struct meter *m, uint64_t slot, struct batch *b);

void meter_stats(const struct meter *m, struct meter_stats *out);

#endif
