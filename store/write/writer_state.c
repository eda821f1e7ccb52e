/*
 * What the writer says of itself: a letter and why, in the lock file, and when
 * it took a batch.  It is written when the store is opened, so that it needs no
 * room later, when the disk is full.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/file/lock.h"
#include "store/write/writer.h"

/* For as long as a whole list would have told of them. */
static bool
writer_lacks_ids(const struct store_writer *w)
{
	return w->ids.lost_ns != 0 &&
	    clock_wall_ns() - w->ids.lost_ns < 86400 * NS_PER_S;
}

#define BEAT_EVERY_NS (100 * NS_PER_MS)

void
writer_beat(struct store_writer *w)
{
	int64_t now = clock_boot_ns();

	if (w->beat_ns != 0 && now - w->beat_ns < BEAT_EVERY_NS)
		return;
	if (lock_put_beat(w->lock, now))
		w->beat_ns = now;
}

/* Mutex held. */
static void
writer_words(const struct store_writer *w, char *text, size_t size)
{
	const struct writer_trouble *t = w->taking.state != STORE_OK
	    ? &w->taking
	    : &w->working;
	const char *why = t->state != STORE_OK ? t->why : w->outside;

	if (*why == '\0' && w->stats.held_ns != 0)
		snprintf(text, size, "%c old data is kept: the clock has "
		    "jumped by %" PRId64 " s; it goes after an hour of "
		    "steady time", lock_letter(STORE_OK),
		    w->stats.held_ns / NS_PER_S);
	else if (*why == '\0' && w->calm.seen &&
	    !calm_is(&w->calm, w->options.slot_ns))
		snprintf(text, size, "%c the clock has jumped by %" PRId64
		    " s", lock_letter(STORE_OK), w->calm.jump_ns / NS_PER_S);
	else if (*why == '\0' && writer_lacks_ids(w))
		snprintf(text, size, "%c batches of the last 24 hours "
		    "may count twice when they are sent again: the list of "
		    "them was missing or damaged", lock_letter(STORE_OK));
	else
		snprintf(text, size, "%c %s", lock_letter(t->state), why);
}

void
writer_say(struct store_writer *w)
{
	char text[LOCK_SAID] = "";

	writer_words(w, text, sizeof(text));
	if (memcmp(text, w->said, sizeof(text)) == 0)
		return;
	/* for people to see; nothing depends on it */
	if (pwrite(w->lock, text, sizeof(text), 0) == sizeof(text))
		memcpy(w->said, text, sizeof(text));
}

void
store_say_trouble(struct store_writer *w, const char *why)
{
	pthread_mutex_lock(&w->mutex);
	snprintf(w->outside, sizeof(w->outside), "%s", why);
	writer_say(w);
	pthread_mutex_unlock(&w->mutex);
}
