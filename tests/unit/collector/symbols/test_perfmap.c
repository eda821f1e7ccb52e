/*
 * Maps of JITs: their text, whose file is believed, and when it is read
 * again.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/symbols/jit.h"
#include "collector/symbols/perfmap.h"
#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

/* ---- the text ---- */

static bool
text_read(void *arg, uint64_t at, void *p, size_t n)
{
	memcpy(p, (const char *)arg + at, n);
	return true;
}

static struct perfmap *
parse(const char *text)
{
	struct elf_input in = {text_read, (void *)(uintptr_t)text,
	    strlen(text)};
	struct perfmap *m = NULL;

	CHECK_INT(perfmap_open(&m, &in), ELF_OK);
	return m;
}

static const char *
name_at(const struct perfmap *m, uint64_t addr)
{
	static char name[ELF_NAME_MAX];
	struct elf_symbol s;

	return perfmap_lookup(m, addr, &s, name) ? name : "-";
}

TEST(lines)
{
	struct perfmap *m = parse("1000 10 JS:*hot /a b.js:1:2\n"
	    "0x2000 0x20 prefixed\nzz 1 bad\n3000 5\n3000  5 two spaces\n"
	    "4000 0 empty\n 5000 1 space\n6000 fffffffffff huge\n\n"
	    "11112222333344445 1 long\n7000 1 \n8000 1 unfinished");

	CHECK_STR(name_at(m, 0x1000), "JS:*hot /a b.js:1:2");
	CHECK_STR(name_at(m, 0x100f), "JS:*hot /a b.js:1:2");
	CHECK_STR(name_at(m, 0x1010), "-");
	CHECK_STR(name_at(m, 0xfff), "-");
	CHECK_STR(name_at(m, 0x2010), "prefixed");
	CHECK_STR(name_at(m, 0x8000), "-");
	CHECK_STR(name_at(m, 0x3000), "-");
	CHECK_STR(name_at(m, 0x4000), "-");
	CHECK_STR(name_at(m, 0x5000), "-");
	CHECK_STR(name_at(m, 0x6000), "-");
	CHECK_STR(name_at(m, 0x7000), "-");
	perfmap_close(m);
	m = parse("");
	CHECK_STR(name_at(m, 0), "-");
	CHECK_STR(name_at(m, UINT64_MAX), "-");
	perfmap_close(m);
}

/* Memory is used again: the later line counts, whole or in part. */
TEST(the_later_piece_counts)
{
	struct perfmap *m = parse("1000 100 old\n2000 100 second\n"
	    "1000 80 new\n1f80 100 across\n");

	CHECK_STR(name_at(m, 0x1000), "new");
	CHECK_STR(name_at(m, 0x1080), "-");
	CHECK_STR(name_at(m, 0x2000), "across");
	CHECK_STR(name_at(m, 0x207f), "across");
	CHECK_STR(name_at(m, 0x2080), "second");
	perfmap_close(m);
}

/* Lines that lie across the border of two chunks. */
TEST(long_maps)
{
	size_t n = 0, size = 40 * 10000;
	char *text = malloc(size), want[40];
	struct perfmap *m;
	int i;

	for (i = 0; i < 10000; i++)
		n += (size_t)snprintf(text + n, size - n,
		    "%x 10 function_%d\n", 0x10000 + 16 * i, i);
	m = parse(text);
	for (i = 0; i < 10000; i++) {
		snprintf(want, sizeof(want), "function_%d", i);
		CHECK_STR(name_at(m, (uint64_t)(0x10000 + 16 * i + 3)), want);
	}
	perfmap_close(m);
	free(text);
}

/* ---- whose file ---- */

TEST(foreign_mounts)
{
	CHECK_INT(jits_judge_root(""), JIT_ROOT_UNTOLD);
	CHECK_INT(jits_judge_root("nothing\n\n - \n"), JIT_ROOT_UNTOLD);
	CHECK_INT(jits_judge_root("25 1 253:1 / / rw - ext4 /dev/vda1 rw\n"
	    "90 25 0:45 / /mnt rw shared:3 - fuse.sshfs host rw\n"),
	    JIT_ROOT_OURS);
	CHECK_INT(jits_judge_root("25 1 253:1 / / rw - ext4 /dev/vda1 rw\n"
	    "90 25 0:45 / /tmp rw shared:3 - fuse.sshfs host rw\n"),
	    JIT_ROOT_FOREIGN);
	CHECK_INT(jits_judge_root("90 25 0:45 / /tmp rw - fuse.sshfs h rw\n"),
	    JIT_ROOT_FOREIGN);
	CHECK_INT(jits_judge_root("90 25 0:45 / /proc rw - proc p rw\n"),
	    JIT_ROOT_UNTOLD);
	CHECK_INT(jits_judge_root("25 1 0:9 / / rw - fuse.overlay x rw\n"),
	    JIT_ROOT_FOREIGN);
}

static char proc[] = "/tmp/memlens-test-jit-XXXXXX";

static void
put(const char *name, const char *text, const char *mode)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	f = fopen(path, mode);
	CHECK(f != NULL);
	if (f == NULL)
		return;
	fputs(text, f);
	fclose(f);
}

static void
make_proc(void)
{
	static const char *const dirs[] = {"42", "42/root", "42/root/tmp"};
	char path[300];

	CHECK(mkdtemp(proc) != NULL);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, dirs[i]);
		CHECK(mkdir(path, 0700) == 0);
	}
	put("42/status", "Name:\tx\nNSpid:\t42\t7\nNSpgid:\t42\n", "w");
	put("42/mountinfo", "25 1 253:1 / / rw - ext4 /dev/vda1 rw\n", "w");
}

static void
remove_proc(void)
{
	static const char *const names[] = {"42/root/tmp/perf-7.map",
	    "42/status", "42/mountinfo"};
	static const char *const dirs[] = {"42/root/tmp", "42/root", "42", ""};
	char path[300];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, names[i]);
		unlink(path);
	}
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, dirs[i]);
		rmdir(path);
	}
}

TEST(only_its_own_plain_file)
{
	char path[300];
	int fd;

	make_proc();
	CHECK_INT(jits_open(proc, 42), -1);
	CHECK_INT(jits_open(proc, 43), -1);
	put("42/root/tmp/perf-7.map", "1000 10 a\n", "w");
	fd = jits_open(proc, 42);
	CHECK(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/42/root/tmp/perf-7.map", proc);
	if (geteuid() == 0) {
		CHECK(chown(path, 12345, 12345) == 0);
		CHECK_INT(jits_open(proc, 42), -1);
	}
	unlink(path);
	CHECK(symlink("/etc/passwd", path) == 0);
	CHECK_INT(jits_open(proc, 42), -1);
	unlink(path);
	CHECK(mkfifo(path, 0600) == 0);
	CHECK_INT(jits_open(proc, 42), -1); /* and does not wait */
	unlink(path);
	put("42/root/tmp/perf-7.map", "1000 10 a\n", "w");
	put("42/mountinfo", "25 1 0:9 / /tmp rw - fuse.x y rw\n", "w");
	CHECK_INT(jits_open(proc, 42), -1);
	remove_proc();
}

/* A process in a chroot sees no mount at its root: that is one of ours, or
 * else a stranger's. */
TEST(the_root_of_a_chroot)
{
	char text[200], path[300];
	struct stat st;
	int fd;

	strcpy(proc + strlen(proc) - 6, "XXXXXX");
	make_proc();
	snprintf(path, sizeof(path), "%s/self", proc);
	CHECK(mkdir(path, 0700) == 0);
	CHECK(stat(proc, &st) == 0);
	put("42/root/tmp/perf-7.map", "1000 10 a\n", "w");
	put("42/mountinfo", "", "w");
	snprintf(text, sizeof(text), "25 1 %u:%u / / rw - ext4 /dev/vda1 rw\n",
	    major(st.st_dev), minor(st.st_dev));
	put("self/mountinfo", text, "w");
	fd = jits_open(proc, 42);
	CHECK(fd >= 0);
	close(fd);
	snprintf(text, sizeof(text), "25 1 %u:%u / /m rw - fuse.x host rw\n",
	    major(st.st_dev), minor(st.st_dev));
	put("self/mountinfo", text, "w");
	CHECK_INT(jits_open(proc, 42), -1);
	put("self/mountinfo", "25 1 999:999 / / rw - ext4 /dev/vda1 rw\n",
	    "w");
	CHECK_INT(jits_open(proc, 42), -1);
	snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
	unlink(path);
	snprintf(path, sizeof(path), "%s/self", proc);
	rmdir(path);
	remove_proc();
}

static void *place; /* of the process 42 */

/* Asks until there is an answer other than "not yet". */
static struct frame
ask(struct jits *j, struct symbols *s, uint64_t addr, int64_t now_ns)
{
	int64_t until = clock_mono_ns() + 30 * NS_PER_S;
	uint32_t ref = 0;
	bool known = false;

	while (clock_mono_ns() < until) {
		symbols_pump(s, now_ns);
		known = jits_ref(j, &place, 42, addr, now_ns, &ref);
		if (!known || (ref & SYMBOLS_UNRESOLVED) == 0)
			break;
		symbols_settle(s, 100 * NS_PER_MS);
		now_ns += 10 * NS_PER_MS;
	}
	return known ? symbols_get(s, symbols_final(s, ref)) :
	    (struct frame){.name = "no map"};
}

TEST(what_is_added_is_found)
{
	int64_t now = clock_mono_ns();
	struct symbols *s = NULL;
	struct symbols_stats stats;
	void *other = NULL;
	struct jits *j;
	struct frame f;
	uint32_t ref;

	strcpy(proc + strlen(proc) - 6, "XXXXXX");
	make_proc();
	CHECK_OK(symbols_new(&s, NULL, NULL));
	j = jits_new(s, proc);
	CHECK_STR(ask(j, s, 0x1004, now).name, "no map");
	put("42/root/tmp/perf-7.map", "1000 10 JS:*one\n", "w");
	/* Not before a second has passed. */
	CHECK_STR(ask(j, s, 0x1004, now).name, "no map");
	now += 2 * NS_PER_S;
	f = ask(j, s, 0x1004, now);
	/* Another process, 256 numbers on, does not take its place. */
	CHECK(!jits_ref(j, &other, 42 + 256, 0x1004, now, &ref));
	put("42/root/tmp/perf-7.map", "1000 10 JS:*eins\n", "w");
	CHECK_STR(ask(j, s, 0x1004, now).name, "JS:*one");
	put("42/root/tmp/perf-7.map", "1000 10 JS:*one\n", "w");
	jits_drop(j, other);
	CHECK_STR(f.name, "JS:*one");
	CHECK_INT(f.kind, FRAME_JIT);
	CHECK_INT(f.offset, 0);
	now += 100 * NS_PER_S;
	CHECK_STR(ask(j, s, 0x2004, now).name, "[anonymous code]");
	put("42/root/tmp/perf-7.map", "2000 10 JS:*two\n1000 10 JS:*uno\n",
	    "a");
	now += 100 * NS_PER_S;
	CHECK_STR(ask(j, s, 0x2004, now).name, "JS:*two");
	CHECK_STR(ask(j, s, 0x1004, now).name, "JS:*uno");
	/* Names that were known stay when the map is taken away. */
	remove_proc();
	now += 100 * NS_PER_S;
	CHECK_STR(ask(j, s, 0x2004, now).name, "JS:*two");
	symbols_stats(s, &stats);
	CHECK_INT(stats.restarts, 0);
	jits_drop(j, place);
	jits_free(j);
	symbols_free(s);
	place = NULL;
}

/* A process that slept for minutes is known no more, and its map is as it
 * was when it wakes. */
TEST(a_map_of_one_that_slept_is_read_again)
{
	int64_t now = clock_mono_ns();
	struct symbols *s = NULL;
	struct jits *j;

	strcpy(proc + strlen(proc) - 6, "XXXXXX");
	make_proc();
	put("42/root/tmp/perf-7.map", "1000 10 JS:*one\n2000 10 JS:*two\n",
	    "w");
	CHECK_OK(symbols_new(&s, NULL, NULL));
	j = jits_new(s, proc);
	CHECK_STR(ask(j, s, 0x1004, now).name, "JS:*one");
	jits_drop(j, place);
	place = NULL;
	now += 400 * NS_PER_S;
	CHECK_STR(ask(j, s, 0x2004, now).name, "JS:*two");
	CHECK_STR(ask(j, s, 0x1004, now).name, "JS:*one");
	remove_proc();
	jits_drop(j, place);
	jits_free(j);
	symbols_free(s);
	place = NULL;
}

int
main(void)
{
	RUN(lines);
	RUN(the_later_piece_counts);
	RUN(long_maps);
	RUN(foreign_mounts);
	RUN(only_its_own_plain_file);
	RUN(the_root_of_a_chroot);
	RUN(what_is_added_is_found);
	RUN(a_map_of_one_that_slept_is_read_again);
	return test_done();
}
