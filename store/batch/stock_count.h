/*
 * How often a stock was observed in a slot, however many observe it.
 *
 * An answer divides a stock's sum by its observations, so that it is a mean
 * over time, not over processes: what several processes of a service hold
 * adds up, though they push the one series.  A slot's blocks come in many
 * batches, and what is written of each is the observations that it adds:
 *
 *	joins (count 0, from batch_join()): one of each process, whose windows
 *	follow each other; the slot counts once, whatever their number
 *
 *	             in use   written
 *	a process    100      1
 *	another      30       0         130, not 65
 *
 *	             in use   written   with windows of half a slot
 *	first half   100      1         a moment: it has not the slot's end
 *	second       120      1         (100 + 120) / 2: the set had a moment
 *
 *	else (count n): a moment, of which the same process may have several in
 *	a slot; label sets add, and the slot counts as often as the one which
 *	was observed most often
 *
 *	{host a}     100      1
 *	{host b}     30       0
 *	{host a}     120      1         (100 + 30 + 120) / 2
 *
 * The one writer of a store knows, since it sees all.  It remembers some
 * thousand slots and label sets, the newest: who observes a slot long after
 * the others, or after a restart, counts for himself.
 */
#ifndef STORE_STOCK_COUNT_H
#define STORE_STOCK_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct err;

struct stock_count_cell {
	uint64_t key;  /* hash of series, slot and label set; 0: free */
	uint32_t slot; /* its low bits */
	uint32_t n;    /* observations */
};

struct stock_count {
	struct stock_count_cell *cells; /* NULL: there was no stock yet */
	struct stock_count_cell *noted; /* of the batch at hand */
	size_t n_noted, cap_noted;
	uint64_t *own; /* counts of the batch at hand, to give back */
	size_t cap_own;
};

void stock_count_fini(struct stock_count *o);

/* Changes the counts of a finished batch's stocks to what they add to their
 * slots; a batch without stocks costs nothing.  Errors: out of memory, and
 * the batch is as it was. */
const struct err *stock_count_begin(struct stock_count *o, struct batch *b);
/* Gives the batch its own counts back; it was written or was not. */
void stock_count_end(struct stock_count *o, struct batch *b, bool written);

/* A copy to go back to, where several batches count or none; kept->cells is
 * NULL where nothing was counted yet. */
const struct err *stock_count_save(const struct stock_count *o,
    struct stock_count *kept);
/* Frees the copy; `back`: what came since does not count. */
void stock_count_restore(struct stock_count *o, struct stock_count *kept,
    bool back);

#endif
