/*
 * Life and conversation of the symbols child.
 *
 * The socket is a SOCK_SEQPACKET pair, non-blocking on this side.  At most
 * LINK_IN_FLIGHT requests are on their way, which fits the socket's buffers
 * in both directions, so neither side can wait for the other.  The child
 * answers in order: an answer that is not the oldest request's is a breach,
 * and ends it.
 */
#include "collector/symbols/symbols_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/symbols/symbols_child.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define ANSWER_MAX_NS (5 * NS_PER_S)     /* of its CPU for one request ... */
#define ANSWER_LATE_NS (30 * NS_PER_S)   /* ... and of time: it hangs */
#define RESTART_MIN_NS (100 * NS_PER_MS) /* doubles up to the next line */
#define RESTART_MAX_NS (5 * NS_PER_S)
#define HEALTHY_NS (20 * NS_PER_S)       /* a life that forgives the past */
#define CORPSES_MAX 8                    /* killed, but stuck in a read */
#define BURY_MS 200                      /* that the last one may take to die */

struct symbols_link {
	link_answer_fn *answer;
	link_lost_fn *lost;
	void *arg;
	int epoll, socket, pidfd; /* the last two -1 without a child */
	pid_t pid;
	uint32_t generation, seq;
	uint64_t restarts;
	bool inlined;
	int64_t started_ns, restart_at_ns, delay_ns;
	struct link_request flight[LINK_IN_FLIGHT]; /* a queue */
	uint32_t first, n_flight;
	int64_t turn_ns, turn_cpu_ns; /* when the oldest became that */
	uint8_t reply[WIRE_REPLY_MAX];
};

/* Of all links: one may be freed before its child is dead. */
static pid_t corpses[CORPSES_MAX];

static _Noreturn void
link_child(int socket, pid_t parent)
{
	const char *step = "";

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    getppid() != parent)
		_exit(1);
	if (!symbols_child_sandbox(socket, &step)) {
		log_err("symbols child: cannot give up %s: %s", step,
		    strerror(errno));
		_exit(1);
	}
	symbols_child_run(socket);
}

/* A descriptor above the standard three, whatever the daemon closed. */
static int
link_raise(int fd)
{
	int high = fd < 3 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;

	if (high != fd)
		close(fd);
	return high;
}

static const struct err *
link_fork(struct symbols_link *l, int ours, int theirs)
{
	struct epoll_event ev = {.events = EPOLLIN};
	pid_t parent = getpid();

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, ours, &ev) != 0)
		return err_errno("epoll");
	l->pid = fork();
	if (l->pid < 0)
		return err_errno("forking the symbols child");
	if (l->pid == 0)
		link_child(theirs, parent);
	l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	l->socket = ours;
	l->generation++;
	return NULL;
}

static const struct err *
link_start(struct symbols_link *l, int64_t now_ns)
{
	const struct err *e;
	int pair[2];

	l->started_ns = now_ns;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno("socketpair");
	pair[0] = link_raise(pair[0]);
	pair[1] = link_raise(pair[1]);
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0)
		e = err_errno("fcntl");
	else
		e = link_fork(l, pair[0], pair[1]);
	if (e != NULL)
		close(pair[0]);
	close(pair[1]);
	return e;
}

const struct err *
symbols_link_new(struct symbols_link **out, int epoll, link_answer_fn *answer,
    link_lost_fn *lost, void *arg)
{
	struct symbols_link *l = calloc(1, sizeof(*l));
	const struct err *e;

	*out = NULL;
	if (l == NULL)
		return err_nomem();
	l->answer = answer;
	l->lost = lost;
	l->arg = arg;
	l->socket = l->pidfd = -1;
	l->delay_ns = RESTART_MIN_NS;
	l->epoll = epoll;
	e = link_start(l, clock_mono_ns());
	if (e != NULL) {
		symbols_link_free(l);
		return e;
	}
	*out = l;
	return NULL;
}

static void
link_kill(const struct symbols_link *l)
{
	if (l->pidfd >= 0)
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
	else if (l->pid > 0)
		kill(l->pid, SIGKILL);
}

/* Gathers a child that was killed; false while the kernel still holds it,
 * say in a read of a file system that does not answer. */
static bool
link_gather(pid_t pid)
{
	int status = 0;
	pid_t r = waitpid(pid, &status, WNOHANG);

	if (r == 0)
		return false;
	if (r == pid && WIFSIGNALED(status))
		log_info("symbols child %d: signal %d", (int)pid,
		    WTERMSIG(status));
	else if (r == pid)
		log_info("symbols child %d: exit code %d", (int)pid,
		    WEXITSTATUS(status));
	return true;
}

/* Tries to gather all; returns how many are left lying. */
static size_t
link_bury(void)
{
	size_t i, left = 0;

	for (i = 0; i < CORPSES_MAX; i++) {
		if (corpses[i] != 0 && link_gather(corpses[i]))
			corpses[i] = 0;
		left += corpses[i] != 0;
	}
	return left;
}

/* Ends the child.  Its death is gathered by a later pump: waiting for it
 * could block. */
static void
link_end(struct symbols_link *l)
{
	size_t i;

	link_kill(l);
	close(l->socket);
	if (l->pidfd >= 0)
		close(l->pidfd);
	for (i = 0; i < CORPSES_MAX && corpses[i] != 0; i++)
		continue;
	if (i < CORPSES_MAX)
		corpses[i] = l->pid;
	l->socket = l->pidfd = -1;
	l->pid = 0;
}

/* There may be no pump any more.  To die takes a moment; one that the kernel
 * holds is left to the links to come. */
void
symbols_link_free(struct symbols_link *l)
{
	const struct timespec ms = {0, NS_PER_MS};

	if (l == NULL)
		return;
	if (l->socket >= 0)
		link_end(l);
	for (int i = 0; i < BURY_MS && link_bury() > 0; i++)
		nanosleep(&ms, NULL);
	free(l);
}

static struct link_request *
link_oldest(struct symbols_link *l)
{
	return l->n_flight > 0 ? &l->flight[l->first] : NULL;
}

/* The child's CPU time so far; 0 when it cannot be told. */
static int64_t
link_cpu_ns(const struct symbols_link *l)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(l->pid, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return 0;
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* It is the oldest request's turn from now on; returns what the one before
 * took of the child's CPU. */
static int64_t
link_turn(struct symbols_link *l)
{
	int64_t before_ns = l->turn_cpu_ns;

	l->turn_ns = clock_mono_ns();
	l->turn_cpu_ns = link_cpu_ns(l);
	return l->turn_cpu_ns > before_ns ? l->turn_cpu_ns - before_ns : 0;
}

static void
link_pop(struct symbols_link *l)
{
	l->first = (l->first + 1) % LINK_IN_FLIGHT;
	l->n_flight--;
}

/* Does the child take too long over the oldest request?  On a busy machine
 * it may have to wait for the CPU, and be killed over and over before it has
 * read what it was asked for. */
static bool
link_is_stuck(const struct symbols_link *l, int64_t now_ns)
{
	if (l->n_flight == 0 || now_ns - l->turn_ns <= ANSWER_MAX_NS)
		return false;
	return now_ns - l->turn_ns > ANSWER_LATE_NS ||
	    link_cpu_ns(l) - l->turn_cpu_ns > ANSWER_MAX_NS;
}

/* The child is gone: tells the fate of each request, plans the next one. */
static void
link_died(struct symbols_link *l, int64_t now_ns)
{
	struct link_request *q;
	bool guilty = true;

	link_end(l);
	if (now_ns - l->started_ns > HEALTHY_NS)
		l->delay_ns = RESTART_MIN_NS;
	l->restart_at_ns = now_ns + l->delay_ns;
	l->delay_ns = l->delay_ns * 2 < RESTART_MAX_NS ? l->delay_ns * 2 :
	    RESTART_MAX_NS;
	while ((q = link_oldest(l)) != NULL) {
		l->lost(l->arg, q, guilty);
		guilty = false;
		link_pop(l);
	}
}

/* One answer and the descriptor that came with it; false when it breaks the
 * rules. */
static bool
link_take(struct symbols_link *l, size_t n, int fd)
{
	struct link_request q;
	struct wire_reply r;

	if (l->n_flight == 0 || n < sizeof(r))
		return false;
	q = *link_oldest(l);
	memcpy(&r, l->reply, sizeof(r));
	if (r.type != q.type || r.seq != q.seq || r.file != q.file ||
	    r.n != q.n || r.build_id_len > WIRE_BUILD_ID_MAX)
		return false;
	/* Its place is free before the answer is used: that may send. */
	link_pop(l);
	q.cpu_ns = link_turn(l);
	l->answer(l->arg, &q, &r, l->reply + sizeof(r), n - sizeof(r), fd);
	return true;
}

/* Takes what waits; false when the child is gone or must go. */
static bool
link_receive(struct symbols_link *l)
{
	bool good;
	ssize_t n;
	int fd;

	for (;;) {
		n = wire_receive(l->socket, l->reply, sizeof(l->reply), &fd);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return true;
		good = n > 0 && link_take(l, (size_t)n, fd);
		if (fd >= 0)
			close(fd);
		if (!good)
			return false;
	}
}

static void
link_restart(struct symbols_link *l, int64_t now_ns)
{
	const struct err *e;

	if (link_bury() == CORPSES_MAX || now_ns < l->restart_at_ns)
		return;
	e = link_start(l, now_ns);
	if (e != NULL) {
		log_warn("symbols child: %s", e->text);
		l->restart_at_ns = now_ns + RESTART_MAX_NS;
		return;
	}
	l->restarts++;
	log_info("symbols child restarted");
}

void
symbols_link_pump(struct symbols_link *l, int64_t now_ns)
{
	if (l->socket >= 0 && !link_receive(l))
		link_died(l, now_ns);
	if (link_is_stuck(l, now_ns)) {
		log_warn("symbols child: no answer for %d s, ending it",
		    (int)((now_ns - l->turn_ns) / NS_PER_S));
		link_died(l, now_ns);
	}
	if (l->socket < 0)
		link_restart(l, now_ns);
	link_bury(); /* one may die after its successor was born */
}

/* Sends and remembers; the length is that of the used part. */
static bool
link_send(struct symbols_link *l, const struct wire_request *w, size_t size,
    int fd, const uint32_t *ids)
{
	struct link_request *q;

	if (!wire_send(l->socket, w, size, fd, MSG_DONTWAIT))
		return false;
	if (w->type == WIRE_DROP)
		return true;
	if (l->n_flight == 0)
		link_turn(l);
	q = &l->flight[(l->first + l->n_flight++) % LINK_IN_FLIGHT];
	*q = (struct link_request){.type = w->type, .seq = w->seq,
	    .file = w->file, .n = w->n};
	if (ids != NULL)
		memcpy(q->ids, ids, w->n * sizeof(*ids));
	return true;
}

bool
symbols_link_file(struct symbols_link *l, enum wire_type type, uint32_t file,
    int fd, uint64_t size)
{
	struct wire_request w = {.type = type, .seq = ++l->seq,
	    .file = file, .n = l->inlined, .size = size};

	return symbols_link_ready(l) && link_send(l, &w,
	    offsetof(struct wire_request, offsets), fd, NULL);
}

void
symbols_link_inline(struct symbols_link *l, bool on)
{
	l->inlined = on;
}

bool
symbols_link_drop(struct symbols_link *l, uint32_t file)
{
	struct wire_request w = {.type = WIRE_DROP, .seq = ++l->seq,
	    .file = file};

	return l->socket >= 0 && link_send(l, &w,
	    offsetof(struct wire_request, offsets), -1, NULL);
}

bool
symbols_link_resolve(struct symbols_link *l, uint32_t file,
    const uint64_t *offsets, const uint32_t *ids, uint32_t n)
{
	struct wire_request w = {.type = WIRE_RESOLVE, .seq = ++l->seq,
	    .file = file, .n = n};

	memcpy(w.offsets, offsets, n * sizeof(*offsets));
	return symbols_link_ready(l) && link_send(l, &w,
	    offsetof(struct wire_request, offsets) + n * sizeof(*offsets), -1,
	    ids);
}

bool
symbols_link_unwind(struct symbols_link *l, uint32_t table, int fd,
    uint64_t size, uint64_t offset)
{
	struct wire_request w = {.type = WIRE_UNWIND, .seq = ++l->seq,
	    .file = table, .n = 1, .size = size, .offsets = {offset}};

	return symbols_link_ready(l) && link_send(l, &w,
	    offsetof(struct wire_request, offsets) + sizeof(w.offsets[0]), fd,
	    NULL);
}

bool
symbols_link_ready(const struct symbols_link *l)
{
	return l->socket >= 0 && l->n_flight < LINK_IN_FLIGHT;
}

bool
symbols_link_busy(const struct symbols_link *l)
{
	return l->n_flight > 0;
}

uint32_t
symbols_link_generation(const struct symbols_link *l)
{
	return l->generation;
}

uint64_t
symbols_link_restarts(const struct symbols_link *l)
{
	return l->restarts;
}

pid_t
symbols_link_pid(const struct symbols_link *l)
{
	return l->pid;
}
