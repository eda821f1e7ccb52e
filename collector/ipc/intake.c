/*
 * A connection is a small state machine (header, record, answer): one record at
 * a time, nothing is read while an answer waits to be sent, and each wait but
 * the one for a purge has a deadline.  So a client that is slow, hostile or
 * gone holds up nobody but itself.
 */
#include "collector/ipc/intake.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/loop.h"
#include "collector/ipc/door.h"
#include "collector/ipc/intake_parts.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/purge_request.h"

_Static_assert(INTAKE_PUSH_MAX == 32u << 20, "what a client is told of it");
#define RECORD_KEPT 65536 /* memory for a record that a client keeps */

struct connection {
	struct loop_watch watch;
	struct intake *in;
	struct connection *next;
	struct buf record;      /* what came of the record at hand */
	struct batch_stream *stream; /* NULL: only whole batches so far */
	struct intake_parts parts; /* of the push that has begun */
	size_t want;            /* bytes of it that are to come in all */
	int64_t deadline_ns;    /* monotonic */
	uint64_t number;        /* of the client */
	bool root;              /* its uid is 0 */
	int32_t pid;            /* who opened it */
	bool waiting;           /* for the end of a purge; nothing is read */
	char answer[512];
	size_t answer_len;      /* > 0: being sent, nothing is read */
	bool last;              /* close after the answer */
	bool reading;           /* the loop waits for what it sends */
};

struct intake {
	struct intake_options options;
	struct door door;
	struct loop_watch watch; /* of the door */
	struct connection *connections;
	size_t n_connections, n_streams, bytes;
	uint64_t clients;
	bool paused; /* until the next tick: no descriptor was left */
	struct intake_stats stats;
};

/* ---- one connection ---- */

/* The record is done with; the memory of a small one stays. */
static void
connection_reset(struct connection *c)
{
	if (c->record.cap > RECORD_KEPT) {
		c->in->bytes -= c->record.cap;
		buf_fini(&c->record);
	}
	buf_clear(&c->record);
	c->want = BATCH_RECORD_HEADER;
	c->deadline_ns = clock_mono_ns() +
	    (c->parts.n > 0 ? INTAKE_RECORD_NS : INTAKE_IDLE_NS);
}

static void
connection_drop_stream(struct connection *c)
{
	c->in->n_streams -= c->stream != NULL;
	batch_stream_free(c->stream);
	c->stream = NULL;
}

static void
connection_drop_parts(struct connection *c)
{
	c->in->bytes -= c->parts.bytes;
	intake_parts_fini(&c->parts);
}

static void
connection_free(struct connection *c)
{
	struct connection **at = &c->in->connections;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->in->n_connections--;
	c->in->bytes -= c->record.cap;
	loop_remove(c->in->options.loop, &c->watch);
	close(c->watch.fd);
	buf_fini(&c->record);
	connection_drop_stream(c);
	connection_drop_parts(c);
	free(c);
}

/* Sends what is left of the answer; false when the connection is over. */
static bool
connection_flush(struct connection *c)
{
	ssize_t n = send(c->watch.fd, c->answer, c->answer_len,
	    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n > 0) {
		c->answer_len -= (size_t)n;
		memmove(c->answer, c->answer + n, c->answer_len);
	}
	if (c->answer_len == 0 && c->last)
		return false;
	if (c->answer_len == 0 && !c->waiting && c->reading)
		return true;
	c->reading = c->answer_len == 0 && !c->waiting;
	return loop_change(c->in->options.loop, &c->watch,
	    c->answer_len > 0 ? EPOLLOUT : c->waiting ? 0 : EPOLLIN) == NULL;
}

static bool
connection_answer(struct connection *c, int code, const char *text)
{
	int n;

	if (code == 200)
		n = snprintf(c->answer, sizeof(c->answer), "ok\n");
	else
		n = snprintf(c->answer, sizeof(c->answer), "error %d %s\n",
		    code, text);
	c->answer_len = (size_t)n < sizeof(c->answer) ? (size_t)n :
	    sizeof(c->answer) - 1;
	for (size_t i = 0; i + 1 < c->answer_len; i++) {
		if (c->answer[i] == '\n')
			c->answer[i] = ' ';
	}
	return connection_flush(c);
}

static int
error_status(const struct err *e)
{
	if (e->domain == ERR_FORMAT)
		return 400;
	if (e->code >= 400 && e->code < 600 &&
	    (e->domain == ERR_REQUEST || e->domain == ERR_LIMIT))
		return e->code;
	return e->domain == ERR_LIMIT ? 429 : 500;
}

static bool
connection_refuse(struct connection *c, int code, const char *text)
{
	c->last = true;
	c->in->stats.refused++;
	return connection_answer(c, code, text);
}

/* A whole purge is there: its client waits, for as long as it takes. */
static bool
connection_purge(struct connection *c)
{
	struct intake *in = c->in;
	struct purge_request r;
	const struct err *e;

	e = purge_request_decode(c->record.data, c->record.len, &r);
	connection_reset(c);
	if (e == NULL && in->options.purge == NULL)
		e = err_new(ERR_REQUEST, 422, "nothing can be purged here");
	if (e == NULL)
		e = in->options.purge(in->options.arg, &r, c->number);
	if (e != NULL)
		return connection_answer(c, error_status(e), e->text);
	c->waiting = true;
	c->deadline_ns = INT64_MAX;
	return connection_flush(c);
}

/*
 * Hands a batch on, unless its client is gone: he has given up while we were
 * stopped or starved, has told his own client that it is not stored, and
 * that one sends it again, under another id.
 */
static const struct err *
connection_check(struct connection *c)
{
	struct pollfd p = {.fd = c->watch.fd};

	if (poll(&p, 1, 0) <= 0 || (p.revents & (POLLHUP | POLLERR)) == 0)
		return NULL;
	c->in->stats.abandoned++;
	return err_new(ERR_REQUEST, 408, "its client is gone");
}

static const struct err *
connection_give(struct connection *c, struct batch *b)
{
	const struct err *e = connection_check(c);

	if (e == NULL)
		e = c->in->options.take(c->in->options.arg, b);
	c->in->stats.taken += e == NULL;
	return e;
}

/* A batch of a push of several, or, where it brings no more, all of them. */
static const struct err *
connection_join(struct connection *c, struct batch *b)
{
	const struct intake_options *o = &c->in->options;
	size_t before = c->record.cap;
	bool more = b->more;
	const struct err *e = o->check != NULL ? o->check(o->arg, b) :
	    err_new(ERR_REQUEST, 422, "one batch a push is taken here");

	if (e == NULL &&
	    (e = intake_parts_add(&c->parts, &c->record, b)) == NULL)
		c->in->bytes -= before -
		    c->parts.records[c->parts.n - 1].cap;
	batch_free(b); /* before it is read again */
	if (e != NULL || more)
		return e;
	if ((e = connection_check(c)) == NULL)
		e = o->push(o->arg, &c->parts);
	if (e == NULL)
		c->in->stats.taken += c->parts.n;
	connection_drop_parts(c);
	return e;
}

static const struct err *
connection_take_whole(struct connection *c)
{
	const struct err *e;
	struct batch *b;

	e = batch_decode(c->record.data, c->record.len, &b);
	if (e == NULL && (b->more || c->parts.n > 0)) {
		e = connection_join(c, b);
	} else if (e == NULL) {
		e = connection_give(c, b);
		batch_free(b);
	}
	connection_reset(c);
	return e;
}

/* A client that names things once.  When there are too many of them it is
 * told so, and sends whole batches. */
static const struct err *
connection_take_stream(struct connection *c)
{
	struct intake *in = c->in;
	const struct err *e;
	struct batch *b;

	if (c->stream == NULL && in->n_streams < INTAKE_STREAMS_MAX &&
	    (c->stream = batch_stream_new()) != NULL)
		in->n_streams++;
	if (c->stream == NULL) {
		connection_reset(c);
		return err_new(ERR_REQUEST, 409, "no room for more names: "
		    "send whole batches");
	}
	e = batch_stream_decode(c->stream, c->record.data, c->record.len, &b);
	connection_reset(c);
	if (e != NULL) {
		connection_drop_stream(c);
		return e;
	}
	e = connection_give(c, b);
	batch_stream_rest(c->stream);
	return e;
}

/* A whole record is there. */
static bool
connection_take(struct connection *c)
{
	bool more = batch_record_more(c->record.data) || c->parts.n > 0;
	struct intake *in = c->in;
	const struct err *e;

	if (purge_request_is(c->record.data))
		return connection_purge(c);
	e = batch_stream_is(c->record.data) ? connection_take_stream(c)
	                                    : connection_take_whole(c);
	if (e == NULL)
		return connection_answer(c, 200, "");
	if (more) /* what follows would be half of it */
		return connection_refuse(c, error_status(e), e->text);
	in->stats.refused += error_status(e) != 409; /* comes again, whole */
	return connection_answer(c, error_status(e), e->text);
}

/* The header is there: how much follows, and do we have room for it? */
static bool
connection_header(struct connection *c)
{
	struct intake *in = c->in;
	const struct err *e;
	size_t n, before = c->record.cap;

	if (purge_request_is(c->record.data) && !c->root)
		return connection_refuse(c, 403, "only root may purge");
	if (purge_request_is(c->record.data))
		e = purge_request_length(c->record.data, &n);
	else if (batch_stream_is(c->record.data))
		e = batch_stream_header(c->record.data, &n);
	else
		e = batch_record_header(c->record.data, &n);
	if (e != NULL)
		return connection_refuse(c, error_status(e), e->text);
	if (c->parts.n > 0 && (purge_request_is(c->record.data) ||
	    batch_stream_is(c->record.data)))
		return connection_refuse(c, 400, "a push has not ended");
	if (n > INTAKE_PUSH_MAX - c->parts.bytes)
		return connection_refuse(c, 413, "a push of more than 32 MiB "
		    "in batches is too large: fewer different stacks, or a "
		    "shorter window");
	if (n > BATCH_MAX_BYTES)
		return connection_refuse(c, 413, "a batch is too large");
	if (in->bytes + n > INTAKE_BYTES_MAX)
		return connection_refuse(c, 429, "too many batches at once");
	if (!buf_reserve(&c->record, n))
		return connection_refuse(c, 429, "out of memory");
	in->bytes += c->record.cap - before;
	c->want += n;
	c->deadline_ns = clock_mono_ns() + INTAKE_RECORD_NS;
	return true;
}

/* Reads what there is of one record; false when the connection is over. */
static bool
connection_read(struct connection *c)
{
	size_t before = c->record.cap;
	ssize_t n;

	if (!buf_reserve(&c->record, c->want - c->record.len))
		return false;
	c->in->bytes += c->record.cap - before;
	if (c->record.len == 0)
		c->deadline_ns = clock_mono_ns() + INTAKE_RECORD_NS;
	n = recv(c->watch.fd, c->record.data + c->record.len,
	    c->want - c->record.len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	c->record.len += (size_t)n;
	if (c->record.len < c->want)
		return true;
	if (c->want == BATCH_RECORD_HEADER) {
		if (!connection_header(c))
			return false;
		/* the rest is mostly there already */
		if (c->answer_len > 0 || c->want > BATCH_RECORD_HEADER)
			return c->answer_len > 0 || connection_read(c);
	}
	return connection_take(c);
}

static void
connection_ready(void *arg, uint32_t events)
{
	struct connection *c = arg;
	bool alive;

	if (c->answer_len > 0 || c->waiting)
		alive = (events & (EPOLLERR | EPOLLHUP)) == 0 &&
		    connection_flush(c);
	else
		alive = connection_read(c);
	if (!alive)
		connection_free(c);
}

/* ---- the door ---- */

/* Tells a client why it cannot come in, as far as that goes in one write. */
static void
intake_turn_away(struct intake *in, int fd, const char *line)
{
	ssize_t n = send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);

	(void)n;
	in->stats.turned_away++;
	close(fd);
}

static void
intake_admit(struct intake *in, int fd)
{
	struct connection *c;
	bool root;
	int32_t pid;

	if (!door_allows(&in->door, fd, &root, &pid)) {
		intake_turn_away(in, fd, "error 403 you are neither root nor "
		    "in the group of this socket\n");
		return;
	}
	if (in->n_connections >= INTAKE_CONNECTIONS_MAX ||
	    (c = calloc(1, sizeof(*c))) == NULL) {
		intake_turn_away(in, fd, "error 429 too many connections\n");
		return;
	}
	c->watch = (struct loop_watch){fd, connection_ready, c};
	c->in = in;
	c->root = root;
	c->pid = pid;
	c->number = ++in->clients;
	c->want = BATCH_RECORD_HEADER;
	c->reading = true;
	c->deadline_ns = clock_mono_ns() + INTAKE_IDLE_NS;
	if (loop_add(in->options.loop, &c->watch, EPOLLIN) != NULL) {
		close(fd);
		free(c);
		return;
	}
	c->next = in->connections;
	in->connections = c;
	in->n_connections++;
	in->stats.connections++;
}

static void
intake_accept(void *arg, uint32_t events)
{
	struct intake *in = arg;
	int fd;

	(void)events;
	fd = accept4(in->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		intake_admit(in, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
	    errno == ENOBUFS) {
		/* The client stays in the backlog, and the descriptor
		 * readable: without a pause the loop would spin. */
		in->stats.starved++;
		in->paused = loop_change(in->options.loop, &in->watch, 0) ==
		    NULL;
	}
}

void
intake_tell(struct intake *in, uint64_t client, const char *line, bool last)
{
	struct connection *c = in == NULL ? NULL : in->connections;
	int n;

	while (c != NULL && c->number != client)
		c = c->next;
	if (c == NULL || !c->waiting)
		return;
	if (c->answer_len > 0 && !last)
		return; /* it is slow: the next line tells more */
	n = snprintf(c->answer, sizeof(c->answer), "%s\n", line);
	c->answer_len = (size_t)n < sizeof(c->answer) ? (size_t)n
	                                              : sizeof(c->answer) - 1;
	c->answer[c->answer_len - 1] = '\n';
	if (last) {
		c->waiting = false;
		c->deadline_ns = clock_mono_ns() + INTAKE_IDLE_NS;
	}
	if (!connection_flush(c))
		connection_free(c);
}

void
intake_tick(struct intake *in, int64_t mono_ns)
{
	struct connection *c, *next;

	if (in == NULL)
		return;
	if (in->paused)
		in->paused = loop_change(in->options.loop, &in->watch,
		    EPOLLIN) != NULL;
	for (c = in->connections; c != NULL; c = next) {
		next = c->next;
		if (mono_ns < c->deadline_ns)
			continue;
		in->stats.timeouts++;
		connection_free(c);
	}
}

const struct err *
intake_open(struct intake **out, const struct intake_options *options)
{
	struct intake *in = calloc(1, sizeof(*in));
	const struct err *e;

	if (in == NULL)
		return err_nomem();
	in->options = *options;
	in->door = (struct door){.address.sun_family = AF_UNIX, .fd = -1,
	    .group_name = options->group};
	in->watch = (struct loop_watch){-1, intake_accept, in};
	if (strlen(options->path) >= sizeof(in->door.address.sun_path)) {
		free(in);
		return err_new(ERR_CONFIG, 0, "%s: too long for a socket",
		    options->path);
	}
	strcpy(in->door.address.sun_path, options->path);
	e = door_open(&in->door);
	in->watch.fd = in->door.fd;
	if (e == NULL)
		e = loop_add(in->options.loop, &in->watch, EPOLLIN);
	if (e != NULL) {
		intake_close(in);
		return e;
	}
	*out = in;
	return NULL;
}

bool
intake_has_peer(const struct intake *in, int32_t pid)
{
	const struct connection *c = in == NULL ? NULL : in->connections;

	while (c != NULL && c->pid != pid)
		c = c->next;
	return c != NULL;
}

void
intake_stats(const struct intake *in, struct intake_stats *out)
{
	*out = in == NULL ? (struct intake_stats){0} : in->stats;
}

void
intake_close(struct intake *in)
{
	if (in == NULL)
		return;
	while (in->connections != NULL)
		connection_free(in->connections);
	if (in->watch.fd >= 0)
		loop_remove(in->options.loop, &in->watch);
	door_close(&in->door);
	free(in);
}
