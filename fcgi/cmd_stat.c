/*
 * memlens stat: what a store holds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cmd.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

static void
stat_time(const char *what, int64_t ns)
{
	time_t t = (time_t)(ns / NS_PER_S);
	struct tm tm;
	char text[32];

	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%-10s %s\n", what, text);
}

static void
stat_labels(const struct series_desc *d)
{
	for (size_t i = 0; i < d->n_labels; i++)
		printf("%s%s=\"%s\"", i ? "," : "{", d->labels[i].name,
		    d->labels[i].value);
	if (d->n_labels > 0)
		printf("}");
}

static bool
stat_series(void *arg, const struct series_desc *d, int64_t last_ns)
{
	uint64_t *n = arg;

	(void)last_ns;
	++*n;
	printf("  %-9s %s", series_kind_name(d->kind), d->name);
	stat_labels(d);
	printf("%s%s\n", d->unit[0] ? " in " : "", d->unit);
	return true;
}

static int
stat_show(struct store *s)
{
	struct store_extent x;
	const struct err *e;
	uint64_t n = 0;

	store_extent(s, &x);
	printf("slot       %g s\n", (double)x.slot_ns / 1e9);
	if (x.until_ns > 0) {
		stat_time("from", x.from_ns);
		stat_time("until", x.until_ns);
	} else {
		printf("empty\n");
	}
	printf("bytes      %" PRIu64 "\nfiles      %" PRIu64
	       "\njournals   %" PRIu64 "\ngeneration %" PRIu64
	       "\ndamaged    %" PRIu64 "\nseries\n",
	    x.bytes, x.files, x.journals, x.generation, x.damaged);
	e = store_each_series(s, NULL, 0, x.until_ns, stat_series, &n);
	if (e != NULL) {
		fprintf(stderr, "memlens stat: %s\n", e->text);
		return 1;
	}
	printf("%" PRIu64 " series\n", n);
	return 0;
}

int
cmd_stat(int argc, char **argv)
{
	const struct err *e;
	struct store *s;
	int status;

	if (argc != 2) {
		fprintf(stderr, "usage: memlens stat DIR\n");
		return 2;
	}
	e = store_open(&s, argv[1], 0);
	if (e != NULL) {
		fprintf(stderr, "memlens stat: %s\n", e->text);
		return 1;
	}
	status = stat_show(s);
	store_close(s);
	return status;
}
