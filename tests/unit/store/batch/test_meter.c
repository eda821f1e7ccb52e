/*
 * The meter: counters and their resets, slots, and against a naive model
 * the sums of random readings.
 */
#include <stdlib.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"
#include "tests/unit/test.h"

#define MS NS_PER_MS
#define SLOT (1000 * MS)

static const struct label labels[] = {{"cpu", "0"}, {"mode", "user"}};
static const struct series_desc counter = {SERIES_COUNTER, "c_total",
    "seconds", 0, 2, labels, 2};
static const struct series_desc gauge = {SERIES_GAUGE, "g", "bytes", 0, 0,
    NULL, 0};

static const struct batch_block *
block_of(const struct batch *b, const char *name)
{
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct batch_series *s =
		    &b->series[b->blocks[i].series];

		if (strcmp(batch_str(b, s->name), name) == 0)
			return &b->blocks[i];
	}
	return NULL;
}

/* Closes a slot and checks the increase of c_total, -1: no block. */
static void
check_increase(struct meter *m, uint64_t slot, int64_t want)
{
	struct batch *b = batch_new(SLOT);
	const struct batch_block *k;

	meter_close(m, slot, b);
	k = block_of(b, "c_total");
	CHECK_INT(k == NULL ? -1 : k->increase, want);
	if (k != NULL)
		CHECK_INT(k->slot, slot);
	batch_free(b);
}

TEST(counters)
{
	struct meter *m = meter_new(SLOT);
	struct meter_stats stats;

	meter_counter(m, &counter, 100 * MS, 500); /* the base line */
	meter_counter(m, &counter, 400 * MS, 510);
	meter_counter(m, &counter, 900 * MS, 530);
	check_increase(m, 0, 30);
	meter_counter(m, &counter, 1500 * MS, 7); /* a reset: 7 since */
	meter_counter(m, &counter, 2000 * MS, 7);
	meter_counter(m, &counter, 2500 * MS, 8); /* the next slot's */
	check_increase(m, 1, 7);
	check_increase(m, 2, 1);
	check_increase(m, 3, -1);
	meter_stats(m, &stats);
	CHECK_INT(stats.resets, 1);
	CHECK_INT(stats.series, 1);
	CHECK_INT(stats.dropped, 0);
	meter_free(m);
}

TEST(steady_counters)
{
	struct meter *m = meter_new(SLOT);

	meter_counter_steady(m, &counter, 0, 100);
	meter_counter_steady(m, &counter, 1 * MS, 90);
	meter_counter_steady(m, &counter, 2 * MS, 95);
	meter_counter_steady(m, &counter, 3 * MS, 104);
	check_increase(m, 0, 4);
	meter_free(m);
}

TEST(increases)
{
	struct meter *m = meter_new(SLOT);
	struct batch *b = batch_new(SLOT);
	const struct batch_block *k;

	meter_increase(m, &counter, (struct meter_span){0, 0}, 5, 1000);
	meter_increase(m, &counter, (struct meter_span){0, 10 * MS}, 7, 9999);
	meter_close(m, 0, b);
	k = block_of(b, "c_total");
	CHECK_INT(k->increase, 12);
	CHECK_INT(k->last, 1007);
	CHECK_INT(k->last_ns, 10 * MS);
	batch_free(b);
	meter_free(m);
}

/* On a busy host the readings at 8.9 s and 13.1 s were the nearest to the end
 * of a slot of 10 s: all of it was the second slot's once. */
TEST(a_late_reading_is_parted_at_the_border)
{
	struct meter *m = meter_new(10 * SLOT);
	struct batch *b = batch_new(10 * SLOT);
	const struct batch_block *k;

	meter_counter(m, &counter, 0, 100);
	meter_counter(m, &counter, 8900 * MS, 990);
	meter_counter(m, &counter, 13100 * MS, 1410);
	meter_close(m, 0, b);
	k = block_of(b, "c_total");
	CHECK_INT(k->increase, 1000);
	CHECK_INT(k->last, 1100);
	CHECK_INT(k->last_ns, 9999 * MS);
	batch_free(b);
	meter_counter(m, &counter, 19000 * MS, 2000);
	b = batch_new(10 * SLOT);
	meter_close(m, 1, b);
	k = block_of(b, "c_total");
	CHECK_INT(k->increase, 900);
	CHECK_INT(k->last, 2000);
	batch_free(b);
	meter_free(m);
}

/* A process that began since the last reading grew for no longer. */
TEST(a_late_increase_is_parted_as_well)
{
	struct meter *m = meter_new(SLOT);

	meter_increase(m, &counter, (struct meter_span){0, 10 * MS}, 0, 5);
	meter_increase(m, &counter, (struct meter_span){500 * MS, 1500 * MS},
	    7, 5);
	check_increase(m, 0, 4); /* the nearest to 3.5 */
	check_increase(m, 1, 3);
	meter_free(m);
}

/* The daemon stood still for slots, which are closed one by one. */
TEST(each_slot_of_a_long_wait_has_its_part)
{
	struct meter *m = meter_new(SLOT);

	meter_counter(m, &counter, 900 * MS, 0);
	meter_counter(m, &counter, 3400 * MS, 2503);
	check_increase(m, 0, 100);
	check_increase(m, 1, 1001);
	check_increase(m, 2, 1001);
	check_increase(m, 3, 401);
	meter_free(m);
}

/* Nor is a reading parted that the clock says was before the last one. */
TEST(a_clock_that_went_back_parts_nothing)
{
	struct meter *m = meter_new(SLOT);

	meter_counter(m, &counter, 2500 * MS, 10);
	meter_counter(m, &counter, 1500 * MS, 30);
	check_increase(m, 1, 20);
	check_increase(m, 2, 0);
	meter_free(m);
}

/* Random waits between readings, slots closed late, resets, increases beyond
 * what two of 32 bits hold: nothing is lost, or counted twice. */
TEST(parts_add_up)
{
	struct meter *m = meter_new(SLOT);
	int64_t now_ns = 0, raw = 0, next, sum = 0, all = 0;
	uint64_t slot = 0;

	srandom(3);
	for (int i = 0; i < 3000; i++) {
		int64_t grown = i % 3 == 0 ? random() % 5 :
		    (int64_t)random() << 18;

		next = random() % 50 == 0 ? grown : raw + grown;
		if (i > 0)
			sum += next >= raw ? next - raw : next;
		raw = next;
		meter_counter(m, &counter, now_ns, raw);
		for (; (int64_t)(slot + 1) * SLOT <= now_ns; slot++) {
			struct batch *b = batch_new(SLOT);

			meter_close(m, slot, b);
			CHECK_INT(b->n_blocks, 1);
			all += b->blocks[0].increase;
			CHECK(b->blocks[0].increase >= 0);
			batch_free(b);
		}
		now_ns += random() % (random() % 9 == 0 ? 9 * SLOT : SLOT);
	}
	check_increase(m, slot, sum - all);
	meter_free(m);
}

TEST(gauges)
{
	struct meter *m = meter_new(SLOT);
	struct batch *b = batch_new(SLOT);
	const struct batch_block *k;

	meter_gauge(m, &gauge, 100 * MS, 5);
	meter_gauge(m, &gauge, 300 * MS, -2);
	meter_gauge(m, &gauge, 200 * MS, 9);
	meter_gauge(m, &gauge, 1000 * MS, 77); /* not of this slot */
	meter_close(m, 0, b);
	k = block_of(b, "g");
	CHECK_INT(k->count, 3);
	CHECK_INT(k->min, -2);
	CHECK_INT(k->max, 9);
	CHECK_INT(k->sum, 12);
	CHECK_INT(k->last, -2);
	CHECK_INT(k->last_ns, 300 * MS);
	CHECK_INT(b->n_blocks, 1);
	batch_free(b);
	meter_free(m);
}

/* The clock went back: readings go to the start of the open slot. */
TEST(earlier_than_the_slot)
{
	struct meter *m = meter_new(SLOT);
	struct batch *b = batch_new(SLOT);

	meter_gauge(m, &gauge, 100 * MS, 5);
	meter_close(m, 7, b);
	CHECK_INT(b->blocks[0].slot, 7);
	CHECK_INT(b->blocks[0].last_ns, 0);
	batch_free(b);
	meter_free(m);
}

TEST(idle_series_are_forgotten)
{
	struct meter *m = meter_new(SLOT);
	struct meter_stats stats;
	uint64_t slot = 0;

	meter_counter(m, &counter, 0, 100);
	for (; slot < 200; slot++) {
		meter_gauge(m, &gauge, (int64_t)slot * SLOT, 1);
		check_increase(m, slot, slot == 0 ? 0 : -1);
	}
	meter_stats(m, &stats);
	CHECK_INT(stats.series, 1);
	meter_counter(m, &counter, (int64_t)slot * SLOT, 900);
	check_increase(m, slot, 0); /* first sight again */
	meter_free(m);
}

TEST(times_are_whole_milliseconds_of_the_slot)
{
	const int64_t odd = 5 * MS + 3; /* a slot that begins between two */
	struct meter *m = meter_new((uint64_t)odd);
	struct batch *b = batch_new((uint64_t)odd);
	const struct batch_block *k;

	meter_gauge(m, &gauge, odd + 1, 5);
	meter_gauge(m, &gauge, 2 * odd - 1, 6);
	meter_counter(m, &counter, odd + 1, 7);
	meter_close(m, 1, b);
	k = block_of(b, "g");
	CHECK_INT(k->count, 2);
	CHECK_INT(k->last, 6);
	CHECK_INT(k->slot * (uint64_t)odd + (uint64_t)k->last_ns, 10 * MS);
	CHECK_INT(block_of(b, "c_total")->last_ns, 0);
	batch_free(b);
	meter_free(m);
}

/* 40 counters and gauges, random readings and resets, against sums that are
 * kept here. */
TEST(naive_model)
{
	struct meter *m = meter_new(SLOT);
	int64_t raw[40], increase[40], sum[40], readings[40];
	char names[40][16];

	srandom(2);
	memset(raw, -1, sizeof(raw));
	for (int i = 0; i < 40; i++)
		snprintf(names[i], sizeof(names[i]), "m%d", i);
	for (uint64_t slot = 0; slot < 300; slot++) {
		struct batch *b = batch_new(SLOT);

		memset(increase, 0, sizeof(increase));
		memset(sum, 0, sizeof(sum));
		memset(readings, 0, sizeof(readings));
		for (int n = random() % 200; n > 0; n--) {
			int i = random() % 40;
			struct series_desc d = i % 2 ? counter : gauge;
			int64_t time_ns = (int64_t)slot * SLOT +
			    random() % SLOT, value = random() % 1000;

			d.name = names[i];
			if (i % 2 == 0) {
				meter_gauge(m, &d, time_ns, value);
				sum[i] += value;
			} else {
				if (raw[i] >= 0 && random() % 20 != 0)
					value += raw[i];
				meter_counter(m, &d, time_ns, value);
				if (raw[i] >= 0)
					increase[i] += value >= raw[i] ?
					    value - raw[i] : value;
				raw[i] = value;
			}
			readings[i]++;
		}
		meter_close(m, slot, b);
		for (int i = 0; i < 40; i++) {
			const struct batch_block *k = block_of(b, names[i]);

			if ((k == NULL) != (readings[i] == 0)) {
				test_bad++;
				continue;
			}
			if (k == NULL)
				continue;
			CHECK_INT(k->count, readings[i]);
			CHECK_INT(k->increase, increase[i]);
			CHECK_INT(k->sum, sum[i]);
		}
		CHECK_OK(batch_finish(b));
		batch_free(b);
	}
	meter_free(m);
}

int
main(void)
{
	RUN(counters);
	RUN(steady_counters);
	RUN(increases);
	RUN(a_late_reading_is_parted_at_the_border);
	RUN(a_late_increase_is_parted_as_well);
	RUN(each_slot_of_a_long_wait_has_its_part);
	RUN(a_clock_that_went_back_parts_nothing);
	RUN(parts_add_up);
	RUN(gauges);
	RUN(earlier_than_the_slot);
	RUN(idle_series_are_forgotten);
	RUN(times_are_whole_milliseconds_of_the_slot);
	RUN(naive_model);
	return test_done();
}
