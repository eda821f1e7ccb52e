/*
 * From foreign stacks to batches of the store: a service, a window of time,
 * labels, and as many bounded batches as that takes.
 *
 *	p = push_new(slot_ns, id);
 *	e = push_add(p, stacks, &window);     once or more
 *	push_count(p, ...);
 *	e = push_send(p, post, arg);
 *	push_free(p);
 *
 * A flow's value is cut over the slots of its window by telescoping floors:
 * of v over length L the part [a, b) is floor(v b / L + h) - floor(v a / L +
 * h), where h in [0, 1) is a hash of series, stack and the window's start.
 * The parts add up to v, whatever the window's phase.  A stock is observed
 * once in each slot whose last moment its window has, or in the one in which
 * it lies; label sets add up there (store/batch/stock_count.h).
 *
 * Nothing is sent before all batches are made.  Their ids follow from one:
 * who sends the same with the same id again is counted once.
 */
#ifndef FCGI_PUSH_H
#define FCGI_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

struct batch;
struct err;
struct push;
struct stacks;

#define PUSH_SLOTS_MAX 60480u    /* a week of 10 s slots */
#define PUSH_ENTRIES_MAX 8000000u /* values after the cut */
#define PUSH_FAR_NS (INT64_C(3600) * 1000000000) /* future, at most */

struct push_window {
	const char *service;
	const struct label *labels; /* win over the stacks' own */
	size_t n_labels;
	int64_t from_ns, until_ns; /* equal: a moment */
};

/* `id`: 16 bytes, or NULL for random ones.  NULL when out of memory. */
struct push *push_new(int64_t slot_ns, const uint8_t *id);
void push_free(struct push *p); /* NULL is fine */

/* The same with the stacks and the batch of `kept` (push_cache.h), which stay
 * its: for one push_add() of push_cache_stacks(). */
struct push_cache;
struct push *push_new_kept(int64_t slot_ns, const uint8_t *id,
    struct push_cache *kept);
/* Is its one batch that of `kept`, so that batch_client_stream() may send it?
 */
bool push_is_kept(const struct push *p);

/*
 * Adds all types of some stacks, whose units it settles (stacks.h); they
 * need not live on.  Errors: ERR_REQUEST
 * 400 for a window that ends before it begins, 413 for one that has too many
 * slots or stacks for a batch, ENOMEM.
 */
const struct err *push_add(struct push *p, struct stacks *s,
    const struct push_window *w);

/*
 * Adds where functions of the stacks were written, as far as that is not told
 * yet and small enough; after push_add(), with its window.  `told` (told.h)
 * lives longer than p, and forgets all where p is not sent.
 */
struct told;
void push_places(struct push *p, struct told *told, const struct stacks *s,
    const struct push_window *w);

/* Says how many bytes lie between two samples of a window's heap, in its last
 * slot; 0: nobody has said. */
void push_mean(struct push *p, uint64_t bytes, const struct push_window *w);

/* Adds to a counter about the ingestion itself. */
void push_count(struct push *p, int64_t now_ns, const char *name,
    const struct label *labels, size_t n_labels, int64_t increase,
    int64_t raw);

typedef const struct err *push_send_fn(void *arg, struct batch *b);

/* Hands the batches on, in order; all but the last say that more come. */
const struct err *push_send(struct push *p, push_send_fn *fn, void *arg);
size_t push_n_batches(const struct push *p);
struct batch *push_batch(struct push *p, size_t i);

/* 16 bytes that follow from a text, for Idempotency-Key. */
void push_id_of(const char *key, const char *context, uint8_t id[16]);

#endif
