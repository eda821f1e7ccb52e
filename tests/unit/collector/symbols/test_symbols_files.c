/*
 * Many files at once: all of them are asked for, though few may be on their
 * way to the child at a time.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "collector/symbols/symbols_private.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "tests/unit/test.h"

#define FILES 288 /* on their way, and waiting */

/* The map of a JIT with one function, at 0x1000. */
static int
map_open(int i)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	CHECK(dprintf(fd, "1000 100 function_%d\n", i) > 0);
	return fd;
}

static int
next_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* As samples come in a row: each address is asked for once. */
static void
ask_all(struct symbols *s, uint32_t refs[FILES])
{
	for (int i = 0; i < FILES; i++) {
		int fd = map_open(i);
		uint32_t file = symbols_map(s, fd);

		refs[i] = symbols_user(s, file, 0x1010);
		CHECK(symbols_wants(s, file));
		symbols_load(s, file, fd);
		CHECK(!symbols_wants(s, file));
		close(fd);
	}
}

TEST(more_files_than_may_be_on_their_way)
{
	int before = next_descriptor();
	uint32_t refs[FILES];
	struct symbols *s;
	char name[32];

	CHECK_OK(symbols_new(&s, NULL, NULL));
	ask_all(s, refs);
	symbols_settle(s, 60 * NS_PER_S);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		CHECK_STR(symbols_get(s, symbols_final(s, refs[i])).name,
		    name);
	}
	symbols_free(s);
	CHECK_INT(next_descriptor(), before);
}

/* `cat other > program; touch -d ...`: names of the one were the other's. */
TEST(a_file_that_was_written_over_is_another_one)
{
	static const struct timespec times[2] = {{1000000000, 0},
	    {1000000000, 0}};
	struct symbols *s;
	uint32_t file;
	int fd = map_open(1);

	CHECK_OK(symbols_new(&s, NULL, NULL));
	CHECK(futimens(fd, times) == 0);
	file = symbols_file(s, fd, "program");
	CHECK_INT(symbols_file(s, fd, "program"), file);
	usleep(20000); /* the kernel's clock of files goes in steps */
	CHECK(pwrite(fd, "2", 1, 0) == 1);
	CHECK(futimens(fd, times) == 0);
	CHECK(symbols_file(s, fd, "program") != file);
	/* Who loses his name is the same. */
	file = symbols_file(s, fd, "program");
	usleep(20000);
	CHECK(fchmod(fd, 0700) == 0);
	CHECK_INT(symbols_file(s, fd, "program"), file);
	symbols_free(s);
	close(fd);
}

/* Where a function of this program is in its file. */
static uint64_t
own_offset(const void *function)
{
	unsigned long long low, high, offset, at = (uintptr_t)function;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%llx-%llx %*s %llx", &low, &high, &offset) ==
		    3 && at >= low && at < high)
			at += offset - low;
	fclose(f);
	return at;
}

/* A copy of this program. */
static int
own_copy(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("copy", MFD_CLOEXEC);
	struct stat st;

	CHECK(from >= 0 && fd >= 0 && fstat(from, &st) == 0);
	while (sendfile(fd, from, NULL, (size_t)st.st_size) > 0)
		;
	close(from);
	return fd;
}

/* `cat other > library` where code of the old one runs yet: what is there now
 * has its names at other places, and pieces of them were told. */
TEST(what_was_written_over_since_has_no_names)
{
	int fd = own_copy();
	uint64_t first = own_offset((const void *)map_open);
	uint64_t second = own_offset((const void *)next_descriptor);
	struct symbols *s;
	struct stat st;
	uint32_t file, ref;
	struct frame f;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "library");
	ref = symbols_user(s, file, first);
	symbols_load(s, file, fd);
	symbols_settle(s, 60 * NS_PER_S);
	CHECK_STR(symbols_get(s, symbols_final(s, ref)).name, "map_open");
	usleep(20000); /* the kernel's clock of files goes in steps */
	CHECK(fstat(fd, &st) == 0);
	CHECK(pwrite(fd, "other", 5, st.st_size - 5) == 5);
	ref = symbols_user(s, file, second);
	symbols_settle(s, 60 * NS_PER_S);
	f = symbols_get(s, symbols_final(s, ref));
	CHECK_INT(f.kind, FRAME_ADDRESS);
	CHECK(strncmp(f.name, "library+0x", 10) == 0);
	symbols_free(s);
	close(fd);
}

/* Those that still wait when all is forgotten do not stay open. */
TEST(forgotten_while_they_wait)
{
	int before = next_descriptor();
	uint32_t refs[FILES];
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	ask_all(s, refs);
	symbols_free(s);
	CHECK_INT(next_descriptor(), before);
}

/* The child dies between a look at it and a question, which cannot be sent:
 * the daemon went on trying for ever. */
TEST(a_child_that_is_dead_takes_no_question)
{
	struct symbols_stats stats;
	uint32_t file, known, asked = 0;
	struct symbols *s;
	siginfo_t ended;
	int fd = map_open(7);

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_map(s, fd);
	known = symbols_user(s, file, 0x1010);
	symbols_load(s, file, fd);
	symbols_settle(s, 60 * NS_PER_S);
	CHECK_STR(symbols_get(s, symbols_final(s, known)).name, "function_7");
	symbols_stats(s, &stats);
	CHECK(kill(stats.child, SIGKILL) == 0);
	CHECK_INT(waitid(P_PID, (id_t)stats.child, &ended,
	    WEXITED | WNOWAIT), 0);
	symbols_user(s, file, 0x1020);
	alarm(20);
	symbols_files_send(s);
	alarm(0);
	/* the next one is asked, when it has the file */
	for (int i = 0; i < 200; i++) {
		usleep(20000);
		symbols_pump(s, clock_mono_ns());
		asked = symbols_user(s, file, 0x1020);
		if (symbols_wants(s, file))
			symbols_load(s, file, fd);
	}
	CHECK_STR(symbols_get(s, symbols_final(s, asked)).name, "function_7");
	close(fd);
	symbols_free(s);
}

int
main(void)
{
	log_init("test_symbols_files", LOG_L_ERR);
	RUN(more_files_than_may_be_on_their_way);
	RUN(a_file_that_was_written_over_is_another_one);
	RUN(what_was_written_over_since_has_no_names);
	RUN(forgotten_while_they_wait);
	RUN(a_child_that_is_dead_takes_no_question);
	return test_done();
}
