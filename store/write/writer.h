/*
 * Inside the writer: what writer.c (taking batches) and writer_work.c
 * (sealing, merging, retention) share.  Not for programs.
 *
 * The caller's thread appends; it touches the journal's descriptors and the
 * ids.  The background thread alone changes the manifest and makes files.
 * `mutex` guards the descriptors, the ids and the statistics.
 */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <pthread.h>

#include "store/batch/stock_count.h"
#include "store/file/format.h"
#include "store/file/ids.h"
#include "store/file/lock.h"
#include "store/file/manifest.h"
#include "store/file/segtree.h"
#include "store/journal/journal_dict.h"
#include "store/store.h"
#include "store/write/calm.h"

struct unwatched;

struct journal_slot {
	int fd; /* -1: none */
	char name[MANIFEST_NAME];
	uint64_t first; /* known once something was written */
	uint64_t bytes, synced;
	struct buf tail; /* the last of the bytes: those that are not synced,
	                  * but where they are too many */
	bool torn;       /* behind the bytes stands part of a record */
	bool failed;     /* could not be synced, and never can */
	bool whole;      /* of 64 slots, however much still comes */
};

#define WRITER_RETIRED 8

/* Why batches are refused, or why the work does not go on. */
struct writer_trouble {
	enum store_state state;
	char why[200];
};

/* Where the present sweep is (work_unwatched.c); all zero: none has begun. */
struct writer_sweep {
	struct unwatched *unwatched; /* NULL: none */
	uint64_t due;    /* the next one comes when slots until here are old */
	uint64_t newest; /* it looks at files up to this number */
	bool begun;      /* and has done with */
	struct manifest_file done;
	char seen[MANIFEST_NAME]; /* the file that was looked into last, and */
	uint64_t seen_first; /* the first slot of what is to go out of it */
};

struct store_writer {
	char *path;
	int dir, lock;
	struct store_options options;
	struct manifest manifest; /* background thread only */
	uint64_t sequence;        /* for file names */
	pthread_t thread;
	bool threaded, stop;
	bool kicked; /* there is work for the thread */
	bool urgent; /* which does not wait for more to come together */
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct journal_slot current, spare;
	struct journal_dict dict; /* of the current journal; caller's thread */
	struct journal_slot retired[WRITER_RETIRED]; /* still to be synced */
	size_t n_retired;
	int64_t now_ns;
	int64_t beat_ns; /* when it was last said that a batch was taken */
	uint64_t newest; /* end of the newest slot that there is */
	struct calm calm; /* mutex */
	int64_t held_ns;  /* as in the statistics; background thread only */
	struct ids ids;
	bool ids_changed;
	struct stock_count observed;
	struct store_writer_stats stats;
	struct writer_trouble taking, working; /* of appends, of the work */
	char outside[200];       /* trouble that the caller tells, or "" */
	char said[LOCK_SAID];  /* what stands in the lock file */
	char logged[400];        /* the last failure of the work, */
	uint64_t logged_again;   /* and how often it came after that */
	char rescued[MANIFEST_NAME]; /* the last journal that had to be */
	char damaged[MANIFEST_NAME]; /* a file to set aside, or "" */
	char indexed[MANIFEST_NAME]; /* the journal that has an index, and */
	uint64_t indexed_bytes;      /* of how much; background thread only */
	const struct purge_query *purge; /* that waits or runs; mutex */
	struct unwatched *unwatched_told; /* by the caller since; mutex */
	struct writer_sweep sweep; /* background thread only */
	struct buf record;
};

/* Does all that is due: sync, spare journal, sealing, merging, retention.
 * Holds the mutex only for moments. */
const struct err *writer_work(struct store_writer *w);
/* Syncs all journals; after an error they are copied anew, or that is tried
 * again the next time. */
const struct err *writer_sync(struct store_writer *w);
/* Deletes what no manifest names, left by a crash, or sets it aside as
 * NAME.old; raises the sequence above all names.  Before anything else is
 * made.  ERR_FORMAT, and all stays: the manifest is an older one. */
const struct err *writer_sweep(struct store_writer *w);
/* Where there is no manifest: an error that names the files of a store that
 * are there all the same. */
const struct err *writer_refuse_remains(struct store_writer *w);
/* Carries out the purge that waits, if one does.  Background thread; there is
 * a spare journal. */
void purge_work(struct store_writer *w);
/* Brings what the lock file says up to date; mutex held. */
void writer_say(struct store_writer *w);
/* That a batch was taken, or that the store was opened. */
void writer_beat(struct store_writer *w);
/* Notes how an attempt ended; NULL: well. */
void writer_note(struct writer_trouble *t, const struct err *e);
/* Counts the bytes of the journals that are over; where there is a background
 * thread, by that one, mutex held. */
void writer_count_sealing(struct store_writer *w);
/* Notes in the manifest how long the journals are; mutex held where there is a
 * background thread. */
void writer_know_journals(struct store_writer *w);
/* Makes an empty journal and names it in the manifest; background thread, or
 * the caller's where there is none. */
const struct err *writer_make_spare(struct store_writer *w,
    struct journal_slot *made);
/* writer_sync.c, mutex held: gives the present journal to the background;
 * false when that has too many that cannot be synced. */
bool writer_retire(struct store_writer *w);
/* writer_append.c: the slot before which the present journal ends, as far as
 * is known now. */
uint64_t writer_journal_end(const struct store_writer *w);
/* ERR_LIMIT 507: less is free than the reserve. */
const struct err *writer_check_space(struct store_writer *w);
/* Notes what was written to a journal, until it is synced. */
void writer_keep(struct journal_slot *j, const void *p, size_t n);
/* How many slots it is for, as far as is known now. */
static inline uint64_t
writer_journal_slots(const struct journal_slot *j)
{
	return seg_slots(j->first == seg_align(j->first, FORMAT_SEAL_LEVEL)
	    ? FORMAT_SEAL_LEVEL : FORMAT_SHORT_LEVEL);
}
/* Closes it and frees its memory. */
void writer_forget(struct journal_slot *j);
static inline void
writer_saw(struct store_writer *w, uint64_t until)
{
	if (until > w->newest)
		w->newest = until;
}

/* Slot of a time. */
static inline uint64_t
writer_slot(const struct store_writer *w, int64_t time_ns)
{
	return time_ns <= 0 ? 0
	                    : (uint64_t)(time_ns / w->options.slot_ns);
}

#endif
