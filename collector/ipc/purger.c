/*
 * Two threads meet here: the store's works and reports, the daemon's loop tells
 * the client.  What both touch stands behind one mutex; the selector is the
 * loop's, and says whether a purge is under way.
 */
#include "collector/ipc/purger.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/ipc/intake.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/purge_request.h"
#include "store/store.h"

struct purger {
	struct purge_query query;
	struct selector *selector; /* NULL: none is under way */
	uint64_t client;
	pthread_mutex_t mutex; /* of what follows, which the thread writes */
	double share;
	bool over;
	char line[500];
};

const struct err *
purger_new(struct purger **out)
{
	if ((*out = calloc(1, sizeof(**out))) == NULL)
		return err_nomem();
	pthread_mutex_init(&(*out)->mutex, NULL);
	return NULL;
}

void
purger_free(struct purger *p)
{
	if (p == NULL)
		return;
	selector_free(p->selector);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

/* On the store's thread. */
static void
purger_progress(void *arg, double share)
{
	struct purger *p = arg;

	pthread_mutex_lock(&p->mutex);
	p->share = share;
	pthread_mutex_unlock(&p->mutex);
}

/* On the store's thread. */
static void
purger_done(void *arg, const struct err *e, const struct purge_report *r)
{
	struct purger *p = arg;

	pthread_mutex_lock(&p->mutex);
	if (e != NULL)
		snprintf(p->line, sizeof(p->line), "error 500 %s", e->text);
	else
		snprintf(p->line, sizeof(p->line),
		    "purged %" PRIu64 " %" PRIu64 " %d", r->files, r->bytes,
		    r->widened);
	p->over = true;
	pthread_mutex_unlock(&p->mutex);
}

const struct err *
purger_begin(struct purger *p, struct store_writer *store,
    const struct purge_request *r, uint64_t client)
{
	const struct err *e;

	if (p->selector != NULL)
		return err_new(ERR_LIMIT, 429, "a purge is under way");
	if ((e = selector_parse(r->selector, &p->selector)) != NULL)
		return e;
	p->query = (struct purge_query){p->selector, r->from_ns, r->until_ns,
	    purger_progress, purger_done, p};
	p->client = client;
	p->share = 0;
	p->over = false;
	log_info("purging %s", r->selector);
	if ((e = store_purge_begin(store, &p->query)) != NULL) {
		selector_free(p->selector);
		p->selector = NULL;
	}
	return e;
}

void
purger_tick(struct purger *p, struct intake *in)
{
	char line[sizeof(p->line)];
	bool over;

	if (p == NULL || p->selector == NULL)
		return;
	pthread_mutex_lock(&p->mutex);
	over = p->over;
	if (over)
		snprintf(line, sizeof(line), "%s", p->line);
	else
		snprintf(line, sizeof(line), "progress %d",
		    (int)(p->share * 100));
	pthread_mutex_unlock(&p->mutex);
	intake_tell(in, p->client, line, over);
	if (!over)
		return;
	log_info("purge: %s", line);
	selector_free(p->selector);
	p->selector = NULL;
}
