/*
 * memlens import: what memlens export wrote, or profiles in the formats of
 * other tools, into a store that nobody writes to or to memlensd's socket.
 */
#include "fcgi/memlens/cmd_import.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fcgi/memlens/cmd.h"
#include "fcgi/memlens/cmd_stacks.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/batch/batch_client.h"
#include "store/journal/journal.h"
#include "store/store.h"

#define SLOT_DEFAULT_NS (INT64_C(10) * 1000000000)

const struct err *
import_clock(struct import *in, uint64_t until, uint64_t slot_ns)
{
	return until < 2 ? NULL
	    : store_tick(in->writer, (int64_t)((until - 1) * slot_ns));
}

const struct err *
import_batch(struct import *in, struct batch *b)
{
	const struct err *e;

	in->batches++;
	if (in->post != NULL)
		return batch_client_batch(in->post, b);
	e = import_clock(in, store_batch_until(b), b->slot_ns);
	return e != NULL ? e : store_append(in->writer, b);
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

/* ---- the command ---- */

enum { OPT_SERVICE = 256, OPT_LABEL, OPT_FORMAT, OPT_TYPE, OPT_UNIT,
	OPT_FROM, OPT_UNTIL, OPT_SLOT, OPT_BINARY, OPT_RAW };

static const struct option import_options[] = {
    {"service", required_argument, NULL, OPT_SERVICE},
    {"label", required_argument, NULL, OPT_LABEL},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"type", required_argument, NULL, OPT_TYPE},
    {"unit", required_argument, NULL, OPT_UNIT},
    {"from", required_argument, NULL, OPT_FROM},
    {"until", required_argument, NULL, OPT_UNTIL},
    {"slot", required_argument, NULL, OPT_SLOT},
    {"binary", required_argument, NULL, OPT_BINARY},
    {"raw", no_argument, NULL, OPT_RAW},
    {NULL, 0, NULL, 0}
};

/* "name=value", cut in place. */
static const struct err *
import_label(struct import_foreign *f, char *text)
{
	char *value = strchr(text, '=');

	if (value == NULL || value == text)
		return err_new(ERR_REQUEST, 400,
		    "--label %.100s: name=value expected", text);
	if (f->n_labels == IMPORT_LABELS_MAX)
		return err_new(ERR_REQUEST, 400, "more than %d labels",
		    IMPORT_LABELS_MAX);
	*value = '\0';
	f->labels[f->n_labels++] = (struct label){text, value + 1};
	return NULL;
}

static const struct err *
import_option(struct import_foreign *f, int option, char *value)
{
	int64_t now = clock_wall_ns();

	switch (option) {
	case OPT_SERVICE:
		f->service = value;
		return *value != '\0' ? NULL : err_new(ERR_REQUEST, 400,
		    "--service: a name expected");
	case OPT_LABEL:
		return import_label(f, value);
	case OPT_FORMAT:
		f->format = value;
		return NULL;
	case OPT_TYPE:
		f->type = value;
		return NULL;
	case OPT_UNIT:
		f->unit = value;
		return NULL;
	case OPT_FROM:
		return timespec_parse(value, now, &f->from_ns);
	case OPT_UNTIL:
		return timespec_parse(value, now, &f->until_ns);
	case OPT_SLOT:
		return timespec_parse_duration(value, &f->slot_ns);
	case OPT_BINARY:
		f->binary = value;
		return NULL;
	default:
		f->raw = true;
		return NULL;
	}
}

/* The slots of a store that is there. */
static int64_t
store_slot(const char *dir)
{
	struct store_extent extent = {0};
	struct store *s = NULL;

	if (!cmd_is_socket(dir) && store_open(&s, dir, 0) == NULL)
		store_extent(s, &extent);
	store_close(s);
	return extent.slot_ns;
}

static const struct err *
import_files(struct import *in, struct import_foreign *f, int n,
    char **paths)
{
	const struct err *e = NULL;

	if (f->service == NULL)
		return import_file(in, paths[0]);
	for (int i = 0; e == NULL && i < n; i++)
		e = import_foreign(in, f, paths[i]);
	return e;
}

/* The last of the arguments is where all others go. */
static const struct err *
import_run(struct import *in, struct import_foreign *f, int n, char **paths)
{
	struct store_options options = {.no_thread = true};
	const char *to = paths[n - 1];
	const struct err *e, *last;

	if (f->slot_ns == 0)
		f->slot_ns = store_slot(to);
	if (f->slot_ns == 0)
		f->slot_ns = SLOT_DEFAULT_NS;
	options.slot_ns = f->service == NULL ? import_slot(paths[0])
	                                     : f->slot_ns;
	if (cmd_is_socket(to))
		e = batch_client_open(&in->post, to, 10000);
	else
		e = store_writer_open(&in->writer, to, &options);
	if (e == NULL)
		e = import_files(in, f, n - 1, paths);
	told_fini(&in->told);
	batch_client_close(in->post);
	last = store_writer_close(in->writer);
	return e != NULL ? e : last;
}

static int
import_usage(void)
{
	fprintf(stderr,
	    "usage: memlens import FILE DIR|SOCKET\n"
	    "       memlens import --service NAME [--label NAME=VALUE]...\n"
	    "           [--format FORMAT] [--type TYPE [--unit UNIT]]\n"
	    "           [--from TIME] [--until TIME] [--slot LENGTH]\n"
	    "           [--binary PATH] [--raw] FILE... DIR|SOCKET\n");
	cmd_stacks_formats(stderr);
	return 2;
}

int
cmd_import(int argc, char **argv)
{
	struct import in = {0};
	struct import_foreign f = {0};
	const struct err *e = NULL;
	int option, n;

	optind = 1;
	while (e == NULL && (option = getopt_long(argc, argv, "",
	    import_options, NULL)) != -1) {
		if (option == '?')
			return import_usage();
		e = import_option(&f, option, optarg);
	}
	n = argc - optind;
	if (e == NULL && (n < 2 || (f.service == NULL &&
	    (n != 2 || argc != 3)) || (f.unit != NULL && f.type == NULL)))
		return import_usage();
	if (e == NULL)
		e = import_run(&in, &f, n, argv + optind);
	if (e != NULL) {
		fprintf(stderr, "memlens import: %s\n", e->text);
		return 1;
	}
	fprintf(stderr, "%" PRIu64 " batches\n", in.batches);
	return 0;
}
