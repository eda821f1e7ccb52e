/*
 * What a file that is read takes of memory: every worker has many open; and
 * of the disk.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/dbfile.h"
#include "tests/unit/test.h"

#define RECORDS 3000u
#define RECORD 1000u
#define CACHE (128u << 10)

static size_t
heap_used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void
key_of(struct buf *key, uint32_t i)
{
	buf_clear(key);
	buf_put_be32(key, i);
}

static void
write_records(const char *path, uint32_t page, uint32_t from)
{
	char value[RECORD];
	struct dbfile *f;
	struct buf key = {0};

	CHECK_OK(dbfile_create(&f, path, page));
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t k = (from + i) % RECORDS;

		memset(value, (int)k, sizeof(value));
		key_of(&key, k);
		CHECK_OK(dbfile_put(f, &key, value, sizeof(value)));
	}
	CHECK_OK(dbfile_finish(f));
	buf_fini(&key);
}

/* Each record, from all over the file. */
static void
read_records(struct dbfile *f)
{
	struct cur k, v;
	struct buf key = {0};
	bool found;

	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t at = i * 1009 % RECORDS;

		key_of(&key, at);
		CHECK_OK(dbfile_seek(f, &key, &k, &v, &found));
		CHECK(found && cur_left(&v) == RECORD);
		CHECK(found && v.p[0] == (uint8_t)at &&
		    v.p[RECORD - 1] == (uint8_t)at);
	}
	buf_fini(&key);
}

/* Berkeley DB by itself keeps 16 pages at least, and a quarter more. */
TEST(a_file_of_large_pages_takes_no_more_than_its_cache)
{
	static const uint32_t pages[] = {16384, 65536};

	for (unsigned i = 0; i < 2; i++) {
		char path[] = "/tmp/test-dbfile-XXXXXX";
		int fd = mkstemp(path);
		struct dbfile *f = NULL;
		size_t before;

		CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
		write_records(path, pages[i], 0);
		before = heap_used();
		CHECK_OK(dbfile_open(&f, path, CACHE));
		if (f == NULL)
			continue;
		read_records(f);
		CHECK_INT(heap_used() - before <
		    CACHE + CACHE / 4 + (48u << 10), 1);
		dbfile_close(f);
		CHECK_INT(heap_used() - before < 4096, 1);
		unlink(path);
	}
}

/* Also where the first record came last, as the meta of a file does. */
TEST(pages_are_left_full)
{
	for (uint32_t from = 0; from < 2; from++) {
		char path[] = "/tmp/test-dbfile-XXXXXX";
		int fd = mkstemp(path);
		struct dbfile *f = NULL;
		struct stat st;

		CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
		write_records(path, 16384, from);
		CHECK(stat(path, &st) == 0);
		CHECK(st.st_size < RECORDS * RECORD / 100 * 107);
		CHECK_OK(dbfile_verify(path));
		CHECK_OK(dbfile_open(&f, path, CACHE));
		if (f != NULL)
			read_records(f);
		dbfile_close(f);
		unlink(path);
	}
}

int
main(void)
{
	RUN(pages_are_left_full);
	RUN(a_file_of_large_pages_takes_no_more_than_its_cache);
	return test_done();
}
