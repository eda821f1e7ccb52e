/*
 * Batches: what goes in comes out, folded; every cut or flipped byte is
 * refused.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/histogram.h"
#include "tests/unit/test.h"

static struct batch *
sample_batch(void)
{
	struct batch *b = batch_new(10000000000u);
	struct label service = {"service", "kv"};
	struct label stack_labels[] = {{"process", "kv"}, {"pool", "w*"}};
	struct series_desc cpu = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct series_desc load = {SERIES_GAUGE, "node_load1", "", 0, 2, NULL,
	    0};
	struct series_desc reads = {SERIES_COUNTER, "reads_total", "", 0, 0,
	    NULL, 0};
	struct series_desc latency = {SERIES_HISTOGRAM, "latency", "seconds",
	    0, 9, NULL, 0};
	struct frame main_frame = {FRAME_NATIVE, "main", "kv", "ab12", 64};
	struct frame leaf = {FRAME_KERNEL, "read", "[kernel]", "", 0};
	uint32_t root, a, s;

	root = batch_node(b, 0, batch_labels(b, stack_labels, 2));
	a = batch_node(b, root, batch_frame(b, &main_frame));
	s = batch_series(b, &cpu);
	batch_observe(b, s, 100, 1);
	batch_add_profile(b, s, 100, batch_node(b, a, batch_frame(b, &leaf)),
	    3);
	batch_add_profile(b, s, 100, a, 2);
	batch_add_profile(b, s, 100, a, 5);
	s = batch_series(b, &load);
	batch_add_gauge(b, s, 100, INT64_C(1001000000000), 50);
	batch_add_gauge(b, s, 100, INT64_C(1002000000000), -20);
	s = batch_series(b, &reads);
	batch_add_counter(b, s, 101, INT64_C(1011000000000), 7, 1007);
	s = batch_series(b, &latency);
	batch_add_histogram(b, s, 100, 1000, 2);
	batch_add_fact(b, 5, FACT_MARK, "exec", "hello", 5);
	return b;
}

TEST(round_trip)
{
	struct batch *b = sample_batch(), *c = NULL;
	struct buf out = {0}, again = {0};

	CHECK_OK(batch_encode(b, &out));
	CHECK_OK(batch_decode(out.data, out.len, &c));
	if (c == NULL)
		return;
	CHECK(memcmp(b->id, c->id, 16) == 0);
	CHECK_INT(c->n_blocks, 4);
	CHECK_INT(c->blocks[0].n, 2);
	CHECK_INT(c->entries[0].value, 7);
	CHECK_INT(c->entries[1].value, 3);
	CHECK_INT(c->blocks[1].min, -20);
	CHECK_INT(c->blocks[1].max, 50);
	CHECK_INT(c->blocks[1].sum, 30);
	CHECK_INT(c->blocks[1].last, -20);
	CHECK_INT(c->blocks[1].last_ns, 2000000000);
	CHECK_INT(c->blocks[2].slot, 101);
	CHECK_INT(c->blocks[2].increase, 7);
	CHECK_INT(c->blocks[3].count, 2);
	CHECK_INT(c->n_facts, 1);
	CHECK(memcmp(c->fact_bytes.data, "hello", 5) == 0);
	CHECK_OK(batch_encode(c, &again));
	CHECK_INT(again.len, out.len);
	CHECK(memcmp(again.data, out.data, out.len) == 0);
	batch_free(b);
	batch_free(c);
	buf_fini(&out);
	buf_fini(&again);
}

TEST(labels_are_sorted_and_last_wins)
{
	struct batch *b = batch_new(1);
	struct label a[] = {{"b", "1"}, {"a", "2"}, {"b", "3"}};
	struct label c[] = {{"a", "2"}, {"b", "3"}};
	uint32_t set = batch_labels(b, a, 3);

	CHECK_INT(set, batch_labels(b, c, 2));
	CHECK_STR(batch_str(b, b->pairs[0]), "a");
	CHECK_STR(batch_str(b, b->pairs[3]), "3");
	CHECK_INT(batch_labels(b, NULL, 0), 0);
	batch_free(b);
}

TEST(every_cut_is_refused)
{
	struct batch *b = sample_batch(), *c;
	struct buf out = {0};

	CHECK_OK(batch_encode(b, &out));
	for (size_t n = 0; n < out.len; n++)
		CHECK(batch_decode(out.data, n, &c) != NULL);
	batch_free(b);
	buf_fini(&out);
}

/* With the checksums made right again, so that the parser itself is met. */
TEST(every_flipped_byte_is_safe)
{
	struct batch *b = sample_batch(), *c;
	struct buf out = {0}, header = {0};
	size_t refused = 0;

	CHECK_OK(batch_encode(b, &out));
	for (size_t i = BATCH_RECORD_HEADER; i < out.len; i++) {
		for (int bit = 0; bit < 8; bit++) {
			out.data[i] ^= (uint8_t)(1 << bit);
			CHECK(batch_decode(out.data, out.len, &c) != NULL);
			buf_clear(&header);
			buf_put(&header, out.data, 8);
			buf_put_be32(&header, crc32c(0, out.data + 16,
			    out.len - 16));
			buf_put_be32(&header, crc32c(0, header.data, 12));
			memcpy(out.data, header.data, 16);
			if (batch_decode(out.data, out.len, &c) == NULL)
				batch_free(c);
			else
				refused++;
			out.data[i] ^= (uint8_t)(1 << bit);
		}
	}
	CHECK(refused > 100);
	batch_free(b);
	buf_fini(&out);
	buf_fini(&header);
}

TEST(a_negative_value_is_refused)
{
	struct batch *b = batch_new(1);
	struct series_desc d = {SERIES_FLOW, "cpu", "", 1, 0, NULL, 0};
	struct buf out = {0};

	batch_add_profile(b, batch_series(b, &d), 1, 0, -1);
	CHECK(batch_encode(b, &out) != NULL);
	batch_free(b);
	buf_fini(&out);
}

TEST(histogram_buckets_are_one_percent_wide)
{
	uint32_t last = 0;

	for (int64_t v = 0; v < INT64_MAX / 2; v += v / 1000 + 1) {
		uint32_t k = histogram_bucket(v);

		CHECK(histogram_low(k) <= v && v < histogram_low(k + 1));
		CHECK(k >= last);
		if (v >= 128)
			CHECK(histogram_low(k + 1) - histogram_low(k) <=
			    histogram_low(k) / 100);
		last = k;
	}
	CHECK_INT(histogram_bucket(INT64_MAX), 7295);
}

TEST(varints_and_zigzags)
{
	int128 big = ((int128)INT64_MIN) * INT64_MAX;
	int64_t values[] = {0, -1, 1, 63, -64, 127, 128, INT64_MAX, INT64_MIN};
	struct buf out = {0};
	struct cur c;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		buf_put_zigzag(&out, values[i]);
	buf_put_zigzag128(&out, big);
	c = cur_of(out.data, out.len);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		CHECK_INT(cur_zigzag(&c), values[i]);
	CHECK(cur_zigzag128(&c) == big);
	CHECK(!c.bad && cur_left(&c) == 0);
	cur_u8(&c);
	CHECK(c.bad);
	c = cur_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
	cur_varint(&c);
	CHECK(c.bad);
	CHECK(crc32c(0, "123456789", 9) == 0xe3069283u);
	buf_fini(&out);
}

/* Seven megabytes may not become a hundred and fifty in the root daemon. */
TEST(a_short_record_cannot_ask_for_much_memory)
{
	struct batch *b = batch_new(1), *c = NULL;
	struct series_desc d = {SERIES_COUNTER, "c", "", 0, 0, NULL, 0};
	uint32_t s = batch_series(b, &d);
	struct buf out = {0};

	for (uint64_t slot = 0; slot < 1200000; slot++)
		batch_add_counter(b, s, slot, (int64_t)slot, 1, 1);
	CHECK_OK(batch_encode(b, &out));
	CHECK(out.len < 16u << 20);
	CHECK(batch_decode(out.data, out.len, &c) != NULL && c == NULL);
	batch_free(b);
	buf_fini(&out);
}

int
main(void)
{
	RUN(round_trip);
	RUN(labels_are_sorted_and_last_wins);
	RUN(every_cut_is_refused);
	RUN(every_flipped_byte_is_safe);
	RUN(a_short_record_cannot_ask_for_much_memory);
	RUN(a_negative_value_is_refused);
	RUN(histogram_buckets_are_one_percent_wide);
	RUN(varints_and_zigzags);
	return test_done();
}
