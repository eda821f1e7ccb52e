/*
 * Process mappings: the text, the search, and when it is read again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/spent.h"
#include "collector/maps/maps.h"
#include "collector/maps/maps_changes.h"
#include "collector/process/process.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/collector/process/first_thread.h"
#include "tests/unit/test.h"

static const char text[] =
    "00400000-00401000 r--p 00000000 fd:01 77        /opt/a b (deleted)\n"
    "00401000-00405000 r-xp 00001000 fd:01 77        /opt/a b (deleted)\n"
    "00405000-00406000 rw-p 00005000 fd:01 77        /opt/a b (deleted)\n"
    "7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n"
    "7f0000020000-7f0000030000 r-xp 00002000 00:2d 9  /mnt/x\\012y\n"
    "7f0000040000-7f0000050000 r-xs 00002000 00:01 5 "
    "/memfd:doublemapper (deleted)\n"
    "7f0000060000-7f0000070000 r-xp 00000000 00:01 6 /memfd:elf (deleted)\n"
    "7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0  [vdso]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

TEST(parse)
{
	struct maps_list l;
	struct mapping *m;

	CHECK_OK(maps_parse(text, sizeof(text) - 1, &l));
	CHECK_INT(l.n, 7);
	m = maps_list_find(&l, 0x401000);
	CHECK(m != NULL && m->end == 0x405000 && m->offset == 0x1000);
	CHECK(m != NULL && m->ino == 77 && m->dev == makedev(0xfd, 1));
	CHECK(m != NULL && m->kind == MAPPING_FILE);
	CHECK_STR(maps_name(&l, m), "/opt/a b (deleted)");
	CHECK(maps_list_find(&l, 0x404fff) == m);
	CHECK(maps_list_find(&l, 0x405000) == NULL);
	CHECK(maps_list_find(&l, 0x400fff) == NULL);
	CHECK(maps_list_find(&l, 0) == NULL);
	CHECK(maps_list_find(&l, UINT64_MAX) == NULL);
	CHECK_INT(maps_list_find(&l, 0x7f0000000000)->kind, MAPPING_ANONYMOUS);
	CHECK_INT(maps_list_find(&l, 0x7f0000040000)->kind, MAPPING_ANONYMOUS);
	CHECK_INT(maps_list_find(&l, 0x7f0000060000)->kind, MAPPING_FILE);
	CHECK_INT(maps_list_find(&l, 0x7ffff7fc1000)->kind, MAPPING_VDSO);
	CHECK_INT(
	    maps_list_find(&l, 0xffffffffff600000)->kind, MAPPING_SPECIAL);
	maps_list_fini(&l);
}

TEST(foreign)
{
	struct maps_list l;

	CHECK_OK(maps_parse(text, sizeof(text) - 1, &l));
	maps_mark_foreign(&l, "25 1 253:1 / / rw - ext4 /dev/vda1 rw\n"
	    "90 25 0:45 / /mnt rw shared:3 - fuse.sshfs host rw\n"
	    "damaged\n");
	CHECK_INT(maps_list_find(&l, 0x401000)->kind, MAPPING_FILE);
	CHECK_INT(maps_list_find(&l, 0x7f0000020000)->kind, MAPPING_FOREIGN);
	maps_list_fini(&l);
	CHECK_OK(maps_parse(text, sizeof(text) - 1, &l));
	maps_mark_foreign(&l, "90 25 0:45 / /mnt rw - overlay o rw,fuse=no\n");
	CHECK_INT(maps_list_find(&l, 0x7f0000020000)->kind, MAPPING_FILE);
	maps_list_fini(&l);
}

/* Mounts that cannot be read, or are too many, may hide a FUSE one. */
TEST(unread_mounts_trust_no_file_without_a_disk)
{
	struct maps_list l;

	CHECK_OK(maps_parse(text, sizeof(text) - 1, &l));
	maps_mark_foreign(&l, NULL);
	CHECK_INT(maps_list_find(&l, 0x401000)->kind, MAPPING_FILE);
	CHECK_INT(maps_list_find(&l, 0x7f0000020000)->kind, MAPPING_FOREIGN);
	maps_list_fini(&l);
}

/* As long as the text is, each of its lines is read once: 2 MB took seconds,
 * and any user may make 100,000 mounts. */
TEST(many_mounts_take_no_time)
{
	static const char mapped[] =
	    "1000-2000 r-xp 0 00:45 1 /mnt/tool\n";
	static const char last[] = "9 8 0:69 / /mnt rw - fuse.x host rw\n";
	struct maps_list l;
	struct buf mounts = {0};
	int64_t began;

	for (int i = 0; i < 40000; i++)
		buf_printf(&mounts, "%d 25 0:%d / /tmp/m%d rw,relatime - "
		    "tmpfs tmpfs rw\n", 100 + i, 1000 + i, i);
	buf_put(&mounts, last, sizeof(last));
	CHECK(!mounts.failed);
	CHECK_OK(maps_parse(mapped, sizeof(mapped) - 1, &l));
	began = clock_cpu_ns();
	maps_mark_foreign(&l, (const char *)mounts.data);
	CHECK(clock_cpu_ns() - began < 2 * NS_PER_S);
	CHECK_INT(maps_list_find(&l, 0x1000)->kind, MAPPING_FOREIGN);
	maps_list_fini(&l);
	buf_fini(&mounts);
}

TEST(damaged)
{
	static const char *const bad[] = {"x", "1000", "1000-2000",
	    "1000-2000 r-xp", "2000-1000 r-xp 0 fd:01 1 /x",
	    "1000-2000 r-xp 0 fd01 1 /x", "1000-2000 r-xp 0 fd:01 x /x",
	    "2000-3000 r-xp 0 0:0 1 /a\n1000-2000 r-xp 0 0:0 1 /b\n",
	    "111111111111111111111-2 r-xp 0 fd:01 1 /x", "\n", "-"};
	struct maps_list l;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(maps_parse(bad[i], strlen(bad[i]), &l) != NULL);
		maps_list_fini(&l);
	}
	CHECK_OK(maps_parse("", 0, &l));
	CHECK_INT(l.n, 0);
	maps_list_fini(&l);
}

TEST(any_cut_is_harmless)
{
	struct maps_list l;
	char *copy;
	size_t n;

	for (n = 0; n < sizeof(text); n++) {
		copy = malloc(n + 1); /* its end is where ASan looks */
		memcpy(copy, text, n);
		maps_parse(copy, n, &l);
		maps_list_fini(&l);
		free(copy);
	}
}

TEST(too_many)
{
	size_t room = (MAPS_EACH_MAX + 10) * 64, n = 0, i;
	char *p = malloc(room);
	struct maps_list l;

	for (i = 0; i < MAPS_EACH_MAX + 1; i++)
		n += (size_t)snprintf(p + n, room - n,
		    "%zx000-%zx000 r-xp 0 00:00 0 \n", 2 * i + 1, 2 * i + 2);
	CHECK(maps_parse(p, n, &l) != NULL);
	CHECK_INT(l.n, MAPS_EACH_MAX); /* the first ones serve */
	maps_list_fini(&l);
	free(p);
}

static void
put_maps(const char *dir, int pid, const char *maps)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", dir, pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/maps", dir, pid);
	f = fopen(path, "w");
	if (f == NULL)
		return;
	fputs(maps, f);
	fclose(f);
}

static void
remove_maps(const char *dir, int pid)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%d/maps", dir, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", dir, pid);
	rmdir(path);
}

#define S NS_PER_S

static struct processes *table;

/* As a sample of that image asks; exec_id 0: another one. */
static struct maps_process *
code(struct maps *m, int32_t pid, uint64_t start_ns, uint32_t exec_id,
    int64_t now_ns)
{
	struct process *p = process_find(table, pid, start_ns);

	if (p == NULL)
		p = process_add(table, pid, start_ns);
	if (exec_id != 0)
		process_executes(p, exec_id);
	return maps_process(m, p, now_ns);
}

/* Processes with mappings. */
static int
lists(void)
{
	struct process *p = NULL;
	int n = 0;

	while ((p = processes_next(table, p)) != NULL)
		n += p->part[PROCESS_CODE] != NULL;
	return n;
}

/* A directory stands in for /proc. */
TEST(read_again)
{
	static const char before[] = "100000-200000 r-xp 0 fd:01 5 /a\n";
	static const char after[] = "100000-200000 r-xp 0 fd:01 5 /a\n"
	    "500000-600000 r-xp 0 fd:01 6 /b\n";
	char dir[] = "/tmp/test_maps.XXXXXX";
	struct maps_process *p;
	struct maps *m;

	CHECK(mkdtemp(dir) != NULL);
	put_maps(dir, 42, before);
	CHECK_OK(maps_new(&m, table = processes_new(),
	    dir));
	p = code(m, 42, 7, 1, 100 * S);
	CHECK(maps_find(m, p, 0x100000, 100 * S) != NULL);
	CHECK(maps_find(m, p, 0x500000, 100 * S) == NULL);
	CHECK_INT(maps_reads(m), 1);
	/* No code can be there. */
	CHECK(maps_find(m, p, 0x10, 102 * S) == NULL);
	CHECK_INT(maps_reads(m), 1);
	put_maps(dir, 42, after);
	/* Not within a second, then at once. */
	CHECK(maps_find(m, p, 0x500000, 100 * S + S / 2) == NULL);
	CHECK(maps_find(m, p, 0x500000, 102 * S) != NULL);
	CHECK_INT(maps_reads(m), 2);
	/* In vain: after 1, 2, 4 ... seconds. */
	maps_find(m, p, 0x700000, 104 * S);
	maps_find(m, p, 0x700000, 105 * S + S / 2);
	maps_find(m, p, 0x700000, 107 * S);
	maps_find(m, p, 0x700000, 110 * S);
	CHECK_INT(maps_reads(m), 4);
	/* An exec, and another process of the same number. */
	put_maps(dir, 42, before);
	p = code(m, 42, 7, 2, 111 * S);
	CHECK(maps_find(m, p, 0x500000, 111 * S) == NULL);
	CHECK_INT(maps_reads(m), 5);
	put_maps(dir, 42, after);
	p = code(m, 42, 8, 2, 111 * S);
	CHECK(maps_find(m, p, 0x500000, 111 * S) != NULL);
	CHECK_INT(maps_reads(m), 6);
	/* While it is in use, once a minute. */
	p = code(m, 42, 8, 2, 130 * S);
	CHECK_INT(maps_reads(m), 6);
	p = code(m, 42, 8, 2, 180 * S);
	CHECK_INT(maps_reads(m), 7);
	/* One that has ended keeps what was known. */
	remove_maps(dir, 42);
	p = code(m, 42, 8, 2, 300 * S);
	CHECK(maps_find(m, p, 0x500000, 300 * S) != NULL);
	maps_sweep(m, 301 * S);
	CHECK_INT(lists(), 2);
	maps_sweep(m, 900 * S);
	CHECK_INT(lists(), 0);
	maps_free(m);
	processes_free(table);
	rmdir(dir);
}

/* At 10 s, unless it is another's. */
static void
change(struct maps *m, uint64_t start, uint64_t end, uint64_t ino)
{
	maps_cut(m, &(struct maps_change){.pid = 42, .start = start,
	    .end = end, .ino = ino, .time_ns = 10 * S}, NULL);
}

/* The file that was at 0x1000 at a moment, "" when nobody told. */
static const char *
then(struct maps *m, struct maps_process *p, int64_t time_ns)
{
	struct maps_process *of;
	struct mapping *map = maps_then(m, p, 0x1800, time_ns, &of);

	return map != NULL ? maps_process_name(of, map) : "";
}

/* A library comes to 0x1000. */
static void
tell(struct maps *m, int32_t pid, int64_t time_ns, const char *path)
{
	maps_cut(m, &(struct maps_change){.pid = pid, .start = 0x1000,
	    .end = 0x2000, .ino = (uint64_t)time_ns, .dev = 64768,
	    .time_ns = time_ns}, path);
}

/* Libraries take turns at one place, and are known when they have gone. */
TEST(what_was_mapped_then)
{
	struct maps_process *p;
	struct maps *m;
	char path[32];
	int i, round;

	CHECK_OK(maps_new(&m, table = processes_new(),
	    "/nowhere"));
	p = code(m, 42, 7, 0, S);
	for (i = 1; i <= 100; i++) {
		snprintf(path, sizeof(path), "/lib%d.so", i);
		maps_cut(m, &(struct maps_change){.pid = 42,
		    .start = 0x1000, .end = 0x2000, .ino = (uint64_t)i,
		    .dev = 64768, .time_ns = i * 10}, path);
	}
	maps_cut(m, &(struct maps_change){.pid = 43, .start = 0x1000,
	    .end = 0x2000, .ino = 7, .time_ns = 15}, "/another");
	CHECK_STR(then(m, p, 9), "");
	for (round = 0; round < 2; round++) {
		for (i = 1; i <= 100; i++) {
			snprintf(path, sizeof(path), "/lib%d.so", i);
			CHECK_STR(then(m, p, i * 10 + 5), path);
		}
	}
	/* Code without a file, and one whose path is not remembered. */
	maps_cut(m, &(struct maps_change){.pid = 42, .start = 0x1000,
	    .end = 0x2000, .time_ns = 2000}, "//anon");
	CHECK_STR(then(m, p, 2005), "");
	maps_cut(m, &(struct maps_change){.pid = 42, .start = 0x1000,
	    .end = 0x2000, .ino = 9, .time_ns = 3000}, "/a\nb");
	CHECK_STR(then(m, p, 3005), "");
	maps_free(m);
	processes_free(table);
}

/* A list that was read after a sample is no witness for it where the changes
 * in between are forgotten; one from before it is. */
TEST(what_is_forgotten_speaks_for_nobody)
{
	const struct maps_change other = {.pid = 43, .start = 0x1000,
	    .end = 0x2000, .ino = 7, .time_ns = 50 * S};
	char dir[] = "/tmp/test_maps.XXXXXX";
	struct maps_process *p;
	struct mapping *map;
	struct maps *m;
	int i;

	CHECK(mkdtemp(dir) != NULL);
	put_maps(dir, 42, "100000-200000 r-xp 0 fd:01 5 /a\n"
	    "500000-600000 r-xp 0 fd:01 6 /b\n");
	CHECK_OK(maps_new(&m, table = processes_new(),
	    dir));
	p = code(m, 42, 7, 1, 30 * S);
	change(m, 0x500000, 0x600000, 6); /* at 10 s */
	map = maps_find(m, p, 0x500000, 30 * S);
	CHECK(map != NULL);
	CHECK(maps_held(m, p, map, 0x500000, 15 * S));
	CHECK(!maps_held(m, p, map, 0x500000, 5 * S));
	for (i = 0; i < CHANGES_MAX; i++)
		maps_cut(m, &other, NULL);
	CHECK(!maps_held(m, p, map, 0x500000, 5 * S));
	CHECK(maps_held(m, p, map, 0x500000, 15 * S));
	CHECK(maps_held(m, p, map, 0x500000, 40 * S));
	map = maps_find(m, p, 0x100000, 30 * S);
	CHECK(map != NULL && maps_held(m, p, map, 0x100000, 15 * S));
	maps_free(m);
	processes_free(table);
	remove_maps(dir, 42);
	rmdir(dir);
}

/* Where records were lost, what was told last may have gone since; a moment
 * outside of the gap is known as before. */
TEST(what_was_lost_speaks_for_nobody)
{
	struct maps_process *p;
	struct maps *m;

	CHECK_OK(maps_new(&m, table = processes_new(), "/nowhere"));
	p = code(m, 42, 7, 0, S);
	tell(m, 42, 10, "/one.so");
	tell(m, 42, 50, "/two.so");
	maps_lose(m, 20, 30);
	CHECK_STR(then(m, p, 15), "/one.so");
	CHECK_STR(then(m, p, 20), "/one.so");
	CHECK_STR(then(m, p, 21), "");
	CHECK_STR(then(m, p, 45), "");
	CHECK_STR(then(m, p, 55), "/two.so");
	maps_free(m);
	processes_free(table);
}

/* Many gaps become few, and none of them is left out. */
TEST(gaps_grow_together)
{
	static struct maps_changes c;
	int64_t i;

	for (i = 1; i <= 100; i++) {
		maps_changes_lose(&c, i * 10, i * 10 + 3);
		CHECK(maps_changes_miss(&c, 42, i * 10 + 1, i * 10 + 2));
		CHECK(!maps_changes_miss(&c, 42, i * 10 + 3, i * 10 + 9));
		CHECK(maps_changes_miss(&c, 42, 11, 12));
		CHECK(!maps_changes_miss(&c, 42, 1, 10));
	}
	CHECK_INT(c.n_gaps, CHANGES_GAPS);
	CHECK(!maps_changes_miss(&c, 42, 983, 990));
	maps_changes_lose(&c, 5, 2000); /* told late, by another CPU */
	CHECK_INT(c.n_gaps, 1);
	CHECK(maps_changes_miss(&c, 42, 983, 990));
	maps_changes_lose(&c, 3000, 3001);
	maps_changes_lose(&c, 2500, 2600);
	CHECK_INT(c.n_gaps, 3);
	CHECK_INT(c.gaps[1].since_ns, 2500);
	CHECK(!maps_changes_miss(&c, 42, 2600, 3000));
}

/* CPUs tell one after the other: what one has told is forgotten before what
 * another one told of earlier moments. */
TEST(what_is_forgotten_may_be_younger)
{
	struct maps_process *p;
	struct maps *m;
	int i;

	CHECK_OK(maps_new(&m, table = processes_new(), "/nowhere"));
	p = code(m, 42, 7, 0, S);
	tell(m, 42, 30, "/two.so");
	tell(m, 42, 10, "/one.so");
	CHECK_STR(then(m, p, 35), "/two.so");
	for (i = 1; i < CHANGES_MAX; i++)
		tell(m, 43, 100, "/another");
	CHECK_STR(then(m, p, 35), "");
	maps_free(m);
	processes_free(table);
}

/* Where records were lost, a list from before and from behind that is content
 * with what has always been there, but not where libraries take turns. */
TEST(a_gap_where_libraries_take_turns)
{
	static const char text_of_two[] = "100000-200000 r-xp 0 fd:01 5 /a\n"
	    "500000-600000 r-xp 0 fd:01 6 /b\n";
	char dir[] = "/tmp/test_maps.XXXXXX";
	struct maps_process *p;
	struct mapping *steady, *turn;
	struct maps *m;

	CHECK(mkdtemp(dir) != NULL);
	put_maps(dir, 42, text_of_two);
	CHECK_OK(maps_new(&m, table = processes_new(), dir));
	p = code(m, 42, 7, 1, 100 * S);
	maps_lose(m, 90 * S, 95 * S);
	maps_lose(m, 110 * S, 120 * S);
	turn = maps_find(m, p, 0x500000, 100 * S);
	CHECK(turn != NULL && maps_held(m, p, turn, 0x500000, 97 * S));
	CHECK(turn != NULL && !maps_held(m, p, turn, 0x500000, 92 * S));
	CHECK(turn != NULL && !maps_held(m, p, turn, 0x500000, 80 * S));
	CHECK(turn != NULL && maps_held(m, p, turn, 0x500000, 115 * S));
	/* Another one is found there, then the first one again. */
	put_maps(dir, 42, "100000-200000 r-xp 0 fd:01 5 /a\n"
	    "500000-600000 r-xp 0 fd:01 7 /c\n");
	maps_renew(process_find(table, 42, 7));
	p = code(m, 42, 7, 0, 130 * S);
	put_maps(dir, 42, text_of_two);
	maps_renew(process_find(table, 42, 7));
	p = code(m, 42, 7, 0, 140 * S);
	maps_lose(m, 150 * S, 160 * S);
	turn = maps_find(m, p, 0x500000, 140 * S);
	steady = maps_find(m, p, 0x100000, 140 * S);
	CHECK(turn != NULL && maps_held(m, p, turn, 0x500000, 145 * S));
	CHECK(turn != NULL && !maps_held(m, p, turn, 0x500000, 155 * S));
	CHECK(turn != NULL && !maps_held(m, p, turn, 0x500000, 115 * S));
	CHECK(steady != NULL && maps_held(m, p, steady, 0x100000, 155 * S));
	CHECK(steady != NULL && maps_held(m, p, steady, 0x100000, 115 * S));
	maps_free(m);
	processes_free(table);
	remove_maps(dir, 42);
	rmdir(dir);
}

/* What dlclose() leaves behind is cut when something else is mapped there; a
 * renewal reads for whoever asks, and then stays that image's. */
TEST(cut_and_renew)
{
	static const char text_of_two[] = "100000-200000 r-xp 0 fd:01 5 /a\n"
	    "500000-600000 r-xp 0 fd:01 6 /b\n";
	char dir[] = "/tmp/test_maps.XXXXXX";
	struct maps_process *p;
	struct maps *m;

	CHECK(mkdtemp(dir) != NULL);
	put_maps(dir, 42, text_of_two);
	CHECK_OK(maps_new(&m, table = processes_new(),
	    dir));
	change(m, 0, UINT64_MAX, 6); /* not known yet */
	p = code(m, 42, 7, 1, 100 * S);
	change(m, 0x500000, 0x600000, 6); /* the same again */
	CHECK(maps_find(m, p, 0x500000, 100 * S) != NULL);
	change(m, 0x5f0000, 0x700000, 9);
	CHECK(maps_find(m, p, 0x500000, 100 * S) == NULL);
	CHECK(maps_find(m, p, 0x100000, 100 * S) != NULL);
	maps_renew(process_find(table, 42, 7));
	p = code(m, 42, 7, 0, 100 * S);
	CHECK(maps_find(m, p, 0x500000, 100 * S) != NULL);
	CHECK_INT(maps_reads(m), 2);
	p = code(m, 42, 7, 2, 100 * S);
	CHECK_INT(maps_reads(m), 2);
	p = code(m, 42, 7, 3, 100 * S);
	CHECK(maps_find(m, p, 0x500000, 100 * S) != NULL);
	CHECK_INT(maps_reads(m), 3);
	maps_free(m);
	processes_free(table);
	remove_maps(dir, 42);
	rmdir(dir);
}

/* Another library at the very place of the last one is another mapping; one
 * that is known now says nothing about samples from before it. */
TEST(the_place_of_another)
{
	static const char now_c[] = "500000-600000 r-xp 0 fd:01 7 /c\n";
	const struct maps_change b = {.pid = 42, .start = 0x500000,
	    .end = 0x600000, .ino = 6, .time_ns = 10 * S};
	struct maps_change c = b;
	char dir[] = "/tmp/test_maps.XXXXXX";
	struct maps_process *p;
	struct mapping *map;
	struct maps *m;

	CHECK(mkdtemp(dir) != NULL);
	put_maps(dir, 42, "500000-600000 r-xp 0 fd:01 6 /b\n");
	CHECK_OK(maps_new(&m, table = processes_new(),
	    dir));
	p = code(m, 42, 7, 1, 100 * S);
	map = maps_find(m, p, 0x500000, 100 * S);
	CHECK(map != NULL && maps_held(m, p, map, 0x500000, 1));
	maps_cut(m, &b, NULL);
	map = maps_find(m, p, 0x500000, 100 * S);
	CHECK(map != NULL && maps_held(m, p, map, 0x500000, 10 * S));
	CHECK(map != NULL && !maps_held(m, p, map, 0x500000, 10 * S - 1));
	c.ino = 7;
	c.time_ns = 20 * S;
	maps_cut(m, &c, NULL);
	CHECK(maps_find(m, p, 0x500000, 100 * S) == NULL);
	put_maps(dir, 42, now_c);
	map = maps_find(m, p, 0x500000, 105 * S);
	CHECK(map != NULL && maps_held(m, p, map, 0x500000, 20 * S));
	CHECK(map != NULL && !maps_held(m, p, map, 0x500000, 19 * S));
	/* The same again: it was there before, too. */
	c.time_ns = 30 * S;
	maps_cut(m, &c, NULL);
	map = maps_find(m, p, 0x500000, 105 * S);
	CHECK(map != NULL && maps_held(m, p, map, 0x500000, 25 * S));
	CHECK(map != NULL && !maps_held(m, p, map, 0x500000, 15 * S));
	/* Whose rows may a walk have gone by?  Not for long the other's. */
	CHECK_INT(maps_replaced(m, p, 0x500000, 11 * S), 0);
	CHECK_INT(maps_replaced(m, p, 0x500000, 21 * S), 10 * S);
	CHECK_INT(maps_replaced(m, p, 0x700000, 21 * S), 0);
	CHECK_INT(maps_replaced(m, p, 0x500000, 25 * S), 0);
	CHECK_INT(maps_replaced(m, p, 0x500000, 31 * S), 0);
	maps_free(m);
	processes_free(table);
	remove_maps(dir, 42);
	rmdir(dir);
}

static struct maps_change told[3 * CHANGES_MAX];

/* A change of some size at some place, of one of so many processes. */
static struct maps_change
some_change(int64_t time_ns, int pids)
{
	static const uint64_t sizes[] = {0x1000, 0x10000, 0x11000, 0x200000,
	    0x7f0000000};
	uint64_t start = 0x400000 + (uint64_t)(random() % 64) * 0x8000;

	return (struct maps_change){.pid = (int32_t)(random() % pids),
	    .start = start, .end = start + sizes[random() % 5],
	    .ino = (uint64_t)time_ns + 1000, .time_ns = time_ns};
}

/* What a plain list of the last n changes says. */
static const struct maps_change *
plain_at(size_t n, int32_t pid, uint64_t addr, int64_t at, bool *later)
{
	const struct maps_change *last = NULL, *m = &told[n];

	*later = false;
	while (m-- > told && &told[n] - m <= CHANGES_MAX) {
		if (m->pid != pid || addr < m->start || addr >= m->end)
			continue;
		if (m->time_ns > at)
			*later = true;
		else if (last == NULL || m->time_ns > last->time_ns)
			last = m;
	}
	return last;
}

/* The ring goes round: against a plain list of the last changes.  `skew`: by
 * so much they are out of order within a round and with the one before it. */
static void
check_plain_list(int pids, size_t round, int64_t skew)
{
	struct maps_changes *c = calloc(1, sizeof(*c));
	const struct maps_change *want, *is;
	bool later, is_later;

	for (size_t i = 0; c != NULL && i < 3 * CHANGES_MAX; i++) {
		struct maps_change probe = some_change(0, pids);
		int64_t at = 2 * (int64_t)i - random() % 3000;

		told[i] = some_change(2 * (int64_t)i - random() % skew, pids);
		if (i % round == 0)
			maps_changes_round(c);
		maps_changes_add(c, &told[i], NULL);
		want = plain_at(i + 1, probe.pid, probe.start, at, &later);
		is = maps_changes_at(c, probe.pid, probe.start, at, &is_later);
		if ((is == NULL) != (want == NULL) || later != is_later ||
		    (is != NULL && is->time_ns != want->time_ns))
			test_bad++;
	}
	free(c);
}

TEST(changes_by_a_plain_list)
{
	srandom(1);
	check_plain_list(700, 300, 600);
	check_plain_list(2, 300, 600);
	check_plain_list(1, 3 * CHANGES_MAX, 600);
	check_plain_list(3, 10, 20);
}

TEST(many_processes)
{
	struct maps *m;
	int pid;

	CHECK_OK(maps_new(&m, table = processes_new(),
	    "/nowhere"));
	for (pid = 1; pid < MAPS_PROCESSES_MAX + 100; pid++)
		CHECK(code(m, pid, 1, 1, pid * S) != NULL);
	CHECK_INT(lists(), MAPS_PROCESSES_MAX);
	maps_free(m);
	processes_free(table);
}

/* Mappings were read while the first thread lived; their files are opened
 * when only another one does. */
TEST(files_after_the_first_thread)
{
	struct maps_process *p;
	struct first_thread f;
	struct mapping *map;
	struct maps *m;
	int fd;

	first_thread_begin(&f);
	CHECK_OK(maps_new(&m, table = processes_new(),
	    "/proc"));
	p = code(m, f.pid, 1, 1, S);
	map = maps_find(m, p, (uint64_t)(uintptr_t)first_thread_other, S);
	CHECK(map != NULL);
	first_thread_end(&f);
	fd = map != NULL ? maps_open(m, p, map) : -1;
	CHECK(fd >= 0);
	close(fd);
	first_thread_fini(&f);
	maps_free(m);
	processes_free(table);
}

/* Our own code must lead to our own file. */
TEST(own_process)
{
	struct maps_process *p;
	struct mapping *map;
	struct stat a, b;
	struct maps *m;
	int fd = -1;

	CHECK_OK(maps_new(&m, table = processes_new(),
	    "/proc"));
	p = code(m, getpid(), 1, 1, S);
	map = maps_find(m, p, (uint64_t)(uintptr_t)test_done, S);
	CHECK(map != NULL);
	if (map != NULL)
		fd = maps_open(m, p, map);
	CHECK(fd >= 0 && fstat(fd, &a) == 0 &&
	    stat("/proc/self/exe", &b) == 0 && a.st_ino == b.st_ino);
	close(fd);
	maps_free(m);
	processes_free(table);
}

/* What is read because of a sample does not grow with the rate of samples. */
TEST(reading_is_not_the_samples_time)
{
	struct maps_process *p;
	struct mapping *map;
	int64_t samples_ns, names_ns;
	struct maps *m;

	CHECK_OK(maps_new(&m, table = processes_new(), "/proc"));
	spent_begin(SPENT_SAMPLES);
	samples_ns = spent_ns(SPENT_SAMPLES);
	names_ns = spent_ns(SPENT_NAMES);
	for (int i = 0; i < 20; i++) {
		p = code(m, getpid(), 1 + (uint32_t)i, 1, S);
		map = maps_find(m, p, (uint64_t)(uintptr_t)test_done, S);
		CHECK(map != NULL);
		if (map != NULL)
			close(maps_open(m, p, map));
	}
	CHECK_INT(spent_begin(SPENT_OTHER), SPENT_SAMPLES);
	samples_ns = spent_ns(SPENT_SAMPLES) - samples_ns;
	names_ns = spent_ns(SPENT_NAMES) - names_ns;
	CHECK(names_ns > 3 * samples_ns);
	CHECK_INT(maps_reads(m), 20);
	maps_free(m);
	processes_free(table);
}

int
main(void)
{
	RUN(parse);
	RUN(foreign);
	RUN(unread_mounts_trust_no_file_without_a_disk);
	RUN(many_mounts_take_no_time);
	RUN(damaged);
	RUN(any_cut_is_harmless);
	RUN(too_many);
	RUN(read_again);
	RUN(what_was_mapped_then);
	RUN(what_is_forgotten_speaks_for_nobody);
	RUN(what_was_lost_speaks_for_nobody);
	RUN(gaps_grow_together);
	RUN(what_is_forgotten_may_be_younger);
	RUN(a_gap_where_libraries_take_turns);
	RUN(cut_and_renew);
	RUN(the_place_of_another);
	RUN(changes_by_a_plain_list);
	RUN(many_processes);
	RUN(files_after_the_first_thread);
	RUN(own_process);
	RUN(reading_is_not_the_samples_time);
	return test_done();
}
