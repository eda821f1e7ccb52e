/*
 * The text exposition format: what real pages hold, what they must not do,
 * and how values become integers.
 */
#include <stdlib.h>

#include "fcgi/format/in/prometheus.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static char seen[65536];
static size_t seen_len;
static struct prom_counts counts;

static void
put_sample(void *arg, const struct prom_sample *s)
{
	static const char *const kinds[] = {"", "nan", "inf"};
	struct series_desc d;
	int64_t value = 0;

	(void)arg;
	prom_describe(s, &d);
	if (s->kind == PROM_NUMBER && !prom_scale(s->value, d.scale, &value))
		value = -12345;
	seen_len += (size_t)snprintf(seen + seen_len, sizeof(seen) - seen_len,
	    "%s|", s->name);
	for (size_t i = 0; i < s->n_labels; i++)
		seen_len += (size_t)snprintf(seen + seen_len,
		    sizeof(seen) - seen_len, "%s=%s,", s->labels[i].name,
		    s->labels[i].value);
	seen_len += (size_t)snprintf(seen + seen_len, sizeof(seen) - seen_len,
	    "|%s|%s|%d|%s%lld\n", series_kind_name(d.kind), d.unit, d.scale,
	    kinds[s->kind], (long long)value);
}

static const char *
parse(const char *text)
{
	seen_len = 0;
	seen[0] = '\0';
	CHECK_OK(prom_parse(text, strlen(text), put_sample, NULL, &counts));
	return seen;
}

TEST(plain)
{
	CHECK_STR(parse("a 1\n"), "a||gauge||6|1000000\n");
	CHECK_STR(parse("a 1"), "a||gauge||6|1000000\n");
	CHECK_STR(parse("a\t-1.5e-3\r\n"), "a||gauge||6|-1500\n");
	CHECK_STR(parse("  a:b_c{} 2 1395066363000\n"),
	    "a:b_c||gauge||6|2000000\n");
	CHECK_STR(parse("# nothing\n\n#\n# TYPE\n# TYPE x\n"), "");
	CHECK_INT(counts.bad, 0);
}

TEST(types_and_units)
{
	CHECK_STR(parse("# TYPE x_total counter\nx_total 5\n"),
	    "x_total||counter||0|5\n");
	CHECK_STR(parse("# TYPE x counter\nx_total 5\n"),
	    "x_total||counter||0|5\n");
	CHECK_STR(parse("# TYPE t_seconds_total counter\n"
	    "t_seconds_total 0.25\n"),
	    "t_seconds_total||counter|seconds|6|250000\n");
	CHECK_STR(parse("rss_bytes 1.795260358e+09\n"),
	    "rss_bytes||gauge|bytes|0|1795260358\n");
	CHECK_STR(parse("# TYPE b gauge\n# UNIT b bytes\nb 7\n"),
	    "b||gauge|bytes|0|7\n");
	CHECK_STR(parse("# TYPE hit_ratio gauge\nhit_ratio 0.5\n"),
	    "hit_ratio||gauge|ratio|6|500000\n");
	CHECK_STR(parse("# TYPE h_seconds histogram\n"
	    "h_seconds_bucket{le=\"+Inf\"} 3\nh_seconds_sum 0.5\n"
	    "h_seconds_count 3\n"),
	    "h_seconds_bucket|le=+Inf,|counter||0|3\n"
	    "h_seconds_sum||counter|seconds|6|500000\n"
	    "h_seconds_count||counter||0|3\n");
}

/* As gauges, every part of a histogram seemed to have moved. */
TEST(parts_of_a_histogram_only_grow)
{
	CHECK_STR(parse("# TYPE s summary\ns{quantile=\"0.5\"} 2\n"
	    "s_sum 7\ns_count 3\n"),
	    "s|quantile=0.5,|gauge||6|2000000\ns_sum||counter||6|7000000\n"
	    "s_count||counter||0|3\n");
	CHECK_STR(parse("# TYPE g gaugehistogram\n"
	    "g_bucket{le=\"+Inf\"} 3\ng_gcount 3\n"),
	    "g_bucket|le=+Inf,|gauge||0|3\ng_gcount||gauge||6|3000000\n");
	CHECK_STR(parse("queue_count 3\n"), "queue_count||gauge||6|3000000\n");
}

TEST(not_numbers)
{
	CHECK_STR(parse("a Nan\nb NaN\nc nan\nd NAN\ne +Inf\nf -inf\n"),
	    "a||gauge||6|nan0\nb||gauge||6|nan0\nc||gauge||6|nan0\n"
	    "d||gauge||6|nan0\ne||gauge||6|inf0\nf||gauge||6|inf0\n");
	CHECK_STR(parse("a 1e300\n"), "a||gauge||6|-12345\n");
	CHECK_STR(parse("a 9300000000000\n"), "a||gauge||6|-12345\n");
	parse("a 0x10\nb 1_000\nc\nd one\ne 1p3\nf \n");
	CHECK_STR(seen, "");
	CHECK_INT(counts.bad, 6);
}

TEST(labels)
{
	CHECK_STR(parse("a{z=\"1\",b=\"x y\",} 1\n"),
	    "a|b=x y,z=1,|gauge||6|1000000\n");
	CHECK_STR(parse("a{ b = \"q\\\"\\\\\\n\" } 1\n"),
	    "a|b=q\"\\\n,|gauge||6|1000000\n");
	CHECK_STR(parse("a{b=\"}{,\"} 1\n"),
	    "a|b=}{,,|gauge||6|1000000\n");
	parse("a{b=\"x} 1\na{b=x} 1\na{=\"x\"} 1\na{b} 1\na{1b=\"x\"} 1\n"
	    "a{b=\"1\",b=\"2\"} 1\n{b=\"1\"} 1\na{b=\"1\"\n");
	CHECK_STR(seen, "");
	CHECK_INT(counts.bad, 8);
}

TEST(bounds)
{
	char text[2000] = "a{";
	size_t n = 2;

	for (int i = 0; i < 17; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "l%d=\"v\",", i);
	snprintf(text + n, sizeof(text) - n, "} 1\n");
	CHECK_STR(parse(text), "");
	CHECK_INT(counts.bad, 1);
	memset(text, 'a', 300);
	strcpy(text + 300, " 1\n");
	CHECK_STR(parse(text), "");
	CHECK_OK(prom_parse("a{b=\"x\0y\"} 1\n", 13, put_sample, NULL,
	    &counts));
	CHECK_INT(counts.bad, 1);
}

TEST(exemplars_and_ends)
{
	CHECK_STR(parse("# TYPE x counter\nx_total 3 # {id=\"9\"} 1 2\n"
	    "# EOF\n"), "x_total||counter||0|3\n");
}

/* Every cut of a page is read without harm (run with a sanitizer). */
TEST(real_page)
{
	static char text[65536];
	FILE *f = fopen("tests/data/resilientdb-metrics.txt", "r");
	size_t n;

	CHECK(f != NULL);
	if (f == NULL)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	for (size_t cut = 0; cut < n; cut++) {
		char *copy = malloc(cut + 1);

		memcpy(copy, text, cut);
		seen_len = 0;
		CHECK_OK(prom_parse(copy, cut, put_sample, NULL, &counts));
		free(copy);
	}
	text[n] = '\0';
	parse(text);
	CHECK_INT(counts.bad, 0);
	CHECK(strstr(seen, "exposer_scrapes_total||counter||0|0\n"));
	CHECK(strstr(seen,
	    "exposer_request_latencies|quantile=0.5,|gauge||6|nan0\n"));
	CHECK(strstr(seen,
	    "consensus|metrics=num_execute_tx,|gauge||6|4902000000\n"));
}

int
main(void)
{
	RUN(plain);
	RUN(types_and_units);
	RUN(parts_of_a_histogram_only_grow);
	RUN(not_numbers);
	RUN(labels);
	RUN(bounds);
	RUN(exemplars_and_ends);
	RUN(real_page);
	return test_done();
}
