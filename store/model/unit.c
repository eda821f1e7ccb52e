/*
 * The table of units.
 */
#include "store/model/unit.h"

#include <stddef.h>
#include <string.h>

static const char time_unit[] = "nanoseconds", byte_unit[] = "bytes",
    count_unit[] = "count";

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define KIB INT64_C(1024)

/* As pprof reads them: kB is 1,024 bytes there, too. */
static const struct {
	const char *unit, *kept;
	int64_t scale;
} table[] = {
    {"nanoseconds", time_unit, 1}, {"nanosecond", time_unit, 1},
    {"nanos", time_unit, 1}, {"nsec", time_unit, 1}, {"ns", time_unit, 1},
    {"lock_nanoseconds", time_unit, 1},
    {"microseconds", time_unit, US}, {"microsecond", time_unit, US},
    {"micros", time_unit, US}, {"usec", time_unit, US},
    {"us", time_unit, US},
    {"\u00b5s", time_unit, US}, {"\u03bcs", time_unit, US},
    {"milliseconds", time_unit, MS}, {"millisecond", time_unit, MS},
    {"millis", time_unit, MS}, {"msec", time_unit, MS},
    {"ms", time_unit, MS},
    {"seconds", time_unit, S}, {"second", time_unit, S},
    {"secs", time_unit, S}, {"sec", time_unit, S}, {"s", time_unit, S},
    {"minutes", time_unit, 60 * S}, {"minute", time_unit, 60 * S},
    {"mins", time_unit, 60 * S}, {"min", time_unit, 60 * S},
    {"hours", time_unit, 3600 * S}, {"hour", time_unit, 3600 * S},
    {"hrs", time_unit, 3600 * S}, {"hr", time_unit, 3600 * S},
    {"h", time_unit, 3600 * S},
    {"days", time_unit, 86400 * S}, {"day", time_unit, 86400 * S},
    {"bytes", byte_unit, 1}, {"byte", byte_unit, 1}, {"B", byte_unit, 1},
    {"b", byte_unit, 1},
    {"kilobytes", byte_unit, KIB}, {"kilobyte", byte_unit, KIB},
    {"kibibytes", byte_unit, KIB}, {"kb", byte_unit, KIB},
    {"kB", byte_unit, KIB}, {"KB", byte_unit, KIB},
    {"KiB", byte_unit, KIB}, {"kib", byte_unit, KIB},
    {"megabytes", byte_unit, KIB * KIB}, {"megabyte", byte_unit, KIB * KIB},
    {"mebibytes", byte_unit, KIB * KIB}, {"mb", byte_unit, KIB * KIB},
    {"MB", byte_unit, KIB * KIB}, {"MiB", byte_unit, KIB * KIB},
    {"mib", byte_unit, KIB * KIB},
    {"gigabytes", byte_unit, KIB * KIB * KIB},
    {"gigabyte", byte_unit, KIB * KIB * KIB},
    {"gibibytes", byte_unit, KIB * KIB * KIB},
    {"gb", byte_unit, KIB * KIB * KIB}, {"GB", byte_unit, KIB * KIB * KIB},
    {"GiB", byte_unit, KIB * KIB * KIB}, {"gib", byte_unit, KIB * KIB * KIB},
    {"", count_unit, 1}, {"count", count_unit, 1},
    {"objects", count_unit, 1}, {"goroutines", count_unit, 1},
    {"lock_samples", count_unit, 1},
};

const char *
unit_canonical(const char *unit, int64_t *scale)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(table[i].unit, unit) == 0) {
			if (scale != NULL)
				*scale = table[i].scale;
			return table[i].kept;
		}
	}
	if (scale != NULL)
		*scale = 1;
	return unit;
}

bool
unit_is_known(const char *unit)
{
	const char *kept = unit_canonical(unit, NULL);

	return kept == time_unit || kept == byte_unit || kept == count_unit ||
	    strcmp(kept, "samples") == 0;
}

bool
unit_is_time(const char *unit)
{
	return strcmp(unit, time_unit) == 0;
}

bool
unit_is_bytes(const char *unit)
{
	return strcmp(unit, byte_unit) == 0;
}

const char *
unit_of_type(const char *name, const char *unit, int64_t *scale)
{
	unit = unit_canonical(unit, scale);
	return unit == count_unit && strcmp(name, "samples") == 0 ? "samples"
								  : unit;
}

bool
unit_same(const char *a, const char *b)
{
	a = unit_canonical(a, NULL);
	b = unit_canonical(b, NULL);
	if (strcmp(a, "samples") == 0)
		a = count_unit;
	if (strcmp(b, "samples") == 0)
		b = count_unit;
	return strcmp(a, b) == 0;
}
