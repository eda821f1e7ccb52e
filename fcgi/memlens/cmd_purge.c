/*
 * memlens purge: takes data out of a store and gives the disk back; itself
 * where no daemon writes, else by asking the daemon on its socket.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/memlens/cmd.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/progress.h"
#include "store/batch/batch_client.h"
#include "store/batch/purge_request.h"
#include "store/store.h"

static void
purge_progress(void *arg, double share)
{
	progress_show(arg, clock_mono_ns(), share);
}

static const struct err *
purge_directory(const char *dir, struct purge_query *q,
    struct purge_report *r)
{
	struct store_options options = {.no_thread = true};
	struct store_writer *w;
	const struct err *e = store_writer_open(&w, dir, &options), *last;

	if (e != NULL && e->domain == ERR_LIMIT && e->code == EWOULDBLOCK)
		return err_wrap(e, "give the daemon's socket instead");
	if (e != NULL)
		return e;
	e = store_purge(w, q, r);
	last = store_writer_close(w);
	return e != NULL ? e : last;
}

/* The daemon parses the selector too: it is sent as it was written. */
static const struct err *
purge_daemon(const char *socket, const char *selector, struct purge_query *q,
    struct purge_report *r)
{
	struct purge_request request = {.from_ns = q->from_ns,
	    .until_ns = q->until_ns};
	struct batch_client *p;
	const struct err *e;

	if (strlen(selector) > PURGE_SELECTOR_MAX)
		return err_new(ERR_LIMIT, 413, "the selector is too long");
	strcpy(request.selector, selector);
	if ((e = batch_client_open(&p, socket, 30000)) != NULL)
		return e;
	e = batch_client_purge(p, &request, q->progress, q->arg, r);
	batch_client_close(p);
	return e;
}

static const struct err *
purge_run(const char *where, const char *selector, struct purge_query *q)
{
	struct purge_report r = {0};
	struct progress p;
	const struct err *e;

	progress_begin(&p, STDERR_FILENO, "memlens purge", clock_mono_ns());
	q->progress = purge_progress;
	q->arg = &p;
	if (cmd_is_socket(where))
		e = purge_daemon(where, selector, q, &r);
	else
		e = purge_directory(where, q, &r);
	progress_end(&p);
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
	int64_t now = clock_wall_ns();
	struct selector *selector = NULL;
	struct purge_query q = {0};
	const struct err *e;

	if (argc != 5) {
		fprintf(stderr, "usage: memlens purge DIR|SOCKET SELECTOR "
		                "FROM UNTIL\n");
		return 2;
	}
	e = selector_parse(argv[2], &selector);
	q.selector = selector;
	if (e == NULL)
		e = timespec_parse_range(argv[3], argv[4], now, &q.from_ns,
		    &q.until_ns);
	if (e == NULL)
		e = purge_run(argv[1], argv[2], &q);
	selector_free(selector);
	if (e == NULL)
		return 0;
	fprintf(stderr, "memlens purge: %s\n", e->text);
	return 1;
}
