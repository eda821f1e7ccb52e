/*
 * The event loop of kvload: one thread, one epoll, one request at a time on
 * each connection. Every request that was due ends in exactly one place: a
 * latency histogram or a count of failures.
 */

#include "kvload_run.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS		UINT64_C(10000000)	/* looks for timeouts */

struct connection {
	int fd;			/* -1: connects with the next request */
	bool busy;
	bool connecting;
	struct request request;
	uint64_t due_ns, sent_ns;
	char *out;
	size_t out_size, out_at;
	struct answer answer;
};

/* What is being done: all keys set, or the mix at its rate. */
struct phase {
	bool measured;
	uint64_t start_ns;
	double interval_ns;	/* 0: due at once */
	uint64_t total;		/* requests; UINT64_MAX: unbounded */
	uint64_t next;		/* the first that is not sent */
	uint64_t done;
	uint64_t failed;
	uint64_t last_ns;	/* end of the latest */
};

struct run {
	struct run_options options;
	struct source *source;
	struct run_result result;
	struct phase phase;
	int epoll_fd;
	struct connection *connections;
	/* Free ones, in a ring: all are used in turn. */
	uint32_t *free;
	uint32_t free_at, free_count;
	uint64_t tick_ns;
	uint64_t timeout_ns, spin_ns;
	sigset_t wait_mask;
};

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool
alloc_run(struct run *r)
{
	uint32_t i, n = r->options.connections;
	size_t size = request_size_max(&r->options.mix);

	r->connections = calloc(n, sizeof(*r->connections));
	r->free = calloc(n, sizeof(*r->free));
	r->source = source_new(&r->options.mix);
	r->result.send_delay = hist_new();
	if (r->connections == NULL || r->free == NULL || r->source == NULL ||
	    r->result.send_delay == NULL)
		return false;
	for (i = 0; i < GOT_COUNT; i++)
		if ((r->result.latency[i] = hist_new()) == NULL ||
		    (r->result.service[i] = hist_new()) == NULL)
			return false;
	for (i = 0; i < n; i++) {
		r->connections[i].fd = -1;
		r->free[i] = i;
		if ((r->connections[i].out = malloc(size)) == NULL)
			return false;
	}
	r->free_count = n;
	return true;
}

struct run *
run_new(const struct run_options *options)
{
	struct run *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->options = *options;
	r->timeout_ns = (uint64_t)(options->timeout_s * 1e9);
	r->spin_ns = (uint64_t)(options->spin_us * 1e3);
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&r->wait_mask);
	if (r->epoll_fd == -1 || !alloc_run(r)) {
		run_free(r);
		return NULL;
	}
	/* Sleeps end when they should, not up to 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1);
	return r;
}

void
run_free(struct run *r)
{
	uint32_t i;

	if (r == NULL)
		return;
	for (i = 0; r->connections != NULL && i < r->options.connections;
	    i++) {
		if (r->connections[i].fd > 0)
			close(r->connections[i].fd);
		free(r->connections[i].out);
	}
	for (i = 0; i < GOT_COUNT; i++) {
		hist_free(r->result.latency[i]);
		hist_free(r->result.service[i]);
	}
	hist_free(r->result.send_delay);
	source_free(r->source);
	free(r->connections);
	free(r->free);
	if (r->epoll_fd != -1)
		close(r->epoll_fd);
	free(r);
}

static void
disconnect(struct connection *c)
{
	if (c->fd != -1)
		close(c->fd);
	c->fd = -1;
	c->connecting = false;
}

/* The request at hand is over: the connection is free again. */
static void
release(struct run *r, struct connection *c)
{
	uint32_t n = r->options.connections;
	uint32_t slot = (uint32_t)((uint64_t)r->free_at + r->free_count) % n;

	c->busy = false;
	r->free[slot] = (uint32_t)(c - r->connections);
	r->free_count++;
	r->phase.done++;
	r->phase.last_ns = clock_ns(CLOCK_MONOTONIC);
}

static void
count_failure(struct run *r, enum op op, enum failure why)
{
	r->phase.failed++;
	if (!r->phase.measured)
		return;
	r->result.failed[op]++;
	r->result.failures[why]++;
}

static void
fail(struct run *r, struct connection *c, enum failure why)
{
	disconnect(c);
	count_failure(r, c->request.op, why);
	release(r, c);
}

static void
finish(struct run *r, struct connection *c)
{
	enum outcome got = GOT_SET;
	enum failure why;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!request_judge(r->source, &c->request, &c->answer, &got, &why)) {
		count_failure(r, c->request.op, why);
	} else if (r->phase.measured) {
		hist_record(r->result.latency[got], now - c->due_ns);
		hist_record(r->result.service[got], now - c->sent_ns);
		if (got == GOT_MISSING && !c->request.absent)
			r->result.lost++;
	}
	if (r->options.mix.close || c->answer.close)
		disconnect(c);
	release(r, c);
}

static bool
watch(struct run *r, struct connection *c, uint32_t events, int how)
{
	struct epoll_event e = { .events = events };

	e.data.u32 = (uint32_t)(c - r->connections);
	return epoll_ctl(r->epoll_fd, how, c->fd, &e) == 0;
}

static bool
start_connect(struct run *r, struct connection *c)
{
	const struct sockaddr_in *to = &r->options.target;
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd == -1)
		return false;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r->result.connects++;
	c->connecting = connect(c->fd, (const struct sockaddr *)to,
	    sizeof(*to)) == -1;
	if (c->connecting && errno != EINPROGRESS)
		return false;
	return watch(r, c, c->connecting ? EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD);
}

/* Send what the kernel takes; the rest when it has room. */
static void
send_more(struct run *r, struct connection *c)
{
	ssize_t n;

	if (c->out_at == 0)
		c->sent_ns = clock_ns(CLOCK_MONOTONIC);
	n = send(c->fd, c->out + c->out_at, c->out_size - c->out_at,
	    MSG_NOSIGNAL);
	if (n == -1 && errno != EAGAIN) {
		fail(r, c, FAIL_CLOSED);
		return;
	}
	if (n > 0) {
		if (c->out_at == 0 && r->phase.measured)
			hist_record(r->result.send_delay,
			    c->sent_ns - c->due_ns);
		c->out_at += (size_t)n;
		r->result.bytes_out += (uint64_t)n;
	}
	if (c->out_at < c->out_size)
		watch(r, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
}

static void
end_connect(struct run *r, struct connection *c)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error != 0) {
		fail(r, c, FAIL_CONNECT);
		return;
	}
	c->connecting = false;
	watch(r, c, EPOLLIN, EPOLL_CTL_MOD);
	send_more(r, c);
}

static uint64_t
due_of(const struct phase *p, uint64_t i)
{
	return p->start_ns + (uint64_t)((long double)i * p->interval_ns);
}

static struct request
next_request(struct run *r)
{
	struct request q = { OP_SET, (uint32_t)r->phase.next, false };

	if (r->phase.measured) {
		q = source_draw(r->source);
		r->result.scheduled[q.op]++;
	}
	r->phase.next++;
	return q;
}

/* It was due so long ago that nobody waits for it any more. */
static void
skip_request(struct run *r)
{
	struct request q = next_request(r);

	count_failure(r, q.op, FAIL_TIMEOUT);
	r->phase.done++;
	r->phase.last_ns = clock_ns(CLOCK_MONOTONIC);
}

static void
start_request(struct run *r, uint64_t due_ns)
{
	struct connection *c = &r->connections[r->free[r->free_at]];

	r->free_at = (r->free_at + 1) % r->options.connections;
	r->free_count--;
	c->busy = true;
	c->due_ns = due_ns;
	c->request = next_request(r);
	c->out_size = request_write(r->source, &c->request, c->out);
	c->out_at = 0;
	answer_init(&c->answer);
	if (c->fd == -1 && !start_connect(r, c))
		fail(r, c, FAIL_CONNECT);
	else if (!c->connecting)
		send_more(r, c);
}

/* Send all that is due, as far as connections are free. */
static void
start_due(struct run *r)
{
	struct phase *p = &r->phase;
	uint64_t now = clock_ns(CLOCK_MONOTONIC), due;

	while (p->next < p->total && (due = due_of(p, p->next)) <= now) {
		if (p->measured && now - due > r->timeout_ns) {
			skip_request(r);
			continue;
		}
		if (r->free_count == 0)
			break;
		start_request(r, p->measured ? due : now);
	}
}

static void
receive(struct run *r, struct connection *c)
{
	char buffer[32768];
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), 0);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!c->busy) {
		/* Ended, or spoke, without being asked. */
		disconnect(c);
		return;
	}
	if (n <= 0) {
		fail(r, c, FAIL_CLOSED);
		return;
	}
	r->result.bytes_in += (uint64_t)n;
	switch (answer_feed(&c->answer, buffer, (size_t)n)) {
	case ANSWER_WHOLE:
		finish(r, c);
		break;
	case ANSWER_BROKEN:
		fail(r, c, FAIL_PROTOCOL);
		break;
	case ANSWER_MORE:
		break;
	}
}

static void
on_event(struct run *r, const struct epoll_event *e)
{
	struct connection *c = &r->connections[e->data.u32];

	if (c->fd == -1)
		return;
	if (c->connecting) {
		end_connect(r, c);
		return;
	}
	if ((e->events & EPOLLOUT) != 0) {
		watch(r, c, EPOLLIN, EPOLL_CTL_MOD);
		if (c->busy)
			send_more(r, c);
	}
	if (c->fd != -1 && (e->events & ~(uint32_t)EPOLLOUT) != 0)
		receive(r, c);
}

static void
expire(struct run *r)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint32_t i;

	if (now < r->tick_ns)
		return;
	r->tick_ns = now + TICK_NS;
	for (i = 0; i < r->options.connections; i++) {
		struct connection *c = &r->connections[i];

		if (c->busy && now > c->due_ns + r->timeout_ns)
			fail(r, c, FAIL_TIMEOUT);
	}
}

static void
wait_events(struct run *r)
{
	const struct phase *p = &r->phase;
	struct epoll_event events[64];
	struct timespec t;
	uint64_t until = r->tick_ns, now = clock_ns(CLOCK_MONOTONIC);
	int i, n;

	if (p->next < p->total && r->free_count > 0 &&
	    due_of(p, p->next) < until)
		until = due_of(p, p->next) - r->spin_ns;
	until = until > now ? until - now : 0;
	t.tv_sec = (time_t)(until / 1000000000);
	t.tv_nsec = (long)(until % 1000000000);
	n = epoll_pwait2(r->epoll_fd, events, 64, &t, &r->wait_mask);
	for (i = 0; i < n; i++)
		on_event(r, &events[i]);
}

/* Nothing more becomes due; what is due already stays so. */
static void
stop_schedule(struct phase *p)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (p->interval_ns > 0) {
		uint64_t due = 1 + (uint64_t)((long double)
		    (now - p->start_ns) / p->interval_ns);

		if (due < p->total)
			p->total = due;
	} else {
		p->total = p->next;
	}
	if (p->total < p->next)
		p->total = p->next;
}

static void
run_phase(struct run *r, const volatile sig_atomic_t *stop)
{
	struct phase *p = &r->phase;
	bool stopped = false;

	p->start_ns = p->last_ns = clock_ns(CLOCK_MONOTONIC);
	r->tick_ns = p->start_ns + TICK_NS;
	while (p->done < p->total) {
		if (*stop != 0 && !stopped) {
			stop_schedule(p);
			stopped = true;
		}
		start_due(r);
		expire(r);
		if (p->done < p->total)
			wait_events(r);
	}
}

uint64_t
run_preload(struct run *r, const volatile sig_atomic_t *stop,
    double *elapsed_s)
{
	uint64_t out = r->result.bytes_out, in = r->result.bytes_in;

	r->phase = (struct phase){ .total = r->options.mix.keys };
	run_phase(r, stop);
	*elapsed_s = (double)(r->phase.last_ns - r->phase.start_ns) / 1e9;
	r->result.bytes_out = out;
	r->result.bytes_in = in;
	return r->phase.failed;
}

const struct run_result *
run_measure(struct run *r, const volatile sig_atomic_t *stop)
{
	const struct run_options *o = &r->options;
	struct phase *p = &r->phase;
	double elapsed;

	*p = (struct phase){ .measured = true, .total = UINT64_MAX,
	    .interval_ns = 1e9 / o->rate };
	if (o->duration_s > 0)
		p->total = (uint64_t)(o->rate * o->duration_s + 0.5);
	r->result.start_unix_s = (double)clock_ns(CLOCK_REALTIME) / 1e9;
	run_phase(r, stop);
	/* The last request has its interval too. */
	elapsed = (double)(p->last_ns - p->start_ns) / 1e9;
	if (elapsed < (double)p->total / o->rate)
		elapsed = (double)p->total / o->rate;
	r->result.elapsed_s = elapsed;
	return &r->result;
}
