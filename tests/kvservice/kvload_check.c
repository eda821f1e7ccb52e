/*
 * Checks of the parts that make kvload an oracle: quantiles against a sorted
 * array, the reader of answers against every way to cut its input, the mix
 * against its weights.
 */

#include "kvload_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvload_hist.h"
#include "kvload_request.h"

#define VALUES	100000

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Spread over nine powers of ten, as latencies never are. */
static bool
quantiles_agree(uint64_t *values, size_t n)
{
	static const double qs[] = { 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1 };
	struct hist *h = hist_new();
	bool ok = h != NULL;
	size_t i, rank;

	for (i = 0; ok && i < n; i++) {
		values[i] = (uint64_t)exp(21.0 * rand() / RAND_MAX);
		hist_record(h, values[i]);
	}
	qsort(values, n, sizeof(*values), compare_u64);
	for (i = 0; ok && i < sizeof(qs) / sizeof(qs[0]); i++) {
		double got = (double)hist_quantile(h, qs[i]), want;

		rank = (size_t)ceil(qs[i] * (double)n - 1e-9);
		want = (double)values[rank > 0 ? rank - 1 : 0];
		ok = fabs(got - want) <= 0.005 * want;
	}
	ok = ok && hist_max(h) == values[n - 1] && hist_count(h) == n;
	hist_free(h);
	return ok;
}

static bool
check_quantiles(void)
{
	static const size_t sizes[] = { 1, 2, 3, 100, 1000, VALUES };
	uint64_t *values = calloc(VALUES, sizeof(*values));
	bool ok = values != NULL;
	size_t i;

	srand(1);
	for (i = 0; ok && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		ok = quantiles_agree(values, sizes[i]);
	free(values);
	return ok;
}

/* One value: every quantile is that value, whatever its size. */
static bool
check_extremes(void)
{
	static const uint64_t values[] = { 0, 1, 255, 256, 511, 512, 513,
	    UINT64_C(1) << 40, UINT64_MAX };
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct hist *h = hist_new();

		if (h == NULL)
			return false;
		hist_record(h, values[i]);
		ok = ok && hist_quantile(h, 0.5) == values[i] &&
		    hist_max(h) == values[i];
		hist_free(h);
	}
	return ok;
}

static bool
check_cut_answers(void)
{
	static const char text[] = "HTTP/1.1 201 Created\r\n"
	    "content-LENGTH:  5\r\nConnection: close\r\n\r\nhello";
	size_t n = sizeof(text) - 1, cut;

	for (cut = 0; cut < n; cut++) {
		struct answer a;

		answer_init(&a);
		if (answer_feed(&a, text, cut) != ANSWER_MORE ||
		    answer_feed(&a, text + cut, n - cut) != ANSWER_WHOLE ||
		    a.status != 201 || !a.close || a.length != 5 ||
		    a.last != 'o' || memcmp(a.begin, "hello", 5) != 0)
			return false;
	}
	return true;
}

static bool
check_broken_answers(void)
{
	static const char *const texts[] = {
		"SSH-2.0-OpenSSH\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
	};
	struct answer a;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		answer_init(&a);
		if (answer_feed(&a, texts[i], strlen(texts[i])) !=
		    ANSWER_BROKEN)
			return false;
	}
	return true;
}

static bool
check_mix(void)
{
	struct mix mix = { .weight = { 20, 75, 5 }, .missing = 0.1,
	    .keys = 10, .scan_length = 3, .value_size = 10, .prefix = "k",
	    .seed = 7 };
	struct source *s = source_new(&mix);
	double seen[OP_COUNT] = { 0 }, absent = 0, edge = 0;
	int i;

	if (s == NULL)
		return false;
	for (i = 0; i < VALUES; i++) {
		struct request r = source_draw(s);

		seen[r.op]++;
		absent += r.absent;
		edge += r.key == 9;
	}
	source_free(s);
	/* Each within five standard deviations of its mean. */
	return fabs(seen[OP_SET] - 20000) < 632 &&
	    fabs(seen[OP_SCAN] - 5000) < 345 &&
	    fabs(absent - 7500) < 416 && fabs(edge - 10000) < 474;
}

int
check_all(void)
{
	static const struct {
		const char *name;
		bool (*check)(void);
	} checks[] = {
		{ "quantiles are those of the sorted values, to 0.5 %",
		    check_quantiles },
		{ "quantiles of one value are that value", check_extremes },
		{ "an answer cut anywhere reads the same", check_cut_answers },
		{ "what is no answer is refused", check_broken_answers },
		{ "the mix has its weights", check_mix },
	};
	int failed = 0;
	size_t i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		bool ok = checks[i].check();

		printf("%sok - %s\n", ok ? "" : "not ", checks[i].name);
		failed += !ok;
	}
	return failed;
}
