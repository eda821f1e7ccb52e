/*
 * memlens export: a range of a store as one self-contained file of batches.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/memlens/cmd.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/batch/batch_client.h"
#include "store/journal/journal.h"
#include "store/read/export.h"
#include "store/store.h"

struct export_file {
	int fd;
	struct buf record;
	uint64_t bytes;
	struct progress progress;
	double from, until; /* what there is of the range, in ns */
};

static int
complain(const struct err *e)
{
	fprintf(stderr, "memlens export: %s\n", e->text);
	return 1;
}

static const struct err *
export_write(void *arg, struct batch *b)
{
	struct export_file *f = arg;
	const struct err *e;

	if (b->n_blocks > 0 && f->until > f->from)
		progress_show(&f->progress, clock_mono_ns(),
		    ((double)b->blocks[0].slot * (double)b->slot_ns - f->from) /
		        (f->until - f->from));
	buf_clear(&f->record);
	if ((e = batch_encode(b, &f->record)) != NULL)
		return e;
	for (size_t at = 0; at < f->record.len;) {
		ssize_t n = write(f->fd, f->record.data + at,
		    f->record.len - at);

		if (n < 0)
			return err_errno("the file");
		at += (size_t)n;
	}
	f->bytes += f->record.len;
	return NULL;
}

static const struct err *
export_run(const char *dir, const struct export_query *q,
    struct export_file *f)
{
	struct export_report r;
	struct store *s = NULL;
	const struct err *e = store_open(&s, dir, 0);
	struct store_extent x;

	if (e != NULL)
		return e;
	store_extent(s, &x);
	f->from = (double)(q->from_ns > x.from_ns ? q->from_ns : x.from_ns);
	f->until = (double)(q->until_ns < x.until_ns ? q->until_ns
	                                             : x.until_ns);
	progress_begin(&f->progress, STDERR_FILENO, "memlens export",
	    clock_mono_ns());
	e = store_export(s, q, export_write, f, &r);
	progress_end(&f->progress);
	if (e == NULL && fsync(f->fd) != 0 && errno != EINVAL)
		e = err_errno("the file");
	if (e == NULL)
		fprintf(stderr,
		    "%" PRIu64 " slots, %" PRIu64 " blocks, %" PRIu64
		    " facts, %" PRIu64 " bytes\n",
		    r.slots, r.blocks, r.facts, f->bytes);
	if (e == NULL && r.coarse_slots > 0)
		fprintf(stderr,
		    "memlens export: %" PRIu64
		    " older slots are kept in the summary alone and were left "
		    "out\n",
		    r.coarse_slots);
	store_close(s);
	return e;
}

int
cmd_export(int argc, char **argv)
{
	int64_t now = clock_wall_ns();
	struct export_query q = {0};
	struct export_file f = {.fd = -1};
	struct selector *selector = NULL;
	const struct err *e;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: memlens export DIR FROM UNTIL FILE "
		                "[SELECTOR]\n");
		return 2;
	}
	e = timespec_parse_range(argv[2], argv[3], now, &q.from_ns,
	    &q.until_ns);
	if (e == NULL && argc == 6)
		e = selector_parse(argv[5], &selector);
	q.selector = selector;
	if (e == NULL) {
		f.fd = open(argv[4], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0640);
		if (f.fd < 0)
			e = err_errno("%s", argv[4]);
	}
	if (e == NULL) {
		e = export_run(argv[1], &q, &f);
		if (e != NULL) /* a part must not be taken for the whole */
			unlink(argv[4]);
	}
	if (f.fd >= 0)
		close(f.fd);
	buf_fini(&f.record);
	selector_free(selector);
	return e == NULL ? 0 : complain(e);
}
