/*
 * What became of each run of a probe, and what the engine's tables hold.
 * Every run is accounted for, for each type of profile:
 *
 *	runs = idle + ring full + malformed + held full + aggregate full
 *	     + locks full + samples stored + what is held or still in the ring
 *
 * An object that was picked by chance for so many (stride.h) is so many of
 * each of these: where the ring was half full, that is so but for the chance.
 */
#ifndef COLLECTOR_ACCOUNT_H
#define COLLECTOR_ACCOUNT_H

#include <stdint.h>

#include "collector/objects/objects.h"
#include "store/model/broken.h"

struct batch;
struct engine;

/* Of one type of profile; all counts since the start. */
struct account_profile {
	uint64_t runs, idle, ring_full;  /* the BPF program's */
	uint64_t skipped_ticks;          /* ticks at which it did not run */
	uint64_t samples;                /* stored */
	uint64_t malformed, aggregate_full, held_full; /* lost */
	uint64_t locks_full;             /* lost: of locks without a number */
	/* what those of memory stand for; and tables of the library of which
	 * nobody knows what they have (allocs.c) */
	struct objects_weight ring_full_of, held_full_of, aggregate_full_of;
	uint64_t table_unread;
	uint64_t late;                   /* stored one slot later */
	uint64_t frames, unsymbolised;   /* of the stored samples */
	uint64_t broken[BROKEN_REASONS];
	uint64_t other_services;         /* samples of the 257th service on */
	uint64_t run_ns;                 /* in the BPF program */
};

/* Of unwind_tables.h and unwind_process.h: counts since the start, and what
 * there is now. */
struct account_unwind {
	uint64_t rows, bytes, max_bytes;
	uint64_t ready, unknown, without, failed; /* files now */
	uint64_t made, failures, refused;         /* files */
	uint64_t loaded, waiting;                 /* regions now */
	uint64_t regions_made, evicted;
	uint64_t processes, mappings;
	uint64_t built, processes_evicted, processes_failed;
};

/* Of all types together. */
struct account_shared {
	uint64_t restarts, skipped, unpacked, overflows; /* of the symbols */
	uint64_t map_bytes; /* now */
	struct account_unwind unwind;
};

/* What all types share is told under the name of the first one. */
#define ACCOUNT_SHARED "cpu"

/* Adds the counters of all to the batch. */
void account_put(struct engine *s, uint64_t slot, struct batch *b);

/* For how long of the slot a type was watched: all of it, but where it was only
 * between these moments of CLOCK_MONOTONIC. */
void account_put_watched(struct engine *s, size_t type, uint64_t slot,
    struct batch *b, const int64_t between_ns[2]);

/* The reading time of counters: the present, or the slot's last moment when
 * that is earlier. */
int64_t account_time(const struct engine *s, uint64_t slot);

#endif
