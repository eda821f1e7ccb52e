/*
 * One pass over the buckets for each quantile: there are three.
 */
#include "fcgi/kv/latency.h"

#include "fcgi/format/writer.h"

void
latency_observe(struct latency *l, int64_t ns)
{
	l->counts[histogram_bucket(ns)]++;
	if (l->n == 0 || ns < l->min_ns)
		l->min_ns = ns;
	if (l->n == 0 || ns > l->max_ns)
		l->max_ns = ns;
	l->n++;
}

int64_t
latency_quantile(const struct latency *l, unsigned permille)
{
	uint64_t rank = ((uint64_t)l->n * permille + 999) / 1000, sum = 0;
	int64_t middle = -1;

	if (l->n == 0)
		return -1;
	if (rank == 0)
		rank = 1;
	for (uint32_t i = 0; sum < rank; i++) {
		sum += l->counts[i];
		if (sum >= rank)
			middle = histogram_low(i) + (histogram_low(i + 1) - 1 -
			    histogram_low(i)) / 2;
	}
	return middle < l->min_ns ? l->min_ns :
	    middle > l->max_ns ? l->max_ns : middle;
}

static void
latency_put_one(struct writer *w, const char *key, int64_t ns)
{
	writer_key(w, key);
	ns < 0 ? writer_null(w) : writer_seconds(w, ns);
}

void
latency_put(struct writer *w, const struct latency *l)
{
	writer_open(w, '{');
	writer_key_int(w, "count", l->n);
	latency_put_one(w, "p50", latency_quantile(l, 500));
	latency_put_one(w, "p90", latency_quantile(l, 900));
	latency_put_one(w, "p99", latency_quantile(l, 990));
	latency_put_one(w, "max", l->n > 0 ? l->max_ns : -1);
	writer_key_open(w, "buckets", '[');
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		if (l->counts[i] == 0)
			continue;
		writer_open(w, '[');
		writer_seconds(w, histogram_low(i));
		writer_seconds(w, histogram_low(i + 1));
		writer_int(w, l->counts[i]);
		writer_close(w, ']');
	}
	writer_close(w, ']');
	writer_close(w, '}');
}
