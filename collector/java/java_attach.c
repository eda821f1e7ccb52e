/*
 * The parent forks, waits and reads one record; the child becomes the user
 * and speaks.
 */
#include "collector/java/java_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#define MAPS_MAX (4u << 20) /* bytes of a list of mappings that are read */
#define ANSWER_MAX 4096
#define LISTEN_STEP_MS 50
#define KEPT 64 /* the child's descriptors; the parent has fewer */

/* ---- who it is ---- */

static bool
java_read(int process, const char *name, char *text, size_t size)
{
	int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 0;

	while (fd >= 0 && n < size - 1 &&
	    (got = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return fd >= 0 && got >= 0 && n > 0;
}

/* The four ids of a line: are the first three the same? */
static bool
java_read_ids(const char *text, const char *key, unsigned *id)
{
	const char *p = strstr(text, key);
	unsigned effective, saved;

	return p != NULL && sscanf(p + strlen(key), "%u %u %u", id,
	    &effective, &saved) == 3 && *id == effective && *id == saved;
}

bool
java_ids_read(int process, struct java_ids *out)
{
	char text[8192], *p;
	uint64_t caught = 0;

	memset(out, 0, sizeof(*out));
	if (!java_read(process, "status", text, sizeof(text)))
		return false;
	out->one = java_read_ids(text, "\nUid:\t", &out->uid);
	out->one &= java_read_ids(text, "\nGid:\t", &out->gid);
	p = strstr(text, "\nSigCgt:\t");
	if (p != NULL)
		caught = strtoull(p + 9, NULL, 16);
	out->catches = (caught >> (SIGQUIT - 1) & 1) != 0;
	out->inner = readfile_inner_pid(text);
	return out->inner > 0;
}

/* ---- the child ---- */

struct attach {
	int process, pidfd;
	const struct java_ids *ids;
	bool may_signal;
	int64_t until_ns; /* monotonic */
	struct java_answer *out;
};

__attribute__((format(printf, 2, 3))) static bool
attach_fails(struct attach *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->out->why, sizeof(a->out->why), fmt, ap);
	va_end(ap);
	a->out->state = JAVA_FAILED;
	return false;
}

/* Becomes the user for good. */
static bool
attach_become(struct attach *a)
{
	const struct java_ids *ids = a->ids;

	if (ids->uid == 0)
		return attach_fails(a, "runs as root: nobody is asked as root");
	if (!ids->one)
		return attach_fails(a, "has changed its user");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() == ids->uid && getegid() == ids->gid)
		return true; /* of our own user, who has no rights to lose */
	if (setgroups(0, NULL) != 0 ||
	    setresgid(ids->gid, ids->gid, ids->gid) != 0 ||
	    setresuid(ids->uid, ids->uid, ids->uid) != 0)
		return attach_fails(a, "cannot become user %u: %s", ids->uid,
		    strerror(errno));
	if (setresuid(0, 0, 0) == 0)
		_exit(1); /* cannot be */
	return true;
}

/* Is it a Java virtual machine?  Its list may be long: read in pieces. */
static bool
attach_has_libjvm(struct attach *a)
{
	static const char name[] = "/libjvm.so";
	char text[16384];
	size_t kept = 0, all = 0;
	ssize_t got;
	int fd = openat(a->process, "maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return attach_fails(a, "its mappings cannot be read (%s): "
		    "another user namespace, or rights of its own",
		    strerror(errno));
	while (all < MAPS_MAX && (got = read(fd, text + kept,
	    sizeof(text) - kept)) > 0) {
		size_t n = kept + (size_t)got;

		all += (size_t)got;
		if (memmem(text, n, name, sizeof(name) - 1) != NULL) {
			close(fd);
			return true;
		}
		kept = n < sizeof(name) ? n : sizeof(name);
		memmove(text, text + n - kept, kept);
	}
	close(fd);
	return attach_fails(a, "is no Java virtual machine (no libjvm.so)");
}

static int64_t
attach_left_ms(const struct attach *a)
{
	int64_t left_ns = a->until_ns - clock_mono_ns();

	return left_ns > 0 ? left_ns / NS_PER_MS + 1 : 0;
}

/* A connection to its socket, or -1. */
static int
attach_connect(const struct attach *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof(to.sun_path),
	    "/proc/self/fd/%d/root/tmp/.java_pid%" PRId32, a->process,
	    a->ids->inner);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Wakes the listener: the file, the signal, and then it takes its time. */
static int
attach_wake(struct attach *a, const char *file)
{
	int fd;

	unlinkat(a->process, file, 0);
	fd = openat(a->process, file,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		attach_fails(a, "its /tmp cannot be written: %s",
		    strerror(errno));
		return -1;
	}
	close(fd);
	a->out->signalled = true;
	if (syscall(SYS_pidfd_send_signal, a->pidfd, SIGQUIT, NULL, 0) != 0)
		attach_fails(a, "SIGQUIT: %s", strerror(errno));
	for (fd = -1; fd < 0 && attach_left_ms(a) > 0 &&
	    a->out->why[0] == '\0';) {
		poll(NULL, 0, LISTEN_STEP_MS);
		fd = attach_connect(a);
	}
	unlinkat(a->process, file, 0);
	if (fd < 0 && a->out->why[0] == '\0')
		attach_fails(a, "does not listen: "
		    "-XX:+DisableAttachMechanism?");
	return fd;
}

static int
attach_open(struct attach *a)
{
	char file[64];
	int fd = attach_connect(a);

	if (fd >= 0)
		return fd;
	if (!a->ids->catches) {
		attach_fails(a, "does not catch SIGQUIT (-Xrs?)");
		return -1;
	}
	if (!a->may_signal) {
		attach_fails(a, "has not listened after one SIGQUIT: "
		    "-XX:+DisableAttachMechanism?");
		return -1;
	}
	snprintf(file, sizeof(file), "root/tmp/.attach_pid%" PRId32,
	    a->ids->inner);
	return attach_wake(a, file);
}

/* One command on an open connection, which is closed: is its code 0?  The text
 * behind the code is in *text. */
static bool
attach_say(struct attach *a, int fd, const char *words, size_t n,
    char *text, size_t size)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t have = 0;
	ssize_t got = -1;
	char *line;

	if (fd < 0)
		return false;
	if (send(fd, words, n, MSG_NOSIGNAL) == (ssize_t)n) {
		while (have < size - 1 && attach_left_ms(a) > 0 &&
		    poll(&p, 1, (int)attach_left_ms(a)) == 1 &&
		    (got = read(fd, text + have, size - 1 - have)) > 0)
			have += (size_t)got;
	}
	close(fd);
	text[have] = '\0';
	line = strchr(text, '\n');
	if (got < 0 || line == NULL)
		return attach_fails(a, "no answer in time");
	if (strncmp(text, "0\n", 2) == 0) {
		memmove(text, line + 1, strlen(line + 1) + 1);
		return true;
	}
	line[1 + strcspn(line + 1, "\n")] = '\0';
	return attach_fails(a, "refused: %.120s%s", line + 1,
	    strstr(line + 1, "nknown diagnostic command") != NULL ?
	    " (a Java before 17)" : "");
}

#define WORDS(command, argument) "1\0" command "\0" argument "\0\0"

static void
attach_run(struct attach *a)
{
	static const char map[] = WORDS("jcmd", "Compiler.perfmap"),
	    flag[] = WORDS("printflag", "PreserveFramePointer");
	char text[ANSWER_MAX];

	if (!attach_become(a) || !attach_has_libjvm(a) ||
	    !attach_say(a, attach_open(a), map, sizeof(map), text,
	    sizeof(text)))
		return;
	if (text[0] != '\0') { /* it says nothing when all is well */
		text[strcspn(text, "\n")] = '\0';
		attach_fails(a, "refused: %.120s", text);
		return;
	}
	a->out->state = JAVA_OK;
	if (!attach_say(a, attach_connect(a), flag, sizeof(flag), text,
	    sizeof(text))) {
		a->out->state = JAVA_OK; /* an older one has no such question */
		a->out->why[0] = '\0';
	} else if (strstr(text, "-XX:-PreserveFramePointer") != NULL) {
		a->out->state = JAVA_NO_FRAMES;
		snprintf(a->out->why, sizeof(a->out->why), "started without "
		    "-XX:+PreserveFramePointer: callers are missing");
	}
}

/* What the child needs not is closed, and it ends by itself. */
static void
attach_begin(struct attach *a, int pipe_fd)
{
	static const struct rlimit none = {0, 0};
	int keep[] = {a->process, a->pidfd, pipe_fd};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	alarm((unsigned)(attach_left_ms(a) / 1000) + 2);
	setrlimit(RLIMIT_CORE, &none);
	for (int i = 0; i < 3; i++) {
		dup2(null, i);
		dup2(keep[i], KEPT + i);
	}
	a->process = KEPT;
	a->pidfd = KEPT + 1;
	close_range(3, KEPT - 1, 0);
	close_range(KEPT + 3, ~0u, 0);
	attach_run(a);
	if (write(KEPT + 2, a->out, sizeof(*a->out)) != sizeof(*a->out))
		_exit(1);
	_exit(0);
}

/* ---- the parent ---- */

void
java_ask(int process, int pidfd, const struct java_ids *ids,
    bool may_signal, int64_t deadline_ns, struct java_answer *out)
{
	struct attach a = {process, pidfd, ids, may_signal,
	    clock_mono_ns() + deadline_ns, out};
	struct pollfd p = {.events = POLLIN};
	struct java_answer got;
	int ends[2];
	pid_t child;

	memset(out, 0, sizeof(*out));
	if (pipe2(ends, O_CLOEXEC) != 0 || (child = fork()) < 0) {
		attach_fails(&a, "fork: %s", strerror(errno));
		return;
	}
	if (child == 0)
		attach_begin(&a, ends[1]);
	close(ends[1]);
	p.fd = ends[0];
	if (poll(&p, 1, (int)(deadline_ns / NS_PER_MS) + 1000) == 1 &&
	    read(ends[0], &got, sizeof(got)) == sizeof(got)) {
		got.why[sizeof(got.why) - 1] = '\0';
		got.state = got.state <= JAVA_FAILED ? got.state : JAVA_FAILED;
		got.signalled = *(unsigned char *)&got.signalled != 0;
		*out = got;
		text_clean(out->why);
	} else {
		attach_fails(&a, "the process that asks it has died or hangs");
		out->signalled = true; /* perhaps */
	}
	close(ends[0]);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
