/*
 * Bodies that were pulled, as batches: stocks in the slot of the pull, flows
 * by difference, processes that begin anew; the newest dumps of a folder.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/pull/pull.h"
#include "collector/pull/pull_child.h"
#include "collector/pull/pull_dumps.h"
#include "collector/pull/pull_kept.h"
#include "fcgi/format/gzip.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define S INT64_C(1000000000)
#define MAPS "\nMAPPED_LIBRARIES:\n1000-2000 r-xp 0 0:0 1 /no/such/file\n"
/* objects and bytes in use, and allocated, of one stack at each sample */
#define DUMP(use, alloc) "heap_v2/1\n t*: 1: 1 [1: 1]\n@ 0x1001 0x1005\n" \
	" t*: " use " [" alloc "]\n" MAPS

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

/* Takes a body at a time; the sums of types, "" where it is refused. */
static const char *
take(struct pull *p, int64_t at_s, const char *text, size_t n)
{
	static const char *const types[] = {"inuse_objects", "inuse_space",
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
		int64_t sum = sum_of(&made.records, types[i], &slot);

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
	struct pull_dump d[PULL_DUMPS_MAX];
	struct buf body = {0};
	char folder[] = "/tmp/dumps-XXXXXX", prefix[64], path[300];
	size_t n;

	CHECK(mkdtemp(folder) != NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		write_file(folder, files[i].name, files[i].time_s);
	snprintf(prefix, sizeof(prefix), "%s/jp", folder);
	CHECK_OK(pull_dumps_find(prefix, 60 * S, 300 * S, d, &n));
	CHECK_INT(n, 3);
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
	CHECK(pull_dumps_find(prefix, 0, S, d, &n) != NULL);
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
	RUN(each_process_has_its_own_difference);
	RUN(what_is_not_whole_is_not_taken);
	RUN(packed_bodies_are_unpacked_to_a_bound);
	RUN(bodies_are_kept_to_a_bound);
	RUN(the_newest_dump_of_each_process);
	RUN(the_child_parses);
	return test_done();
}
