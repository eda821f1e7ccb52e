/*
 * What the writer says of itself while it can store nothing: a letter in the
 * lock file.  It is there before the disk is full, so that it needs no room.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "reader.h"
#include "writer.h"

static const char letters[] = {
    [STORE_OK] = 'o', [STORE_DISK_FULL] = 'f', [STORE_FAILED] = 'e',
};

void
store_say_state(struct store_writer *w, const struct err *refused)
{
	enum store_state state = refused == NULL ? STORE_OK :
	    refused->domain == ERR_LIMIT && refused->code == 507
	    ? STORE_DISK_FULL
	    : STORE_FAILED;

	/* for people to see; nothing depends on it */
	if (pwrite(w->lock, &letters[state], 1, 0) != 1)
		return;
}

enum store_state
store_said_state(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC);
	enum store_state state = STORE_OK;
	char letter = 'o';

	if (fd >= 0 && pread(fd, &letter, 1, 0) == 1) {
		if (letter == letters[STORE_DISK_FULL])
			state = STORE_DISK_FULL;
		else if (letter == letters[STORE_FAILED])
			state = STORE_FAILED;
	}
	if (fd >= 0)
		close(fd);
	return state;
}
