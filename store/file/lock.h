/*
 * The lock file, in which the writer of a store says how it does: a letter and
 * why, and when it took a batch.  It lies below the writer and the reader,
 * which know it alone of each other.
 *
 *	offset 0    256 bytes  "o", "f" or "e", a space, words; zeros
 *	       256   24 bytes  boot time of the last batch in ns, right-aligned
 */
#ifndef STORE_LOCK_H
#define STORE_LOCK_H

#include "store/store.h"

#define LOCK_SAID 256 /* bytes of words that the file holds, */
#define LOCK_BEAT 24  /* and of the time of the last batch */

char lock_letter(enum store_state state);
/* `now` is clock_boot_ns(): it goes on while the machine sleeps, and nobody
 * sets it.  False: it could not be written. */
bool lock_put_beat(int fd, int64_t now);
/* How long ago the writer of a directory took a batch; -1: it does not say. */
int64_t lock_idle(int dir);
/* What it said last, and why, or ""; it may be gone. */
enum store_state lock_state(int dir, char *why, size_t size);

#endif
