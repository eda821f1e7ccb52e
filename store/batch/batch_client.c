/*
 * A connection on which an answer did not come is of no use any more: which
 * batch the next line answers could not be known.  After a conflict about names
 * the batch is sent again, whole.
 */
#include "store/batch/batch_client.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/batch/batch.h"
#include "store/batch/purge_request.h"

#define RECORD_KEPT (1u << 20)

#define CLIENT_LOOK_MS 200 /* so often it asks whether it is still wanted */

struct batch_client {
	int fd;
	int timeout_ms;
	bool whole;         /* the daemon has no room for our names */
	bool named;         /* it has those of the last batch */
	size_t n, at;       /* what has come and what was read of it */
	char came[600];
	struct buf record;
};

const struct err *
batch_client_open(struct batch_client **out, const char *path, int timeout_ms)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval t = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	struct batch_client *p;
	const struct err *e;

	if (strlen(path) >= sizeof(to.sun_path))
		return err_new(ERR_CONFIG, 0, "%s: too long for a socket",
		    path);
	strcpy(to.sun_path, path);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	p->timeout_ms = timeout_ms;
	if (p->fd < 0 ||
	    setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t)) != 0 ||
	    connect(p->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		e = err_errno("%s", path);
		batch_client_close(p);
		return e;
	}
	*out = p;
	return NULL;
}

void
batch_client_close(struct batch_client *p)
{
	if (p == NULL)
		return;
	if (p->fd >= 0)
		close(p->fd);
	buf_fini(&p->record);
	free(p);
}

/* Until the socket can be read or written, or the time for that is over. */
static const struct err *
batch_client_wait(const struct batch_client *p, short events, const char *what)
{
	struct pollfd f = {.fd = p->fd, .events = events};
	int64_t end = clock_mono_ns() + p->timeout_ms * NS_PER_MS;
	const struct err *e;

	while (poll(&f, 1, CLIENT_LOOK_MS) <= 0) {
		if ((e = gone_check()) != NULL)
			return e;
		if (clock_mono_ns() >= end)
			return err_new(ERR_ERRNO, EAGAIN, "%s took longer "
			    "than %d s", what, p->timeout_ms / 1000);
	}
	return NULL;
}

/* The next byte of an answer. */
static const struct err *
batch_client_byte(struct batch_client *p, char *c)
{
	const struct err *e;
	ssize_t got = 0;

	while (p->at == p->n) {
		e = batch_client_wait(p, POLLIN, "memlensd's answer");
		if (e != NULL)
			return e;
		got = recv(p->fd, p->came, sizeof(p->came), MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return err_errno("waiting for memlensd's answer");
		if (got == 0)
			return err_new(ERR_ERRNO, EPIPE,
			    "memlensd closed the connection");
		p->n = (size_t)got;
		p->at = 0;
	}
	*c = p->came[p->at++];
	return NULL;
}

/* Reads one line, without its newline. */
static const struct err *
batch_client_answer(struct batch_client *p, char *line, size_t size)
{
	const struct err *e;
	size_t n = 0;

	for (;;) {
		if ((e = batch_client_byte(p, &line[n])) != NULL)
			return e;
		if (line[n] == '\n')
			break;
		if (++n == size - 1)
			return err_new(ERR_FORMAT, 0,
			    "memlensd's answer is too long");
	}
	line[n] = '\0';
	return NULL;
}

/* After an error the daemon may have answered before it closed. */
static const struct err *
batch_client_send(struct batch_client *p, const char *bytes, size_t n)
{
	const struct err *e;
	ssize_t sent;

	while (n > 0) {
		e = batch_client_wait(p, POLLOUT, "sending to memlensd");
		if (e != NULL)
			return e;
		sent = send(p->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (sent < 0)
			return err_errno("sending to memlensd");
		bytes += sent;
		n -= (size_t)sent;
	}
	return NULL;
}

/* An answer that is not the expected one. */
static const struct err *
batch_client_refused(const char *line)
{
	int code, at = 0;

	if (sscanf(line, "error %d %n", &code, &at) != 1 || at == 0)
		return err_new(ERR_FORMAT, 0, "memlensd answered \"%.100s\"",
		    line);
	return err_new(ERR_REQUEST, code, "%s", line + at);
}

int
batch_client_again_s(const struct err *e)
{
	const char *at = strstr(e->text, "again in ");
	int seconds = 0, end = 0;

	if (e->code != 429 || at == NULL ||
	    sscanf(at, "again in %9d s%n", &seconds, &end) != 1 ||
	    end == 0 || at[end] != '\0' || seconds < 0)
		return 0;
	return seconds;
}

const struct err *
batch_client_record(struct batch_client *p, const void *record, size_t n)
{
	const struct err *e, *answer;
	char line[600];

	e = batch_client_send(p, record, n);
	if (e != NULL && e->code != EPIPE && e->code != ECONNRESET)
		return e;
	answer = batch_client_answer(p, line, sizeof(line));
	if (answer != NULL)
		return e != NULL ? e : answer;
	if (strcmp(line, "ok") == 0)
		return e;
	return batch_client_refused(line);
}

const struct err *
batch_client_purge(struct batch_client *p, const struct purge_request *r,
    void (*progress)(void *arg, double share), void *arg,
    struct purge_report *report)
{
	struct buf record = {0};
	const struct err *e = purge_request_encode(r, &record);
	int percent, widened, at = 0;
	char line[600];

	if (e == NULL)
		e = batch_client_send(p, (const char *)record.data, record.len);
	buf_fini(&record);
	while (e == NULL) {
		if ((e = batch_client_answer(p, line, sizeof(line))) != NULL)
			break;
		if (sscanf(line, "progress %d%n", &percent, &at) == 1 &&
		    line[at] == '\0') {
			if (progress != NULL)
				progress(arg, percent / 100.0);
			continue;
		}
		if (sscanf(line, "purged %" SCNu64 " %" SCNu64 " %d",
		        &report->files, &report->bytes, &widened) != 3)
			return batch_client_refused(line);
		report->widened = widened != 0;
		return NULL;
	}
	return e;
}

/* Once in the client's own memory, of which it keeps a little. */
static const struct err *
batch_client_encoded(struct batch_client *p, struct batch *b,
    const struct err *(*encode)(struct batch *b, struct buf *out))
{
	const struct err *e;

	buf_clear(&p->record);
	e = encode(b, &p->record);
	if (e == NULL)
		e = batch_client_record(p, p->record.data, p->record.len);
	if (p->record.cap > RECORD_KEPT)
		buf_fini(&p->record);
	return e;
}

const struct err *
batch_client_batch(struct batch_client *p, struct batch *b)
{
	return batch_client_encoded(p, b, batch_encode);
}

static bool
batch_client_is_conflict(const struct err *e)
{
	return e != NULL && e->domain == ERR_REQUEST && e->code == 409;
}

bool
batch_client_is_whole(const struct batch_client *p)
{
	return p->whole;
}

const struct err *
batch_client_stream(struct batch_client *p, struct batch *b)
{
	const struct err *e;

	if (p->whole || batch_names_bytes(b) > BATCH_STREAM_BYTES)
		return batch_client_encoded(p, b, batch_encode);
	if (!p->named)
		batch_unsent(b);
	e = batch_client_encoded(p, b, batch_encode_stream);
	if (batch_client_is_conflict(e)) {
		batch_unsent(b);
		e = batch_client_encoded(p, b, batch_encode_stream);
	}
	p->named = e == NULL;
	if (p->named)
		batch_sent(b);
	if (!batch_client_is_conflict(e))
		return e;
	p->whole = true;
	return batch_client_encoded(p, b, batch_encode);
}
