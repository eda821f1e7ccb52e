/*
 * Bodies that were pulled, as batches: stocks in the slot of the pull, flows
 * by difference, processes that begin anew; the newest dumps of a folder.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/pull/pull.h"
#include "collector/pull/pull_child.h"
#include "collector/pull/pull_dumps.h"
#include "collector/pull/pull_kept.h"
#include "collector/pull/pull_signal.h"
#include "fcgi/format/gzip.h"
#include "fcgi/symbolize/symbolize.h"
#include "pprof.pb-c.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000000)
#define MAPS "\nMAPPED_LIBRARIES:\n1000-2000 r-xp 0 0:0 1 /no/such/file\n"
/* objects and bytes in use, and allocated, of one stack at each sample */
#define DUMP(use, alloc) "heap_v2/1\n t*: 1: 1 [1: 1]\n@ 0x1001 0x1005\n" \
	" t*: " use " [" alloc "]\n" MAPS

/* tcmalloc's sample of what is in use */
#define SAMPLE(use) "heap profile: " use " [" use "] @ heap_v2/1\n " use \
	" [" use "] @ 0x1001 0x1005\n" MAPS

static struct pull_ask ask = {.slot_ns = 10 * S, .service = "db",
    .instance = "one"};

/* The sum of a type over a record's blocks; -1: it has none. */
static int64_t
sum_of(const struct buf *records, const char *type, uint64_t *slot)
{
	struct cur c = cur_of(records->data, records->len);
	int64_t sum = -1;

	while (cur_left(&c) > 0) {
		size_t n = cur_be32(&c);
		struct batch *b = NULL;

		CHECK_OK(batch_decode(cur_raw(&c, n), n, &b));
		for (size_t i = 0; b != NULL && i < b->n_blocks; i++) {
			const struct batch_block *k = &b->blocks[i];

			if (strcmp(batch_str(b,
			    b->series[k->series].name), type) != 0)
				continue;
			sum = sum < 0 ? 0 : sum;
			for (size_t j = 0; j < k->n; j++)
				sum += b->entries[k->first + j].value;
			*slot = k->slot;
		}
		batch_free(b);
	}
	return sum;
}

/* Takes a body at a time; the sums of kinds, "" where it is refused. */
static const char *
take(struct pull *p, int64_t at_s, const char *text, size_t n)
{
	static const char *const kinds[] = {"inuse_objects", "inuse_space",
	    "alloc_objects", "alloc_space"};
	static char out[200];
	struct pull_made made;
	const struct err *e;
	uint64_t slot = 0;
	size_t at = 0;

	ask.at_ns = at_s * S;
	e = pull_take(p, &ask, text, n, &made);
	out[0] = '\0';
	if (e != NULL) {
		CHECK(made.records.len == 0);
		snprintf(out, sizeof(out), "%s", e->text);
	}
	for (int i = 0; e == NULL && i < 4; i++) {
		int64_t sum = sum_of(&made.records, kinds[i], &slot);

		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%lld",
		    i > 0 ? " " : "", (long long)sum);
		if (i == 1)
			CHECK_INT(slot, at_s / 10);
	}
	buf_fini(&made.records);
	return out;
}

#define TAKE(p, at, text) take(p, at, text, strlen(text))

TEST(what_is_allocated_is_the_difference)
{
	struct pull *p = pull_new();

	CHECK_STR(TAKE(p, 1000, DUMP("2: 2000", "5: 5000")), "2 2000 -1 -1");
	/* over three slots, all of it */
	CHECK_STR(TAKE(p, 1025, DUMP("3: 3000", "12: 12000")),
	    "3 3000 7 7000");
	CHECK_STR(TAKE(p, 1035, DUMP("3: 3000", "12: 12000")), "3 3000 0 0");
	/* another process: all of its own */
	CHECK_STR(TAKE(p, 1045, DUMP("1: 1000", "4: 4000")), "1 1000 4 4000");
	CHECK_STR(TAKE(p, 1055, DUMP("1: 1000", "5: 5000")), "1 1000 1 1000");
	/* nothing was accumulated */
	CHECK_STR(TAKE(p, 1065, DUMP("1: 1000", "0: 0")), "1 1000 -1 -1");
	pull_free(p);
}

/* Neither when it grows nor when it shrinks: nobody knows. */
TEST(what_tcmalloc_does_not_know_is_no_flow)
{
	struct pull *p = pull_new();

	CHECK_STR(TAKE(p, 1000, SAMPLE("2: 2000")), "2 2000 -1 -1");
	CHECK_STR(TAKE(p, 1025, SAMPLE("3: 3000")), "3 3000 -1 -1");
	CHECK_STR(TAKE(p, 1035, SAMPLE("1: 1000")), "1 1000 -1 -1");
	pull_free(p);
}

/* The gauge of how often the heap of a body is sampled; -1: it is not told. */
static int64_t
mean_of(struct pull *p, int64_t at_s, const void *data, size_t n)
{
	struct pull_made made;
	struct cur c;
	int64_t mean = -1;

	ask.at_ns = at_s * S;
	CHECK_OK(pull_take(p, &ask, data, n, &made));
	c = cur_of(made.records.data, made.records.len);
	while (cur_left(&c) > 0) {
		size_t size = cur_be32(&c);
		struct batch *b = NULL;

		CHECK_OK(batch_decode(cur_raw(&c, size), size, &b));
		for (size_t i = 0; b != NULL && i < b->n_blocks; i++) {
			const struct batch_block *k = &b->blocks[i];
			const struct batch_series *s = &b->series[k->series];

			if (strcmp(batch_str(b, s->name), TYPES_SAMPLING) != 0)
				continue;
			CHECK_INT(s->kind, SERIES_GAUGE);
			CHECK_INT(k->slot, at_s / 10);
			CHECK_INT(b->labels[s->labels].n, 2);
			mean = k->last;
		}
		batch_free(b);
	}
	buf_fini(&made.records);
	return mean;
}

#define ONE " 2: 200 [2: 200] @ 0x1001 0x1005\n" MAPS
#define OF(header) "heap profile: 2: 200 [2: 200] " header "\n" ONE

/* A pprof of a heap whose period is this. */
static size_t
put_pprof(const char *type, const char *unit, int64_t period, uint8_t *out)
{
	char none[] = "", column[] = "inuse_space", bytes[] = "bytes";
	char *strings[] = {none, column, bytes, (char *)(uintptr_t)type,
	    (char *)(uintptr_t)unit};
	Pprof__ValueType counts = PPROF__VALUE_TYPE__INIT, of = counts;
	Pprof__ValueType *columns[] = {&counts};
	Pprof__Profile m = PPROF__PROFILE__INIT;

	counts.type = 1;
	counts.unit = 2;
	of.type = 3;
	of.unit = 4;
	m.n_string_table = 5;
	m.string_table = strings;
	m.n_sample_type = 1;
	m.sample_type = columns;
	m.period_type = &of;
	m.period = period;
	return pprof__profile__pack(&m, out);
}

TEST(how_often_a_heap_is_sampled_is_told_where_its_source_does)
{
	static const struct {
		const char *text;
		int64_t mean;
	} dumps[] = {
	    {"heap_v2/65536\n t*: 1: 1 [1: 1]\n@ 0x1001\n t*: 1: 1 [1: 1]\n"
	    MAPS, 65536},
	    {DUMP("2: 2000", "5: 5000"), 1},
	    {OF("@ heap_v2/524288"), 524288},
	    {OF("@ heap/1048576"), 524288}, /* Go's, of text */
	    {OF("@ heapprofile"), 1},
	    {OF("@ heap/0"), -1},
	    {OF(""), -1}};
	struct pull *p = pull_new();
	uint8_t pprof[200];
	size_t n;

	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++)
		CHECK_INT(mean_of(p, 1000 + (int64_t)i * 10, dumps[i].text,
		    strlen(dumps[i].text)), dumps[i].mean);
	n = put_pprof("space", "bytes", 131072, pprof);
	CHECK_INT(mean_of(p, 2000, pprof, n), 131072);
	n = put_pprof("space", "bytes", 0, pprof);
	CHECK_INT(mean_of(p, 2010, pprof, n), -1);
	n = put_pprof("cpu", "nanoseconds", 10000000, pprof);
	CHECK_INT(mean_of(p, 2020, pprof, n), -1);
	pull_free(p);
}

TEST(each_process_has_its_own_difference)
{
	struct pull *p = pull_new();

	ask.run = 7;
	CHECK_STR(TAKE(p, 1000, DUMP("2: 2000", "5: 5000")), "2 2000 -1 -1");
	ask.run = 8;
	CHECK_STR(TAKE(p, 1001, DUMP("2: 2000", "9: 9000")), "2 2000 -1 -1");
	ask.run = 7;
	CHECK_STR(TAKE(p, 1012, DUMP("2: 2000", "6: 6000")), "2 2000 1 1000");
	ask.run = 0;
	pull_free(p);
}

TEST(what_is_not_whole_is_not_taken)
{
	static const char whole[] = DUMP("2: 2000", "5: 5000");
	struct pull *p = pull_new();

	CHECK_STR(take(p, 1000, whole, sizeof(whole) - 1), "2 2000 -1 -1");
	for (size_t n = 0; n < sizeof(whole) - 40; n++)
		CHECK(strstr(take(p, 1010, whole, n), "-1") == NULL);
	CHECK(strstr(TAKE(p, 1010, "<html>\n"), "neither") != NULL);
	/* and the one before is still the one before */
	CHECK_STR(TAKE(p, 1020, DUMP("2: 2000", "6: 6000")), "2 2000 1 1000");
	pull_free(p);
}

TEST(packed_bodies_are_unpacked_to_a_bound)
{
	static const char whole[] = DUMP("2: 2000", "5: 5000");
	struct pull *p = pull_new();
	struct buf packed = {0}, zeros = {0};

	CHECK_OK(gzip_deflate(&packed, whole, sizeof(whole) - 1));
	CHECK_STR(take(p, 1000, (char *)packed.data, packed.len),
	    "2 2000 -1 -1");
	buf_clear(&packed);
	CHECK(buf_reserve(&zeros, 8u << 20));
	memset(zeros.data, 0, 8u << 20);
	CHECK_OK(gzip_deflate(&packed, zeros.data, 8u << 20));
	CHECK(strstr(take(p, 1000, (char *)packed.data, packed.len),
	    "gzip") != NULL);
	buf_fini(&packed);
	buf_fini(&zeros);
	pull_free(p);
}

TEST(bodies_are_kept_to_a_bound)
{
	struct pull_kept k = {0};
	size_t n;
	int64_t at;

	for (uint32_t i = 0; i <= PULL_SOURCES_MAX; i++)
		CHECK_OK(pull_kept_put(&k, i, 0, 5, "body", 4));
	CHECK(pull_kept_find(&k, 0, 0, &n, &at) == NULL);
	CHECK(pull_kept_find(&k, PULL_SOURCES_MAX, 0, &n, &at) != NULL);
	CHECK_INT(at, 5);
	CHECK(pull_kept_find(&k, PULL_SOURCES_MAX, 1, &n, &at) == NULL);
	CHECK_INT(k.n, PULL_SOURCES_MAX);
	pull_kept_fini(&k);
}

static void
write_file(const char *folder, const char *name, int64_t time_s)
{
	struct timespec times[2] = {{.tv_sec = time_s}, {.tv_sec = time_s}};
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, name, strlen(name)) > 0 &&
	    futimens(fd, times) == 0);
	close(fd);
}

TEST(the_newest_dump_of_each_process)
{
	static const struct {
		const char *name;
		int64_t time_s;
	} files[] = {{"jp.12.0.i0.heap", 100}, {"jp.12.1.i1.heap", 110},
	    {"jp.7.3.f.heap", 105}, {"jp.0003.heap", 103},
	    {"jp.9.0.i0.heap", 50}, {"jp.9.1.i1.heap", 500},
	    {"jpx.12.2.i2.heap", 200}, {"jp.12.9.i9.txt", 200},
	    {"jp.a.heap", 200}, {"other.12.9.i9.heap", 200}};
	struct pull_dumps found;
	struct pull_dump *d = found.all;
	struct buf body = {0};
	char folder[] = "/tmp/dumps-XXXXXX", prefix[64], path[300];

	CHECK(mkdtemp(folder) != NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_file(folder, files[i].name, files[i].time_s);
	snprintf(prefix, sizeof(prefix), "%s/jp", folder);
	CHECK_OK(pull_dumps_find(prefix, 60 * S, 300 * S, &found));
	CHECK_INT(found.n, 3);
	CHECK_INT(found.left_out, 0);
	CHECK_STR(d[0].name, "jp.0003.heap");
	CHECK_INT(d[0].run, 0);
	CHECK_STR(d[1].name, "jp.7.3.f.heap");
	CHECK_STR(d[2].name, "jp.12.1.i1.heap");
	CHECK_INT(d[2].run, 12);
	CHECK_OK(pull_dumps_read(prefix, &d[2], 100, &body));
	CHECK_INT(body.len, strlen("jp.12.1.i1.heap"));
	buf_clear(&body);
	CHECK(pull_dumps_read(prefix, &d[2], 5, &body) != NULL);
	buf_fini(&body);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		unlink(path);
	}
	rmdir(folder);
	CHECK(pull_dumps_find(prefix, 0, S, &found) != NULL);
}

/* Ten thousand of other processes, and what only looks like a dump. */
TEST(a_folder_that_nobody_should_trust)
{
	char folder[] = "/tmp/dumps-XXXXXX", prefix[64], path[300];
	char command[64];
	struct pull_dumps found;
	struct buf body = {0};
	struct pull_dump d = {.name = "jp.3.0.i0.heap"};

	CHECK(mkdtemp(folder) != NULL);
	snprintf(prefix, sizeof(prefix), "%s/jp", folder);
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "jp.%d.0.i0.heap", 10 + i);
		write_file(folder, path, 100 + i);
	}
	snprintf(path, sizeof(path), "%s/jp.1.0.i0.heap", folder);
	CHECK_INT(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/jp.2.0.i0.heap", folder);
	CHECK_INT(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/jp.3.0.i0.heap", folder);
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK_OK(pull_dumps_find(prefix, 0, INT64_MAX, &found));
	CHECK_INT(found.n, PULL_DUMPS_MAX);
	CHECK_INT(found.left_out, 10000 - PULL_DUMPS_MAX);
	for (size_t i = 0; i < found.n; i++)
		CHECK_INT(found.all[i].run, 10010 - PULL_DUMPS_MAX + i);
	/* one that has become something else meanwhile: no wait either */
	CHECK(pull_dumps_read(prefix, &d, 100, &body) != NULL);
	snprintf(d.name, sizeof(d.name), "jp.1.0.i0.heap");
	CHECK(pull_dumps_read(prefix, &d, 100, &body) != NULL);
	buf_fini(&body);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

/* ---- names ---- */

/* The first function that main's frame is called in a record; "" for none. */
static void
name_of(const struct buf *records, char *name, size_t size)
{
	struct cur c = cur_of(records->data, records->len);

	name[0] = '\0';
	while (cur_left(&c) > 0) {
		size_t n = cur_be32(&c);
		struct batch *b = NULL;

		CHECK_OK(batch_decode(cur_raw(&c, n), n, &b));
		for (size_t i = 0; b != NULL && i < b->n_frames; i++)
			snprintf(name, size, "%s", batch_str(b,
			    b->frames[i].name));
		batch_free(b);
	}
}

/* What an address `at` of a file is called, mapped as the text says. */
static void
name_at(struct pull *p, const char *file, uint64_t inode, uint64_t offset,
    const char *gone, char *name, size_t size)
{
	struct pull_made made;
	char text[700];

	snprintf(text, sizeof(text), "heap_v2/1\n t*: 1: 1 [0: 0]\n"
	    "@ 0x%llx\n t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n"
	    "10000000-20000000 r-xp 00000000 fe:00 %llu  %s%s\n",
	    0x10000000 + (unsigned long long)offset,
	    (unsigned long long)inode, file, gone);
	ask.at_ns += 10 * S;
	CHECK_OK(pull_take(p, &ask, text, strlen(text), &made));
	name_of(&made.records, name, size);
	buf_fini(&made.records);
}

/* The offset of a function of this program in its file. */
static uint64_t
own_offset(void)
{
	unsigned long long start, end, at, code = (uintptr_t)&own_offset;
	char line[4400];
	FILE *f = fopen("/proc/self/maps", "r");
	uint64_t offset = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &at) ==
		    3 && code >= start && code < end)
			offset = code - start + at;
	if (f != NULL)
		fclose(f);
	return offset + 1;
}

/* Another build under the same path has other names for the same addresses. */
TEST(names_are_those_of_the_file_that_was_mapped)
{
	struct pull *p = pull_new();
	char folder[] = "/tmp/names-XXXXXX", file[64], other[64];
	char command[200], name[200];
	uint64_t at = own_offset();
	struct stat st, now;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(file, sizeof(file), "%s/db", folder);
	snprintf(other, sizeof(other), "%s/new", folder);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s && "
	    "cp /proc/%d/exe %s", getpid(), file, getpid(), other);
	CHECK_INT(system(command), 0);
	CHECK(stat(file, &st) == 0);
	name_at(p, file, st.st_ino, at, "", name, sizeof(name));
	CHECK_STR(name, "own_offset");
	CHECK(rename(other, file) == 0 && stat(file, &now) == 0);
	CHECK(now.st_ino != st.st_ino);
	/* what was asked is known, what was not is not asked of another */
	name_at(p, file, st.st_ino, at, " (deleted)", name, sizeof(name));
	CHECK_STR(name, "own_offset");
	name_at(p, file, st.st_ino, at, "", name, sizeof(name));
	CHECK_STR(name, "own_offset");
	name_at(p, file, st.st_ino, at + 1, " (deleted)", name, sizeof(name));
	CHECK(strncmp(name, "db+0x", 5) == 0);
	name_at(p, file, st.st_ino, at + 1, "", name, sizeof(name));
	CHECK(strncmp(name, "db+0x", 5) == 0);
	/* the process that has come after it */
	name_at(p, file, now.st_ino, at + 1, "", name, sizeof(name));
	CHECK_STR(name, "own_offset");
	pull_free(p);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

/* A pprof of one stack without functions, with the build id of `file`. */
static void
pprof_of(struct buf *b, const char *file, const char *build_id,
    uint64_t offset)
{
	static char none[] = "", type[] = "inuse_space", unit[] = "bytes";
	char *strings[] = {none, type, unit, (char *)(uintptr_t)file,
	    (char *)(uintptr_t)build_id};
	Pprof__Profile p = PPROF__PROFILE__INIT;
	Pprof__ValueType t = PPROF__VALUE_TYPE__INIT, *columns[] = {&t};
	Pprof__Mapping m = PPROF__MAPPING__INIT, *mappings[] = {&m};
	Pprof__Location l = PPROF__LOCATION__INIT, *locations[] = {&l};
	Pprof__Sample v = PPROF__SAMPLE__INIT, *samples[] = {&v};
	uint64_t id = 1;
	int64_t value = 1000;

	t.type = 1, t.unit = 2;
	m.id = l.id = l.mapping_id = 1;
	m.memory_start = 0x10000000, m.memory_limit = 0x20000000;
	m.filename = 3, m.build_id = 4;
	l.address = 0x10000000 + offset;
	v.n_location_id = v.n_value = 1;
	v.location_id = &id, v.value = &value;
	p.n_sample_type = p.n_mapping = p.n_location = p.n_sample = 1;
	p.sample_type = columns, p.mapping = mappings;
	p.location = locations, p.sample = samples;
	p.n_string_table = 5, p.string_table = strings;
	buf_clear(b);
	CHECK(buf_reserve(b, pprof__profile__get_packed_size(&p)));
	b->len = pprof__profile__pack(&p, b->data);
}

/* By its build id, and by nothing else. */
TEST(a_pprof_without_functions_gets_them)
{
	struct pull *p = pull_new();
	char path[4096], name[200], id[129];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct symbolizer *s = NULL;
	struct pull_made made;
	struct buf b = {0};

	path[n < 0 ? 0 : n] = '\0';
	CHECK_OK(symbolizer_open(&s, path));
	snprintf(id, sizeof(id), "%s", symbolizer_build_id(s));
	symbolizer_close(s);
	CHECK(id[0] != '\0');
	for (int right = 1; right >= 0; right--) {
		id[0] = right ? id[0] : id[0] == '0' ? '1' : '0';
		pprof_of(&b, path, id, own_offset());
		ask.at_ns += 10 * S;
		CHECK_OK(pull_take(p, &ask, b.data, b.len, &made));
		name_of(&made.records, name, sizeof(name));
		CHECK(right ? strcmp(name, "own_offset") == 0
		    : strstr(name, "+0x") != NULL);
		CHECK_INT(made.nameless, !right);
		buf_fini(&made.records);
	}
	/* whoever says none, or names what is no file, gets none */
	pprof_of(&b, path, "", own_offset());
	CHECK_OK(pull_take(p, &ask, b.data, b.len, &made));
	CHECK_INT(made.nameless, 1);
	buf_fini(&made.records);
	pprof_of(&b, "/dev/null", "../../../etc/passwd", 5);
	CHECK_OK(pull_take(p, &ask, b.data, b.len, &made));
	CHECK_INT(made.nameless, 1);
	buf_fini(&made.records);
	buf_fini(&b);
	pull_free(p);
}

static const char *
signal_to(const char *file, long pid)
{
	static char why[400];
	const struct err *e;
	FILE *f = fopen(file, "w");

	CHECK(f != NULL && fprintf(f, "%ld\n", pid) > 0 && fclose(f) == 0);
	e = pull_signal_send(file, SIGUSR2);
	snprintf(why, sizeof(why), "%s", e == NULL ? "sent" : e->text);
	return why;
}

static volatile sig_atomic_t dumped;

static void
dump(int signal)
{
	dumped = signal;
}

/* Whoever would end by it is not asked. */
TEST(a_dump_is_asked_for_by_a_signal)
{
	char file[] = "/tmp/pid-XXXXXX";
	int fd = mkstemp(file);

	CHECK_INT(pull_signal_parse("USR2"), SIGUSR2);
	CHECK_INT(pull_signal_parse("TERM"), 0);
	CHECK(strstr(signal_to(file, getpid()), "does not catch") != NULL);
	signal(SIGUSR2, dump);
	CHECK_STR(signal_to(file, getpid()), "sent");
	CHECK_INT(dumped, SIGUSR2);
	CHECK(strstr(signal_to(file, 0), "no number") != NULL);
	CHECK(strstr(signal_to(file, -1), "no number") != NULL);
	CHECK(strstr(signal_to(file, 99999999), "process 99999999") != NULL);
	signal(SIGUSR2, SIG_DFL);
	close(fd);
	unlink(file);
	CHECK(pull_signal_send(file, SIGUSR2) != NULL);
}

/* Behind the walls it is the same; and it outlives what it cannot read. */
TEST(the_child_parses)
{
	static const char whole[] = DUMP("2: 2000", "5: 5000");
	struct pull_child c = {.socket = -1};
	struct pull_made made;
	const struct err *e;
	uint64_t slot;

	ask.at_ns = 1000 * S;
	for (int i = 0; i < 2; i++) {
		CHECK_OK(pull_child_ask(&c, &ask, whole, i == 0 ? 20
		    : sizeof(whole) - 1));
		while (!pull_child_done(&c, &made, &e))
			usleep(1000);
		CHECK((e == NULL) == (i == 1));
	}
	CHECK_INT(sum_of(&made.records, "inuse_space", &slot), 2000);
	buf_fini(&made.records);
	CHECK(!pull_child_done(&c, &made, &e));
	pull_child_end(&c);
	CHECK_INT(c.socket, -1);
}

int
main(void)
{
	RUN(what_is_allocated_is_the_difference);
	RUN(what_tcmalloc_does_not_know_is_no_flow);
	RUN(how_often_a_heap_is_sampled_is_told_where_its_source_does);
	RUN(each_process_has_its_own_difference);
	RUN(what_is_not_whole_is_not_taken);
	RUN(packed_bodies_are_unpacked_to_a_bound);
	RUN(bodies_are_kept_to_a_bound);
	RUN(the_newest_dump_of_each_process);
	RUN(a_folder_that_nobody_should_trust);
	RUN(names_are_those_of_the_file_that_was_mapped);
	RUN(a_pprof_without_functions_gets_them);
	RUN(a_dump_is_asked_for_by_a_signal);
	RUN(the_child_parses);
	return test_done();
}
