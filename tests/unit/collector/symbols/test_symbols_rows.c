/*
 * Unwind rows by way of the child that reads nothing else.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define TABLE 7

static void
take_rows(void *arg, uint32_t table, const struct symbols_rows *rows)
{
	*(uint32_t *)arg = rows->lost || rows->n == 0 ? 0 : table;
}

/* Asks for rows of our own file until they come; false: they do not. */
static bool
rows_come(struct symbols *s, int fd, uint32_t *table)
{
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;
	bool asked = false;
	struct stat st;

	CHECK_INT(fstat(fd, &st), 0);
	for (*table = 0; *table == 0 && clock_mono_ns() < end_ns;) {
		symbols_pump(s, clock_mono_ns());
		if (!asked)
			asked = symbols_unwind(s, TABLE, fd,
			    (uint64_t)st.st_size, 0);
		usleep(1000);
	}
	return *table == TABLE;
}

/* Rows came behind the names of large programs, on a busy machine after
 * seconds, and samples had given up on them. */
TEST(rows_do_not_wait_for_names)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols_stats stats;
	uint32_t table;
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	CHECK_OK(symbols_unwind_to(s, take_rows, &table));
	symbols_stats(s, &stats);
	CHECK(stats.child > 0 && stats.rows_child > 0);
	if (stats.child > 0)
		kill(stats.child, SIGSTOP);
	symbols_load(s, symbols_file(s, fd, "test"), fd);
	CHECK(rows_come(s, fd, &table));
	symbols_stats(s, &stats);
	CHECK(stats.busy); /* with the names */
	symbols_free(s);
	close(fd);
}

TEST(rows_come_from_the_next_child)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int64_t end_ns = clock_mono_ns() + 20 * NS_PER_S;
	struct symbols_stats stats, now;
	uint32_t table;
	struct symbols *s;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	CHECK_OK(symbols_unwind_to(s, take_rows, &table));
	symbols_stats(s, &stats);
	if (stats.rows_child > 0)
		kill(stats.rows_child, SIGKILL);
	do {
		symbols_pump(s, clock_mono_ns());
		usleep(1000);
		symbols_stats(s, &now);
	} while (now.restarts == 0 && clock_mono_ns() < end_ns);
	CHECK_INT(now.restarts, 1);
	CHECK_INT(now.child, stats.child);
	CHECK(now.rows_child != stats.rows_child);
	CHECK(rows_come(s, fd, &table));
	symbols_free(s);
	close(fd);
}

int
main(void)
{
	RUN(rows_do_not_wait_for_names);
	RUN(rows_come_from_the_next_child);
	return test_done();
}
