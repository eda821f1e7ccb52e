/*
 * What the writer says of itself: a letter and why, in the lock file, and when
 * it took a batch.  It is written when the store is opened, so that it needs no
 * room later, when the disk is full.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/read/reader.h"
#include "store/write/writer.h"

static const char letters[] = {
    [STORE_OK] = 'o', [STORE_DISK_FULL] = 'f', [STORE_FAILED] = 'e',
};

/* For as long as a whole list would have told of them. */
static bool
writer_lacks_ids(const struct store_writer *w)
{
	return w->ids.lost_ns != 0 &&
	    clock_wall_ns() - w->ids.lost_ns < 86400 * NS_PER_S;
}

#define BEAT_EVERY_NS (100 * NS_PER_MS)

/* Time that goes on while the machine sleeps, and that nobody sets. */
static int64_t
beat_now(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

void
writer_beat(struct store_writer *w)
{
	char text[WRITER_BEAT + 1];
	int64_t now = beat_now();

	if (w->beat_ns != 0 && now - w->beat_ns < BEAT_EVERY_NS)
		return;
	snprintf(text, sizeof(text), "%*" PRId64 "\n", WRITER_BEAT - 1, now);
	if (pwrite(w->lock, text, WRITER_BEAT, WRITER_SAID) == WRITER_BEAT)
		w->beat_ns = now;
}

int64_t
store_said_idle(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[WRITER_BEAT + 1] = "";
	int64_t then = 0, idle;

	if (fd < 0)
		return -1;
	if (pread(fd, text, WRITER_BEAT, WRITER_SAID) == WRITER_BEAT)
		then = strtoll(text, NULL, 10);
	close(fd);
	idle = beat_now() - then;
	return then > 0 && idle >= 0 ? idle : -1;
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
		    "steady time", letters[STORE_OK],
		    w->stats.held_ns / NS_PER_S);
	else if (*why == '\0' && w->calm.seen &&
	    !calm_is(&w->calm, w->options.slot_ns))
		snprintf(text, size, "%c the clock has jumped by %" PRId64
		    " s", letters[STORE_OK], w->calm.jump_ns / NS_PER_S);
	else if (*why == '\0' && writer_lacks_ids(w))
		snprintf(text, size, "%c batches of the last 24 hours "
		    "may count twice when they are sent again: the list of "
		    "them was missing or damaged", letters[STORE_OK]);
	else
		snprintf(text, size, "%c %s", letters[t->state], why);
}

void
writer_say(struct store_writer *w)
{
	char text[WRITER_SAID] = "";

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

enum store_state
store_said_state(int dir, char *why, size_t size)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	enum store_state state = STORE_OK;
	char text[WRITER_SAID + 1] = "";

	snprintf(why, size, "%s", "");
	if (fd >= 0 && pread(fd, text, WRITER_SAID, 0) > 0) {
		if (text[0] == letters[STORE_DISK_FULL])
			state = STORE_DISK_FULL;
		else if (text[0] == letters[STORE_FAILED])
			state = STORE_FAILED;
		if (text[0] != '\0' && text[1] == ' ')
			snprintf(why, size, "%s", text + 2);
	}
	if (fd >= 0)
		close(fd);
	return state;
}
