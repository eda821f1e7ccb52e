/*
 * From pulled pages to readings.  Compiled into this test, because no
 * library holds the scraper.
 */
#include "test.h"

#include "collector/scrape_take.c" /* NOLINT: see above */

/* The bound is one of a page, not of the scraper's life: once it was, and
 * after some minutes a target's own metrics were gone for good. */
TEST(every_page_has_the_whole_bound)
{
	static const char page[] = "a 1\nb 2\nc 3\n";
	struct meter *m = meter_new(10000000000u);
	struct scrape_reading r = {m, "db", 0, 0, 2};
	struct scrape_counts counts = {0};

	CHECK(m != NULL);
	for (uint64_t i = 1; i <= 5; i++) {
		r.now_ns = r.booked_ns = (int64_t)i * 1000000000;
		CHECK(scrape_take_prometheus(&r, page, sizeof(page) - 1,
		    &counts) == NULL);
		CHECK_INT(counts.taken, 2 * i);
		CHECK_INT(counts.refused, i);
	}
	meter_free(m);
}

int
main(void)
{
	RUN(every_page_has_the_whole_bound);
	return test_done();
}
