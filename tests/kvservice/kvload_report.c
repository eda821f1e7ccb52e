/*
 * Writes the report. Names of members are stable: tests read them.
 */

#include "kvload_report.h"

#include <inttypes.h>

static const char *const op_names[OP_COUNT] = { "set", "get", "scan" };
static const char *const outcome_names[GOT_COUNT] = {
	"set", "get_found", "get_missing", "scan"
};
static const char *const failure_names[FAIL_COUNT] = {
	"connect", "closed", "timeout", "status", "wrong", "protocol"
};

static uint64_t
sum(const uint64_t *values, size_t n)
{
	uint64_t all = 0;

	while (n-- > 0)
		all += values[n];
	return all;
}

static void
write_counts(FILE *f, const char *name, const char *const *names,
    const uint64_t *values, size_t n)
{
	size_t i;

	fprintf(f, "  \"%s\": {\"total\": %" PRIu64, name, sum(values, n));
	for (i = 0; i < n; i++)
		fprintf(f, ", \"%s\": %" PRIu64, names[i], values[i]);
	fprintf(f, "},\n");
}

static void
write_quantiles(FILE *f, const char *name, const struct hist *h)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 },
		{ "p99.9", 0.999 },
	};
	size_t i;

	fprintf(f, "\"%s\": {\"count\": %" PRIu64, name, hist_count(h));
	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		fprintf(f, ", \"%s\": ", quantiles[i].name);
		if (hist_count(h) == 0)
			fprintf(f, "null");
		else
			fprintf(f, "%.9f",
			    (double)hist_quantile(h, quantiles[i].q) / 1e9);
	}
	if (hist_count(h) == 0)
		fprintf(f, ", \"max\": null, \"mean\": null}");
	else
		fprintf(f, ", \"max\": %.9f, \"mean\": %.9f}",
		    (double)hist_max(h) / 1e9, hist_mean(h) / 1e9);
}

static void
write_latencies(FILE *f, const char *name, struct hist *const *hists)
{
	size_t i;

	fprintf(f, "  \"%s\": {\n", name);
	for (i = 0; i < GOT_COUNT; i++) {
		fprintf(f, "    ");
		write_quantiles(f, outcome_names[i], hists[i]);
		fprintf(f, i + 1 < GOT_COUNT ? ",\n" : "\n");
	}
	fprintf(f, "  }");
}

static void
write_setup(FILE *f, const struct run_options *o, const struct preload *p)
{
	const struct mix *m = &o->mix;

	fprintf(f, "  \"mix\": {\"set\": %" PRIu32 ", \"get\": %" PRIu32
	    ", \"scan\": %" PRIu32 "},\n", m->weight[OP_SET],
	    m->weight[OP_GET], m->weight[OP_SCAN]);
	fprintf(f, "  \"missing_share\": %g, \"keys\": %" PRIu32
	    ", \"value_bytes\": %zu, \"scan_length\": %" PRIu32 ",\n",
	    m->missing, m->keys, m->value_size, m->scan_length);
	fprintf(f, "  \"connections\": %" PRIu32 ", \"keep_alive\": %s, "
	    "\"seed\": %" PRIu64 ",\n", o->connections,
	    m->close ? "false" : "true", m->seed);
	fprintf(f, "  \"preload\": {\"count\": %" PRIu64
	    ", \"seconds\": %.3f},\n", p->count, p->elapsed_s);
}

void
report_write(FILE *f, const struct run_options *o, const struct preload *p,
    const struct run_result *r)
{
	uint64_t answered = 0;
	size_t i;

	for (i = 0; i < GOT_COUNT; i++)
		answered += hist_count(r->latency[i]);
	fprintf(f, "{\n  \"target_rate\": %g, \"reached_rate\": %.3f,\n",
	    o->rate, r->elapsed_s > 0 ? (double)answered / r->elapsed_s : 0);
	fprintf(f, "  \"start\": %.3f, \"duration_seconds\": %.6f,\n",
	    r->start_unix_s, r->elapsed_s);
	write_setup(f, o, p);
	write_counts(f, "scheduled", op_names, r->scheduled, OP_COUNT);
	fprintf(f, "  \"answered\": %" PRIu64 ",\n", answered);
	write_counts(f, "errors", failure_names, r->failures, FAIL_COUNT);
	write_counts(f, "errors_by_operation", op_names, r->failed, OP_COUNT);
	fprintf(f, "  \"lost_keys\": %" PRIu64 ",\n", r->lost);
	fprintf(f, "  \"bytes_out\": %" PRIu64 ", \"bytes_in\": %" PRIu64
	    ", \"connects\": %" PRIu64 ",\n  ", r->bytes_out, r->bytes_in,
	    r->connects);
	write_quantiles(f, "send_delay", r->send_delay);
	fprintf(f, ",\n");
	write_latencies(f, "operations", r->latency);
	fprintf(f, ",\n");
	write_latencies(f, "operations_from_send", r->service);
	fprintf(f, "\n}\n");
}
