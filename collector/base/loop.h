/*
 * The daemon's one event loop: descriptors with callbacks over epoll.
 */
#ifndef COLLECTOR_LOOP_H
#define COLLECTOR_LOOP_H

#include <stdint.h>

struct err;
struct loop;

/* Embedded by its owner, who keeps it until loop_remove(). */
struct loop_watch {
	int fd;
	void (*fn)(void *arg, uint32_t events); /* EPOLLIN, EPOLLOUT ... */
	void *arg;
};

const struct err *loop_new(struct loop **out);
void loop_free(struct loop *l);

/* Level-triggered.  `events` as for epoll_ctl(2). */
const struct err *loop_add(struct loop *l, struct loop_watch *w,
    uint32_t events);
const struct err *loop_change(struct loop *l, struct loop_watch *w,
    uint32_t events);
void loop_remove(struct loop *l, struct loop_watch *w);

/* Waits up to timeout_ns and calls what is ready.  A callback may remove
 * its own watch, no other. */
const struct err *loop_wait(struct loop *l, int64_t timeout_ns);

#endif
