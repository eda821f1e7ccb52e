/*
 * memlens stat: what a store holds, and what its bytes are: by level of the
 * tree and by series.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fcgi/memlens/cmd.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/base/text.h"
#include "store/check/usage.h"
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
stat_extent(const struct store_extent *x)
{
	printf("slot       %g s\n", (double)x->slot_ns / 1e9);
	if (x->until_ns > 0) {
		stat_time("from", x->from_ns);
		stat_time("until", x->until_ns);
		printf("slots      %" PRId64 "\n",
		    (x->until_ns - x->from_ns) / x->slot_ns);
	} else {
		printf("empty\n");
	}
	printf("bytes      %" PRIu64 "\nfiles      %" PRIu64
	       "\njournals   %" PRIu64 "\ngeneration %" PRIu64
	       "\ndamaged    %" PRIu64 "\n",
	    x->bytes, x->files, x->journals, x->generation, x->damaged);
}

static void
stat_row(const char *name, uint64_t bytes)
{
	printf("  %-28s %12" PRIu64 "\n", name, bytes);
}

static void
stat_levels(const struct usage *c, int64_t slot_ns)
{
	printf("bytes of blocks by level\n");
	for (unsigned l = 0; l <= SEG_MAX_LEVEL; l++) {
		const struct usage_part *p = &c->levels[l];

		if (p->blocks == 0)
			continue;
		printf("  level %2u, %12g s a block %12" PRIu64
		       "  %" PRIu64 " blocks\n",
		    l, (double)slot_ns / 1e9 * (double)seg_slots(l), p->bytes,
		    p->blocks);
	}
	printf("other bytes\n");
	stat_row("names and stacks", c->dictionary);
	stat_row("pages of Berkeley DB", c->pages);
	stat_row("journals", c->journals);
	stat_row("ids of batches", c->ids);
}

static int
stat_compare(const void *a, const void *b, void *arg)
{
	const struct usage *c = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (c->series[i].bytes != c->series[j].bytes)
		return c->series[i].bytes < c->series[j].bytes ? 1 : -1;
	return intern_compare(&c->names, i, j);
}

/* The largest first. */
static const struct err *
stat_series(struct usage *c)
{
	uint32_t *order = calloc(c->names.n + 1, sizeof(*order));

	if (order == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < c->names.n; i++)
		order[i] = i;
	qsort_r(order, c->names.n, sizeof(*order), stat_compare, c);
	printf("bytes of blocks by series (journals are not sealed yet)\n");
	for (uint32_t i = 0; i < c->names.n; i++) {
		printf("  %12" PRIu64 "  ", c->series[order[i]].bytes);
		text_print(stdout, intern_str(&c->names, order[i]));
		putchar('\n');
	}
	printf("%" PRIu32 " series\n", c->names.n);
	free(order);
	return NULL;
}

static void
stat_progress(void *arg, double share)
{
	progress_show(arg, clock_mono_ns(), share);
}

static const struct err *
stat_run(const char *dir)
{
	struct store_extent x = {0};
	struct progress p;
	struct usage c;
	struct store *s;
	const struct err *e = store_open(&s, dir, 0);

	if (e != NULL)
		return e;
	store_extent(s, &x);
	store_close(s);
	progress_begin(&p, STDERR_FILENO, "memlens stat", clock_mono_ns());
	e = store_usage(dir, stat_progress, &p, &c);
	progress_end(&p);
	if (e == NULL) {
		stat_extent(&x);
		stat_levels(&c, x.slot_ns);
		e = stat_series(&c);
	}
	if (c.damaged > 0)
		fprintf(stderr, "memlens stat: %" PRIu64
		                " files cannot be read, see memlens verify\n",
		    c.damaged);
	usage_fini(&c);
	return e;
}

int
cmd_stat(int argc, char **argv)
{
	const struct err *e;

	if (argc != 2) {
		fprintf(stderr, "usage: memlens stat DIR\n");
		return 2;
	}
	if ((e = stat_run(argv[1])) == NULL)
		return 0;
	fprintf(stderr, "memlens stat: %s\n", e->text);
	return 1;
}
