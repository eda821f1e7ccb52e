/*
 * The answer is parsed anew from its beginning when more of it comes: it is
 * small, and a parser without state between reads is one that can be fuzzed.
 */
#include "collector/scrape/scrape_http.h"

#include "store/base/err.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define RAW_MAX (HTTP_BODY_MAX + HTTP_BODY_MAX / 4 + HTTP_HEAD_MAX)
#define CHUNK 65536

/* ---- addresses ---- */

static const struct err *
http_resolve(const char *host, const char *port, struct http_url *out)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	int bad = getaddrinfo(host, port, &hints, &list);

	if (bad != 0)
		return err_new(ERR_CONFIG, 0, "%s: %s", host,
		    gai_strerror(bad));
	memcpy(&out->address, list->ai_addr, list->ai_addrlen);
	out->address_len = list->ai_addrlen;
	freeaddrinfo(list);
	return NULL;
}

const struct err *
http_url_parse(const char *text, struct http_url *out)
{
	char host[128], *port, *close;
	const char *p = text, *path;
	size_t n;

	memset(out, 0, sizeof(*out));
	if (strncasecmp(p, "http://", 7) != 0)
		return err_new(ERR_CONFIG, 0, "\"%s\" does not begin with "
		    "http://", text);
	p += 7;
	n = strcspn(p, "/?#");
	path = p + n;
	if (n == 0 || n >= sizeof(host) || strlen(path) >= sizeof(out->path) ||
	    strpbrk(text, " \t\r\n@") != NULL)
		return err_new(ERR_CONFIG, 0, "\"%s\" is not a URL", text);
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, p);
	snprintf(host, sizeof(host), "%.*s", (int)n, p);
	snprintf(out->path, sizeof(out->path), "%s%s",
	    *path == '/' ? "" : "/", path);
	if (host[0] == '[' && (close = strchr(host, ']')) != NULL) {
		port = close[1] == ':' ? close + 2 : NULL;
		*close = '\0';
		return http_resolve(host + 1, port ? port : "80", out);
	}
	if ((port = strchr(host, ':')) != NULL)
		*port++ = '\0';
	return http_resolve(host, port ? port : "80", out);
}

/* ---- what an answer looks like ---- */

/* The value of a header in [head, end), or NULL; *n is its length. */
static const char *
http_header(const char *head, const char *end, const char *name, size_t *n)
{
	size_t len = strlen(name);
	const char *line = head, *next;

	for (; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (next == NULL)
			next = end;
		if ((size_t)(next - line) <= len || line[len] != ':' ||
		    strncasecmp(line, name, len) != 0)
			continue;
		line += len + 1;
		while (line < next && (*line == ' ' || *line == '\t'))
			line++;
		while (next > line && isspace((unsigned char)next[-1]))
			next--;
		*n = (size_t)(next - line);
		return line;
	}
	return NULL;
}

/* Where the body begins, or NULL while the headers are not whole. */
static const char *
http_head_end(const char *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i] != '\n')
			continue;
		if (p[i + 1] == '\n')
			return p + i + 2;
		if (p[i + 1] == '\r' && i + 2 < n && p[i + 2] == '\n')
			return p + i + 3;
	}
	return NULL;
}

/* A line that ends with a newline within [p, end): its end, or NULL. */
static const char *
http_line_end(const char *p, const char *end)
{
	return p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
}

static enum http_state
http_chunks(const char *p, const char *end, struct buf *body)
{
	const char *line;
	unsigned long size;
	char *digits;

	buf_clear(body);
	for (;;) {
		if ((line = http_line_end(p, end)) == NULL)
			return end - p > 64 ? HTTP_FAILED : HTTP_BUSY;
		if (!isxdigit((unsigned char)*p))
			return HTTP_FAILED;
		size = strtoul(p, &digits, 16);
		if (size > HTTP_BODY_MAX || body->len + size > HTTP_BODY_MAX)
			return HTTP_FAILED;
		if (size == 0)
			return HTTP_DONE; /* trailers are of no interest */
		p = line + 1;
		if ((size_t)(end - p) < size)
			return HTTP_BUSY;
		buf_put(body, p, size);
		p += size;
		if (p < end && *p == '\r')
			p++;
		if (p == end)
			return HTTP_BUSY;
		if (*p++ != '\n')
			return HTTP_FAILED;
	}
}

/* A body whose length is given. */
static enum http_state
http_length(const char *p, const char *end, const char *length, size_t n,
    struct buf *body)
{
	size_t want = 0;

	for (size_t i = 0; i < n; i++) {
		if (length[i] < '0' || length[i] > '9' ||
		    want > HTTP_BODY_MAX)
			return HTTP_FAILED;
		want = want * 10 + (size_t)(length[i] - '0');
	}
	if (n == 0 || want > HTTP_BODY_MAX)
		return HTTP_FAILED;
	if ((size_t)(end - p) < want)
		return HTTP_BUSY;
	buf_clear(body);
	buf_put(body, p, want);
	return HTTP_DONE;
}

enum http_state
http_answer(const struct buf *in, bool eof, int *status, struct buf *body)
{
	const char *head = (const char *)in->data, *end, *p, *value;
	enum http_state state;
	size_t n;

	if (in->len == 0)
		return eof ? HTTP_FAILED : HTTP_BUSY;
	end = head + in->len;
	if ((p = http_head_end(head, in->len)) == NULL)
		return eof || in->len > HTTP_HEAD_MAX ? HTTP_FAILED : HTTP_BUSY;
	if (in->len < 12 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ')
		return HTTP_FAILED;
	*status = atoi((char[]){head[9], head[10], head[11], '\0'});
	if ((value = http_header(head, p, "Transfer-Encoding", &n)) != NULL &&
	    n == 7 && strncasecmp(value, "chunked", 7) == 0) {
		state = http_chunks(p, end, body);
	} else if ((value = http_header(head, p, "Content-Length", &n)) !=
	    NULL) {
		state = http_length(p, end, value, n, body);
	} else {
		if ((size_t)(end - p) > HTTP_BODY_MAX)
			return HTTP_FAILED;
		if (!eof)
			return HTTP_BUSY;
		buf_clear(body);
		buf_put(body, p, (size_t)(end - p));
		state = HTTP_DONE;
	}
	return state == HTTP_BUSY && eof ? HTTP_FAILED : state;
}

/* ---- one request ---- */

__attribute__((format(printf, 2, 3))) static void
http_fail(struct http_get *g, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(g->why, sizeof(g->why), fmt, ap);
	va_end(ap);
	g->state = HTTP_FAILED;
}

void
http_get_start(struct http_get *g, const struct http_url *url,
    int64_t deadline_ns)
{
	memset(g, 0, sizeof(*g));
	g->deadline_ns = deadline_ns;
	g->fd = socket(url->address.ss_family,
	    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	buf_printf(&g->out, "GET %s HTTP/1.1\r\nHost: %s\r\n"
	    "User-Agent: memlens-scrape\r\nAccept: */*\r\n"
	    "Connection: close\r\n\r\n", url->path, url->host);
	if (g->fd < 0 || g->out.failed)
		http_fail(g, "%s", strerror(errno));
	else if (connect(g->fd, (const struct sockaddr *)&url->address,
	    url->address_len) != 0 && errno != EINPROGRESS)
		http_fail(g, "%s", strerror(errno));
}

short
http_get_events(const struct http_get *g)
{
	return g->sent < g->out.len ? POLLOUT : POLLIN;
}

/* False when there is nothing to do until poll(2) says so. */
static bool
http_send(struct http_get *g)
{
	ssize_t n = send(g->fd, g->out.data + g->sent, g->out.len - g->sent,
	    MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN)
		http_fail(g, "%s", strerror(errno));
	if (n <= 0)
		return false;
	g->sent += (size_t)n;
	return true;
}

static bool
http_receive(struct http_get *g)
{
	bool eof;
	ssize_t n;

	if (g->in.len > RAW_MAX) {
		http_fail(g, "an answer over %u bytes", HTTP_BODY_MAX);
		return false;
	}
	if (!buf_reserve(&g->in, CHUNK)) {
		http_fail(g, "out of memory");
		return false;
	}
	n = recv(g->fd, g->in.data + g->in.len, CHUNK, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	eof = n <= 0;
	if (n > 0)
		g->in.len += (size_t)n;
	g->state = http_answer(&g->in, eof, &g->status, &g->body);
	if (g->state == HTTP_FAILED && n < 0)
		http_fail(g, "%s", strerror(errno));
	else if (g->state == HTTP_FAILED)
		http_fail(g, eof ? "the answer is cut short" :
		    "the answer is not HTTP, or over its bounds");
	return g->state == HTTP_BUSY;
}

void
http_get_step(struct http_get *g, int64_t now_ns)
{
	while (g->state == HTTP_BUSY) {
		bool more = g->sent < g->out.len ? http_send(g) :
		    http_receive(g);

		if (!more)
			break;
	}
	if (g->state == HTTP_BUSY && now_ns >= g->deadline_ns)
		http_fail(g, "no answer in time");
	if (g->state != HTTP_BUSY && g->fd >= 0) {
		close(g->fd);
		g->fd = -1;
	}
}

void
http_get_fini(struct http_get *g)
{
	if (g->fd >= 0)
		close(g->fd);
	buf_fini(&g->out);
	buf_fini(&g->in);
	buf_fini(&g->body);
	*g = (struct http_get){.fd = -1, .state = HTTP_DONE};
}
