/*
 * epoll(7), level-triggered, at most sixteen events a turn: what is left is
 * ready again in the next one, so that no descriptor keeps the daemon from its
 * slots.
 */
#include "collector/base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "store/base/err.h"

#define LOOP_EVENTS 16

struct loop {
	int fd;
};

const struct err *
loop_new(struct loop **out)
{
	struct loop *l = malloc(sizeof(*l));

	if (l == NULL)
		return err_nomem();
	l->fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->fd < 0) {
		free(l);
		return err_errno("epoll_create1");
	}
	*out = l;
	return NULL;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	close(l->fd);
	free(l);
}

static const struct err *
loop_control(struct loop *l, int op, struct loop_watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (epoll_ctl(l->fd, op, w->fd, &ev) != 0)
		return err_errno("epoll_ctl");
	return NULL;
}

const struct err *
loop_add(struct loop *l, struct loop_watch *w, uint32_t events)
{
	return loop_control(l, EPOLL_CTL_ADD, w, events);
}

const struct err *
loop_change(struct loop *l, struct loop_watch *w, uint32_t events)
{
	return loop_control(l, EPOLL_CTL_MOD, w, events);
}

void
loop_remove(struct loop *l, struct loop_watch *w)
{
	epoll_ctl(l->fd, EPOLL_CTL_DEL, w->fd, NULL);
}

const struct err *
loop_wait(struct loop *l, int64_t timeout_ns)
{
	struct epoll_event events[LOOP_EVENTS];
	int n, ms = 0;

	if (timeout_ns > 0)
		ms = (int)((timeout_ns + 999999) / 1000000);
	n = epoll_wait(l->fd, events, LOOP_EVENTS, ms);
	if (n < 0)
		return errno == EINTR ? NULL : err_errno("epoll_wait");
	for (int i = 0; i < n; i++) {
		struct loop_watch *w = events[i].data.ptr;

		w->fn(w->arg, events[i].events);
	}
	return NULL;
}
