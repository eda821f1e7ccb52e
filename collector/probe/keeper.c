/*
 * The ring is read by whoever comes first, by its reader or by the thread; both
 * do the same, under the lock: they copy all of it behind what is kept.
 */
#include "collector/probe/keeper.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"

#define SPARE_BYTES (256u << 10) /* of an empty room that stay in memory */

/* Events by 8 bytes, the size of each before it. */
struct room {
	char *data;
	size_t len;
};

struct keeper {
	struct ring_buffer *ring;
	size_t room_bytes;
	pthread_mutex_t lock; /* of the ring, `filled` and that room */
	struct room rooms[2];
	struct room *filled; /* the other one is the reader's */
	pthread_t thread;
	bool running;
	int watched; /* the ring, as it is told to be filling up, and `end` */
	int end, much; /* eventfds: the thread ends; much is kept */
};

static size_t
room_bytes_of(uint64_t size)
{
	return sizeof(uint64_t) + ((size + 7) & ~(uint64_t)7);
}

/* The event is out of the ring, whatever is returned: so there is room for the
 * next one, or the ring is left as it is. */
static int
keeper_copy(void *arg, void *data, size_t size)
{
	struct keeper *k = arg;
	struct room *r = k->filled;
	uint64_t n = size < KEEPER_EVENT_MAX ? size : KEEPER_EVENT_MAX;

	memcpy(r->data + r->len, &n, sizeof(n));
	memcpy(r->data + r->len + sizeof(n), data, n);
	r->len += room_bytes_of(n);
	return r->len > k->room_bytes ? -ENOSPC : 0;
}

/* Called with the lock; zero or a negative errno. */
static int
keeper_read_ring(struct keeper *k)
{
	int r = k->filled->len > k->room_bytes ? -ENOSPC :
	    ring_buffer__consume(k->ring);

	return r >= 0 || r == -ENOSPC ? 0 : r;
}

static void
keeper_tell(int fd)
{
	const uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

/* Has the reader come, where it knows that much is kept. */
static void *
keeper_thread(void *arg)
{
	struct keeper *k = arg;
	struct epoll_event e[2];
	int i, n;

	for (;;) {
		n = epoll_wait(k->watched, e, 2, -1);
		for (i = 0; i < n; i++)
			if (e[i].data.fd == k->end)
				return NULL;
		pthread_mutex_lock(&k->lock);
		(void)keeper_read_ring(k); /* the reader will say it */
		if (k->filled->len > k->room_bytes / 4)
			keeper_tell(k->much);
		pthread_mutex_unlock(&k->lock);
	}
}

/* No signal is for it. */
static int
keeper_begin(struct keeper *k)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&k->thread, NULL, keeper_thread, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	k->running = code == 0;
	return code;
}

static size_t
keeper_mapped(const struct keeper *k)
{
	return k->room_bytes + sizeof(uint64_t) + KEEPER_EVENT_MAX;
}

/* The last event in a room may reach over its bound. */
static int
keeper_open_rooms(struct keeper *k)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		k->rooms[i].data = mmap(NULL, keeper_mapped(k),
		    PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (k->rooms[i].data == MAP_FAILED) {
			k->rooms[i].data = NULL;
			return errno;
		}
	}
	k->filled = &k->rooms[0];
	return 0;
}

/* The ring tells as it fills up, and not as long as it is filled. */
static int
keeper_watch(struct keeper *k, int map)
{
	struct epoll_event ring = {.events = EPOLLIN | EPOLLET,
	    .data.fd = map}, end = {.events = EPOLLIN};

	k->watched = epoll_create1(EPOLL_CLOEXEC);
	k->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->much = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	end.data.fd = k->end;
	if (k->watched < 0 || k->end < 0 || k->much < 0 ||
	    epoll_ctl(k->watched, EPOLL_CTL_ADD, map, &ring) != 0 ||
	    epoll_ctl(k->watched, EPOLL_CTL_ADD, k->end, &end) != 0)
		return errno;
	return 0;
}

const struct err *
keeper_new(struct keeper **out, int map, size_t room_bytes)
{
	struct keeper *k = calloc(1, sizeof(*k));
	int code;

	*out = NULL;
	if (k == NULL)
		return err_nomem();
	k->room_bytes = room_bytes;
	k->watched = k->end = k->much = -1;
	pthread_mutex_init(&k->lock, NULL);
	k->ring = ring_buffer__new(map, keeper_copy, k, NULL);
	code = k->ring == NULL ? errno : keeper_open_rooms(k);
	if (code == 0)
		code = keeper_watch(k, map);
	if (code == 0)
		code = keeper_begin(k);
	if (code == 0) {
		*out = k;
		return NULL;
	}
	keeper_free(k);
	return err_new(ERR_BPF, code, "mapping the ring buffer: %s",
	    strerror(code));
}

void
keeper_free(struct keeper *k)
{
	int *const fds[] = {&k->watched, &k->end, &k->much};
	size_t i;

	if (k == NULL)
		return;
	if (k->running) {
		keeper_tell(k->end);
		pthread_join(k->thread, NULL);
	}
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	for (i = 0; i < 2; i++)
		if (k->rooms[i].data != NULL)
			munmap(k->rooms[i].data, keeper_mapped(k));
	ring_buffer__free(k->ring);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

int
keeper_fd(const struct keeper *k)
{
	return k->much;
}

/* All that there is now becomes the reader's. */
static int
keeper_take(struct keeper *k, struct room **taken)
{
	uint64_t told;
	int r;

	pthread_mutex_lock(&k->lock);
	r = keeper_read_ring(k);
	*taken = k->filled;
	k->filled = k->filled == k->rooms ? k->rooms + 1 : k->rooms;
	(void)!read(k->much, &told, sizeof(told));
	pthread_mutex_unlock(&k->lock);
	return r;
}

static void
room_clear(struct room *r)
{
	if (r->len > SPARE_BYTES)
		madvise(r->data + SPARE_BYTES, r->len - SPARE_BYTES,
		    MADV_DONTNEED);
	r->len = 0;
}

const struct err *
keeper_hand_over(struct keeper *k, keeper_fn *fn, void *arg)
{
	struct room *taken;
	int r = keeper_take(k, &taken);
	size_t at = 0;
	uint64_t n;

	while (at < taken->len) {
		memcpy(&n, taken->data + at, sizeof(n));
		fn(arg, taken->data + at + sizeof(n), n);
		at += room_bytes_of(n);
	}
	room_clear(taken);
	return r == 0 ? NULL : err_new(ERR_BPF, -r,
	    "reading the ring buffer: %s", strerror(-r));
}

int64_t
keeper_cpu_ns(const struct keeper *k)
{
	struct timespec t;
	clockid_t clock;

	if (pthread_getcpuclockid(k->thread, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return 0;
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}
