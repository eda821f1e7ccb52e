/*
 * Which files have tables and which processes are known, with the kernel's
 * maps in plain memory and this test as the symbols child.
 */
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#undef MAPPING_FILE /* words of sys/mman.h, and of maps.h */
#undef MAPPING_ANONYMOUS
#include "collector/elf/elf.h"
#include "collector/process/maps.h"
#include "collector/process/process.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/extents.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define CELLS 4096
#define S NS_PER_S

static struct {
	uint64_t cells[CELLS];
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
	struct unwind_table tables[UNWIND_TABLES];
	struct unwind_process process;
	int32_t pid;
	uint32_t asked; /* table, UNWIND_NO_TABLE: none */
	unsigned questions;
} k;

static void *
place(enum unwind_array which, uint32_t first, size_t *size)
{
	static const size_t sizes[] = {8, sizeof(struct unwind_mapping),
	    sizeof(struct unwind_table)};

	*size = sizes[which];
	return which == UNWIND_ARRAY_CELLS ? (void *)&k.cells[first] :
	    which == UNWIND_ARRAY_MAPPINGS ? (void *)&k.mappings[first] :
	    (void *)&k.tables[first];
}

static bool
fake_write(void *arg, enum unwind_array which, uint32_t first, const void *p,
    size_t n)
{
	size_t size;
	void *to = place(which, first, &size);

	(void)arg;
	CHECK(which != UNWIND_ARRAY_CELLS || first + n <= CELLS);
	memcpy(to, p, n * size);
	return true;
}

static bool
fake_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	size_t size;
	const void *from = place(which, first, &size);

	(void)arg;
	memcpy(p, from, n * size);
	return true;
}

static bool
fake_set(void *arg, int32_t pid, const struct unwind_process *p)
{
	(void)arg;
	k.pid = p != NULL ? pid : 0;
	if (p != NULL)
		k.process = *p;
	return true;
}

static bool
fake_get(void *arg, int32_t pid, struct unwind_process *p)
{
	(void)arg;
	*p = k.process;
	return pid == k.pid;
}

static const struct unwind_kernel fake = {.cells = CELLS,
    .write = fake_write, .read = fake_read, .set_process = fake_set,
    .get_process = fake_get};

static bool
ask(void *arg, uint32_t table, int fd, uint64_t size, uint32_t max_rows)
{
	(void)arg;
	CHECK(fd >= 0 && size > 0 && max_rows == CELLS / 2);
	k.asked = table;
	k.questions++;
	return true;
}

static struct unwind_tables *
begin(void)
{
	struct unwind_tables *t;

	memset(&k, 0, sizeof(k));
	k.asked = UNWIND_NO_TABLE;
	CHECK_OK(unwind_tables_new(&t, &fake, ask, NULL));
	return t;
}

static int
some_file(void)
{
	int fd = memfd_create("some", MFD_CLOEXEC);

	CHECK(write(fd, "x", 1) == 1);
	return fd;
}

/* The child's answer: n rows, one every 16 bytes. */
static void
answer(struct unwind_tables *t, uint32_t table, uint32_t n, const char *id,
    int64_t now_ns)
{
	struct unwind_row *rows = calloc(n + 1, sizeof(*rows));
	int fd = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct symbols_rows r = {.status = ELF_OK, .n = n, .fd = fd,
	    .build_id = (const uint8_t *)id, .build_id_len = strlen(id)};
	uint32_t i;

	for (i = 0; i < n; i++)
		rows[i] = (struct unwind_row){0x1000 + 16 * i, 1, UNWIND_SP,
		    0};
	CHECK(write(fd, rows, n * sizeof(*rows)) ==
	    (ssize_t)(n * sizeof(*rows)));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	unwind_tables_answer(t, table, &r, now_ns);
	close(fd);
	free(rows);
}

static uint32_t
make(struct unwind_tables *t, int fd, uint32_t n, const char *id,
    int64_t now_ns)
{
	uint32_t table = unwind_tables_get(t, fd, true, now_ns);

	k.asked = UNWIND_NO_TABLE;
	unwind_tables_pump(t, now_ns);
	if (k.asked == table)
		answer(t, table, n, id, now_ns);
	return table;
}

TEST(a_file_is_asked_for_once)
{
	struct unwind_tables *t = begin();
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, true, S), b;

	CHECK_INT(k.tables[a].state, UNWIND_TABLE_PENDING);
	unwind_tables_pump(t, S);
	unwind_tables_pump(t, S);
	b = unwind_tables_get(t, fd, true, S);
	CHECK_INT(a, b);
	CHECK_INT(k.questions, 1);
	answer(t, a, 100, "id", S);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[a].rows, 100);
	CHECK_INT(k.tables[a].base, 0x1000);
	unwind_tables_get(t, fd, true, S);
	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 1);
	close(fd);
	unwind_tables_free(t);
}

TEST(one_build_id_one_set_of_rows)
{
	struct unwind_tables *t = begin();
	int x = some_file(), y = some_file(), z = some_file();
	uint32_t a = make(t, x, 100, "same", S), b = make(t, y, 100, "same",
	    S), c = make(t, z, 100, "other", S);

	CHECK(a != b && b != c);
	CHECK_INT(k.tables[a].first, k.tables[b].first);
	CHECK(k.tables[c].first != k.tables[a].first);
	CHECK_INT(k.tables[b].state, UNWIND_TABLE_READY);
	close(x);
	close(y);
	close(z);
	unwind_tables_free(t);
}

/* Programs of 150 ms, over before their samples are read, had no tables. */
TEST(a_program_that_ends_at_once_and_comes_again_is_asked_for)
{
	struct unwind_tables *t = begin();
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, false, S);

	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 0); /* it may never come again */
	for (int i = 0; i < 3; i++)
		CHECK_INT(unwind_tables_get(t, fd, false, S), a);
	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 1);
	close(fd);
	unwind_tables_free(t);
}

TEST(files_without_rows)
{
	struct unwind_tables *t = begin();
	struct symbols_rows r = {.status = ELF_NOT_ELF, .fd = -1};
	int fd = some_file(), pipes[2];
	uint32_t a = make(t, fd, 0, "", S);

	CHECK_INT(k.tables[a].state, UNWIND_TABLE_NONE);
	close(fd);
	fd = some_file();
	a = unwind_tables_get(t, fd, true, S);
	unwind_tables_pump(t, S);
	unwind_tables_answer(t, a, &r, S);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_NONE);
	CHECK(pipe(pipes) == 0);
	CHECK_INT(unwind_tables_get(t, pipes[0], true, S), UNWIND_NO_TABLE);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	unwind_tables_free(t);
}

TEST(a_file_over_the_bounds_is_counted)
{
	struct unwind_tables *t = begin();
	struct symbols_rows r = {.status = ELF_TOO_BIG, .fd = -1};
	struct unwind_tables_stats stats;
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, true, S);

	unwind_tables_pump(t, S);
	unwind_tables_answer(t, a, &r, S);
	unwind_tables_stats(t, &stats);
	CHECK_INT(stats.refused, 1);
	CHECK_INT(stats.without, 1);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_TOO_LARGE);
	CHECK_INT(stats.failed, 0);
	close(fd);
	unwind_tables_free(t);
}

/* A new program: its mappings are asked for at once, though a moment ago
 * they were looked at. */
TEST(renewed_at_once)
{
	struct unwind_tables *t = begin();
	struct unwind_processes_stats stats;
	struct unwind_processes *u;
	struct processes *table;
	struct maps *maps;
	struct process *self;

	CHECK_OK(maps_new(&maps, table = processes_new(), "/proc"));
	CHECK_OK(unwind_processes_new(&u, &fake, t, table, maps,
	    "/proc"));
	self = process_add(table, getpid(), 1);
	unwind_processes_renew(u, self);
	unwind_processes_renew(u, self);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 1);
	unwind_processes_pump(u, S);
	CHECK_INT(k.pid, getpid());
	unwind_tables_pump(t, S);
	/* It was not worth asking for tables yet. */
	CHECK_INT(k.asked, UNWIND_NO_TABLE);
	/* The first sample's image is this one. */
	process_executes(self, 5);
	unwind_processes_want(u, self, S + 1);
	unwind_processes_pump(u, S + 1);
	unwind_tables_pump(t, S + 1);
	CHECK(k.asked != UNWIND_NO_TABLE);
	unwind_processes_want(u, self, S + 2);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.built, 1);
	CHECK_INT(stats.waiting, 0);
	unwind_processes_renew(u, self);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 1);
	unwind_processes_pump(u, S + 2);
	/* Another one is news at once. */
	unwind_processes_want(u, self, S + 3);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 0);
	process_executes(self, 6);
	unwind_processes_want(u, self, S + 3);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 1);
	unwind_processes_free(u);
	maps_free(maps);
	processes_free(table);
	unwind_tables_free(t);
}

/* However many programs begin: what is sampled comes first, and the queue
 * has room for it. */
TEST(a_storm_leaves_room)
{
	struct unwind_tables *t = begin();
	struct unwind_processes_stats stats;
	struct unwind_processes *u;
	struct processes *table;
	struct maps *maps;
	int32_t i;

	CHECK_OK(maps_new(&maps, table = processes_new(), "/nowhere"));
	CHECK_OK(unwind_processes_new(&u, &fake, t, table, maps,
	    "/nowhere"));
	for (i = 0; i < 5000; i++)
		unwind_processes_renew(u,
		    process_add(table, 4000001 + i, 1));
	unwind_processes_stats(u, &stats);
	CHECK(stats.waiting <= 128);
	for (i = 0; i < 100; i++)
		unwind_processes_want(u,
		    process_add(table, 3000001 + i, 1), S);
	unwind_processes_stats(u, &stats);
	CHECK(stats.waiting >= 100);
	CHECK(stats.processes <= UNWIND_PROCESSES);
	unwind_processes_pump(u, S);
	unwind_processes_free(u);
	maps_free(maps);
	processes_free(table);
	unwind_tables_free(t);
}

TEST(a_file_that_kills_waits_longer_each_time)
{
	struct unwind_tables *t = begin();
	struct symbols_rows r = {.lost = true, .guilty = true, .fd = -1};
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, true, S);

	unwind_tables_pump(t, S);
	unwind_tables_answer(t, a, &r, S);
	unwind_tables_get(t, fd, true, 10 * S);
	unwind_tables_pump(t, 10 * S);
	CHECK_INT(k.questions, 1);
	unwind_tables_get(t, fd, true, 12 * S);
	unwind_tables_pump(t, 12 * S);
	CHECK_INT(k.questions, 2);
	unwind_tables_answer(t, a, &r, 12 * S);
	unwind_tables_get(t, fd, true, 31 * S);
	unwind_tables_pump(t, 31 * S);
	CHECK_INT(k.questions, 2);
	unwind_tables_get(t, fd, true, 33 * S);
	unwind_tables_pump(t, 33 * S);
	CHECK_INT(k.questions, 3);
	/* One that only stood in the line is asked for again at once. */
	r.guilty = false;
	unwind_tables_answer(t, a, &r, 33 * S);
	unwind_tables_get(t, fd, true, 33 * S);
	unwind_tables_pump(t, 33 * S);
	CHECK_INT(k.questions, 4);
	close(fd);
	unwind_tables_free(t);
}

TEST(the_oldest_makes_room)
{
	struct unwind_tables *t = begin();
	int x = some_file(), y = some_file(), z = some_file();
	int64_t now = clock_mono_ns() + 100 * S;
	uint32_t a = make(t, x, 1500, "x", now), b = make(t, y, 1500, "y",
	    now), c;

	k.tables[b].used_s = (uint32_t)(now / S); /* in use */
	c = make(t, z, 1500, "z", now);
	CHECK_INT(k.tables[c].state, UNWIND_TABLE_PENDING);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_PENDING); /* evicted */
	CHECK_INT(k.tables[b].state, UNWIND_TABLE_READY);
	/* Its cells rest; then they are the newcomer's. */
	now += 3 * S;
	CHECK_INT(make(t, z, 1500, "z", now), c);
	CHECK_INT(k.tables[c].state, UNWIND_TABLE_READY);
	close(x);
	close(y);
	close(z);
	unwind_tables_free(t);
}

/* Compilers and browsers in use had all cells, and a small program that began
 * then had no tables for as long as they ran. */
TEST(large_tables_leave_room_for_small_ones)
{
	struct unwind_tables *t = begin();
	int fds[4] = {some_file(), some_file(), some_file(), some_file()};
	int64_t now = clock_mono_ns() + 100 * S;
	uint32_t a = make(t, fds[0], 1500, "a", now), b, c, d;

	b = make(t, fds[1], 1500, "b", now);
	k.tables[a].used_s = k.tables[b].used_s = (uint32_t)(now / S);
	c = make(t, fds[2], 400, "c", now); /* would fit, just so */
	CHECK_INT(k.tables[c].state, UNWIND_TABLE_PENDING);
	d = make(t, fds[3], 100, "d", now);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[b].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[d].state, UNWIND_TABLE_READY);
	/* One of the large ones is not used any more: another may come. */
	now += 11 * S;
	k.tables[b].used_s = k.tables[d].used_s = (uint32_t)(now / S);
	make(t, fds[2], 400, "c", now);
	now += 3 * S;
	make(t, fds[2], 400, "c", now);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_PENDING);
	CHECK_INT(k.tables[c].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[d].state, UNWIND_TABLE_READY);
	for (a = 0; a < 4; a++)
		close(fds[a]);
	unwind_tables_free(t);
}

TEST(nothing_is_evicted_in_vain)
{
	struct unwind_tables *t = begin();
	int x = some_file(), y = some_file(), z = some_file();
	int64_t now = clock_mono_ns() + 100 * S;
	uint32_t a = make(t, x, 1000, "x", now), b = make(t, y, 2000, "y",
	    now), c;

	k.tables[b].used_s = (uint32_t)(now / S); /* in use */
	c = make(t, z, 2048, "z", now); /* more than is free and idle */
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[b].state, UNWIND_TABLE_READY);
	CHECK_INT(k.tables[c].state, UNWIND_TABLE_PENDING);
	now += 3 * S; /* and not asked for again so soon */
	k.asked = UNWIND_NO_TABLE;
	unwind_tables_get(t, z, true, now);
	unwind_tables_pump(t, now);
	CHECK_INT(k.asked, UNWIND_NO_TABLE);
	close(x);
	close(y);
	close(z);
	unwind_tables_free(t);
}

/* Two that do not fit together: the one that had to go waits for longer each
 * time. */
TEST(large_tables_do_not_take_turns)
{
	struct unwind_tables *t = begin();
	int fds[2] = {some_file(), some_file()};
	int64_t now = clock_mono_ns() + 100 * S, end = now + 600 * S;
	struct unwind_tables_stats stats;
	unsigned i;

	for (i = 0; now < end; i++, now += S) {
		/* Used in turn, so that the other one is idle. */
		make(t, fds[i / 20 % 2], 2000, i / 20 % 2 ? "y" : "x", now);
	}
	unwind_tables_stats(t, &stats);
	CHECK(stats.evicted >= 2);
	CHECK(stats.evicted <= 14); /* of 30 turns */
	close(fds[0]);
	close(fds[1]);
	unwind_tables_free(t);
}

TEST(extents_rest_before_they_are_used_again)
{
	struct extents *x = extents_new(100);
	uint32_t a = extents_take(x, 60, 0), b = extents_take(x, 40, 0);

	CHECK_INT(a, 0);
	CHECK_INT(b, 60);
	CHECK_INT(extents_take(x, 1, 0), EXTENTS_NONE);
	extents_give(x, a, 60, 0);
	/* What was found may be used to the end of the clock's second. */
	CHECK_INT(extents_take(x, 1, S + S / 2), EXTENTS_NONE);
	CHECK_INT(extents_take(x, 10, 2 * S), 0);
	extents_give(x, b, 40, 2 * S);
	CHECK_INT(extents_take(x, 90, 4 * S), 10); /* joined again */
	CHECK_INT(extents_used(x), 100);
	extents_free(x);
}

TEST(own_process)
{
	struct unwind_tables *t = begin();
	struct unwind_processes *u;
	struct unwind_processes_stats stats;
	struct processes *table;
	struct maps *maps;
	uintptr_t here = (uintptr_t)begin;
	struct process *self;
	uint64_t image;
	uint32_t i, found = 0;

	CHECK_OK(maps_new(&maps, table = processes_new(), "/proc"));
	CHECK_OK(unwind_processes_new(&u, &fake, t, table, maps,
	    "/proc"));
	self = process_add(table, getpid(), 1);
	unwind_processes_want(u, self, S);
	unwind_processes_pump(u, S);
	CHECK_INT(k.pid, getpid());
	CHECK(k.process.image != 0 && k.process.n > 1);
	for (i = 0; i < k.process.n; i++) {
		const struct unwind_mapping *m =
		    &k.mappings[k.process.first + i];

		CHECK(i == 0 || m->start > m[-1].start);
		found += here >= m->start && here - m->start <
		    (uint64_t)m->pages << 12 && m->table != UNWIND_NO_TABLE;
	}
	CHECK_INT(found, 1);
	/* Nothing new: looked at, but not told again. */
	image = k.process.image;
	unwind_processes_want(u, self, 5 * S);
	unwind_processes_pump(u, 5 * S);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.built, 1);
	CHECK(k.process.image == image);
	/* Used since: looked at again after a minute. */
	k.process.used_s = 30;
	unwind_processes_sweep(u, 40 * S);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 0);
	unwind_processes_sweep(u, 70 * S);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 1);
	CHECK_INT(stats.failed, 0);
	unwind_processes_free(u);
	maps_free(maps);
	processes_free(table);
	unwind_tables_free(t);
}

TEST(a_process_that_is_no_more)
{
	struct unwind_tables *t = begin();
	struct unwind_processes *u;
	struct process *p;
	struct unwind_processes_stats stats;
	struct processes *table;
	struct maps *maps;

	CHECK_OK(maps_new(&maps, table = processes_new(), "/proc"));
	CHECK_OK(unwind_processes_new(&u, &fake, t, table, maps,
	    "/proc"));
	p = process_add(table, 0x7ffffff0, 1);
	unwind_processes_want(u, p, S);
	unwind_processes_pump(u, S);
	CHECK_INT(k.pid, 0);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.failed, 1);
	/* It ends while it waits; what comes of it later is too late. */
	unwind_processes_renew(u, p);
	process_end(table, p, S);
	unwind_processes_want(u, p, 3 * S);
	unwind_processes_stats(u, &stats);
	CHECK_INT(stats.waiting, 0);
	CHECK_INT(stats.processes, 0);
	unwind_processes_pump(u, 3 * S);
	unwind_processes_free(u);
	maps_free(maps);
	processes_free(table);
	unwind_tables_free(t);
}

int
main(void)
{
	RUN(a_file_is_asked_for_once);
	RUN(one_build_id_one_set_of_rows);
	RUN(a_program_that_ends_at_once_and_comes_again_is_asked_for);
	RUN(files_without_rows);
	RUN(a_file_over_the_bounds_is_counted);
	RUN(renewed_at_once);
	RUN(a_storm_leaves_room);
	RUN(a_file_that_kills_waits_longer_each_time);
	RUN(the_oldest_makes_room);
	RUN(large_tables_leave_room_for_small_ones);
	RUN(nothing_is_evicted_in_vain);
	RUN(large_tables_do_not_take_turns);
	RUN(extents_rest_before_they_are_used_again);
	RUN(own_process);
	RUN(a_process_that_is_no_more);
	return test_done();
}
