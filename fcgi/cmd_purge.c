/*
 * memlens purge: takes data out of a store and gives the disk back.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cmd.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"
#include "timespec.h"

static const struct err *
purge_run(const char *dir, const struct selector *selector, int64_t from,
    int64_t until)
{
	struct store_options options = {.no_thread = true};
	struct store_writer *w;
	struct purge_report r;
	const struct err *e = store_writer_open(&w, dir, &options), *last;

	if (e != NULL)
		return e;
	e = store_purge(w, selector, from, until, &r);
	last = store_writer_close(w);
	if (e == NULL)
		e = last;
	if (e != NULL)
		return e;
	printf("%" PRIu64 " files, %" PRIu64 " bytes given back\n", r.files,
	    r.bytes);
	if (r.widened)
		fprintf(stderr, "memlens purge: where the summary alone is "
		                "kept, whole blocks of it went\n");
	return NULL;
}

int
cmd_purge(int argc, char **argv)
{
	int64_t now = clock_wall_ns(), from, until;
	struct selector *selector = NULL;
	const struct err *e;

	if (argc != 5) {
		fprintf(stderr,
		    "usage: memlens purge DIR SELECTOR FROM UNTIL\n");
		return 2;
	}
	e = selector_parse(argv[2], &selector);
	if (e == NULL)
		e = timespec_parse(argv[3], now, &from);
	if (e == NULL)
		e = timespec_parse(argv[4], now, &until);
	if (e == NULL)
		e = purge_run(argv[1], selector, from, until);
	selector_free(selector);
	if (e == NULL)
		return 0;
	fprintf(stderr, "memlens purge: %s\n", e->text);
	return 1;
}
