/*
 * Stacks into batches: windows of every phase keep every sample, whatever
 * the slots; bounds make more batches, not fewer samples.
 */
#include <stdlib.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)

/* Frames of a stack from the root, behind its label set. */
static void
path(const struct batch *b, uint32_t node, char *out, size_t size)
{
	char rest[200] = "";

	for (; b->nodes[node].parent != 0; node = b->nodes[node].parent) {
		snprintf(out, size, "%s;%s", batch_str(b,
		    b->frames[b->nodes[node].edge].name), rest);
		snprintf(rest, sizeof(rest), "%s", out);
	}
}

/* What came out: sums by slot and by name of the leaf. */
struct seen {
	int64_t total, leaf[8], slots[64], observed[64];
	uint64_t first_slot;
	size_t batches;
	uint8_t ids[32][16];
	char labels[200], path[200]; /* of the last one */
};

static const struct err *
take(void *arg, struct batch *b)
{
	struct seen *seen = arg;

	memcpy(seen->ids[seen->batches++ % 32], b->id, 16);
	CHECK_OK(batch_finish(b));
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];
		uint64_t slot = k->slot - seen->first_slot;

		if (slot < 64)
			seen->observed[slot] += (int64_t)k->count;
		for (uint32_t n = k->first; n < k->first + k->n; n++) {
			const struct batch_entry *e = &b->entries[n];
			const struct batch_node *node = &b->nodes[e->key];
			const char *name = batch_str(b,
			    b->frames[node->edge].name);

			seen->total += e->value;
			if (seen->batches == 1)
				path(b, e->key, seen->path,
				    sizeof(seen->path));
			CHECK(e->key != 0 && node->parent != 0);
			if (name[0] >= 'a' && name[0] < 'i' && !name[1])
				seen->leaf[name[0] - 'a'] += e->value;
			if (slot < 64)
				seen->slots[slot] += e->value;
		}
	}
	for (size_t i = 1; i < b->n_labels; i++)
		for (uint32_t k = 0; k < b->labels[i].n; k++) {
			const uint32_t *pair =
			    &b->pairs[2 * (b->labels[i].first + k)];
			size_t n = strlen(seen->labels);

			snprintf(seen->labels + n, sizeof(seen->labels) - n,
			    "%s=%s ", batch_str(b, pair[0]),
			    batch_str(b, pair[1]));
		}
	return NULL;
}

static struct stacks *
stacks_of(const char *text, const struct stacks_type *type)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	CHECK_OK(folded_parse(s, text, strlen(text), type));
	return s;
}

static void
push(struct seen *seen, struct stacks *s, int64_t from, int64_t until,
    const uint8_t *id)
{
	static const struct label label = {"region", "eu"};
	struct push_window w = {"app", &label, 1, from, until};
	struct push *p = push_new(SLOT, id);

	*seen = (struct seen){.first_slot = (uint64_t)(from / SLOT)};
	CHECK_OK(push_add(p, s, &w));
	CHECK_OK(push_send(p, take, seen));
	CHECK_INT(push_n_batches(p), seen->batches);
	push_free(p);
}

TEST(every_phase_keeps_every_sample)
{
	struct stacks *s = stacks_of("m;a 1\nm;b 7\nm;c 100\nm;d 12345\n",
	    NULL);
	static const int64_t lengths[] = {1, 3, 10, 15, 60, 61, 300};
	struct seen seen;

	for (size_t l = 0; l < 7; l++) {
		for (int64_t phase = 0; phase < 12; phase++) {
			int64_t from = 1700000000 * NS_PER_S +
			    phase * 999999937;

			push(&seen, s, from, from + lengths[l] * NS_PER_S,
			    NULL);
			CHECK_INT(seen.leaf[0], 1);
			CHECK_INT(seen.leaf[1], 7);
			CHECK_INT(seen.leaf[2], 100);
			CHECK_INT(seen.leaf[3], 12345);
			CHECK_INT(seen.total, 12453);
		}
	}
	stacks_free(s);
}

TEST(parts_follow_the_overlap)
{
	struct stacks *s = stacks_of("m;a 1000\n", NULL);
	struct seen seen;

	/* 3 s before a border: 10 s have 3, 7; within one sample */
	push(&seen, s, 7 * NS_PER_S, 17 * NS_PER_S, NULL);
	CHECK(seen.slots[0] >= 299 && seen.slots[0] <= 301);
	CHECK_INT(seen.slots[0] + seen.slots[1], 1000);
	CHECK_INT(seen.observed[0], 1);
	CHECK_INT(seen.observed[1], 1);
	/* a moment is one slot's */
	push(&seen, s, 20 * NS_PER_S, 20 * NS_PER_S, NULL);
	CHECK_INT(seen.slots[0], 1000);
	CHECK_INT(seen.observed[1], 0);
	stacks_free(s);
}

/* Few samples over a week: no walk over every slot for each. */
TEST(few_samples_in_many_slots)
{
	struct buf text = {0};
	struct stacks *s;
	struct seen seen;

	for (int i = 0; i < 2000; i++)
		buf_printf(&text, "main;f%d 3\n", i);
	buf_put_u8(&text, 0);
	s = stacks_of((const char *)text.data, NULL);
	push(&seen, s, 5 * NS_PER_S, 5 * NS_PER_S + 60000 * SLOT, NULL);
	CHECK_INT(seen.total, 6000);
	stacks_free(s);
	buf_fini(&text);
}

TEST(stock_is_observed_not_cut)
{
	static const struct stacks_type inuse = {"inuse_space", "bytes", 1,
	    SERIES_STOCK};
	struct stacks *s = stacks_of("m;a 1000\n", &inuse);
	struct seen seen;

	/* of four slots it has the last moment of three: of those it is one
	 * of several observers */
	push(&seen, s, 5 * NS_PER_S, 35 * NS_PER_S, NULL);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(seen.slots[i], i < 3 ? 1000 : 0);
		CHECK_INT(seen.observed[i], 0);
	}
	/* within one */
	push(&seen, s, 35 * NS_PER_S, 37 * NS_PER_S, NULL);
	CHECK_INT(seen.slots[0], 1000);
	CHECK_INT(seen.observed[0], 1);
	stacks_free(s);
}

/* Stacks beyond the bound of a batch. */
static struct stacks *
many(void)
{
	struct stacks *s = stacks_new(&stacks_limits_push);
	uint32_t type = stacks_type(s, &folded_samples), node;
	char name[20];

	for (int i = 0; i < 500000; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		node = stacks_child(s, 0, stacks_frame_named(s, FRAME_MANAGED,
		    name, strlen(name)));
		stacks_add(s, node, type, 2);
	}
	CHECK_OK(stacks_error(s));
	return s;
}

TEST(large_ones_are_several_with_derived_ids)
{
	static const uint8_t id[16] = {1, 2, 3};
	struct stacks *s = many();
	struct seen a, b;

	push(&a, s, 0, SLOT, id);
	CHECK_INT(a.total, 1000000);
	CHECK(a.batches > 1);
	CHECK(memcmp(a.ids[0], id, 16) == 0);
	CHECK(memcmp(a.ids[1], a.ids[0], 16) != 0);
	push(&b, s, 0, SLOT, id);
	CHECK(memcmp(a.ids, b.ids, sizeof(a.ids)) == 0);
	push(&b, s, 0, SLOT, NULL);
	CHECK(memcmp(a.ids[1], b.ids[1], 16) != 0);
	stacks_free(s);
}

TEST(labels_of_the_name_win)
{
	static const struct label own[] = {{"region", "us"}, {"thread", "io"}};
	struct stacks *s = stacks_new(&stacks_limits_push);
	uint32_t type = stacks_type(s, &folded_samples);
	struct seen seen;

	stacks_add(s, stacks_child(s, stacks_labels(s, own, 2),
	    stacks_frame_named(s, FRAME_MANAGED, "a", 1)), type, 5);
	push(&seen, s, 0, SLOT, NULL);
	CHECK_INT(seen.leaf[0], 5);
	CHECK(strstr(seen.labels, "region=eu thread=io") != NULL);
	CHECK(strstr(seen.labels, "region=us") == NULL);
	stacks_free(s);
}

TEST(deep_stacks_are_cut_not_lost)
{
	static const struct stacks_limits deep = {1 << 20, 1 << 20, 65536, 10};
	struct stacks *s = stacks_new(&deep);
	uint32_t type = stacks_type(s, &folded_samples), node = 0, frame;
	struct seen seen;

	frame = stacks_frame_named(s, FRAME_MANAGED, "f", 1);
	for (int i = 0; i < 50000; i++)
		node = stacks_child(s, node, frame);
	stacks_add(s, node, type, 5);
	push(&seen, s, 0, SLOT, NULL);
	CHECK_INT(seen.total, 5);
	stacks_free(s);
}

TEST(stacks_keep_their_order)
{
	struct stacks *s = stacks_of("r;s;t;u 1\n", NULL);
	struct seen seen;

	push(&seen, s, 0, SLOT, NULL);
	CHECK_STR(seen.path, "r;s;t;u;");
	stacks_free(s);
}

/* What clients call a unit, and what is kept: 3 of one of it. */
TEST(units_are_settled)
{
	static const struct {
		const char *name, *unit, *kept;
		int64_t value;
	} cases[] = {
	    {"cpu", "ns", "nanoseconds", 3},
	    {"cpu", "lock_nanoseconds", "nanoseconds", 3},
	    {"cpu", "\u00b5s", "nanoseconds", 3000},
	    {"cpu", "us", "nanoseconds", 3000},
	    {"cpu", "microseconds", "nanoseconds", 3000},
	    {"cpu", "milliseconds", "nanoseconds", 3000000},
	    {"cpu", "s", "nanoseconds", 3 * NS_PER_S},
	    {"inuse_space", "kilobytes", "bytes", 3072},
	    {"inuse_space", "kB", "bytes", 3072},
	    {"inuse_space", "KiB", "bytes", 3072},
	    {"inuse_space", "MB", "bytes", 3 << 20},
	    {"inuse_objects", "objects", "count", 3},
	    {"goroutines", "goroutines", "count", 3},
	    {"mutex_count", "lock_samples", "count", 3},
	    {"samples", "count", "samples", 3},
	    {"samples", "samples", "samples", 3},
	    {"odd", "furlongs", "furlongs", 3},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stacks_type t = {cases[i].name, cases[i].unit, 1,
		    SERIES_FLOW};
		struct stacks *s = stacks_of("m;a 1\nm;b 2\n", &t);
		struct seen seen;

		/* the second time there is nothing to do */
		push(&seen, s, 0, SLOT, NULL);
		push(&seen, s, 0, SLOT, NULL);
		CHECK_INT(seen.total, cases[i].value);
		stacks_get_type(s, 0, &t);
		CHECK_STR(t.unit, cases[i].kept);
		CHECK_INT(t.period, 1);
		stacks_free(s);
	}
}

TEST(a_period_is_settled_too)
{
	struct stacks_type t = {"cpu", "milliseconds", 10, SERIES_FLOW};
	struct stacks *s = stacks_of("m;a 7\n", &t);
	struct seen seen;

	push(&seen, s, 0, SLOT, NULL);
	stacks_get_type(s, 0, &t);
	CHECK_INT(t.period, 10000000);
	CHECK_INT(seen.total, 7);
	stacks_free(s);
}

TEST(more_than_can_be_counted)
{
	static const struct stacks_type t = {"cpu", "seconds", 1, SERIES_FLOW};
	struct stacks *s = stacks_of("m;a 9223372036\nm;b 1\n", &t);
	struct push_window w = {"app", NULL, 0, 0, SLOT};
	struct push *p = push_new(SLOT, NULL);
	const struct err *e = push_add(p, s, &w);

	CHECK(e != NULL && e->code == 422);
	push_free(p);
	stacks_free(s);
}

TEST(bad_windows)
{
	struct push_window w = {"app", NULL, 0, 10, 5};
	struct stacks *s = stacks_of("m;a 1\n", NULL);
	struct push *p = push_new(SLOT, NULL);
	const struct err *e = push_add(p, s, &w);

	CHECK(e != NULL && e->code == 400);
	w.until_ns = 100 * 86400 * NS_PER_S;
	e = push_add(p, s, &w);
	CHECK(e != NULL && e->code == 413);
	push_free(p);
	stacks_free(s);
}

/* How a heap is sampled stands beside it, of its instance where it has one. */
TEST(the_mean_of_samples_is_told)
{
	static const struct label two = {"instance", "two"};
	struct push_window w = {"app", &two, 1, 15 * NS_PER_S, 31 * NS_PER_S};
	struct push *p = push_new(SLOT, NULL);
	const struct batch *b = push_batch(p, 0);
	const char *instance;
	struct series_desc d;
	struct label labels[4];

	push_mean(p, 0, &w);
	CHECK_INT(b->n_blocks, 0);
	push_mean(p, 524288, &w);
	w.n_labels = 0;
	w.until_ns = w.from_ns;
	push_mean(p, 1, &w);
	CHECK_INT(b->n_blocks, 2);
	for (size_t i = 0; i < 2; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		CHECK_STR(d.name, "memlens_heap_sampling_bytes");
		CHECK_STR(label_find(d.labels, d.n_labels, "service"), "app");
		instance = label_find(d.labels, d.n_labels, "instance");
		CHECK_STR(instance != NULL ? instance : "", i == 0 ? "two"
		    : "");
		CHECK_INT(b->blocks[i].slot, i == 0 ? 3 : 1);
		CHECK_INT(b->blocks[i].last, i == 0 ? 524288 : 1);
	}
	push_free(p);
}

TEST(ids_of_keys)
{
	uint8_t a[16], b[16];

	push_id_of("key", "app", a);
	push_id_of("key", "app", b);
	CHECK(memcmp(a, b, 16) == 0);
	push_id_of("key", "other", b);
	CHECK(memcmp(a, b, 16) != 0);
	push_id_of("key2", "app", b);
	CHECK(memcmp(a, b, 16) != 0);
}

int
main(void)
{
	RUN(every_phase_keeps_every_sample);
	RUN(parts_follow_the_overlap);
	RUN(few_samples_in_many_slots);
	RUN(stock_is_observed_not_cut);
	RUN(large_ones_are_several_with_derived_ids);
	RUN(labels_of_the_name_win);
	RUN(deep_stacks_are_cut_not_lost);
	RUN(stacks_keep_their_order);
	RUN(units_are_settled);
	RUN(a_period_is_settled_too);
	RUN(more_than_can_be_counted);
	RUN(bad_windows);
	RUN(the_mean_of_samples_is_told);
	RUN(ids_of_keys);
	return test_done();
}
