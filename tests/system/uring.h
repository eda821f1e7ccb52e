/*
 * An io_uring for one request at a time, by system calls alone.
 */
#ifndef TESTS_SYSTEM_URING_H
#define TESTS_SYSTEM_URING_H

#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct uring {
	int fd;
	struct io_uring_params p;
	uint8_t *sq, *cq;
	struct io_uring_sqe *sqes;
};

static inline void *
uring_map(const struct uring *u, size_t size, off_t at)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, u->fd, at);
}

/* False with errno: it is refused here. */
static inline bool
uring_open(struct uring *u)
{
	memset(u, 0, sizeof(*u));
	u->fd = (int)syscall(SYS_io_uring_setup, 1, &u->p);
	if (u->fd < 0)
		return false;
	u->sq = uring_map(u, u->p.sq_off.array + sizeof(uint32_t),
	    IORING_OFF_SQ_RING);
	u->cq = uring_map(u, u->p.cq_off.cqes + u->p.cq_entries *
	    sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	u->sqes = uring_map(u, sizeof(*u->sqes), IORING_OFF_SQES);
	return u->sq != MAP_FAILED && u->cq != MAP_FAILED &&
	    (void *)u->sqes != MAP_FAILED;
}

static inline uint32_t *
uring_at(uint8_t *ring, uint32_t offset)
{
	return (void *)(ring + offset);
}

/* Done by a worker, and waited for; returns its result. */
static inline int
uring_do(struct uring *u, const struct io_uring_sqe *request)
{
	uint32_t *tail = uring_at(u->sq, u->p.sq_off.tail);
	uint32_t *head = uring_at(u->cq, u->p.cq_off.head);
	uint32_t *done = uring_at(u->cq, u->p.cq_off.tail);
	uint32_t mask = *uring_at(u->cq, u->p.cq_off.ring_mask), wanted = 1;
	struct io_uring_cqe *all = (void *)(u->cq + u->p.cq_off.cqes);
	int result;

	u->sqes[0] = *request;
	u->sqes[0].flags |= IOSQE_ASYNC;
	*uring_at(u->sq, u->p.sq_off.array) = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == *head)
		if (syscall(SYS_io_uring_enter, u->fd, wanted, 1,
		    IORING_ENTER_GETEVENTS, NULL, 0) >= 0)
			wanted = 0;
	result = all[*head & mask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

#endif
