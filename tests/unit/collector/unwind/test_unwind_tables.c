/*
 * Which files have tables and which processes are known, with the kernel's
 * maps in plain memory and this test as the symbols child.
 */
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef MAPPING_FILE /* words of sys/mman.h, and of maps.h */
#undef MAPPING_ANONYMOUS
#include "collector/elf/elf.h"
#include "collector/maps/maps.h"
#include "collector/process/process.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/extents.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/collector/process/first_thread.h"
#include "tests/unit/test.h"

#define S NS_PER_S
#define RATE (10 * NS_PER_MS) /* of the budget */

static struct {
	uint64_t cells[1u << UNWIND_CHUNK_SHIFT];
	struct unwind_mapping mappings[UNWIND_MAPPINGS];
	struct unwind_table tables[UNWIND_TABLES];
	struct unwind_region regions[UNWIND_REGIONS];
	struct unwind_process process;
	int32_t pid;
	uint32_t asked; /* table, UNWIND_NO_TABLE: none */
	uint32_t offset, first, most;
	unsigned questions;
} k;

static void *
place(enum unwind_array which, uint32_t first, size_t *size)
{
	static const size_t sizes[] = {8, sizeof(struct unwind_mapping),
	    sizeof(struct unwind_table), sizeof(struct unwind_region)};

	*size = sizes[which];
	return which == UNWIND_ARRAY_CELLS ? (void *)&k.cells[first] :
	    which == UNWIND_ARRAY_MAPPINGS ? (void *)&k.mappings[first] :
	    which == UNWIND_ARRAY_REGIONS ? (void *)&k.regions[first] :
	    (void *)&k.tables[first];
}

static bool
fake_write(void *arg, enum unwind_array which, uint32_t first, const void *p,
    size_t n)
{
	size_t size;
	void *to = place(which, first, &size);

	(void)arg;
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

static bool
fake_add(void *arg)
{
	(void)arg;
	return true;
}

static void
fake_tick(void *arg, uint32_t tick)
{
	(void)arg;
	(void)tick;
}

static const struct unwind_kernel fake = {.chunks = 1,
    .add_chunk = fake_add, .set_tick = fake_tick, .write = fake_write,
    .read = fake_read, .set_process = fake_set,
    .get_process = fake_get};

static bool
ask(void *arg, uint32_t table, int fd, uint64_t size, uint32_t offset)
{
	(void)arg;
	CHECK(fd >= 0 && size > 0);
	k.asked = table;
	k.offset = offset;
	if (k.most != 0) {
		k.first = offset;
		k.most = 0;
	}
	k.questions++;
	return true;
}

static struct unwind_tables *
begin(void)
{
	struct unwind_tables *t;

	memset(&k, 0, sizeof(k));
	k.asked = UNWIND_NO_TABLE;
	CHECK_OK(unwind_tables_new(&t, &fake, RATE, ask, NULL));
	return t;
}

static int
some_file(void)
{
	int fd = memfd_create("some", MFD_CLOEXEC);

	CHECK(write(fd, "x", 1) == 1);
	return fd;
}

#define REGIONS 20 /* of the file */
#define OFFSET(region) (0x1000 + ((region) << UNWIND_REGION_SHIFT))

/* The child's answer: rows of the region, one every 8 bytes. */
static void
answer(struct unwind_tables *t, uint32_t table, uint32_t at, uint32_t n,
    int64_t now_ns)
{
	struct unwind_row rows[8192]; /* at most */
	int fd = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct symbols_rows r = {.status = ELF_OK, .base = 0x1000,
	    .regions = REGIONS, .shift = UNWIND_REGION_SHIFT, .n = n,
	    .fd = fd, .code_id = (const uint8_t *)"id", .code_id_len = 2};
	uint32_t i;

	for (i = 0; i < n; i++)
		rows[i] = (struct unwind_row){OFFSET(at) + 8 * i, 1,
		    UNWIND_SP, 0};
	CHECK(write(fd, rows, n * sizeof(*rows)) ==
	    (ssize_t)(n * sizeof(*rows)));
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	unwind_tables_answer(t, table, &r, now_ns);
	close(fd);
}

static int
state(uint32_t table, uint32_t region)
{
	CHECK_INT(k.tables[table].state, UNWIND_TABLE_READY);
	return k.regions[k.tables[table].first + region].state;
}

/* A sample lacks the code; the file is offered as its process would. */
static void
lack(struct unwind_tables *t, int fd, uint32_t table, uint32_t offset,
    int64_t now_ns)
{
	if (unwind_tables_want(t, table, offset, now_ns))
		unwind_tables_drop(t, unwind_tables_get(t, fd, now_ns));
	unwind_tables_pump(t, now_ns);
}

TEST(code_is_asked_for_once)
{
	struct unwind_tables *t = begin();
	struct unwind_tables_stats stats;
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, S);

	CHECK_INT(k.tables[a].state, UNWIND_TABLE_PENDING);
	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 0); /* nobody ran there */
	CHECK_INT(unwind_tables_met(t, a), 0);
	lack(t, fd, a, OFFSET(3) + 5, S);
	lack(t, fd, a, OFFSET(3) + 9, S);
	CHECK_INT(unwind_tables_get(t, fd, S), a);
	CHECK_INT(k.questions, 1);
	CHECK_INT(k.offset, OFFSET(3) + 5);
	/* Others wait for the first answer: it may be all. */
	lack(t, fd, a, OFFSET(4), S);
	CHECK_INT(k.questions, 1);
	answer(t, a, 3, 100, S);
	CHECK_INT(state(a, 3), UNWIND_TABLE_READY);
	CHECK_INT(state(a, 4), UNWIND_TABLE_PENDING);
	CHECK_INT(k.tables[a].code.base, 0x1000);
	lack(t, fd, a, OFFSET(3), S); /* and the one that waited */
	CHECK_INT(k.questions, 2);
	answer(t, a, 4, 100, S);
	CHECK_INT(state(a, 4), UNWIND_TABLE_READY);
	lack(t, fd, a, OFFSET(4), S);
	lack(t, fd, a, OFFSET(REGIONS), S); /* no such code */
	CHECK_INT(k.questions, 2);
	unwind_tables_want(t, a, OFFSET(9), 9 * S);
	CHECK_INT(unwind_tables_met(t, a), S); /* of the file, not of this */
	unwind_tables_stats(t, &stats);
	CHECK_INT(stats.ready, 1);
	CHECK_INT(stats.waiting, 1);
	CHECK_INT(stats.regions.loaded, 2);
	/* What is met most comes first. */
	unwind_tables_want(t, a, OFFSET(5), S);
	for (int i = 0; i < 3; i++)
		unwind_tables_want(t, a, OFFSET(6), S);
	unwind_tables_want(t, a, OFFSET(7), S);
	k.most = 1;
	lack(t, fd, a, OFFSET(7), S);
	CHECK_INT(k.first, OFFSET(6));
	close(fd);
	unwind_tables_free(t);
}

TEST(one_build_id_one_set_of_rows)
{
	struct unwind_tables *t = begin();
	int x = some_file(), y = some_file();
	uint32_t a = unwind_tables_get(t, x, S), b = unwind_tables_get(t, y,
	    S);

	CHECK(a != b);
	lack(t, x, a, OFFSET(1), S);
	answer(t, a, 1, 100, S);
	lack(t, y, b, OFFSET(2), S);
	answer(t, b, 2, 100, S);
	CHECK_INT(k.tables[a].first, k.tables[b].first);
	CHECK_INT(state(b, 1), UNWIND_TABLE_READY);
	close(x);
	close(y);
	unwind_tables_free(t);
}

/* Programs of 150 ms, over before their samples are read: the next one that
 * executes the file brings it. */
TEST(a_program_that_ends_at_once_and_comes_again)
{
	struct unwind_tables *t = begin();
	int fd = some_file();
	uint32_t a = unwind_tables_get(t, fd, S);

	CHECK(unwind_tables_want(t, a, OFFSET(0), S));
	CHECK(unwind_tables_want(t, a, OFFSET(0), S));
	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 0);
	CHECK_INT(unwind_tables_get(t, fd, 2 * S), a);
	unwind_tables_pump(t, 2 * S);
	CHECK_INT(k.questions, 1);
	close(fd);
	unwind_tables_free(t);
}

/* What nobody brings a file for makes room for what comes. */
TEST(the_queue_has_room)
{
	struct unwind_tables *t = begin();
	struct unwind_tables_stats stats;
	int gone = some_file(), fd = some_file();
	uint32_t a = unwind_tables_get(t, gone, S), b = unwind_tables_get(t,
	    fd, S), i;

	for (i = 0; i < 5000; i++)
		CHECK(unwind_tables_want(t, a, OFFSET(i), S));
	lack(t, fd, b, OFFSET(0), S);
	CHECK_INT(k.questions, 1);
	CHECK_INT(k.asked, b);
	unwind_tables_stats(t, &stats);
	CHECK(stats.waiting <= 1024);
	close(gone);
	close(fd);
	unwind_tables_free(t);
}

/* Whatever a region costs, and however many are wanted; almost two minutes more
 * when all is new. */
TEST(a_minute_keeps_the_budget)
{
	static const int64_t costs[] = {NS_PER_MS, 20 * NS_PER_MS, S};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct symbols_rows r = {.lost = true, .fd = -1,
		    .cpu_ns = costs[i]}; /* it lacks them again */
		struct unwind_tables *t = begin();
		int fd = some_file();
		uint32_t a = unwind_tables_get(t, fd, S);
		int64_t at, used = 0;

		for (at = S; at < 121 * S; at += NS_PER_MS) {
			unsigned before = k.questions;

			if (at == 61 * S)
				used = k.questions * costs[i];
			lack(t, fd, a, OFFSET(0), at);
			while (before++ < k.questions)
				unwind_tables_answer(t, a, &r, at);
		}
		/* One may be on its way when nothing is left. */
		CHECK(used <= 180 * RATE + costs[i]);
		CHECK(used >= 165 * RATE);
		used = k.questions * costs[i] - used;
		CHECK(used <= 90 * RATE + costs[i]);
		CHECK(used >= 55 * RATE - costs[i]);
		close(fd);
		unwind_tables_free(t);
	}
}

/* A compiler that needs many regions, beside programs that come and go: what
 * more samples wait for is asked first, however late it came. */
TEST(what_many_wait_for_comes_first)
{
	struct symbols_rows r = {.lost = true, .fd = -1, .cpu_ns = 2 * S};
	struct unwind_tables *t = begin();
	int files[100], i, n;
	uint32_t a;

	files[0] = some_file();
	a = unwind_tables_get(t, files[0], S);
	lack(t, files[0], a, OFFSET(0), S);
	unwind_tables_answer(t, a, &r, S); /* nothing is left */
	for (i = 1; i < 100; i++) {
		files[i] = some_file();
		a = unwind_tables_get(t, files[i], S);
		for (n = 0; n < (i < 99 ? 2 : 5); n++)
			lack(t, files[i], a, OFFSET(i < 99 ? 0 : n), S);
	}
	CHECK_INT(k.questions, 1);
	unwind_tables_pump(t, 20 * S);
	CHECK_INT(k.questions, 1); /* it owes still */
	k.most = 1;
	unwind_tables_pump(t, 2 * 61 * S);
	CHECK(k.questions > 1);
	CHECK_INT(k.first, OFFSET(4)); /* of the last, and its youngest */
	for (i = 0; i < 100; i++)
		close(files[i]);
	unwind_tables_free(t);
}

/* A host runs more code than there is room for: what comes and goes has used
 * up what it may, and a program that begins has its rows at once. */
TEST(what_is_new_does_not_wait_behind_what_comes_again)
{
	struct symbols_rows lost = {.lost = true, .fd = -1, .cpu_ns = S};
	struct unwind_tables *t = begin();
	int fd = some_file(), other = some_file();
	uint32_t a = unwind_tables_get(t, fd, S), b, i;
	int64_t now = S;

	lack(t, fd, a, OFFSET(0), now);
	answer(t, a, 0, 8192, now);
	/* Its rows go as those of all others come, and are wanted again. */
	for (i = 1; i < REGIONS + 15; i++) {
		now += 3 * S;
		lack(t, fd, a, OFFSET(i % REGIONS), now);
		answer(t, a, i % REGIONS, 8192, now);
	}
	CHECK_INT(state(a, 0), UNWIND_TABLE_PENDING);
	lack(t, fd, a, OFFSET(0), now += 3 * S);
	unwind_tables_answer(t, a, &lost, now); /* and that is dear */
	k.questions = 0;
	lack(t, fd, a, OFFSET(0), now += S);
	CHECK_INT(k.questions, 0);
	b = unwind_tables_get(t, other, now);
	lack(t, other, b, OFFSET(0), now);
	CHECK_INT(k.questions, 1);
	CHECK_INT(k.asked, b);
	close(fd);
	close(other);
	unwind_tables_free(t);
}

TEST(files_without_rows)
{
	struct unwind_tables *t = begin();
	struct symbols_rows r = {.status = ELF_NOT_ELF, .fd = -1},
	    none = {.status = ELF_OK, .fd = -1};
	int fd = some_file(), pipes[2];
	uint32_t a = unwind_tables_get(t, fd, S);

	lack(t, fd, a, 0, S);
	unwind_tables_answer(t, a, &r, S);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_NO_FILE);
	lack(t, fd, a, 0, 100 * S);
	CHECK_INT(k.questions, 1);
	close(fd);
	fd = some_file();
	a = unwind_tables_get(t, fd, S);
	lack(t, fd, a, 0, S);
	unwind_tables_answer(t, a, &none, S);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_NONE);
	CHECK(pipe(pipes) == 0);
	CHECK_INT(unwind_tables_get(t, pipes[0], S), UNWIND_NO_TABLE);
	close(pipes[0]);
	close(pipes[1]);
	close(fd);
	unwind_tables_free(t);
}

/* Another file than one that has no rows. */
TEST(a_file_for_which_no_table_is_left)
{
	struct unwind_tables *t = begin();
	uint32_t i, last = 0;
	int fd;

	for (i = 0; i <= UNWIND_TABLES; i++) {
		fd = some_file();
		last = unwind_tables_get(t, fd, S);
		CHECK_INT(last, i < UNWIND_TABLES ? i : UNWIND_NO_ROOM);
		close(fd);
	}
	unwind_tables_drop(t, last);
	CHECK(!unwind_tables_lack(t, last, 0));
	unwind_tables_drop(t, 7);
	fd = some_file();
	CHECK_INT(unwind_tables_get(t, fd, S), 7);
	close(fd);
	unwind_tables_free(t);
}

TEST(code_over_the_bounds_is_counted)
{
	struct unwind_tables *t = begin();
	struct symbols_rows r = {.status = ELF_TOO_BIG, .fd = -1};
	struct unwind_tables_stats stats;
	int fd = some_file(), other = some_file();
	uint32_t a = unwind_tables_get(t, fd, S);

	lack(t, fd, a, 0, S);
	unwind_tables_answer(t, a, &r, S); /* of all of it */
	unwind_tables_stats(t, &stats);
	CHECK_INT(stats.refused, 1);
	CHECK_INT(stats.without, 1);
	CHECK_INT(k.tables[a].state, UNWIND_TABLE_TOO_LARGE);
	a = unwind_tables_get(t, other, S);
	lack(t, other, a, OFFSET(1), S);
	answer(t, a, 1, 100, S);
	lack(t, other, a, OFFSET(2), S);
	r.regions = REGIONS;
	unwind_tables_answer(t, a, &r, S); /* of a region */
	CHECK_INT(state(a, 1), UNWIND_TABLE_READY);
	CHECK_INT(state(a, 2), UNWIND_TABLE_TOO_LARGE);
	unwind_tables_stats(t, &stats);
	CHECK_INT(stats.refused, 2);
	CHECK_INT(stats.failed, 0);
	close(fd);
	close(other);
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
	/* The first sample's image is this one. */
	process_executes(self, 5);
	unwind_processes_want(u, self, S + 1);
	unwind_processes_pump(u, S + 1);
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
	uint32_t a = unwind_tables_get(t, fd, S);

	lack(t, fd, a, 0, S);
	unwind_tables_answer(t, a, &r, S);
	lack(t, fd, a, 0, 10 * S);
	CHECK_INT(k.questions, 1);
	lack(t, fd, a, 0, 12 * S);
	CHECK_INT(k.questions, 2);
	unwind_tables_answer(t, a, &r, 12 * S);
	lack(t, fd, a, 0, 31 * S);
	CHECK_INT(k.questions, 2);
	lack(t, fd, a, 0, 33 * S);
	CHECK_INT(k.questions, 3);
	/* One that only stood in the line is asked for again at once. */
	r.guilty = false;
	unwind_tables_answer(t, a, &r, 33 * S);
	lack(t, fd, a, 0, 33 * S);
	CHECK_INT(k.questions, 4);
	close(fd);
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

/* Code that was met without rows is asked for: this function's file. */
static void
check_lack(struct unwind_tables *t, uintptr_t here)
{
	struct unwind_tables_stats stats;
	uint32_t i, table = UNWIND_NO_TABLE, offset = 0;
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY);

	for (i = 0; i < k.process.n; i++) {
		const struct unwind_mapping *m =
		    &k.mappings[k.process.first + i];

		if (here < m->start || here - m->start >=
		    (uint64_t)m->pages << 12)
			continue;
		table = m->table;
		offset = (uint32_t)(here - m->bias);
	}
	CHECK(fstat(fd, &st) == 0);
	CHECK_INT(unwind_tables_find(t, &st), table);
	st.st_mtim.tv_nsec ^= 1; /* another file by now */
	CHECK_INT(unwind_tables_find(t, &st), UNWIND_NO_TABLE);
	CHECK(unwind_tables_want(t, table, offset, S));
	CHECK_INT(unwind_tables_get(t, fd, S), table);
	unwind_tables_drop(t, table);
	close(fd);
	unwind_tables_stats(t, &stats);
	CHECK_INT(stats.waiting, 1);
	unwind_tables_pump(t, S);
	CHECK_INT(k.questions, 1);
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
	check_lack(t, here);
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

/* Its mappings were read while the first thread lived; the walker is told of
 * them when only another one does. */
TEST(a_process_whose_first_thread_has_ended)
{
	struct unwind_tables *t = begin();
	struct unwind_processes *u;
	struct first_thread f;
	struct processes *table;
	struct process *p;
	struct maps *maps;

	first_thread_begin(&f);
	CHECK_OK(maps_new(&maps, table = processes_new(), "/proc"));
	CHECK_OK(unwind_processes_new(&u, &fake, t, table, maps,
	    "/proc"));
	p = process_add(table, f.pid, 1);
	CHECK(maps_process_list(maps_process(maps, p, S))->n > 0);
	first_thread_end(&f);
	unwind_processes_want(u, p, S);
	unwind_processes_pump(u, S);
	CHECK_INT(k.pid, f.pid);
	CHECK(k.process.image != 0 && k.process.n > 1);
	first_thread_fini(&f);
	unwind_processes_free(u);
	maps_free(maps);
	processes_free(table);
	unwind_tables_free(t);
}

int
main(void)
{
	RUN(code_is_asked_for_once);
	RUN(one_build_id_one_set_of_rows);
	RUN(a_program_that_ends_at_once_and_comes_again);
	RUN(the_queue_has_room);
	RUN(a_minute_keeps_the_budget);
	RUN(what_many_wait_for_comes_first);
	RUN(what_is_new_does_not_wait_behind_what_comes_again);
	RUN(files_without_rows);
	RUN(a_file_for_which_no_table_is_left);
	RUN(code_over_the_bounds_is_counted);
	RUN(renewed_at_once);
	RUN(a_storm_leaves_room);
	RUN(a_file_that_kills_waits_longer_each_time);
	RUN(extents_rest_before_they_are_used_again);
	RUN(own_process);
	RUN(a_process_that_is_no_more);
	RUN(a_process_whose_first_thread_has_ended);
	return test_done();
}
