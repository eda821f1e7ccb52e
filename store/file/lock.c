/*
 * Reads and writes the lock file's two fields; whoever holds the lock writes.
 */
#include "store/file/lock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/clock.h"

static const char letters[] = {
    [STORE_OK] = 'o', [STORE_DISK_FULL] = 'f', [STORE_FAILED] = 'e',
};

char
lock_letter(enum store_state state)
{
	return letters[state];
}

bool
lock_put_beat(int fd, int64_t now)
{
	char text[LOCK_BEAT + 1];

	snprintf(text, sizeof(text), "%*" PRId64 "\n", LOCK_BEAT - 1, now);
	return pwrite(fd, text, LOCK_BEAT, LOCK_SAID) == LOCK_BEAT;
}

int64_t
lock_idle(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[LOCK_BEAT + 1] = "";
	int64_t then = 0, idle;

	if (fd < 0)
		return -1;
	if (pread(fd, text, LOCK_BEAT, LOCK_SAID) == LOCK_BEAT)
		then = strtoll(text, NULL, 10);
	close(fd);
	idle = clock_boot_ns() - then;
	return then > 0 && idle >= 0 ? idle : -1;
}

enum store_state
lock_state(int dir, char *why, size_t size)
{
	int fd = openat(dir, "lock", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	enum store_state state = STORE_OK;
	char text[LOCK_SAID + 1] = "";

	snprintf(why, size, "%s", "");
	if (fd >= 0 && pread(fd, text, LOCK_SAID, 0) > 0) {
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
