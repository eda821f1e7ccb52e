/*
 * One fact, one batch, one connection: facts of people are rare.
 */
#include "fcgi/server/fact_post.h"

#include "fcgi/server/context.h"
#include "fcgi/server/settings.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_client.h"
#include "store/store.h"

#define FACT_POST_MS 5000

const struct err *
fact_post(struct context *c, int64_t time_ns, enum fact_kind kind,
    const char *subject, const void *data, size_t n)
{
	struct store_extent extent;
	struct store *s;
	struct batch_client *p = NULL;
	struct batch *b;
	const struct err *e;

	if ((e = context_store(c, &s)) != NULL)
		return e;
	store_extent(s, &extent);
	if ((b = batch_new((uint64_t)extent.slot_ns)) == NULL)
		return err_nomem();
	batch_add_fact(b, time_ns, kind, subject, data, n);
	e = batch_client_open(&p, c->settings->collector_socket, FACT_POST_MS);
	if (e == NULL)
		e = batch_client_batch(p, b);
	batch_client_close(p);
	batch_free(b);
	if (e != NULL && e->domain != ERR_REQUEST)
		return err_new(ERR_REQUEST, 503,
		    "the collector does not take it: %s", e->text);
	return e;
}
