/*
 * From pulled pages to readings.  Compiled into this test, because no
 * library holds the scraper.
 */
#include "collector/scrape/scrape_take.c" /* NOLINT: see above */
#include "store/batch/batch.h"
#include "tests/unit/test.h"

/* The bound is one of a page, not of the scraper's life: once it was, and
 * after some minutes a target's own metrics were gone for good. */
TEST(every_page_has_the_whole_bound)
{
	static const char page[] = "a 1\nb 2\nc 3\n";
	struct meter *m = meter_new(10000000000u);
	struct scrape_reading r = {m, "db", "a", 0, 2};
	struct scrape_counts counts = {0};

	CHECK(m != NULL);
	for (uint64_t i = 1; i <= 5; i++) {
		r.now_ns = (int64_t)i * 1000000000;
		CHECK(scrape_take_prometheus(&r, page, sizeof(page) - 1,
		    &counts) == NULL);
		CHECK_INT(counts.taken, 2 * i);
		CHECK_INT(counts.refused, i);
	}
	meter_free(m);
}

static int64_t
one_increase(const struct batch *b, const char *instance, int64_t *last)
{
	int64_t increase = 0, found = 0;

	for (size_t i = 0; i < b->n_series; i++) {
		struct series_desc d;
		struct label labels[8];

		batch_series_desc(b, (uint32_t)i, &d, labels, 8);
		if (strcmp(label_find(d.labels, d.n_labels, "instance"),
		    instance) != 0)
			continue;
		found++;
		for (size_t k = 0; k < b->n_blocks; k++)
			if (b->blocks[k].series == i) {
				increase += b->blocks[k].sum;
				*last = b->blocks[k].last;
			}
	}
	CHECK_INT(found, 1);
	return increase;
}

/* Two standing counters of one service: read by turns into one series they
 * were a reset at each reading, 7,000,000 a step. */
TEST(two_targets_of_a_service_do_not_mix)
{
	static const char *const page[] = {
	    "# TYPE ops_total counter\nops_total 1000000\n",
	    "# TYPE ops_total counter\nops_total 999990\n"};
	static const char *const name[] = {"h:1", "h:2"};
	struct meter *m = meter_new(10000000000u);
	struct batch *b = batch_new(10000000000u);
	struct scrape_counts counts = {0};
	int64_t last;

	for (int i = 1; i < 8; i++)
		for (int k = 0; k < 2; k++) {
			struct scrape_reading r = {m, "db", name[k],
			    i * INT64_C(1000000000), 100};

			CHECK(scrape_take_prometheus(&r, page[k],
			    strlen(page[k]), &counts) == NULL);
		}
	meter_close(m, 0, b);
	CHECK_OK(batch_finish(b));
	CHECK_INT(one_increase(b, "h:1", &last), 0);
	CHECK_INT(last, 1000000);
	CHECK_INT(one_increase(b, "h:2", &last), 0);
	CHECK_INT(last, 999990);
	batch_free(b);
	meter_free(m);
}

/* A page's own labels stay, under other names. */
TEST(labels_of_the_page_that_are_ours)
{
	static const char page[] =
	    "x{instance=\"i\",service=\"s\",zone=\"z\"} 1\n"
	    "y{instance=\"i\",exported_instance=\"j\"} 1\n";
	struct meter *m = meter_new(10000000000u);
	struct batch *b = batch_new(10000000000u);
	struct scrape_reading r = {m, "db", "h:1", 5, 100};
	struct scrape_counts counts = {0};
	struct series_desc d;
	struct label labels[8];

	CHECK(scrape_take_prometheus(&r, page, sizeof(page) - 1, &counts) ==
	    NULL);
	CHECK_INT(counts.taken, 1);
	CHECK_INT(counts.refused, 1);
	meter_close(m, 0, b);
	CHECK_INT(b->n_series, 1);
	batch_series_desc(b, 0, &d, labels, 8);
	CHECK_STR(label_find(d.labels, d.n_labels, "instance"), "h:1");
	CHECK_STR(label_find(d.labels, d.n_labels, "exported_instance"), "i");
	CHECK_STR(label_find(d.labels, d.n_labels, "service"), "db");
	CHECK_STR(label_find(d.labels, d.n_labels, "exported_service"), "s");
	batch_free(b);
	meter_free(m);
}

/* Two values of one series were averaged: 2, which nobody had said. */
TEST(of_two_values_the_first_is_taken_and_the_other_counted)
{
	static const char page[] = "dup{a=\"1\",b=\"2\"} 1\n"
	    "dup{b=\"2\",a=\"1\"} 3\ndup{a=\"1\"} 7\n";
	struct meter *m = meter_new(10000000000u);
	struct batch *b = batch_new(10000000000u);
	struct scrape_reading r = {m, "db", "h:1", 5, 100};
	struct scrape_counts counts = {0};
	int128 sums = 0;
	uint64_t n = 0;

	CHECK(scrape_take_prometheus(&r, page, sizeof(page) - 1, &counts) ==
	    NULL);
	CHECK_INT(counts.taken, 2);
	CHECK_INT(counts.again, 1);
	meter_close(m, 0, b);
	CHECK_INT(b->n_series, 2);
	for (size_t i = 0; i < b->n_blocks; i++) {
		n += b->blocks[i].count;
		sums += b->blocks[i].sum;
	}
	CHECK_INT(n, 2);
	CHECK_INT(sums, 8000000);
	/* of the next page it is the first again */
	CHECK(scrape_take_prometheus(&r, page, sizeof(page) - 1, &counts) ==
	    NULL);
	CHECK_INT(counts.again, 2);
	batch_free(b);
	meter_free(m);
}

int
main(void)
{
	RUN(every_page_has_the_whole_bound);
	RUN(two_targets_of_a_service_do_not_mix);
	RUN(labels_of_the_page_that_are_ours);
	RUN(of_two_values_the_first_is_taken_and_the_other_counted);
	return test_done();
}
