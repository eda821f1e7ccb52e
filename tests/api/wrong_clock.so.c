/*
 * To be preloaded: a wall clock that is wrong by as many seconds as the file
 * WRONG_CLOCK says in its first 8 bytes (int64, native), at any time.  The
 * file is mapped at the start, so that a sandbox does not mind.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *wrong_by;
static int (*wrong_real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void
wrong_start(void)
{
	union {
		void *object;
		int (*function)(clockid_t, struct timespec *);
	} real = {dlsym(RTLD_NEXT, "clock_gettime")};
	const char *path = getenv("WRONG_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p;

	wrong_real = real.function;
	if (fd < 0)
		return;
	p = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		wrong_by = p;
	close(fd);
}

int
clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = wrong_real(id, t);

	if (rc == 0 && wrong_by != NULL &&
	    (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += *wrong_by;
	return rc;
}

int
gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

time_t
time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t != NULL)
		*t = now.tv_sec;
	return now.tv_sec;
}
