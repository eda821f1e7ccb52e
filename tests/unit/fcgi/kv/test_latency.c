/*
 * Quantiles of latencies against those of the sorted list.
 */
#include <stdlib.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/latency.h"
#include "tests/unit/test.h"

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of microseconds to minutes, evenly by their logarithm. */
static int64_t
some(void)
{
	int64_t v = 1000;

	for (int i = rand() % 26; i > 0; i--)
		v *= 2;
	return v + rand() % v;
}

TEST(quantiles_are_those_of_the_sorted_list)
{
	static const unsigned permille[] = {1, 500, 900, 990, 999, 1000};
	static struct latency l;
	static int64_t all[3000];

	for (int round = 0; round < 100; round++) {
		size_t n = (size_t)(1 + rand() % 3000);

		memset(&l, 0, sizeof(l));
		for (size_t i = 0; i < n; i++)
			latency_observe(&l, all[i] = some());
		qsort(all, n, sizeof(*all), compare);
		for (size_t k = 0; k < 6; k++) {
			size_t rank = (n * permille[k] + 999) / 1000;
			int64_t want = all[rank - 1];
			int64_t got = latency_quantile(&l, permille[k]);

			CHECK(llabs(got - want) * 250 <= want);
		}
		CHECK(l.max_ns == all[n - 1] && l.min_ns == all[0]);
	}
}

TEST(few_and_none)
{
	static struct latency l;
	struct buf out = {0};
	struct writer w = writer_of(&out);

	CHECK_INT(latency_quantile(&l, 990), -1);
	latency_put(&w, &l);
	buf_put_u8(&out, 0);
	CHECK_STR((char *)out.data, "{\"count\":0,\"p50\":null,\"p90\":null,"
	    "\"p99\":null,\"max\":null,\"buckets\":[]}");
	latency_observe(&l, 1000000);
	CHECK_INT(latency_quantile(&l, 500), 1000000);
	CHECK_INT(latency_quantile(&l, 1000), 1000000);
	buf_fini(&out);
}

int
main(void)
{
	srand(7);
	RUN(quantiles_are_those_of_the_sorted_list);
	RUN(few_and_none);
	return test_done();
}
