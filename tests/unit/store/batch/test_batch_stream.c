/*
 * Batches whose names go over once: what comes out is what whole batches
 * would be, in every order of beginnings and refusals; every flipped byte is
 * safe; memory is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/journal/journal_dict.h"
#include "tests/unit/test.h"

static uint64_t seed = 88172645463325252u;

static uint32_t
pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

/* Some stacks of a population of 60, as one profile of a slot. */
static void
add_profile(struct batch *b, uint64_t slot)
{
	char service_name[16], name[32];
	struct label service = {"service", service_name},
	             host = {"host", pick(2) ? "a" : "b"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10, 0,
	    &service, 1}, n = {SERIES_COUNTER, "n_total", "", 0, 0, NULL, 0};
	uint32_t series;

	snprintf(service_name, sizeof(service_name), "s%u", pick(3));
	series = batch_series(b, &d);
	batch_observe(b, series, slot, 1);
	for (int i = 0; i < 12; i++) {
		uint32_t stack = pick(60), node = batch_node(b, 0,
		    batch_labels(b, &host, 1));

		for (uint32_t k = 0; k < 4 + stack % 5; k++) {
			struct frame f = {FRAME_NATIVE, name, "module", "id",
			    k};

			snprintf(name, sizeof(name), "f_%u_%u", k,
			    stack >> (4 - k % 5));
			node = batch_node(b, node, batch_frame(b, &f));
		}
		batch_add_profile(b, series, slot, node, 1 + pick(9));
	}
	batch_add_counter(b, batch_series(b, &n), slot, (int64_t)slot * 1000,
	    1, 7);
	batch_add_fact(b, (int64_t)slot, FACT_MARK, "exec", "x", 1);
}

static void
expect_same(struct batch *a, struct batch *b)
{
	struct buf x = {0}, y = {0};

	CHECK(memcmp(a->id, b->id, sizeof(a->id)) == 0);
	CHECK_OK(batch_encode(a, &x));
	CHECK_OK(batch_encode(b, &y));
	CHECK(x.len == y.len && memcmp(x.data, y.data, x.len) == 0);
	buf_fini(&x);
	buf_fini(&y);
}

TEST(names_go_once)
{
	struct batch_stream *s = batch_stream_new();
	struct batch *b = batch_new(1000), *c;
	struct buf out = {0};
	size_t first = 0;
	uint64_t number = 0;

	for (uint64_t slot = 1; slot < 200; slot++) {
		add_profile(b, slot);
		buf_clear(&out);
		CHECK_OK(batch_encode_stream(b, &out));
		CHECK(batch_stream_is(out.data));
		CHECK_OK(batch_stream_decode(s, out.data, out.len, &c));
		if (c == NULL)
			break;
		expect_same(b, c);
		if (slot == 1) {
			first = out.len;
			number = c->stream;
		}
		CHECK(c->stream != 0 && c->stream == number);
		batch_stream_rest(s);
		batch_sent(b);
		CHECK(batch_renew(b));
	}
	CHECK(out.len < first / 2);
	buf_fini(&out);
	batch_free(b);
	batch_stream_free(s);
}

TEST(who_misses_names_is_told)
{
	struct batch_stream *s = batch_stream_new();
	struct batch *b = batch_new(1000), *c;
	struct buf out = {0};
	const struct err *e;
	uint64_t number;

	add_profile(b, 1);
	CHECK_OK(batch_encode_stream(b, &out));
	CHECK_OK(batch_stream_decode(s, out.data, out.len, &c));
	number = c->stream;
	batch_sent(b);
	CHECK(batch_renew(b));
	add_profile(b, 2);
	batch_sent(b); /* a record was lost between */
	CHECK(batch_renew(b));
	add_profile(b, 3);
	buf_clear(&out);
	CHECK_OK(batch_encode_stream(b, &out));
	e = batch_stream_decode(s, out.data, out.len, &c);
	CHECK(e != NULL && e->domain == ERR_REQUEST && e->code == 409);
	CHECK(c == NULL);
	batch_unsent(b);
	buf_clear(&out);
	CHECK_OK(batch_encode_stream(b, &out));
	CHECK_OK(batch_stream_decode(s, out.data, out.len, &c));
	if (c != NULL) {
		expect_same(b, c);
		CHECK(c->stream != number);
	}
	buf_fini(&out);
	batch_free(b);
	batch_stream_free(s);
}

/* The journal's records are the same, byte for byte, whichever way batches
 * came, with another client's between them and beginnings anew. */
TEST(a_journal_does_not_know_the_difference)
{
	struct journal_dict with = {0}, without = {0};
	struct batch_stream *s[12];
	struct batch *b[12], *c, *whole;
	struct buf out = {0}, x = {0}, y = {0};

	for (int i = 0; i < 12; i++) {
		s[i] = batch_stream_new();
		b[i] = batch_new(1000);
	}
	journal_dict_begin(&with);
	journal_dict_begin(&without);
	for (uint64_t slot = 1; slot < 600; slot++) {
		uint32_t i = pick(12); /* more than there are rooms */

		add_profile(b[i], slot);
		buf_clear(&out);
		CHECK_OK(batch_encode(b[i], &out));
		CHECK_OK(batch_decode(out.data, out.len, &whole));
		if (pick(20) == 0)
			batch_unsent(b[i]);
		buf_clear(&out);
		CHECK_OK(batch_encode_stream(b[i], &out));
		CHECK_OK(batch_stream_decode(s[i], out.data, out.len, &c));
		if (whole == NULL || c == NULL)
			break;
		CHECK_OK(journal_dict_encode(&without, whole, &y));
		CHECK_OK(journal_dict_encode(&with, c, &x));
		CHECK(x.len == y.len && memcmp(x.data, y.data, x.len) == 0);
		journal_dict_sent(&with);
		journal_dict_sent(&without);
		if (pick(100) == 0) {
			journal_dict_begin(&with);
			journal_dict_begin(&without);
		}
		batch_free(whole);
		batch_sent(b[i]);
		CHECK(batch_renew(b[i]));
	}
	journal_dict_fini(&with);
	journal_dict_fini(&without);
	for (int i = 0; i < 12; i++) {
		batch_stream_free(s[i]);
		batch_free(b[i]);
	}
	buf_fini(&out);
	buf_fini(&x);
	buf_fini(&y);
}

/* A recording holds batches by themselves, and no names of others. */
TEST(a_trimmed_batch_stands_alone)
{
	struct batch_stream *s = batch_stream_new();
	struct batch *b = batch_new(1000), *c, *alone, *fresh;
	struct buf out = {0}, fat = {0}, thin = {0}, expected = {0};
	uint64_t before = 0;

	for (uint64_t slot = 1; slot < 50; slot++) {
		before = seed;
		add_profile(b, slot);
		buf_clear(&out);
		CHECK_OK(batch_encode_stream(b, &out));
		CHECK_OK(batch_stream_decode(s, out.data, out.len, &c));
		batch_sent(b);
		if (slot < 49)
			CHECK(batch_renew(b));
	}
	CHECK_OK(batch_trim(c, &alone));
	CHECK(memcmp(alone->id, b->id, sizeof(b->id)) == 0);
	CHECK_OK(batch_encode(alone, &thin));
	CHECK_OK(batch_encode(c, &fat));
	CHECK(thin.len < fat.len / 2);
	CHECK_INT(alone->n_blocks, c->n_blocks);
	CHECK_INT(alone->n_entries, c->n_entries);
	CHECK_INT(alone->n_facts, c->n_facts);
	/* about what somebody without a past would have sent */
	seed = before;
	fresh = batch_new(1000);
	add_profile(fresh, 49);
	memcpy(fresh->id, b->id, sizeof(b->id));
	CHECK_OK(batch_encode(fresh, &expected));
	CHECK(thin.len < expected.len * 5 / 4);
	batch_free(alone);
	batch_free(fresh);
	batch_free(b);
	batch_stream_free(s);
	buf_fini(&out);
	buf_fini(&fat);
	buf_fini(&thin);
	buf_fini(&expected);
}

static void
put_header(uint8_t *record, size_t size)
{
	struct buf h = {record, 0, 16, false};

	buf_put(&h, "MLS1", 4);
	buf_put_be32(&h, (uint32_t)(size - 16));
	buf_put_be32(&h, crc32c(0, record + 16, size - 16));
	buf_put_be32(&h, crc32c(0, record, 12));
}

/* Each byte of a first and of a second record, checksums made right. */
TEST(every_flipped_byte_is_safe)
{
	struct batch *b = batch_new(1000), *c;
	struct buf out[2] = {{0}, {0}}, copy = {0};
	size_t refused = 0;

	for (int i = 0; i < 2; i++) {
		add_profile(b, 5 + (uint64_t)i);
		CHECK_OK(batch_encode_stream(b, &out[i]));
		batch_sent(b);
		CHECK(batch_renew(b));
	}
	for (int i = 0; i < 2; i++) {
		for (size_t at = 16; at < out[i].len; at++) {
			struct batch_stream *s = batch_stream_new();
			const struct err *e = NULL;

			if (i == 1)
				CHECK_OK(batch_stream_decode(s, out[0].data,
				    out[0].len, &c));
			buf_clear(&copy);
			buf_put(&copy, out[i].data, out[i].len);
			copy.data[at] ^= (uint8_t)(1u << pick(8));
			put_header(copy.data, copy.len);
			e = batch_stream_decode(s, copy.data, copy.len, &c);
			CHECK((e == NULL) == (c != NULL));
			if (c != NULL) { /* can be read to its end */
				buf_clear(&copy);
				CHECK_OK(batch_encode(c, &copy));
			}
			refused += e != NULL;
			batch_stream_free(s);
		}
	}
	CHECK(refused > 100);
	buf_fini(&copy);
	buf_fini(&out[0]);
	buf_fini(&out[1]);
	batch_free(b);
}

/* A string of two bytes may be 64 KiB long in memory; names of many records
 * add up. */
TEST(names_are_bounded)
{
	struct batch_stream *s = batch_stream_new();
	struct batch *b = batch_new(1000), *c;
	struct buf out = {0};
	const struct err *e = NULL;
	char *name = malloc(60000);
	int i;

	memset(name, 'x', 60000);
	for (i = 0; i < 300 && e == NULL; i++) {
		name[59999] = (char)('a' + i % 26);
		name[59998] = (char)('a' + i / 26);
		batch_string(b, name, 60000);
		buf_clear(&out);
		CHECK_OK(batch_encode_stream(b, &out));
		e = batch_stream_decode(s, out.data, out.len, &c);
		batch_sent(b);
		CHECK(batch_renew(b));
	}
	CHECK(e != NULL && e->domain == ERR_FORMAT);
	CHECK(i > 40 && i < 80);
	batch_free(b);
	batch_stream_free(s);

	/* one record of few bytes that asks for all at once */
	s = batch_stream_new();
	b = batch_new(1000);
	for (i = 0; i < 300; i++) {
		name[59999] = (char)('a' + i % 26);
		name[59998] = (char)('a' + i / 26);
		batch_string(b, name, 60000);
	}
	buf_clear(&out);
	CHECK_OK(batch_encode_stream(b, &out));
	CHECK(out.len < 70000);
	e = batch_stream_decode(s, out.data, out.len, &c);
	CHECK(e != NULL && e->domain == ERR_FORMAT);
	batch_free(b);
	batch_stream_free(s);
	buf_fini(&out);
	free(name);
}

int
main(void)
{
	RUN(names_go_once);
	RUN(who_misses_names_is_told);
	RUN(a_journal_does_not_know_the_difference);
	RUN(a_trimmed_batch_stands_alone);
	RUN(every_flipped_byte_is_safe);
	RUN(names_are_bounded);
	return test_done();
}
