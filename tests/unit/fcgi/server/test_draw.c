/*
 * A program that draws for a worker: this one, whose pictures are what their
 * first byte asks for.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/draw/standby.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/draw_job.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/gone.h"
#include "tests/unit/test.h"

static char self[4096];
static struct draw draw;
static struct buf in, out;

/* ---- the program ---- */

/* What of the worker's a picture could reach. */
static void
picture_of_rights(const struct draw_job *job)
{
	struct rlimit cpu, data;
	int open_ = 0;

	getrlimit(RLIMIT_CPU, &cpu);
	getrlimit(RLIMIT_DATA, &data);
	for (int fd = 0; fd < 1000; fd++)
		open_ += fcntl(fd, F_GETFD) >= 0;
	printf("%d s, %u MiB, scale %d, %d descriptors, writes %d", (int)
	    cpu.rlim_max, (unsigned)(data.rlim_max >> 20), job->scale, open_,
	    open("/dev/null", O_WRONLY) >= 0);
	fflush(stdout);
}

static int
picture(const struct draw_job *job, int said)
{
	char bytes[1 << 16];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	switch (n > 0 ? bytes[0] : '\0') {
	case 'f':
		dprintf(said, "a reason\nand more\n");
		return 1;
	case 't': /* more words than a pipe holds keep nobody waiting */
		for (int i = 0; i < 30000; i++)
			dprintf(said, "so it goes\n");
		return 1;
	case 'a':
		abort();
	case 'h':
		n = (ssize_t)getpid();
		if (write(STDOUT_FILENO, &n, sizeof(n)) < 0)
			return 1;
		for (;;)
			pause();
	case 'r':
		picture_of_rights(job);
		return 0;
	default: /* itself */
		while (n > 0 && write(STDOUT_FILENO, bytes, (size_t)n) == n)
			n = read(STDIN_FILENO, bytes, sizeof(bytes));
		return n != 0;
	}
}

/* ---- the worker ---- */

static const struct err *
ask(const char *what)
{
	buf_clear(&in);
	buf_put(&in, what, strlen(what));
	buf_clear(&out);
	return draw_png(&draw, &in, 2, &out);
}

static void
check_fails(const char *what, const char *text)
{
	const struct err *e = ask(what);

	CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 503);
	CHECK_STR(e != NULL ? e->text : "", text);
}

static void
check_fine(void)
{
	CHECK_OK(ask("123"));
	CHECK_INT(out.len, 3);
}

static void
start(const char *program)
{
	draw_end(&draw);
	draw_init(&draw, program);
}

/* More than a pipe holds, both ways. */
TEST(a_picture_comes_back)
{
	pid_t first;

	start(self);
	buf_clear(&in);
	buf_clear(&out);
	for (int i = 0; i < 300000; i++)
		buf_put_be64(&in, (uint64_t)i);
	buf_put(&out, "before", 6);
	CHECK_OK(draw_graph(&draw, &in, &out));
	CHECK_INT(out.len, in.len + 6);
	CHECK(memcmp(out.data + 6, in.data, in.len) == 0);
	first = draw.pid;
	check_fine();
	CHECK_INT(draw.pid, first);
}

/* It keeps standing by where only the picture failed. */
TEST(a_picture_says_why_it_fails)
{
	pid_t first;

	start(self);
	check_fine();
	first = draw.pid;
	check_fails("f", "drawing the picture failed: a reason");
	check_fails("t", "drawing the picture failed: so it goes");
	check_fails("a", "drawing the picture failed: signal 6");
	check_fine();
	CHECK_INT(draw.pid, first);
}

TEST(a_picture_gets_nothing_of_ours)
{
	char text[100];

	start(self);
#ifdef __SANITIZE_ADDRESS__
	return;
#endif
	/* its input, its output, and where it says why it fails, twice: once
	 * for libraries' words */
	CHECK_OK(ask("r"));
	buf_put_u8(&out, '\0');
	snprintf(text, sizeof(text), "16 s, 1024 MiB, scale 2, 4 descriptors, "
	    "writes 0");
	CHECK_STR((const char *)out.data, text);
}

TEST(a_program_that_does_not_serve)
{
	start("/nonexistent/draw");
	check_fails("1", "drawing the picture failed: /nonexistent/draw: No "
	    "such file or directory");
	start("/bin/cat");
	check_fails("1", "drawing the picture failed: /bin/cat: serve: No such "
	    "file or directory");
	start("/bin/true");
	check_fails("1", "drawing the picture failed");
	CHECK_INT(draw.pid, 0);
}

static bool
ends(pid_t pid)
{
	int64_t until_ns = clock_mono_ns() + 60 * NS_PER_S;

	while (kill(pid, 0) == 0 && clock_mono_ns() < until_ns)
		poll(NULL, 0, 10);
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void (*then)(void);

/* When the picture has begun. */
static void
on_alarm(int signal)
{
	(void)signal;
	if (out.len > 0)
		then();
	else
		alarm(1);
}

static void
check_fails_then(void (*fn)(void), const char *text)
{
	struct sigaction a = {.sa_handler = on_alarm};

	then = fn;
	sigaction(SIGALRM, &a, NULL);
	alarm(1);
	check_fails("h", text);
}

static void
kill_it(void)
{
	kill(draw.pid, SIGKILL);
}

/* Who stands by was killed: before a picture nobody sees it, in one the next
 * is drawn again. */

TEST(one_that_was_killed_is_started_anew)
{
	siginfo_t dead;

	start(self);
	check_fine();
	kill(draw.pid, SIGKILL);
	CHECK(waitid(P_PID, (id_t)draw.pid, &dead, WEXITED | WNOWAIT) == 0);
	check_fine();
	check_fails_then(kill_it, "drawing the picture failed: signal 9");
	CHECK_INT(draw.pid, 0);
	check_fine();
}

static void
give_up(void)
{
	gone_set(GONE_LATE);
}

/* Whoever waited is gone, or it took too long: the picture's process and who
 * stood by end. */
TEST(one_that_hangs_is_killed)
{
	ssize_t pid = 0;

	start(self);
	check_fine();
	check_fails_then(give_up, "drawing the picture has nobody who waits "
	    "for it");
	gone_set(GONE_NOT);
	CHECK_INT(draw.pid, 0);
	if (out.len == sizeof(pid))
		memcpy(&pid, out.data, sizeof(pid));
	CHECK(pid > 0 && ends((pid_t)pid));
	check_fine();
}

/* Also one that is killed without a word. */
TEST(it_ends_with_its_worker)
{
	pid_t worker, stands = 0;
	int fds[2];

	draw_end(&draw);
	CHECK(pipe(fds) == 0);
	worker = fork();
	if (worker == 0) {
		start(self);
		check_fine();
		if (write(fds[1], &draw.pid, sizeof(draw.pid)) < 0)
			_exit(1);
		pause();
	}
	CHECK(read(fds[0], &stands, sizeof(stands)) == sizeof(stands));
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	CHECK(stands > 0 && ends(stands));
	close(fds[0]);
	close(fds[1]);
}

TEST(it_ends_after_an_idle_minute)
{
	start(self);
	CHECK_INT(draw_idle(&draw), -1);
	check_fine();
	CHECK(draw_idle(&draw) > 0 && draw_idle(&draw) <= 60001);
	CHECK(draw.pid > 0);
	draw.used_ns -= 60 * NS_PER_S;
	CHECK_INT(draw_idle(&draw), -1);
	CHECK_INT(draw.pid, 0);
	check_fine();
}

/* From none on, as many as it takes: a lack of them passes. */
TEST(a_lack_of_descriptors_is_a_503)
{
	int first, after, lacks = 0;
	struct rlimit all, few;
	const struct err *e = NULL;

	start(self);
	first = dup(STDIN_FILENO);
	close(first);
	getrlimit(RLIMIT_NOFILE, &all);
	few = all;
	do {
		few.rlim_cur = (rlim_t)(first + lacks);
		setrlimit(RLIMIT_NOFILE, &few);
		e = ask("123");
		draw_end(&draw);
		setrlimit(RLIMIT_NOFILE, &all);
		CHECK(e == NULL || e->code == 503);
		after = dup(STDIN_FILENO);
		close(after);
		CHECK_INT(after, first);
	} while (e != NULL && lacks++ < 20);
	CHECK(lacks >= 5 && lacks < 20);
	check_fine();
}

/* The one of the worker's start may be started alone, in Landlock. */
TEST(a_file_that_was_replaced)
{
	char path[] = "/tmp/memlens-draw-XXXXXX", other[sizeof(path) + 2];
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	snprintf(other, sizeof(other), "%s.b", path);
	start(path);
	CHECK(!draw_is_replaced(&draw));
	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	CHECK(fd >= 0);
	close(fd);
	CHECK(rename(other, path) == 0);
	CHECK(draw_is_replaced(&draw));
	start(path);
	CHECK(!draw_is_replaced(&draw));
	unlink(path); /* then there is none, and an answer that says so */
	CHECK(!draw_is_replaced(&draw));
	start(NULL);
	CHECK(!draw_is_replaced(&draw));
}

int
main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return standby_serve(picture, dup(STDERR_FILENO));
	CHECK(n > 0);
	RUN(a_picture_comes_back);
	RUN(a_picture_says_why_it_fails);
	RUN(a_picture_gets_nothing_of_ours);
	RUN(a_program_that_does_not_serve);
	RUN(one_that_was_killed_is_started_anew);
	RUN(one_that_hangs_is_killed);
	RUN(it_ends_with_its_worker);
	RUN(it_ends_after_an_idle_minute);
	RUN(a_lack_of_descriptors_is_a_503);
	RUN(a_file_that_was_replaced);
	draw_end(&draw);
	buf_fini(&in);
	buf_fini(&out);
	return test_done();
}
