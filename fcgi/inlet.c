/*
 * The records are those of the FastCGI specification 1.0, section 3.3: a
 * header of version, type, request id (2 bytes, big endian), content length
 * (2), padding length, and one byte reserved; then content and padding.
 */
#include "inlet.h"

#include <errno.h>
#include <fastcgi.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_MAX 8192      /* before a body; more of it is libfcgi's */
#define FIRST_BYTE_MS 2000 /* of a connection; as long as libfcgi waits */

struct record {
	uint8_t type, padding;
	uint16_t id, n;
};

struct inlet {
	int socket;         /* listening */
	int lend[2];        /* libfcgi reads from [0]; -1: to be made */
	int fd;             /* whose body is read here; -1: by libfcgi */
	struct record body; /* the record at hand; n: what is left of it */
	bool ended;         /* nothing more will come */
};

struct inlet *
inlet_new(int socket)
{
	struct inlet *in = calloc(1, sizeof(*in));

	if (in != NULL)
		*in = (struct inlet){.socket = socket, .lend = {-1, -1},
		    .fd = -1};
	return in;
}

static void
inlet_close_lend(struct inlet *in)
{
	for (int i = 0; i < 2; i++) {
		if (in->lend[i] >= 0)
			close(in->lend[i]);
		in->lend[i] = -1;
	}
}

void
inlet_free(struct inlet *in)
{
	if (in != NULL)
		inlet_close_lend(in);
	free(in);
}

bool
inlet_init_request(FCGX_Request *f)
{
	/* it accepts nothing itself */
	return FCGX_Init() == 0 &&
	    FCGX_InitRequest(f, -1, FCGI_FAIL_ACCEPT_ON_INTR) == 0;
}

/* ---- what stands before a body ---- */

static bool
record_parse(const uint8_t *p, struct record *r)
{
	const FCGI_Header *h = (const FCGI_Header *)p;

	*r = (struct record){h->type, h->paddingLength,
	    (uint16_t)(h->requestIdB1 << 8 | h->requestIdB0),
	    (uint16_t)(h->contentLengthB1 << 8 | h->contentLengthB0)};
	return h->version == FCGI_VERSION_1 && r->id != 0;
}

/* The first one: a request for an answer, after which the connection is
 * closed. */
static bool
record_begins(const struct record *r, const uint8_t *p)
{
	const FCGI_BeginRequestBody *b =
	    (const FCGI_BeginRequestBody *)(p + FCGI_HEADER_LEN);

	return r->type == FCGI_BEGIN_REQUEST && r->n == sizeof(*b) &&
	    b->roleB1 == 0 && b->roleB0 == FCGI_RESPONDER && b->flags == 0;
}

/* Takes up the header of one of the body's records. */
static bool
inlet_record(struct inlet *in, const uint8_t *p, uint16_t id)
{
	if (!record_parse(p, &in->body) || in->body.type != FCGI_STDIN ||
	    in->body.id != id) {
		in->body = (struct record){0};
		return false;
	}
	in->ended = in->body.n == 0 && in->body.padding == 0;
	return true;
}

/* The length of all before the body, in which that of its first header is
 * not counted; 0: not an ordinary request, or not all of it. */
static size_t
inlet_head(struct inlet *in, const uint8_t *p, size_t n)
{
	struct record r = {.n = 1};
	uint16_t id = 0;
	size_t at = 0;

	while (r.type != FCGI_PARAMS || r.n != 0) {
		if (n - at < FCGI_HEADER_LEN + sizeof(FCGI_BeginRequestBody) ||
		    !record_parse(p + at, &r))
			return 0;
		if (at == 0)
			id = r.id;
		if (at == 0 ? !record_begins(&r, p)
		            : r.type != FCGI_PARAMS || r.id != id)
			return 0;
		at += FCGI_HEADER_LEN + (size_t)r.n + r.padding;
		if (at + FCGI_HEADER_LEN > n)
			return 0;
	}
	/* padding of nothing libfcgi would leave in the pipe */
	return r.padding == 0 && inlet_record(in, p + at, id) ? at : 0;
}

/* ---- accepting ---- */

static ssize_t
inlet_peek(int fd, uint8_t *p)
{
	struct pollfd wait = {fd, POLLIN, 0};
	ssize_t n = recv(fd, p, HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN && poll(&wait, 1, FIRST_BYTE_MS) > 0)
		n = recv(fd, p, HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
	return n;
}

/* All of it has room in the pipe, or none is there. */
static bool
inlet_lend(struct inlet *in, const uint8_t *p, size_t n)
{
	if (in->lend[0] < 0 && pipe2(in->lend, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	if (write(in->lend[1], p, n) == (ssize_t)n)
		return true;
	inlet_close_lend(in);
	return false;
}

/* Lets libfcgi read from a descriptor, by the fields in which it keeps a
 * connection from one request to the next.  It closes what it cannot read. */
static bool
inlet_begin(FCGX_Request *f, int fd)
{
	f->ipcFd = fd;
	f->keepConnection = 1;
	return FCGX_Accept_r(f) == 0;
}

static bool
inlet_take(struct inlet *in, FCGX_Request *f, int fd)
{
	uint8_t head[HEAD_MAX];
	ssize_t n = inlet_peek(fd, head);
	size_t size = n > 0 ? inlet_head(in, head, (size_t)n) : 0;

	if (n <= 0) {
		close(fd);
		return false;
	}
	if (size == 0 || !inlet_lend(in, head, size))
		return inlet_begin(f, fd);
	if (!inlet_begin(f, in->lend[0])) {
		in->lend[0] = -1;
		inlet_close_lend(in);
		close(fd);
		return false;
	}
	f->ipcFd = in->fd = fd;
	size += FCGI_HEADER_LEN; /* of the body, see inlet_head() */
	if (recv(fd, head, size, MSG_WAITALL) == (ssize_t)size)
		return true;
	inlet_finish(in, f);
	return false;
}

bool
inlet_accept(struct inlet *in, FCGX_Request *f)
{
	int fd;

	for (;;) {
		in->fd = -1;
		in->ended = false;
		fd = accept4(in->socket, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0 && inlet_take(in, f, fd))
			return true;
		if (fd < 0 && errno != ECONNABORTED && errno != EPROTO)
			return false;
	}
}

/* ---- bodies ---- */

static bool
inlet_receive(int fd, struct iovec *iov, size_t n)
{
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = n};

	while (m.msg_iovlen > 0) {
		ssize_t got = recvmsg(fd, &m, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		while (m.msg_iovlen > 0 &&
		    (size_t)got >= m.msg_iov->iov_len) {
			got -= (ssize_t)m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (got > 0) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base +
			    got;
			m.msg_iov->iov_len -= (size_t)got;
		}
	}
	return true;
}

/* A part of the record at hand, or all of it and the next one's header. */
static bool
inlet_part(struct inlet *in, void *to, size_t n)
{
	uint8_t tail[UINT8_MAX + FCGI_HEADER_LEN];
	bool all = n == in->body.n;
	struct iovec iov[2] = {{to, n},
	    {tail, (size_t)in->body.padding + FCGI_HEADER_LEN}};

	if (!inlet_receive(in->fd, iov, all ? 2 : 1)) {
		in->body.n = 0;
		return false;
	}
	in->body.n = (uint16_t)(in->body.n - n);
	if (all)
		inlet_record(in, tail + in->body.padding, in->body.id);
	return true;
}

size_t
inlet_read(struct inlet *in, FCGX_Request *f, void *p, size_t n)
{
	size_t at = 0, part;
	int got;

	if (in->fd < 0) {
		got = FCGX_GetStr(p, (int)n, f->in);
		return got > 0 ? (size_t)got : 0;
	}
	while (at < n && in->body.n > 0) {
		part = n - at < in->body.n ? n - at : in->body.n;
		if (!inlet_part(in, (char *)p + at, part))
			break;
		at += part;
	}
	return at;
}

void
inlet_finish(struct inlet *in, FCGX_Request *f)
{
	/* where something may come yet, libfcgi waits for its end: otherwise
	 * the peer's answer would be lost with it */
	if (in->fd >= 0 && in->ended)
		FCGX_Detach(f);
	FCGX_Finish_r(f);
	in->fd = -1;
}
