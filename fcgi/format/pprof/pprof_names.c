/*
 * What Pyroscope's servers call the types that agents send without a
 * configuration, and how they count.
 */
#include "fcgi/format/pprof/pprof_private.h"

#include <stdio.h>
#include <string.h>

#include "store/model/type.h"

static const struct {
	const char *type, *name;
	enum series_kind kind;
} known[] = {
    {"inuse_objects", "inuse_objects", SERIES_STOCK},
    {"inuse_space", "inuse_space", SERIES_STOCK},
    {"objects", "inuse_objects", SERIES_STOCK}, /* V8's heap */
    {"space", "inuse_space", SERIES_STOCK},
    {"goroutine", "goroutines", SERIES_STOCK},
    {"contentions", "mutex_count", SERIES_FLOW},
    {"delay", "mutex_duration", SERIES_FLOW},
};

bool
pprof_is_steady(int64_t period)
{
	const int64_t second = 1000000000, ms = 1000000;
	int64_t hz, off;

	if (period <= 0 || period >= second)
		return period > 0 && period % ms == 0;
	hz = (second + period / 2) / period;
	off = second - period * hz;
	return period % ms == 0 || (off > -hz && off < hz);
}

enum series_kind
pprof_name(void *arg, const struct pprof_column *c, char *name, size_t size)
{
	(void)arg;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].type, c->type) == 0) {
			snprintf(name, size, "%s", known[i].name);
			return known[i].kind;
		}
	}
	/* "samples" alone counts what the period says: Go's and Node's CPU */
	if (c->lonely && strcmp(c->type, "samples") == 0 &&
	    strcmp(c->period_unit, "nanoseconds") == 0)
		type_sanitize(name, size, c->period_type);
	else
		type_sanitize(name, size, c->type);
	return SERIES_FLOW;
}
