/*
 * Batches on their way to memlensd.  While its socket is away they wait,
 * bounded in number and bytes; the oldest go first, and are counted.
 */
#ifndef COLLECTOR_SCRAPE_QUEUE_H
#define COLLECTOR_SCRAPE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct batch;
struct batch_client;

#define SCRAPE_QUEUE_MAX 128
#define SCRAPE_QUEUE_BYTES (16u << 20)

struct scrape_queue {
	const char *path; /* of the socket; borrowed */
	struct batch_client *post;
	struct buf records[SCRAPE_QUEUE_MAX]; /* oldest first */
	size_t n, bytes;
	int64_t retry_ns; /* monotonic: not before */
	uint64_t sent, dropped, refused;
	char complaint[200];
};

/* Encodes a batch and puts it at the end; the batch stays the caller's. */
void scrape_queue_put(struct scrape_queue *q, struct batch *b);

/* The same with a record that is there already: takes its bytes. */
void scrape_queue_put_record(struct scrape_queue *q, struct buf *record);

/* Sends what can be sent; after a failure not again for a second. */
void scrape_queue_send(struct scrape_queue *q, int64_t mono_ns);

void scrape_queue_fini(struct scrape_queue *q);

#endif
