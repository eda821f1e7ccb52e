/*
 * A message and the descriptor that comes with it, for both ends.
 */
#include "collector/symbols/symbols_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union wire_control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

bool
wire_send(int socket, const void *p, size_t n, int fd, int flags)
{
	union wire_control control = {{0}};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t r;

	if (fd >= 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	do
		r = sendmsg(socket, &m, MSG_NOSIGNAL | flags);
	while (r < 0 && errno == EINTR);
	return r >= 0;
}

ssize_t
wire_receive(int socket, void *p, size_t size, int *fd)
{
	union wire_control control;
	struct iovec iov = {.iov_base = p, .iov_len = size};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = CMSG_LEN(sizeof(int))};
	struct cmsghdr *h;
	ssize_t n;

	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (h != NULL && h->cmsg_level == SOL_SOCKET &&
	    h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(h), sizeof(*fd));
	return n;
}
