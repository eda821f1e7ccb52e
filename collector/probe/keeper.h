/*
 * Empties the ring while its reader is busy: a thread that does nothing but
 * copy events into memory, so that the ring never waits for /proc, for names
 * or for the store.
 *
 *	ring ──► room that is being filled ──► keeper_hand_over() ──► reader
 *	 │ ▲             (two of them)                  ▲
 *	 │ └── the thread, when a quarter is taken      │
 *	 └──────── the reader itself, when it comes ────┘
 *
 * There are two threads and one lock.  Whoever reads the ring, or changes which
 * room is filled, holds it; that takes as long as a copy.  It is not held while
 * events are handed over: the room that the reader is at is the reader's, and
 * the thread fills the other one.
 *
 * When that is full, the ring stays as it is, and what then finds no room in it
 * is counted by the probe, as ever ("ring full").  A reader that comes in time
 * does all of it: then the thread sleeps.
 */
#ifndef COLLECTOR_KEEPER_H
#define COLLECTOR_KEEPER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct keeper;

#define KEEPER_EVENT_MAX 65536 /* bytes; of a larger one the rest is cut off */

/* An event, at an address for 64-bit numbers; borrowed for the call. */
typedef void keeper_fn(void *arg, const void *event, size_t size);

/* Of the ring `map`, a descriptor that is borrowed, with rooms of so many
 * bytes: what is not used of them takes no memory.  Errors: ERR_BPF. */
const struct err *keeper_new(struct keeper **out, int map, size_t room_bytes);
void keeper_free(struct keeper *k); /* NULL is fine */

/* Readable when much is kept; belongs to the keeper. */
int keeper_fd(const struct keeper *k);

/* Hands over what was kept, then what was in the ring, in the order in which it
 * was sent, for one reader, who does not call it from `fn`. */
const struct err *keeper_hand_over(struct keeper *k, keeper_fn *fn, void *arg);

/* CPU time of the thread since it began. */
int64_t keeper_cpu_ns(const struct keeper *k);

#endif
