/*
 * POSIX locks belong to a process and a file: a descriptor that was inherited
 * serves, and the kernel takes them from the dead.
 */
#include "fcgi/kv/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/gone.h"

#define TURN_LOOK_NS (5 * NS_PER_MS)

int
turn_open(void)
{
	return memfd_create("turns", MFD_CLOEXEC);
}

static int
turn_lock(int fd, enum turn which, short how)
{
	struct flock l = {.l_type = how, .l_whence = SEEK_SET,
	    .l_start = (off_t)which, .l_len = 1};

	return fcntl(fd, F_SETLK, &l);
}

bool
turn_try(int fd, enum turn which)
{
	if (fd < 0 || turn_lock(fd, which, F_WRLCK) == 0)
		return true;
	return errno != EACCES && errno != EAGAIN; /* no locks: no turns */
}

const struct err *
turn_wait(int fd, enum turn which)
{
	const struct timespec pause = {0, TURN_LOOK_NS};
	const struct err *e;

	while (!turn_try(fd, which)) {
		if ((e = gone_check()) != NULL)
			return e;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void
turn_end(int fd, enum turn which)
{
	if (fd >= 0)
		turn_lock(fd, which, F_UNLCK);
}
