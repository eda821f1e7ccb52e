/*
 * Batches wait encoded.  What the daemon will never take (400, 413, 422) is
 * dropped and counted; all else is tried again after a second.
 */
#include "collector/scrape/scrape_queue.h"

#include <stdio.h>
#include <string.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/batch/batch_client.h"

#define RETRY_NS INT64_C(1000000000)
#define TIMEOUT_MS 1000

static void
queue_drop_first(struct scrape_queue *q)
{
	q->bytes -= q->records[0].len;
	buf_fini(&q->records[0]);
	q->n--;
	memmove(q->records, q->records + 1, q->n * sizeof(q->records[0]));
}

void
scrape_queue_put(struct scrape_queue *q, struct batch *b)
{
	struct buf record = {0};
	const struct err *e = batch_encode(b, &record);

	if (e != NULL) {
		log_err("a batch is lost: %s", e->text);
		q->dropped++;
		buf_fini(&record);
		return;
	}
	scrape_queue_put_record(q, &record);
}

void
scrape_queue_put_record(struct scrape_queue *q, struct buf *record)
{
	while (q->n > 0 && (q->n == SCRAPE_QUEUE_MAX ||
	    q->bytes + record->len > SCRAPE_QUEUE_BYTES)) {
		queue_drop_first(q);
		q->dropped++;
	}
	q->records[q->n++] = *record;
	q->bytes += record->len;
	*record = (struct buf){0};
}

/* Will the daemon never take this batch? */
static bool
queue_hopeless(const struct err *e)
{
	return e->domain == ERR_REQUEST && (e->code == 400 ||
	    e->code == 413 || e->code == 422);
}

static void
queue_complain(struct scrape_queue *q, const char *why)
{
	if (strcmp(q->complaint, why) == 0)
		return;
	if (why[0] != '\0')
		log_warn("memlensd: %s", why);
	else
		log_info("memlensd takes batches again");
	snprintf(q->complaint, sizeof(q->complaint), "%s", why);
}

static void
queue_hang_up(struct scrape_queue *q, int64_t mono_ns)
{
	batch_client_close(q->post);
	q->post = NULL;
	q->retry_ns = mono_ns + RETRY_NS;
}

void
scrape_queue_send(struct scrape_queue *q, int64_t mono_ns)
{
	const struct err *e = NULL;
	const char *why = "";

	if (q->n == 0 || mono_ns < q->retry_ns)
		return;
	if (q->post == NULL)
		e = batch_client_open(&q->post, q->path, TIMEOUT_MS);
	while (e == NULL && q->n > 0) {
		e = batch_client_record(q->post, q->records[0].data,
		    q->records[0].len);
		if (e != NULL && !queue_hopeless(e))
			break;
		q->sent += e == NULL;
		q->refused += e != NULL;
		why = e == NULL ? "" : e->text;
		queue_drop_first(q);
		e = NULL;
	}
	queue_complain(q, e == NULL ? why : e->text);
	if (e != NULL)
		queue_hang_up(q, mono_ns);
}

void
scrape_queue_fini(struct scrape_queue *q)
{
	while (q->n > 0)
		queue_drop_first(q);
	batch_client_close(q->post);
	q->post = NULL;
}
