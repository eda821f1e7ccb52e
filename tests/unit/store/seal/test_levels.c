/*
 * Which levels files have, and that a block of one that a file has not is read
 * as blocks of those below it, whatever slots have data.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/dbfile.h"
#include "store/seal/seal.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define START UINT64_C(8192)

/* Of two of three slots, and none of a stretch; 0: no data. */
static int64_t
value_at(uint64_t slot)
{
	return slot % 3 == 1 || (slot > START + 30 && slot < START + 95)
	    ? 0 : (int64_t)(slot % 7) + 1;
}

static struct batch *
batch_at(uint64_t slot)
{
	struct label l = {"service", "kv"};
	struct frame f = {FRAME_NATIVE, "put", "kv", "", 0};
	struct batch *b = batch_new((uint64_t)SLOT);
	struct series_desc cpu = {SERIES_FLOW, "cpu", "samples", 1, 0, &l, 1};
	struct series_desc load = {SERIES_GAUGE, "load", "", 0, 0, &l, 1};
	uint32_t top = batch_node(b, 0, batch_labels(b, &l, 1));
	uint32_t flow = batch_series(b, &cpu), gauge = batch_series(b, &load);

	batch_add_profile(b, flow, slot, batch_node(b, top,
	    batch_frame(b, &f)), value_at(slot));
	batch_add_gauge(b, gauge, slot, (int64_t)slot * SLOT + 5,
	    value_at(slot));
	CHECK_OK(batch_finish(b));
	return b;
}

static void
seal_span(const char *path, unsigned level)
{
	struct sealed_meta meta = {.slot_ns = SLOT, .first = START,
	    .slots = seg_slots(level), .top = level};
	struct symtab syms;
	struct memspan m = {.syms = &syms};
	struct journal_names names = {0};
	struct seal_source s = {.memory = &m, .from = START,
	    .until = START + meta.slots};
	struct seal_result result;

	CHECK_OK(symtab_init_unshown(&syms));
	for (uint64_t slot = START; slot < START + meta.slots; slot++) {
		struct batch *b;

		if (value_at(slot) == 0)
			continue;
		b = batch_at(slot);
		CHECK_OK(memspan_add(&m, b, &names));
		batch_free(b);
	}
	CHECK_OK(seal_build(path, &meta, &s, 1, &result));
	memspan_fini(&m);
	symtab_fini(&syms);
}

/* A flow's values, a gauge's sum. */
static int64_t
sum_of(const struct sealed *f, uint32_t series, const struct block *b)
{
	struct entry_reader r = {b->entries, 0};
	int128 value, sum = b->sum;
	uint32_t key;

	while (f->kinds[series] == SERIES_FLOW && entry_next(&r, &key, &value))
		sum += value;
	return (int64_t)sum;
}

static void
check_block(struct sealed *f, uint32_t series, unsigned level,
    uint64_t start)
{
	uint64_t at = start, end = start + seg_slots(level), count = 0, last;
	int64_t sum = 0, want = 0;
	uint64_t slots = 0;
	const struct block *b;

	for (;;) {
		last = at;
		CHECK_OK(sealed_part(f, series, level, start, &at, &b));
		if (b == NULL)
			break;
		CHECK(b->start >= last && at == b->start +
		    sealed_part_slots(f, level) && at <= end);
		sum += sum_of(f, series, b);
		count += b->count;
	}
	for (uint64_t slot = start; slot < end; slot++) {
		want += value_at(slot);
		slots += value_at(slot) != 0;
	}
	CHECK_INT(sum, want);
	CHECK_INT(f->kinds[series] == SERIES_GAUGE ? count : slots, slots);
}

static void
check_span(unsigned level, uint32_t levels)
{
	char path[] = "/tmp/memlens.XXXXXX";
	struct sealed *f = NULL;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
	seal_span(path, level);
	CHECK_OK(sealed_open(&f, path));
	if (f == NULL)
		return;
	CHECK_INT(f->meta.levels, levels);
	CHECK_INT(f->n_series, 2);
	for (uint32_t s = 0; s < f->n_series; s++)
		for (unsigned l = 0; l <= level; l++)
			for (uint64_t at = START; at < START +
			     seg_slots(level); at += seg_slots(l))
				check_block(f, s, l, at);
	CHECK_INT(sealed_part_slots(f, level + 1), 0);
	sealed_close(f);
	unlink(path);
}

TEST(blocks_of_levels_that_are_left_out_are_read_in_parts)
{
	check_span(0, 1);
	check_span(2, 1);
	check_span(3, 1);
	check_span(4, 1 | 1 << 2 | 1 << 4);
	check_span(5, 1 | 1 << 2 | 1 << 4);
}

TEST(what_is_above_spans_has_all_levels)
{
	CHECK_INT(sealed_levels(6, 6), 1 << 6);
	CHECK_INT(sealed_levels(6, 9), 15 << 6);
	CHECK_INT(sealed_levels(0, 6), 1 | 1 << 2 | 1 << 4 | 1 << 6);
}

/* A file that says these levels of 0 to 2. */
static bool
opens(uint64_t levels)
{
	char path[] = "/tmp/memlens.XXXXXX";
	struct buf key = {0}, meta = {0};
	struct sealed *f = NULL;
	struct dbfile *db;
	const struct err *e;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && close(fd) == 0 && unlink(path) == 0);
	CHECK_OK(dbfile_create(&db, path, 4096));
	buf_put_varint(&meta, 3);
	buf_put_varint(&meta, SLOT);
	buf_put(&meta, "\0\20\0\2", 4);
	buf_put_varint(&meta, levels);
	buf_put_u8(&meta, 0);
	CHECK_OK(sealed_put_stream(db, &key, SEALED_META, &meta));
	CHECK_OK(dbfile_finish(db));
	e = sealed_open_nameless(&f, path);
	CHECK(e == NULL || e->domain == ERR_FORMAT);
	sealed_close(f);
	unlink(path);
	buf_fini(&key);
	buf_fini(&meta);
	return e == NULL;
}

TEST(levels_that_cannot_be_are_refused)
{
	CHECK(opens(1) && opens(5) && opens(7));
	CHECK(!opens(0) && !opens(2) && !opens(6));
	CHECK(!opens(8) && !opens(9) && !opens(UINT64_C(1) << 40 | 1));
}

int
main(void)
{
	RUN(blocks_of_levels_that_are_left_out_are_read_in_parts);
	RUN(what_is_above_spans_has_all_levels);
	RUN(levels_that_cannot_be_are_refused);
	return test_done();
}
