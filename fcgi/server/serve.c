/*
 * Between libfcgi and the routes: environment in, bytes out, the deadline.
 */
#include "fcgi/server/serve.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "fcgi/server/context.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/guard.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "fcgi/server/watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "store/base/log.h"

/* Of the deadline: what has not ended by then is told to. */
#define SERVE_LATE(ns) ((ns) / 6 * 5)
/* The web server's patience (nginx/memlens-locations.conf), less a moment in
 * which a late answer gets there. */
#define SERVE_PATIENCE_NS ((GUARD_PATIENCE_S - 5) * NS_PER_S)

static volatile sig_atomic_t serve_is_late;

/* The work is told after `late_ns`, and ended `rest_ns` later; 0, 0: never. */
static void
serve_deadline(int64_t late_ns, int64_t rest_ns)
{
	struct itimerval t = {.it_value = {.tv_sec = late_ns / NS_PER_S,
	    .tv_usec = late_ns % NS_PER_S / 1000},
	    .it_interval = {.tv_sec = rest_ns / NS_PER_S,
	    .tv_usec = rest_ns % NS_PER_S / 1000}};

	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	serve_is_late = 0;
	gone_set(GONE_NOT);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* At the deadline whoever waits sees the connection break, not a short answer
 * that looks whole. */
static void
serve_on_alarm(int signal)
{
	static const char text[] =
	    "memlens-fcgi: a request took too long; its worker ends\n";

	(void)signal;
	if (!serve_is_late) {
		serve_is_late = 1;
		if (!gone())
			gone_set(GONE_LATE);
		return;
	}
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(75);
	_exit(75);
}

/*
 * SIGTERM ends an idle worker at once and a busy one after its answer.  It is
 * blocked and read from a descriptor, beside the socket: a handler has
 * moments before and after accept(2) in which it believes a worker idle that
 * has a request, or busy one that waits.  The descriptor, or -1.
 */
static int
serve_signals(void)
{
	struct sigaction alarm_ = {.sa_handler = serve_on_alarm,
	    .sa_flags = SA_RESTART};
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	sigaction(SIGALRM, &alarm_, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit of its files is an error */
	signal(SIGHUP, SIG_IGN);
	watch_init();
	return signalfd(-1, &stop, SFD_CLOEXEC);
}

static const char *
serve_param(const FCGX_Request *f, const char *name)
{
	const char *value = FCGX_GetParam(name, f->envp);

	return value != NULL ? value : "";
}

/* An empty MEMLENS_HOST says that the client sent none: HTTP_HOST may be what
 * the web server then calls itself. */
static const char *
serve_host(const FCGX_Request *f)
{
	const char *host = FCGX_GetParam("MEMLENS_HOST", f->envp);

	return host != NULL ? host : serve_param(f, "HTTP_HOST");
}

/* What a page needs of the body; one over the bound is not read at all. */
static const struct err *
serve_read_body(const struct site *site, FCGX_Request *f,
    struct request *rq)
{
	const char *text = serve_param(f, "CONTENT_LENGTH");
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	size_t max = route_body_max(site, rq->path);
	int got;

	if (*text == '\0' || n == 0)
		return NULL;
	if (*end != '\0' || *text == '-')
		return err_new(ERR_REQUEST, 400, "bad Content-Length");
	if (n > max)
		return err_new(ERR_REQUEST, 413,
		    "the body is larger than %zu bytes", max);
	if (!buf_reserve(&rq->body, n))
		return err_nomem();
	got = FCGX_GetStr((char *)rq->body.data, (int)n, f->in);
	if (got < 0 || (unsigned long)got != n)
		return err_new(ERR_REQUEST, 400,
		    "the body is shorter than its Content-Length");
	rq->body.len = n;
	return NULL;
}

static const struct err *
serve_read(const struct site *site, FCGX_Request *f, struct request *rq)
{
	char *uri = FCGX_GetParam("REQUEST_URI", f->envp);
	const struct err *e;

	if (uri == NULL)
		uri = FCGX_GetParam("SCRIPT_NAME", f->envp);
	if (uri == NULL)
		return err_new(ERR_REQUEST, 400, "no REQUEST_URI");
	e = request_init(rq, serve_param(f, "REQUEST_METHOD"), uri,
	    serve_param(f, "MEMLENS_PREFIX"), serve_param(f, "QUERY_STRING"),
	    clock_wall_ns());
	if (e != NULL)
		return e;
	rq->host = serve_host(f);
	rq->origin = serve_param(f, "HTTP_ORIGIN");
	rq->sec_fetch_site = serve_param(f, "HTTP_SEC_FETCH_SITE");
	rq->if_none_match = serve_param(f, "HTTP_IF_NONE_MATCH");
	rq->content_type = serve_param(f, "CONTENT_TYPE");
	rq->content_encoding = serve_param(f, "HTTP_CONTENT_ENCODING");
	rq->idempotency_key = serve_param(f, "HTTP_IDEMPOTENCY_KEY");
	rq->sent = serve_param(f, "MEMLENS_SENT");
	return serve_read_body(site, f, rq);
}

static void
serve_write(FCGX_Request *f, const struct response *rs, bool head)
{
	struct buf out = {0};

	response_head(rs, &out);
	if (!out.failed) {
		FCGX_PutStr((const char *)out.data, (int)out.len, f->out);
		if (!head && rs->status != 304)
			FCGX_PutStr((const char *)rs->body.data,
			    (int)rs->body.len, f->out);
	}
	buf_fini(&out);
}

/* From now on, as long as a request has in all. */
static void
serve_begin_anew(const struct serve_options *o)
{
	int64_t all_ns = o->settings->deadline_ns;

	serve_deadline(SERVE_LATE(all_ns), all_ns - SERVE_LATE(all_ns));
}

/* The time that a request has, of which it has used some before. */
static void
serve_begin(const struct serve_options *o, const struct request *rq)
{
	int64_t all_ns = o->settings->deadline_ns;
	int64_t late_ns, own_ns = route_time_s(o->site, rq) * NS_PER_S;

	if (own_ns > 0)
		all_ns = own_ns;
	late_ns = SERVE_LATE(all_ns);
	if (own_ns == 0 && late_ns > SERVE_PATIENCE_NS)
		late_ns = SERVE_PATIENCE_NS;
	late_ns -= guard_wait_ns(rq);
	serve_deadline(late_ns > NS_PER_MS ? late_ns : NS_PER_MS,
	    all_ns - SERVE_LATE(all_ns));
}

static void
serve_request(const struct serve_options *o, struct context *c,
    FCGX_Request *f)
{
	struct request rq = {0};
	struct response rs;
	const struct err *e;

	response_init(&rs);
	e = serve_read(o->site, f, &rq);
	if (e == NULL)
		serve_begin(o, &rq);
	if (e == NULL && (route_only_reads(o->site, &rq) ||
	    route_time_s(o->site, &rq) > 0))
		watch_begin(f->ipcFd);
	if (e != NULL)
		response_error(&rs, e);
	else if (gone_why() != GONE_CLIENT)
		route_dispatch(o->site, c, o->pool, &rq, &rs);
	if (e != NULL && o->pool == POOL_INGEST)
		o->site->refused(c, e);
	/* the work is done: a client that takes it slowly has its own time */
	serve_begin_anew(o);
	if (!watch_end())
		serve_write(f, &rs, strcmp(rq.method, "HEAD") == 0);
	response_fini(&rs);
	request_fini(&rq);
}

/* In milliseconds, -1 being never. */
static int
serve_sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* When to look after what is idle, in ms. */
static int
serve_idle(const struct serve_options *o, struct context *c)
{
	return serve_sooner(context_idle(c, o->site->rest),
	    serve_sooner(draw_idle(o->draw), o->site->idle(c)));
}

/*
 * What a worker waits for, its signals and the socket.  Of the workers that
 * wait for the socket one is woken, the first that is there, so that few
 * questions are one worker's: what that one has read the others need not read
 * and hold, too.  -1: there is none.
 */
static int
serve_waiting(int stop, int socket)
{
	struct epoll_event on_stop = {.events = EPOLLIN, .data.fd = stop};
	struct epoll_event on_socket = {.events = EPOLLIN | EPOLLEXCLUSIVE,
	    .data.fd = socket};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, stop, &on_stop) == 0 &&
	    epoll_ctl(fd, EPOLL_CTL_ADD, socket, &on_socket) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Until somebody connects; false: the worker is to end, as one does that may
 * not start the program that is now there to draw: the next one may, and
 * answers.  Who connected is left to the next one, too, which sees it as soon
 * as it waits. */
static bool
serve_wait(const struct serve_options *o, struct context *c, int waiting,
    int stop)
{
	struct epoll_event events[2];
	int n;

	do
		n = epoll_wait(waiting, events, 2, serve_idle(o, c));
	while (n <= 0); /* another signal */
	while (n-- > 0)
		if (events[n].data.fd == stop)
			return false;
	return !draw_is_replaced(o->draw);
}

/* One request, if no other worker was faster.  Its number, 0 or 1, or -1 when
 * there will be none any more. */
static int
serve_one(const struct serve_options *o, struct context *c, FCGX_Request *f)
{
	int rc;

	serve_begin_anew(o); /* for the reading of it, too */
	rc = FCGX_Accept_r(f);
	if (rc == 0) {
		serve_request(o, c, f);
		FCGX_Finish_r(f);
	}
	serve_deadline(0, 0);
	if (rc < 0 && rc != -EAGAIN && rc != -EINTR) {
		log_err("cannot take a connection: %s",
		    strerror(rc > -4096 ? -rc : EIO));
		return -1;
	}
	return rc == 0;
}

/* Who is woken may find that another worker has the connection: it must not
 * stay in accept(2), deaf to SIGTERM. */
static bool
serve_share(int socket)
{
	int flags = fcntl(socket, F_GETFL);

	return flags >= 0 && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0;
}

int
serve_run(const struct serve_options *o)
{
	struct context c;
	FCGX_Request f;
	int stop = serve_signals(), got = 0;
	int waiting = stop < 0 ? -1 : serve_waiting(stop, o->socket);

	if (waiting < 0 || !serve_share(o->socket) || FCGX_Init() != 0 ||
	    FCGX_InitRequest(&f, o->socket, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		log_err("libfcgi does not start");
		return 1;
	}
	context_init(&c, o->settings, o->store_dir);
	c.number = o->number;
	c.draw = o->draw;
	c.workers = o->workers;
	c.turns = o->turns;
	c.fault = o->fault;
	for (long n = 0; got >= 0 && (o->max_requests == 0 ||
	    n < o->max_requests); n += got) {
		if (!serve_wait(o, &c, waiting, stop))
			break;
		got = serve_one(o, &c, &f);
		if (got == 1)
			context_asked(&c);
	}
	FCGX_Free(&f, 1);
	o->site->end(&c);
	draw_end(o->draw);
	context_fini(&c);
	close(waiting);
	close(stop);
	return got < 0;
}
