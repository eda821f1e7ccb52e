/*
 * memlens export and import: a range of a store as one self-contained file
 * of batches, and back.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/export.h"
#include "store/journal.h"
#include "store/post.h"
#include "store/store.h"
#include "timespec.h"

struct export_file {
	int fd;
	struct buf record;
	uint64_t bytes;
	struct progress progress;
	double from, until; /* what there is of the range, in ns */
};

static int
complain(const char *command, const struct err *e)
{
	fprintf(stderr, "memlens %s: %s\n", command, e->text);
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
	e = timespec_parse(argv[2], now, &q.from_ns);
	if (e == NULL)
		e = timespec_parse(argv[3], now, &q.until_ns);
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
	return e == NULL ? 0 : complain("export", e);
}

/* Where an import goes: a store that nobody writes, or memlensd's socket. */
struct import {
	struct store_writer *writer;
	struct post *post;
	uint64_t batches;
	struct progress progress;
};

static const struct err *
import_batch(struct import *in, struct batch *b)
{
	uint64_t newest = 0;
	const struct err *e;

	in->batches++;
	if (in->post != NULL)
		return post_batch(in->post, b);
	for (size_t i = 0; i < b->n_blocks; i++) {
		if (b->blocks[i].slot > newest)
			newest = b->blocks[i].slot;
	}
	/* The data's clock, so that old spans are sealed as they pass. */
	if (newest > 0) {
		e = store_tick(in->writer, (int64_t)(newest * b->slot_ns));
		if (e != NULL)
			return e;
	}
	return store_append(in->writer, b);
}

static const struct err *
import_file(struct import *in, const char *path)
{
	struct journal_reader r = {0};
	const struct err *e = NULL;
	struct stat st = {0};
	struct batch *b;

	r.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r.fd < 0)
		return err_errno("%s", path);
	(void)fstat(r.fd, &st);
	progress_begin(&in->progress, STDERR_FILENO, "memlens import",
	    clock_mono_ns());
	while (e == NULL) {
		e = journal_next(&r, &b);
		if (e != NULL || b == NULL)
			break;
		progress_show(&in->progress, clock_mono_ns(),
		    (double)r.offset / ((double)st.st_size + 1));
		e = import_batch(in, b);
		batch_free(b);
	}
	progress_end(&in->progress);
	if (e == NULL && r.damaged > 0)
		e = err_new(ERR_FORMAT, 0, "%s: %" PRIu64 " damaged records",
		    path, r.damaged);
	if (e == NULL && in->batches == 0)
		e = err_new(ERR_FORMAT, 0, "%s: holds no batch", path);
	journal_reader_fini(&r);
	close(r.fd);
	return e;
}

/* The slot length of a file's first batch, for a store that is not there. */
static int64_t
import_slot(const char *path)
{
	struct journal_reader r = {0};
	struct batch *b = NULL;
	int64_t slot = 0;

	r.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (r.fd >= 0 && journal_next(&r, &b) == NULL && b != NULL)
		slot = (int64_t)b->slot_ns;
	batch_free(b);
	journal_reader_fini(&r);
	if (r.fd >= 0)
		close(r.fd);
	return slot;
}

int
cmd_import(int argc, char **argv)
{
	struct import in = {0};
	struct store_options options = {.no_thread = true};
	const struct err *e, *last;

	if (argc != 3) {
		fprintf(stderr, "usage: memlens import FILE DIR|SOCKET\n");
		return 2;
	}
	options.slot_ns = import_slot(argv[1]);
	if (cmd_is_socket(argv[2]))
		e = post_open(&in.post, argv[2], 10000);
	else
		e = store_writer_open(&in.writer, argv[2], &options);
	if (e == NULL)
		e = import_file(&in, argv[1]);
	post_close(in.post);
	last = store_writer_close(in.writer);
	if (e == NULL)
		e = last;
	if (e != NULL)
		return complain("import", e);
	fprintf(stderr, "%" PRIu64 " batches\n", in.batches);
	return 0;
}
