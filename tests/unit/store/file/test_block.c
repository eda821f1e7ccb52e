/*
 * Strips of blocks with many entries: deflated, in pieces, and small strips,
 * many to a record: read back from a file as they were; malformed ones are
 * refused.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/block.h"
#include "store/file/dbfile.h"
#include "store/file/format.h"
#include "store/file/sealed.h"
#include "tests/unit/test.h"

#define KEYS 60000u

static uint64_t seed;

static uint64_t
roll(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 31;
}

/* Each key with a chance of 1 / few, values that are seldom large. */
static void
draw(int64_t *values, unsigned few)
{
	for (uint32_t i = 0; i < KEYS; i++) {
		values[i] = roll() % few == 0 ? 1 + (int64_t)(roll() % 3) : 0;
		if (values[i] != 0 && roll() % 97 == 0)
			values[i] = 1 + (int64_t)(roll() >> (1 + roll() % 63));
	}
}

static void
add(struct strip_writer *w, uint64_t start, const int64_t *values)
{
	struct block b = {.start = start, .count = 1 + start};
	struct buf entries = {0};
	struct entry_writer out = {&entries, 0};

	for (uint32_t i = 0; i < KEYS; i++) {
		if (values[i] != 0)
			entry_put(&out, i, values[i]);
	}
	CHECK(!strip_full(w, start, entries.len));
	strip_add(w, &b, &entries);
	buf_fini(&entries);
}

static void
check(const struct block *b, uint64_t start, const int64_t *values)
{
	struct entry_reader r = {b->entries, 0};
	uint32_t key, next = 0, wrong = 0;
	int128 value;

	CHECK_INT(b->start, start);
	CHECK_INT(b->count, 1 + start);
	while (entry_next(&r, &key, &value) && key < KEYS) {
		while (next < key)
			wrong += values[next++] != 0;
		wrong += values[next++] != value;
	}
	while (next < KEYS)
		wrong += values[next++] != 0;
	CHECK_INT(wrong, 0);
	CHECK(!r.c.bad);
}

static void
put_meta(struct dbfile *db, unsigned top)
{
	struct buf key = {0}, bytes = {0};

	buf_put_varint(&bytes, FORMAT_VERSION);
	buf_put_varint(&bytes, 1000000000);
	buf_put_u8(&bytes, 0); /* from 0 on */
	buf_put_u8(&bytes, 0);
	buf_put_u8(&bytes, 0); /* levels */
	buf_put_u8(&bytes, (uint8_t)top);
	buf_put_varint(&bytes, (2u << top) - 1); /* all levels */
	buf_put_u8(&bytes, 0);
	buf_put_u8(&bytes, 0);
	CHECK_OK(sealed_put_stream(db, &key, SEALED_META, &bytes));
	buf_fini(&key);
	buf_fini(&bytes);
}

static void
put_strip(struct sealed_writer *file, struct strip_writer *w,
    uint32_t series, bool together)
{
	struct buf key = {0}, bytes = {0};

	sealed_strip_key(&key, series, w->level, strip_last(w));
	CHECK_OK(strip_take(w, &bytes));
	CHECK_OK(sealed_put_strip(file, &key, bytes.data, bytes.len));
	if (!together)
		CHECK_OK(sealed_put_end(file));
	buf_fini(&key);
	buf_fini(&bytes);
}

/* A file with a strip of one block for each start. */
static void
write_file(const char *path, int64_t (*values)[KEYS], unsigned n)
{
	struct strip_writer w = {0};
	struct sealed_writer file = {0};

	CHECK_OK(dbfile_create(&file.db, path, 16384));
	for (unsigned i = 0; i < n; i++) {
		strip_begin(&w, SERIES_FLOW, 0);
		add(&w, 64 * i, values[i]);
		put_strip(&file, &w, 0, true);
	}
	CHECK_OK(sealed_put_end(&file));
	put_meta(file.db, 0);
	CHECK_OK(dbfile_finish(file.db));
	strip_fini(&w);
	sealed_writer_fini(&file);
}

#define FEW 13

TEST(many_entries_come_back)
{
	/* the last ones: as they are; deflated, and alone or in a bundle */
	static const unsigned few[] = {2, 100000, 8, 1, 15, 1000, 100, 70, 50,
	    45, 40, 35, 30};
	static int64_t values[FEW][KEYS];
	static const uint8_t kinds[] = {SERIES_FLOW};
	char path[] = "/tmp/test-block-XXXXXX";
	struct sealed *f = NULL;
	const struct block *b;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
	for (unsigned i = 0; i < FEW; i++)
		draw(values[i], few[i]);
	write_file(path, values, FEW);
	CHECK_OK(dbfile_verify(path));
	CHECK_OK(sealed_open_nameless(&f, path));
	if (f != NULL) {
		CHECK_OK(sealed_set_series(f, 1));
		memcpy(f->kinds, kinds, 1);
	}
	for (unsigned i = 0; f != NULL && i < 2 * FEW; i++) {
		unsigned k = i * 3 % FEW;

		b = NULL; /* from behind the one before on */
		CHECK_OK(sealed_seek(f, 0, 0, k > 0 ? 64 * k - 63 : 0, &b));
		CHECK(b != NULL);
		if (b != NULL)
			check(b, 64 * k, values[k]);
		CHECK_OK(sealed_block(f, 0, 0, 64 * k + 1, &b));
		CHECK(b == NULL);
	}
	sealed_close(f);
	unlink(path);
}

#define SERIES 300u
#define LEVELS 3u
#define GROUPS 4u

/* Which blocks a strip has, and what is in them, follow from its place; some
 * strips are not there, some are long. */
static bool
small_block(uint32_t series, unsigned level, uint64_t i, int64_t *value)
{
	uint64_t h = hash64_u64(hash64_u64(series * 16 + level, 1), i);

	*value = h % 3 == 0 ? (int64_t)(h >> 7 & 0xffffff) : 5;
	if (series % 17 == 0)
		*value = (int64_t)(h >> 2);
	return hash64_u64(series * 64 + level * 8 + i / 64, 7) % 4 != 0 &&
	    h % 5 != 0;
}

static void
write_small(const char *path, bool together)
{
	struct strip_writer w = {0};
	struct sealed_writer file = {0};
	int64_t v;

	CHECK_OK(dbfile_create(&file.db, path, 16384));
	for (uint32_t s = 0; s < SERIES; s++) {
		for (unsigned l = 0; l < LEVELS; l++) {
			strip_begin(&w, SERIES_GAUGE, l);
			for (uint64_t i = 0; i < 64 * GROUPS; i++) {
				uint64_t start = i * seg_slots(l);
				struct block b = {.start = start, .count = 1};

				if (!small_block(s, l, i, &v))
					continue;
				b.min = b.max = b.last = v;
				b.sum = v;
				if (strip_full(&w, start, 0))
					put_strip(&file, &w, s, together);
				strip_add(&w, &b, NULL);
			}
			if (w.n > 0)
				put_strip(&file, &w, s, together);
		}
	}
	CHECK_OK(sealed_put_end(&file));
	put_meta(file.db, LEVELS - 1);
	CHECK_OK(dbfile_finish(file.db));
	strip_fini(&w);
	sealed_writer_fini(&file);
}

/* The first block from a random place on, and the one behind it. */
static unsigned
ask_small(struct sealed *f)
{
	uint32_t s = (uint32_t)(roll() % SERIES);
	unsigned l = (unsigned)(roll() % LEVELS), wrong = 0;
	uint64_t i = roll() % (64 * GROUPS), at = i * seg_slots(l);
	const struct block *b;
	int64_t v = 0;

	for (int more = 0; more < 2; more++, i++) {
		while (i < 64 * GROUPS && !small_block(s, l, i, &v))
			i++;
		CHECK_OK(sealed_seek(f, s, l, at, &b));
		if (i == 64 * GROUPS)
			return wrong + (b != NULL);
		if (b == NULL)
			return wrong + 1;
		wrong += b->start != i * seg_slots(l) || b->last != v ||
		    b->sum != v;
		at = b->start + 1;
	}
	return wrong;
}

static uint64_t
file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

TEST(small_strips_share_records)
{
	static uint8_t kinds[SERIES];
	char path[] = "/tmp/test-block-XXXXXX";
	struct sealed *f = NULL;
	uint64_t alone, together;
	int fd = mkstemp(path);
	unsigned wrong = 0;

	memset(kinds, SERIES_GAUGE, sizeof(kinds));
	CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
	write_small(path, false);
	alone = file_bytes(path);
	CHECK(unlink(path) == 0);
	write_small(path, true);
	together = file_bytes(path);
	CHECK(together > 0 && together < alone * 3 / 4);
	CHECK_OK(dbfile_verify(path));
	CHECK_OK(sealed_open_nameless(&f, path));
	if (f != NULL) {
		CHECK_OK(sealed_set_series(f, SERIES));
		memcpy(f->kinds, kinds, SERIES);
	}
	for (int i = 0; f != NULL && i < 20000; i++)
		wrong += ask_small(f);
	CHECK_INT(wrong, 0);
	sealed_close(f);
	unlink(path);
}

#define MANY 150

/* What looks like deflated strips, of any length; its bytes one after the
 * other are put behind `all`. */
static void
write_long(const char *path, uint32_t page, struct buf *all)
{
	struct sealed_writer file = {0};
	struct buf key = {0};

	CHECK_OK(dbfile_create(&file.db, path, page));
	for (uint32_t s = 0; s < MANY; s++) {
		size_t n = 1001 + roll() % 8000, at = all->len;

		buf_put_u8(all, 0x81);
		buf_put_be32(all, (uint32_t)n);
		while (all->len < at + n)
			buf_put_u8(all, (uint8_t)roll());
		sealed_strip_key(&key, s, 0, roll() % 1000);
		CHECK_OK(sealed_put_strip(&file, &key, all->data + at, n));
	}
	CHECK_OK(sealed_put_end(&file));
	put_meta(file.db, 0);
	CHECK_OK(dbfile_finish(file.db));
	sealed_writer_fini(&file);
	buf_fini(&key);
}

/* The values of all strips of a file, one behind the other. */
static void
read_long(const char *path, struct buf *all)
{
	struct dbfile *f;
	struct buf key = {0};
	struct cur k, v;
	bool found;

	buf_put_u8(&key, SEALED_STRIPS);
	CHECK_OK(dbfile_open(&f, path, 1 << 20));
	CHECK_OK(dbfile_seek(f, &key, &k, &v, &found));
	while (found) {
		buf_put(all, v.p, cur_left(&v));
		CHECK_OK(dbfile_next(f, &k, &v, &found));
	}
	dbfile_close(f);
	buf_fini(&key);
}

/* Two of them hold next to nothing, and the last one what is left. */
TEST(pages_of_long_strips_are_full)
{
	static const uint32_t pages[] = {8192, 16384};

	for (unsigned i = 0; i < 2; i++) {
		char path[] = "/tmp/test-block-XXXXXX";
		struct buf all = {0}, back = {0};
		uint64_t bytes, most;
		int fd = mkstemp(path);

		CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
		write_long(path, pages[i], &all);
		bytes = file_bytes(path);
		most = all.len / 100 * 103;
		CHECK_INT(bytes > all.len, 1);
		CHECK_INT(bytes <= (most / pages[i] + 3) * pages[i], 1);
		CHECK_OK(dbfile_verify(path));
		read_long(path, &back);
		CHECK(back.len == all.len && !all.failed &&
		    memcmp(back.data, all.data, all.len) == 0);
		buf_fini(&all);
		buf_fini(&back);
		unlink(path);
	}
}

TEST(lives_are_found_where_files_of_before_have_them)
{
	static const enum sealed_stream at[] = {SEALED_LIVES,
	    SEALED_LIVES_BEFORE};

	for (unsigned i = 0; i < 2; i++) {
		char path[] = "/tmp/test-block-XXXXXX";
		struct buf key = {0}, lives = {0}, back = {0};
		struct sealed *f = NULL;
		struct dbfile *db;
		int fd = mkstemp(path);

		CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
		CHECK_OK(dbfile_create(&db, path, 8192));
		buf_put(&lives, "lives", 5);
		CHECK_OK(sealed_put_stream(db, &key, at[i], &lives));
		put_meta(db, 0);
		CHECK_OK(dbfile_finish(db));
		CHECK_OK(sealed_open_nameless(&f, path));
		if (f != NULL)
			CHECK_OK(sealed_read_lives(f, &back));
		CHECK(back.len == 5 && memcmp(back.data, "lives", 5) == 0);
		sealed_close(f);
		buf_fini(&key);
		buf_fini(&lives);
		buf_fini(&back);
		unlink(path);
	}
}

/* Each byte of the first and some of the others, every bit of it. */
TEST(damaged_strips_are_read_or_refused)
{
	static int64_t values[KEYS];
	struct strip_writer w = {0};
	struct buf bytes = {0}, copy = {0};
	struct strip s;
	unsigned refused = 0;

	draw(values, 12);
	strip_begin(&w, SERIES_FLOW, 0);
	add(&w, 128, values);
	CHECK_OK(strip_take(&w, &bytes));
	CHECK(strip_is_packed(bytes.data, bytes.len));
	CHECK_INT(strip_blocks(bytes.data, bytes.len), 1);
	CHECK_INT(strip_size(bytes.data, 16), bytes.len);
	for (size_t bit = 0; bit < 8 * bytes.len;
	     bit += bit < 8 * 64 ? 1 : 101) {
		buf_clear(&copy);
		buf_put(&copy, bytes.data, bytes.len);
		copy.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		refused += strip_read(&s, SERIES_FLOW, 0, &copy) != NULL;
	}
	CHECK(refused > 100);
	for (size_t cut = 0; cut < bytes.len; cut += cut < 64 ? 1 : 301) {
		buf_clear(&copy);
		buf_put(&copy, bytes.data, cut);
		CHECK(strip_read(&s, SERIES_FLOW, 0, &copy) != NULL);
	}
	CHECK_OK(strip_read(&s, SERIES_FLOW, 0, &bytes));
	check(&s.blocks[0], 128, values);
	strip_fini(&w);
	buf_fini(&bytes);
	buf_fini(&copy);
}

int
main(void)
{
	RUN(many_entries_come_back);
	RUN(small_strips_share_records);
	RUN(pages_of_long_strips_are_full);
	RUN(lives_are_found_where_files_of_before_have_them);
	RUN(damaged_strips_are_read_or_refused);
	return test_done();
}
