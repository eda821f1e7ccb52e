/*
 * What Pyroscope's servers call the types that agents send without a
 * configuration, and how they count.
 */
#include <string.h>

#include "fcgi/format/pprof/pprof_private.h"
#include "store/model/type.h"
#include "store/model/types.h"
#include "store/model/unit.h"

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
	const struct type *t = types_of_sample(c->type);

	(void)arg;
	/* "samples" alone counts what the period says: Go's and Node's CPU */
	if (c->lonely && strcmp(c->type, "samples") == 0 &&
	    unit_is_time(c->period_unit))
		type_sanitize(name, size, c->period_type);
	else
		type_sanitize(name, size, t != NULL ? t->name : c->type);
	return types_kind(name);
}
