/*
 * Strips of blocks with many entries: deflated, in pieces, and read back from
 * a file as they were; malformed ones are refused.
 */
#include <stdlib.h>
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

/* A file with a strip of one block for each start. */
static void
write_file(const char *path, int64_t (*values)[KEYS], unsigned n)
{
	struct strip_writer w = {0};
	struct buf key = {0}, bytes = {0};
	struct dbfile *db = NULL;

	CHECK_OK(dbfile_create(&db, path, 16384));
	for (unsigned i = 0; i < n; i++) {
		strip_begin(&w, SERIES_FLOW, 0);
		add(&w, 64 * i, values[i]);
		buf_clear(&bytes);
		CHECK_OK(strip_take(&w, &bytes));
		sealed_strip_key(&key, 0, 0, 64 * i);
		CHECK_OK(sealed_put_strip(db, &key, bytes.data, bytes.len));
	}
	buf_clear(&bytes);
	buf_put_varint(&bytes, FORMAT_VERSION);
	buf_put_varint(&bytes, 1000000000);
	for (int i = 0; i < 6; i++) /* from 0 on, levels 0 to 0 */
		buf_put_u8(&bytes, 0);
	CHECK_OK(sealed_put_stream(db, &key, SEALED_META, &bytes));
	CHECK_OK(dbfile_finish(db));
	strip_fini(&w);
	buf_fini(&key);
	buf_fini(&bytes);
}

TEST(many_entries_come_back)
{
	static const unsigned few[] = {2, 100000, 8, 1, 15, 1000, 100};
	static int64_t values[7][KEYS];
	static const uint8_t kinds[] = {SERIES_FLOW};
	char path[] = "/tmp/test-block-XXXXXX";
	struct sealed *f = NULL;
	const struct block *b;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
	for (unsigned i = 0; i < 7; i++)
		draw(values[i], few[i]);
	write_file(path, values, 7);
	CHECK_OK(dbfile_verify(path));
	CHECK_OK(sealed_open_nameless(&f, path));
	if (f != NULL)
		CHECK_OK(sealed_set_series(f, kinds, 1));
	for (unsigned i = 0; f != NULL && i < 2 * 7; i++) {
		unsigned k = i * 3 % 7;

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
	RUN(damaged_strips_are_read_or_refused);
	return test_done();
}
