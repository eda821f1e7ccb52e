/*
 * What a worker keeps between pushes changes nothing: the same values by
 * slot, service, labels and stack as without, in the batch and behind a
 * stream; and it stays bounded.
 */
#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "fcgi/push/push_cache.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define START (INT64_C(1700000000) * NS_PER_S)

static uint64_t seed = 88172645463325252u;

static uint32_t
pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

/* Some of 100 stacks, some twice; a deep one, an empty one, kinds. */
static void
some_text(struct buf *out)
{
	buf_clear(out);
	for (int i = 0; i < 30; i++) {
		uint32_t stack = pick(100);

		for (uint32_t k = 0; k <= stack % 7; k++)
			buf_printf(out, "%sname_of_%u_%u%s", k ? ";" : "",
			    k, stack >> (6 - k % 7),
			    stack % 5 == 0 ? "_[k]" : "");
		buf_printf(out, " %u\n", pick(20));
	}
	if (pick(10) == 0) {
		for (int k = 0; k < 4096; k++)
			buf_printf(out, "%sd", k ? ";" : "");
		buf_printf(out, " 3\n");
	}
	buf_printf(out, "alone 1\n");
}

/* One value of a batch as text, whatever its numbers are. */
static void
describe_entry(const struct batch *b, const struct batch_block *k,
    const struct batch_entry *e, struct buf *out)
{
	const struct batch_series *s = &b->series[k->series];
	const struct batch_labels *set = &b->labels[s->labels];
	uint32_t node = e->key;

	buf_printf(out, "%s %llu", batch_str(b, s->name),
	    (unsigned long long)k->slot);
	for (uint32_t i = 0; i < 2 * set->n; i++)
		buf_printf(out, " %s", batch_str(b, b->pairs[2 * set->first +
		    i]));
	for (; b->nodes[node].parent != 0; node = b->nodes[node].parent) {
		const struct batch_frame *f = &b->frames[b->nodes[node].edge];

		buf_printf(out, ";%u.%s", f->kind, batch_str(b, f->name));
	}
	set = &b->labels[b->nodes[node].edge];
	for (uint32_t i = 0; i < 2 * set->n; i++)
		buf_printf(out, " %s", batch_str(b, b->pairs[2 * set->first +
		    i]));
	buf_printf(out, " = %lld", (long long)e->value);
}

struct sum {
	uint64_t hash; /* of all values, in any order */
	size_t n, observed;
	int64_t total;
};

static const struct err *
add_up(void *arg, struct batch *b)
{
	struct sum *sum = arg;
	struct buf text = {0};

	CHECK_OK(batch_finish(b));
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];

		sum->observed += k->count;
		for (uint32_t n = k->first; n < k->first + k->n; n++) {
			buf_clear(&text);
			describe_entry(b, k, &b->entries[n], &text);
			sum->hash += hash64(1, text.data, text.len);
			sum->n++;
			sum->total += b->entries[n].value;
		}
	}
	buf_fini(&text);
	return NULL;
}

struct way {
	struct sum sum;
	struct batch_stream *stream;
};

/* As it is, and as it comes out of the daemon's end of a stream. */
static const struct err *
through_stream(void *arg, struct batch *b)
{
	struct way *way = arg;
	struct buf out = {0};
	struct sum here = {0, 0, 0, 0};
	struct batch *c;

	CHECK_OK(batch_encode_stream(b, &out));
	CHECK_OK(batch_stream_decode(way->stream, out.data, out.len, &c));
	batch_sent(b);
	add_up(&here, b);
	if (c != NULL)
		add_up(&way->sum, c);
	CHECK(way->sum.hash == here.hash);
	buf_fini(&out);
	return NULL;
}

static void
push_one(struct stacks *s, struct push *p, const struct push_window *w,
    push_send_fn *fn, void *arg)
{

	CHECK_OK(push_add(p, s, w));
	CHECK_OK(push_send(p, fn, arg));
	push_free(p);
}

TEST(kept_ones_say_the_same)
{
	static const char *const services[] = {"a", "b", "c"};
	static const struct label hosts[] = {{"host", "x"}, {"host", "y"}};
	struct stacks_type types[] = {{"cpu", "nanoseconds", 10000000,
	    SERIES_FLOW}, {"inuse_space", "bytes", 1, SERIES_STOCK}};
	struct push_cache *k = push_cache_new();
	struct way way = {.stream = batch_stream_new()};
	struct buf text = {0};
	size_t plain = 0;

	for (int i = 0; i < 400; i++) {
		int64_t from = START + i * SLOT + (int64_t)pick(2) * 123456789;
		struct push_window w = {services[pick(3)], &hosts[pick(2)],
		    pick(3) > 0, from, from + SLOT * (1 + pick(3) / 2)};
		const struct stacks_type *type = &types[pick(2)];
		struct stacks *fresh = stacks_new(&stacks_limits_push);
		struct stacks *kept = push_cache_stacks(k);
		struct sum expected = {0, 0, 0, 0};
		struct push *p;

		some_text(&text);
		CHECK_OK(folded_parse(fresh, text.data, text.len, type));
		CHECK_OK(folded_parse(kept, text.data, text.len, type));
		CHECK_INT(stacks_total(kept, 0), stacks_total(fresh, 0));
		push_one(fresh, push_new(SLOT, NULL), &w, add_up, &expected);
		p = push_new_kept(SLOT, NULL, k);
		way.sum = (struct sum){0, 0, 0, 0};
		CHECK_OK(push_add(p, kept, &w));
		if (push_is_kept(p)) {

			CHECK_OK(push_send(p, through_stream, &way));
		} else { /* too deep */

			plain++;
			CHECK_OK(push_send(p, add_up, &way.sum));
		}
		push_free(p);
		CHECK_INT(way.sum.n, expected.n);
		CHECK_INT(way.sum.total, expected.total);
		CHECK_INT(way.sum.observed, expected.observed);
		CHECK(way.sum.hash == expected.hash);
		stacks_free(fresh);
	}
	CHECK(plain > 5 && plain < 200);
	buf_fini(&text);
	batch_stream_free(way.stream);
	push_cache_free(k);
}

/* Text that never comes again drives nothing into the sky. */
TEST(what_is_kept_is_bounded)
{
	struct push_cache *k = push_cache_new();
	struct buf text = {0};
	int begun = 0;

	for (int i = 0; i < 60; i++) {
		struct push_window w = {"a", NULL, 0, START, START + SLOT};
		struct stacks *s = push_cache_stacks(k);
		struct sum sum = {0, 0, 0, 0};

		if (s == NULL) {
			push_cache_free(k);
			k = push_cache_new();
			s = push_cache_stacks(k);
			begun++;
		}
		buf_clear(&text);
		for (int n = 0; n < 2000; n++)
			buf_printf(&text, "m;a%d;b%d;c%d;d%d;e%d 1\n",
			    pick(1000), pick(1000), i, n, n);
		CHECK_OK(folded_parse(s, text.data, text.len, NULL));
		CHECK_INT(stacks_total(s, 0), 2000);
		push_one(s, push_new_kept(SLOT, NULL, k), &w, add_up, &sum);
		CHECK_INT(sum.total, 2000);
		CHECK(stacks_n_nodes(s) < 200000);
		CHECK(batch_names_bytes(k->batch) < BATCH_STREAM_BYTES);
	}
	CHECK(begun >= 2);
	buf_fini(&text);
	push_cache_free(k);
}

/* Limits count from where a request begins, not from what is kept. */
TEST(limits_begin_again)
{
	static const struct stacks_limits few = {10, 100, 5, 1};
	struct stacks *s = stacks_new(&few);
	char text[40];

	CHECK(stacks_keep(s));
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "a%d;b%d;c%d 1\n", i, i, i);
		stacks_clear(s);
		CHECK_OK(folded_parse(s, text, strlen(text), NULL));
	}
	stacks_clear(s);
	CHECK(folded_parse(s, "1;2;3 1\n4;5;6 1\n7;8;9 1\n1;2;4 1\n1;2;5 1\n"
	    "1;2;6 1\n", 48, NULL) != NULL);
	stacks_free(s);
}

int
main(void)
{
	RUN(kept_ones_say_the_same);
	RUN(what_is_kept_is_bounded);
	RUN(limits_begin_again);
	return test_done();
}
