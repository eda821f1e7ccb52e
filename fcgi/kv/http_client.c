/*
 * Connect, send, read to the end, take apart.
 */
#include "fcgi/kv/http_client.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"

#define HEAD_MAX 16384u

static const struct err *
http_bad(const char *what)
{
	return err_new(ERR_REQUEST, 502, "the target %s", what);
}

/* Waits for the socket; 504 at the deadline. */
static const struct err *
http_wait(int fd, short events, int64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = events};
	const struct err *e;
	int64_t left;
	int rc;

	do {
		if ((e = gone_check()) != NULL)
			return e;
		left = deadline_ns - clock_mono_ns();
		if (left <= 0)
			return err_new(ERR_REQUEST, 504,
			    "the target does not answer in time");
		rc = poll(&p, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS));
	} while (rc == 0 || (rc < 0 && errno == EINTR));
	return rc < 0 ? err_errno("poll") : NULL;
}

/* The address and port of "address:port"; names are not looked up, since
 * that can take longer than any deadline ("localhost" is known). */
static const struct err *
http_resolve(const char *target, struct addrinfo **out)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	const char *colon = strrchr(target, ':');
	char host[64];
	size_t n;
	int rc;

	if (colon == NULL || colon - target >= (long)sizeof(host))
		return http_bad("is not configured as address:port");
	n = (size_t)(colon - target);
	memcpy(host, target, n);
	host[n] = '\0';
	if (n > 1 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	rc = getaddrinfo(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
	    colon + 1, &hints, out);
	if (rc != 0)
		return err_new(ERR_REQUEST, 502,
		    "the target %.100s is no address and port: %s", target,
		    gai_strerror(rc));
	return NULL;
}

static const struct err *
http_connect(const struct http_request *rq, int64_t deadline_ns, int *fd)
{
	struct addrinfo *a;
	const struct err *e;
	int on = 1, why = 0;
	socklen_t n = sizeof(why);

	if ((e = http_resolve(rq->target, &a)) != NULL)
		return e;
	*fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);
	if (*fd < 0) {
		freeaddrinfo(a);
		return err_errno("socket");
	}
	setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(*fd, a->ai_addr, a->ai_addrlen) < 0)
		why = errno;
	freeaddrinfo(a);
	if (why == EINPROGRESS) {
		if ((e = http_wait(*fd, POLLOUT, deadline_ns)) != NULL)
			return e;
		getsockopt(*fd, SOL_SOCKET, SO_ERROR, &why, &n);
	}
	if (why != 0)
		return err_new(ERR_REQUEST, 502, "no connection to %.100s: %s",
		    rq->target, strerror(why));
	return NULL;
}

static const struct err *
http_send(const struct http_request *rq, int fd, int64_t deadline_ns)
{
	const struct err *e = NULL;
	struct buf out = {0};
	size_t sent = 0;

	buf_printf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n"
	    "User-Agent: memlens\r\nAccept: application/json\r\n"
	    "Connection: close\r\n", rq->method, rq->path, rq->target);
	if (rq->type != NULL)
		buf_printf(&out, "Content-Type: %s\r\nContent-Length: %zu\r\n",
		    rq->type, rq->n_body);
	buf_printf(&out, "\r\n");
	buf_put(&out, rq->body, rq->type != NULL ? rq->n_body : 0);
	if (out.failed)
		e = err_nomem();
	while (e == NULL && sent < out.len) {
		ssize_t n = send(fd, out.data + sent, out.len - sent,
		    MSG_NOSIGNAL);

		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN)
			e = http_wait(fd, POLLOUT, deadline_ns);
		else if (errno != EINTR)
			e = http_bad("closed the connection");
	}
	buf_fini(&out);
	return e;
}

/* The end of the header, or NULL while it has not come. */
static const char *
http_body(const char *text, size_t n)
{
	const char *end = memmem(text, n, "\r\n\r\n", 4);

	return end != NULL ? end + 4 : NULL;
}

/* The value of a header, without blanks at its ends; false when absent. */
static bool
http_header(const char *text, const char *body, const char *name,
    char *value, size_t room)
{
	size_t len = strlen(name);
	const char *line = text, *end;

	while ((end = memmem(line, (size_t)(body - line), "\r\n", 2)) != NULL &&
	    end != line) {
		if ((size_t)(end - line) > len && line[len] == ':' &&
		    strncasecmp(line, name, len) == 0) {
			line += len + 1;
			while (line < end && (*line == ' ' || *line == '\t'))
				line++;
			while (end > line && (end[-1] == ' ' ||
			    end[-1] == '\t'))
				end--;
			snprintf(value, room, "%.*s", (int)(end - line), line);
			return true;
		}
		line = end + 2;
	}
	return false;
}

static bool
http_is_chunked(const char *text, const char *body)
{
	char value[64];

	return http_header(text, body, "Transfer-Encoding", value,
	    sizeof(value)) && strcasecmp(value, "chunked") == 0;
}

/* The length that the header tells; -1 when it tells none, -2 nonsense. */
static long
http_length(const char *text, const char *body)
{
	char value[64], *end;
	long n;

	if (!http_header(text, body, "Content-Length", value, sizeof(value)))
		return -1;
	errno = 0;
	n = strtol(value, &end, 10);
	if (errno != 0 || end == value || *end != '\0' || n < 0 ||
	    value[0] == '+')
		return -2;
	return n;
}

/* (size in hexadecimal CRLF bytes CRLF)*, 0 CRLF, trailers.  `out` may be
 * NULL: is it whole? */
static const struct err *
http_unchunk(const char *p, const char *end, struct buf *out)
{
	for (;;) {
		const char *line = memmem(p, (size_t)(end - p), "\r\n", 2);
		char size[17] = "", *stop;
		unsigned long n;

		if (line == NULL)
			return http_bad("broke off its answer");
		snprintf(size, sizeof(size), "%.*s",
		    (int)(line - p < 16 ? line - p : 16), p);
		errno = 0;
		n = strtoul(size, &stop, 16);
		if (errno != 0 || stop == size || size[0] == '-' ||
		    (*stop != '\0' && *stop != ';' && *stop != ' '))
			return http_bad("sends malformed chunks");
		p = line + 2;
		if (n == 0)
			return NULL;
		if (n > (size_t)(end - p) || (size_t)(end - p) - n < 2)
			return http_bad("broke off its answer");
		if (out != NULL)
			buf_put(out, p, n);
		p += n + 2;
	}
}

/* Is all there that the header has promised? */
static bool
http_is_whole(const char *text, size_t n)
{
	const char *body = http_body(text, n);
	long length;

	if (body == NULL)
		return false;
	if (http_is_chunked(text, body))
		return memmem(body, n - (size_t)(body - text), "0\r\n", 3) !=
		    NULL && http_unchunk(body, text + n, NULL) == NULL;
	length = http_length(text, body);
	return length >= 0 && n - (size_t)(body - text) >= (size_t)length;
}

static const struct err *
http_receive(int fd, int64_t deadline_ns, struct buf *in)
{
	const struct err *e;

	for (;;) {
		ssize_t n;

		if (!buf_reserve(in, 16384))
			return err_nomem();
		n = recv(fd, in->data + in->len, 16384, 0);
		if (n == 0)
			return NULL;
		if (n > 0) {
			in->len += (size_t)n;
			if (in->len > HTTP_ANSWER_MAX)
				return http_bad("answers too much");
			if (http_is_whole((const char *)in->data, in->len))
				return NULL;
		} else if (errno == EAGAIN) {
			e = http_wait(fd, POLLIN, deadline_ns);
			if (e != NULL)
				return e;
		} else if (errno != EINTR) {
			return http_bad("broke the connection");
		}
	}
}

static const struct err *
http_take_body(const char *text, const char *body, const char *end,
    struct buf *out)
{
	long length;

	if (http_is_chunked(text, body))
		return http_unchunk(body, end, out);
	length = http_length(text, body);
	if (length == -2)
		return http_bad("sends a malformed Content-Length");
	if (length >= 0 && length > end - body)
		return http_bad("broke off its answer");
	buf_put(out, body, (size_t)(length >= 0 ? length : end - body));
	return NULL;
}

const struct err *
http_parse(const char *text, size_t n, struct http_answer *answer)
{
	const char *body = http_body(text, n);
	const struct err *e;

	if (n == 0)
		return http_bad("closed the connection without an answer");
	if (body == NULL || (size_t)(body - text) > HEAD_MAX)
		return http_bad("does not speak HTTP");
	if (n < 12 || strncmp(text, "HTTP/1.", 7) != 0 || text[8] != ' ' ||
	    strspn(text + 9, "0123456789") != 3)
		return http_bad("does not speak HTTP");
	answer->status = atoi(text + 9);
	e = http_take_body(text, body, text + n, &answer->body);
	if (e == NULL && answer->body.failed)
		e = err_nomem();
	return e;
}

const struct err *
http_do(const struct http_request *rq, struct http_answer *answer)
{
	int64_t start = clock_mono_ns(), deadline = start + rq->timeout_ns;
	struct buf in = {0};
	const struct err *e;
	int fd = -1;

	*answer = (struct http_answer){0};
	if ((e = http_connect(rq, deadline, &fd)) == NULL &&
	    (e = http_send(rq, fd, deadline)) == NULL &&
	    (e = http_receive(fd, deadline, &in)) == NULL)
		e = http_parse((const char *)in.data, in.len, answer);
	answer->latency_ns = clock_mono_ns() - start;
	if (fd >= 0)
		close(fd);
	buf_fini(&in);
	return e;
}
