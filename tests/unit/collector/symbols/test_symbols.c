/*
 * Names by way of the child process: our own functions, a child that is
 * killed at every moment, files that are no ELF, and the child's walls.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "collector/symbols/symbols_child.h"
#include "collector/symbols/symbols_wire.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "tests/unit/test.h"

extern const char __ehdr_start[];

/* Functions of known name, also by a C++ and a Rust compiler's names. */
void known_one(void);
void cplusplus(void) __asm__("_ZN3sto5StoreC1ERKNS_4PathE");
void rust(void) __asm__("_ZN4core3fmt9Formatter17h0123456789abcdefE");

__attribute__((noinline)) void
known_one(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) void
cplusplus(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) void
rust(void)
{
	__asm__ volatile("nop; nop");
}

/* Where a function of ours is in our file.  The linker keeps the text's
 * address and offset the same in files like this one; the test of
 * elf_vaddr() has others. */
static uint64_t
offset_of(void (*fn)(void))
{
	return (uint64_t)((uintptr_t)fn - (uintptr_t)__ehdr_start);
}

static struct frame
resolve(struct symbols *s, uint32_t file, uint64_t offset, int fd)
{
	int64_t until = clock_mono_ns() + 30 * NS_PER_S;
	struct symbols_stats stats;
	uint32_t ref = 0;
	int quiet = 0;

	/* Until there is an answer, or nobody who could give one. */
	while (quiet < 10 && clock_mono_ns() < until) {
		symbols_pump(s, clock_mono_ns());
		ref = symbols_user(s, file, offset);
		if ((ref & SYMBOLS_UNRESOLVED) == 0)
			break;
		if (symbols_wants(s, file))
			symbols_load(s, file, fd);
		symbols_settle(s, 100 * NS_PER_MS);
		symbols_stats(s, &stats);
		quiet = stats.busy || stats.child == 0 ||
		    symbols_wants(s, file) ? 0 : quiet + 1;
		usleep(1000);
	}
	return symbols_get(s, symbols_final(s, ref));
}

TEST(names)
{
	static const char *const cases[][2] = {
	    {"main", "main"}, {"read@@GLIBC_2.2.5", "read"},
	    {"_ZN3foo3barEi", "foo::bar(int)"}, {"_Z!", "_Z!"},
	    {"_ZN4core3fmt9Formatter17h0123456789abcdefE",
	        "core::fmt::Formatter"},
	    {"_ZN4main17h89f1a4cbd2e03576E.llvm.123", "main"},
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	    {"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
	    {"_RNCNvC7mycrate4main0.llvm.123", "mycrate::main::{closure#0}"},
	    {"_R", "_R"}, {"_RNvC", "_RNvC"},
	    {"__GI___clone3", "clone3"}, {"__GI_memcpy", "memcpy"},
	    {"__GI___libc_malloc", "__libc_malloc"}, {"__GI_", "__GI_"},
	    {"__GI__IO_file_xsgetn", "_IO_file_xsgetn"},
	    {"__GI_____strtoll_l_internal", "____strtoll_l_internal"},
	    {"@odd", "@odd"}, {"a\x01" "b", "a?b"}, {"", "?"}};
	char name[WIRE_NAME_MAX + 1], raw[3000];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		symbols_child_name(cases[i][0], name, sizeof(name));
		CHECK_STR(name, cases[i][1]);
	}
	symbols_child_name("_ZN13_$LT$X..Y$GT$3run17h0123456789abcdefE", name,
	    sizeof(name));
	CHECK_STR(name, "<X::Y>::run");
	memset(raw, 'x', sizeof(raw) - 1);
	raw[sizeof(raw) - 1] = '\0';
	symbols_child_name(raw, name, sizeof(name));
	CHECK_INT(strlen(name), WIRE_NAME_MAX);
	CHECK_STR(name + WIRE_NAME_MAX - 4, "x...");
}

TEST(own_functions)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols *s;
	struct frame f;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "/opt/bin/test (deleted)");
	CHECK_INT(symbols_file(s, fd, "/another/name"), file);
	f = resolve(s, file, offset_of(known_one), fd);
	CHECK_STR(f.name, "known_one");
	CHECK_STR(f.module, "test");
	CHECK_INT(f.kind, FRAME_NATIVE);
	CHECK_INT(f.offset, offset_of(known_one));
	CHECK(strlen(f.build_id) >= 16);
	f = resolve(s, file, offset_of(cplusplus) + 1, fd);
	CHECK_STR(f.name, "sto::Store::Store(sto::Path const&)");
	f = resolve(s, file, offset_of(rust), fd);
	CHECK_STR(f.name, "core::fmt::Formatter");
	f = resolve(s, file, 1, fd); /* the header is no function */
	CHECK_STR(f.name, "test+0x1");
	CHECK_INT(f.kind, FRAME_ADDRESS);
	symbols_free(s);
	close(fd);
}

static char a_variable[64] = "in the file's data";

TEST(own_variable)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t at = (uint64_t)((uintptr_t)a_variable -
	    (uintptr_t)__ehdr_start);
	struct symbols *s;
	struct frame f;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "/opt/bin/test");
	f = resolve(s, file, WIRE_DATA | (at + 40), fd);
	CHECK_STR(f.name, "a_variable");
	CHECK_INT(f.kind, FRAME_NATIVE);
	CHECK_INT(f.offset, at);
	f = resolve(s, file, WIRE_DATA | offset_of(known_one), fd);
	CHECK_INT(f.kind, FRAME_ADDRESS);
	symbols_free(s);
	close(fd);
}

TEST(vdso)
{
	struct symbols *s;
	uint32_t file;
	struct frame f;
	uint64_t at;
	int named = 0;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_vdso(s);
	CHECK(file != SYMBOLS_NO_FILE);
	CHECK_INT(symbols_vdso(s), file);
	for (at = 0; file != SYMBOLS_NO_FILE && at < 8192; at += 64) {
		f = resolve(s, file, at, -1);
		CHECK_STR(f.module, "[vdso]");
		named += strstr(f.name, "clock_gettime") != NULL;
	}
	CHECK(named > 0);
	symbols_free(s);
}

/* It is started again after a growing pause. */
static void
wait_for_child(struct symbols *s)
{
	struct symbols_stats stats = {0};
	int i;

	for (i = 0; i < 3000 && stats.child == 0; i++) {
		usleep(10000);
		symbols_pump(s, clock_mono_ns());
		symbols_stats(s, &stats);
	}
}

static void
wait_for_death(struct symbols *s, pid_t child)
{
	struct symbols_stats stats = {.child = child};
	int i;

	for (i = 0; i < 3000 && stats.child == child; i++) {
		usleep(10000);
		symbols_pump(s, clock_mono_ns());
		symbols_stats(s, &stats);
	}
}

/* A killed child costs at most a moment; names come back. */
TEST(killed_at_any_time)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats stats;
	struct symbols *s;
	struct frame f;
	uint32_t file;
	int round;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "test");
	for (round = 0; round < 4; round++) {
		int64_t began = clock_mono_ns();
		uint32_t ref = symbols_user(s, file, offset_of(known_one) +
		    (uint64_t)round % 2 * 0x100000);

		symbols_stats(s, &stats);
		if (round == 2)
			symbols_load(s, file, fd); /* die while loading */
		if (stats.child > 0)
			kill(stats.child, SIGKILL);
		symbols_settle(s, 50 * NS_PER_MS);
		CHECK(symbols_get(s, symbols_final(s, ref)).name[0] != '\0');
		CHECK(clock_mono_ns() - began < 60 * NS_PER_S);
		if (stats.child > 0)
			wait_for_death(s, stats.child);
		wait_for_child(s);
	}
	f = resolve(s, file, offset_of(rust), fd);
	CHECK_STR(f.name, "core::fmt::Formatter");
	symbols_stats(s, &stats);
	CHECK(stats.restarts >= 3);
	CHECK(stats.child > 0);
	symbols_free(s);
	close(fd);
}

/* Twice the child dies of one file: that file is put aside for a while, and
 * others are named as before. */
TEST(file_that_kills)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), round;
	int evil = memfd_create("evil", MFD_CLOEXEC);
	struct symbols_stats stats;
	struct symbols *s;
	uint32_t file, bad;

	CHECK(write(evil, "evil", 4) == 4);
	CHECK_OK(symbols_new(&s, NULL, NULL));
	bad = symbols_file(s, evil, "evil");
	file = symbols_file(s, fd, "test");
	for (round = 0; round < 2; round++) {
		wait_for_child(s);
		symbols_stats(s, &stats);
		CHECK(stats.child > 0);
		if (stats.child <= 0)
			break;
		kill(stats.child, SIGSTOP);
		symbols_user(s, bad, 1);
		CHECK(symbols_wants(s, bad));
		symbols_load(s, bad, evil);
		CHECK(!symbols_wants(s, bad));
		kill(stats.child, SIGKILL);
		wait_for_death(s, stats.child);
	}
	wait_for_child(s);
	symbols_stats(s, &stats);
	CHECK_INT(stats.skipped, 1);
	CHECK(!symbols_wants(s, bad));
	CHECK_STR(resolve(s, bad, 1, evil).name, "evil+0x1");
	CHECK_STR(resolve(s, file, offset_of(known_one), fd).name,
	    "known_one");
	symbols_free(s);
	close(evil);
	close(fd);
}

/* With a request that its stopped child does not answer. */
static struct symbols *
asked_in_vain(int fd, struct symbols_stats *before)
{
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	symbols_stats(s, before);
	CHECK(before->child > 0);
	if (before->child > 0)
		kill(before->child, SIGSTOP);
	symbols_load(s, symbols_file(s, fd, "test"), fd);
	return s;
}

/* A child that has to wait for the CPU is let alone; one that hangs is not. */
TEST(a_slow_child_is_not_a_stuck_one)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats before, stats;
	struct symbols *s;
	int64_t now_ns;

	s = asked_in_vain(fd, &before);
	now_ns = clock_mono_ns();
	symbols_pump(s, now_ns + 10 * NS_PER_S);
	symbols_stats(s, &stats);
	CHECK_INT(stats.child, before.child);
	symbols_pump(s, now_ns + 60 * NS_PER_S);
	symbols_stats(s, &stats);
	CHECK_INT(stats.child, 0);
	symbols_free(s);
	close(fd);
}

/* A child that was not dead yet when its successor began stayed a zombie,
 * and the two took turns as one counter: 1,300 % of a CPU. */
TEST(a_corpse_is_buried_after_the_restart_too)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats before, stats;
	int64_t end_ns = clock_mono_ns() + 60 * NS_PER_S;
	struct symbols *s;

	s = asked_in_vain(fd, &before);
	symbols_pump(s, end_ns); /* ends it */
	symbols_pump(s, end_ns + 60 * NS_PER_S); /* begins another */
	symbols_stats(s, &stats);
	CHECK(stats.child != before.child);
	while (before.child > 0 && kill(before.child, 0) == 0 &&
	    clock_mono_ns() < end_ns) {
		symbols_pump(s, clock_mono_ns());
		usleep(1000);
	}
	CHECK(before.child <= 0 || kill(before.child, 0) != 0);
	symbols_free(s);
	close(fd);
}

/* No ELF, nothing at all, a directory, a header that promises too much. */
TEST(not_elf)
{
	struct symbols_stats stats;
	struct symbols *s;
	struct frame f;
	uint32_t file;
	char elf[64] = "\x7f" "ELF\x02\x01\x01";
	int fd = memfd_create("junk", MFD_CLOEXEC), dir = open("/", O_RDONLY);

	CHECK_OK(symbols_new(&s, NULL, NULL));
	CHECK(symbols_file(s, dir, "/") == SYMBOLS_NO_FILE);
	CHECK(write(fd, "#!/bin/sh\n", 10) == 10);
	file = symbols_file(s, fd, "/x/junk");
	f = resolve(s, file, 0x10, fd);
	CHECK_STR(f.name, "junk+0x10");
	CHECK(!symbols_wants(s, file)); /* never again */
	close(fd);
	fd = memfd_create("short", MFD_CLOEXEC);
	elf[16] = 3;
	elf[18] = 62;
	memset(elf + 32, 0xff, 32);
	CHECK(write(fd, elf, sizeof(elf)) == (ssize_t)sizeof(elf));
	file = symbols_file(s, fd, "short");
	f = resolve(s, file, 0x20, fd);
	CHECK_STR(f.name, "short+0x20");
	symbols_stats(s, &stats);
	CHECK_INT(stats.restarts, 0);
	symbols_free(s);
	close(fd);
	close(dir);
}

TEST(kernel)
{
	struct symbols *s;
	struct frame f;

	CHECK_OK(symbols_new(&s, "/nowhere", NULL));
	CHECK(symbols_kernel_hidden(s));
	f = symbols_get(s, symbols_kernel(s, 0xffffffff81000000, 0));
	CHECK_STR(f.name, "[kernel]");
	CHECK_INT(f.kind, FRAME_KERNEL);
	symbols_free(s);
}

/* More addresses than the table holds: counted, then cleared. */
TEST(bounded)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats stats;
	struct symbols *s;
	uint64_t at;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "test");
	CHECK(!symbols_trim(s, 1));
	for (at = 0; at < 300000; at++)
		symbols_user(s, file, at);
	symbols_stats(s, &stats);
	CHECK(stats.addresses <= 262144);
	CHECK(stats.overflows > 0);
	CHECK(symbols_trim(s, 1));
	symbols_stats(s, &stats);
	CHECK_INT(stats.addresses, 0);
	CHECK_INT(stats.files, 0);
	file = symbols_file(s, fd, "test");
	CHECK_STR(resolve(s, file, offset_of(known_one), fd).name,
	    "known_one");
	symbols_free(s);
	close(fd);
}

/* What an address is called, with all that was inlined there. */
static void
told(struct symbols *s, uint32_t file, uint64_t offset, char *out, size_t size)
{
	uint32_t refs[SYMBOLS_EXPAND_MAX];
	size_t n = symbols_expand(s, symbols_user(s, file, offset), refs);
	size_t at = 0;

	for (size_t i = 0; i < n && at < size; i++) {
		struct frame f = symbols_get(s, refs[i]);

		at += (size_t)snprintf(out + at, size - at, "%s %d %llx;",
		    f.name, (int)f.kind, (unsigned long long)f.offset);
	}
}

static void
count_place(void *arg, const struct frame *frame, const char *place)
{
	(void)frame;
	(void)place;
	++*(size_t *)arg;
}

#define SWEPT 60000      /* less than what is worth the time, twice more */
#define SWEPT_KEPT 700   /* the first ones */

static void
ask_many(struct symbols *s, uint32_t file, uint64_t from)
{
	for (uint64_t i = 0; i < SWEPT; i++)
		symbols_user(s, file, from + i);
	symbols_settle(s, 60 * NS_PER_S);
}

/* What was not asked for in three slots is forgotten, what was keeps its names,
 * and what comes back gets its own again. */
TEST(swept)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t from = offset_of(known_one) - SWEPT_KEPT / 2;
	char (*before)[300] = calloc(SWEPT_KEPT, sizeof(*before)), now[300];
	size_t places = 0, again = 0;
	struct symbols_stats stats;
	struct symbols *s;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	symbols_set_inline(s, true);
	file = symbols_file(s, fd, "test");
	resolve(s, file, offset_of(known_one), fd);
	ask_many(s, file, from);
	for (uint64_t i = 0; i < SWEPT_KEPT; i++)
		told(s, file, from + i, before[i], sizeof(before[i]));
	for (int slot = 0; slot < 7; slot++) {
		for (uint64_t i = 0; i < SWEPT_KEPT; i++)
			symbols_user(s, file, from + i);
		CHECK(!symbols_trim(s, 1));
	}
	symbols_stats(s, &stats);
	CHECK(stats.addresses >= SWEPT && stats.addresses < SWEPT + 10);
	ask_many(s, file, from + SWEPT);
	symbols_stats(s, &stats);
	CHECK(stats.addresses >= 2 * SWEPT && stats.overflows == 0);
	symbols_tell_places(s, 1, 1000, SIZE_MAX, count_place, &places);
	CHECK(!symbols_trim(s, 1));
	symbols_stats(s, &stats);
	CHECK_INT(stats.addresses, SWEPT + SWEPT_KEPT);
	CHECK_INT(stats.files, 1);
	for (uint64_t i = 0; i < SWEPT_KEPT; i++) {
		told(s, file, from + i, now, sizeof(now));
		CHECK_STR(now, before[i]);
	}
	CHECK(places > 0);
	symbols_tell_places(s, 2, 1000, SIZE_MAX, count_place, &again);
	CHECK_INT(again, 0);
	CHECK_STR(resolve(s, file, offset_of(rust), fd).name,
	    "core::fmt::Formatter");
	symbols_free(s);
	free(before);
	close(fd);
}

static int
count_descriptors(pid_t pid)
{
	char path[64];
	DIR *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n - 2; /* . and .. */
}

static bool
status_has(pid_t pid, const char *want)
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		found = found || strncmp(line, want, strlen(want)) == 0;
	if (f != NULL)
		fclose(f);
	return found;
}

static bool
has_shared_memory(pid_t pid)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		found = found || strstr(line, "-s ") != NULL ||
		    strstr(line, "ws ") != NULL;
	if (f != NULL)
		fclose(f);
	return found;
}

/* What happens to a process within the walls that does `what`. */
static int
fate_of(void (*what)(void))
{
	int status = 0, pair[2];
	const char *step;
	pid_t pid;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (symbols_child_sandbox(pair[0], &step))
			what();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	close(pair[0]);
	close(pair[1]);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
do_nothing(void)
{
}

static void
do_open(void)
{
	open("/etc/passwd", O_RDONLY);
}

static void
do_socket(void)
{
	socket(AF_INET, SOCK_STREAM, 0);
}

static void
do_fork(void)
{
	fork();
}

static void
do_executable(void)
{
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
}

TEST(forbidden)
{
	CHECK_INT(fate_of(do_nothing), 0);
	CHECK_INT(fate_of(do_open), SIGSYS);
	CHECK_INT(fate_of(do_socket), SIGSYS);
	CHECK_INT(fate_of(do_fork), SIGSYS);
	CHECK_INT(fate_of(do_executable), SIGSYS);
}

TEST(walls)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), tries;
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct symbols_stats stats;
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	resolve(s, symbols_file(s, fd, "test"), offset_of(known_one), fd);
	symbols_stats(s, &stats);
	CHECK(stats.child > 0);
	if (stats.child <= 0) /* kill() would mean a group */
		goto done;
	CHECK(status_has(stats.child, "Seccomp:\t2"));
	CHECK(status_has(stats.child, "CapEff:\t0000000000000000"));
	CHECK(status_has(stats.child, "CapPrm:\t0000000000000000"));
	CHECK(status_has(stats.child, "NoNewPrivs:\t1"));
	CHECK(status_has(stats.child, "Name:\tmemlens-symbols"));
	if (geteuid() == 0) { /* it is not dumpable: root alone may look */
		CHECK_INT(count_descriptors(stats.child), 5);
		CHECK(!has_shared_memory(stats.child));
	}
	/* Signals of the daemon's group do not end it. */
	kill(stats.child, SIGTERM);
	kill(stats.child, SIGINT);
	for (tries = 0; tries < 3; tries++)
		symbols_settle(s, NS_PER_MS);
	CHECK_INT(kill(stats.child, 0), 0);
done:
	symbols_free(s);
	munmap(shared, 4096);
	close(fd);
}

static void
wait_for_state(pid_t child, const char *state)
{
	for (int i = 0; i < 10000 && !status_has(child, state); i++)
		usleep(1000);
}

/* Somebody looks at it with a debugger while it waits. */
TEST(stopped_and_continued)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats stats;
	struct symbols *s;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "test");
	resolve(s, file, offset_of(known_one), fd);
	symbols_stats(s, &stats);
	CHECK(stats.child > 0);
	if (stats.child > 0) {
		wait_for_state(stats.child, "State:\tS");
		kill(stats.child, SIGSTOP);
		wait_for_state(stats.child, "State:\tT");
		kill(stats.child, SIGCONT);
		wait_for_state(stats.child, "State:\tS");
	}
	CHECK_STR(resolve(s, file, offset_of(rust), fd).name,
	    "core::fmt::Formatter");
	symbols_stats(s, &stats);
	CHECK_INT(stats.restarts, 0);
	symbols_free(s);
	close(fd);
}

/* The child's end of the socket, for us to speak in its place; -1 when only
 * root may. */
static int
borrow_socket(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), fd = -1, i;
	char path[64], target[64] = "";

	for (i = 3; i < 16 && fd < 0; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, i);
		if (readlink(path, target, sizeof(target) - 1) > 0 &&
		    strncmp(target, "socket:", 7) == 0)
			fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0);
	}
	close(pidfd);
	return fd;
}

static void
send_two_descriptors(int socket)
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {.iov_base = (char[]){"x"}, .iov_len = 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = sizeof(control.bytes)};

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(&control.align), (int[]){0, 1}, 2 * sizeof(int));
	CHECK(sendmsg(socket, &m, MSG_NOSIGNAL) == 1);
}

/* A child in a stranger's hand must not fill the daemon's table of files. */
TEST(descriptors_of_the_child_do_not_pile_up)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), before, socket;
	struct symbols_stats stats;
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	/* once it answers, the socket is all that it has of us */
	resolve(s, symbols_file(s, fd, "test"), offset_of(known_one), fd);
	symbols_stats(s, &stats);
	before = count_descriptors(getpid());
	socket = stats.child > 0 ? borrow_socket(stats.child) : -1;
	CHECK(socket >= 0 || geteuid() != 0);
	if (socket >= 0) {
		send_two_descriptors(socket);
		close(socket);
		symbols_pump(s, clock_mono_ns());
		wait_for_child(s);
		symbols_stats(s, &stats);
		CHECK_INT(stats.restarts, 1);
		CHECK_INT(count_descriptors(getpid()), before);
	}
	symbols_free(s);
	close(fd);
}

int
main(void)
{
	log_init("test_symbols", LOG_L_ERR);
	RUN(names);
	RUN(own_functions);
	RUN(own_variable);
	RUN(vdso);
	RUN(killed_at_any_time);
	RUN(file_that_kills);
	RUN(a_slow_child_is_not_a_stuck_one);
	RUN(a_corpse_is_buried_after_the_restart_too);
	RUN(not_elf);
	RUN(kernel);
	RUN(bounded);
	RUN(swept);
	RUN(walls);
	RUN(stopped_and_continued);
	RUN(descriptors_of_the_child_do_not_pile_up);
	RUN(forbidden);
	return test_done();
}
