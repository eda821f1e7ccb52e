/*
 * What is measured beside a profile, over ranges of which retention has left
 * whole spans only.
 */
#include "fcgi/query/measure.h"
#include "tests/unit/store/store_model.h"

static uint64_t
naive_count(const struct model *m, int64_t from, int64_t until)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n_gauges; i++) {
		int64_t at = (int64_t)m->gauges[i].slot * SLOT;

		n += m->gauges[i].series % 2 == 0 && at >= from && at < until;
	}
	return n;
}

/* As a profile's, the range goes down to kept borders; what lies in it is
 * there, and not nothing. */
TEST(once_over_what_retention_has_left)
{
	int64_t whole = INT64_C(4096) * SLOT, from, until, step;
	struct store *s = NULL;
	unsigned coarse = 0;
	struct model m;

	model_init(&m, 6);
	CHECK_OK(store_writer_close(m.w));
	m.options.retain_fine_ns = 5000 * SLOT;
	model_open(&m);
	model_run(&m, 16000);
	CHECK_OK(store_open(&s, m.dir, 0));
	for (int64_t at = FIRST * SLOT; at + 300 * SLOT < (int64_t)m.now *
	     SLOT; at += 777 * SLOT) {
		struct metric_series *series;
		uint64_t count = 0;
		size_t n;

		from = at;
		until = at + 300 * SLOT;
		step = 300 * SLOT;
		store_kept_steps(s, &from, &until, &step);
		coarse += from != at;
		CHECK(from == at || (from % whole == 0 && until % whole == 0));
		CHECK_OK(measure_once(s, "load", at, at + 300 * SLOT, &series,
		    &n));
		for (size_t i = 0; i < n; i++) {
			CHECK_INT(series[i].n_points, 1);
			count += series[i].points[0].count;
		}
		CHECK_INT(count, naive_count(&m, from, until));
		metric_series_free(series, n);
	}
	CHECK(coarse > 3);
	store_close(s);
	model_fini(&m);
}

static bool
put_is(const char *name, const char *service, const char *instance,
    const char *more, const char *want)
{
	struct selector *parsed = NULL;
	struct buf text = {0};
	bool good;

	measure_put_selector(&text, name, service, instance, more);
	good = !text.failed && strcmp((const char *)text.data, want) == 0;
	if (!good)
		printf("# %s\n", (const char *)text.data);
	buf_fini(&text);
	CHECK_OK(measure_selector(name, service, instance, more, &parsed));
	if (service != NULL)
		CHECK_STR(selector_equals(parsed, "service"), service);
	if (instance != NULL)
		CHECK_STR(selector_equals(parsed, "instance"), instance);
	selector_free(parsed);
	return good;
}

/* Whatever a service or an instance is called. */
TEST(a_selector_of_any_names)
{
	CHECK(put_is("cpu", NULL, NULL, "", "cpu"));
	CHECK(put_is("cpu", "kv", NULL, "", "cpu{service=\"kv\"}"));
	CHECK(put_is("", "kv", NULL, "", "{service=\"kv\"}"));
	CHECK(put_is("cpu", NULL, "2", "", "cpu{instance=\"2\"}"));
	CHECK(put_is("cpu", NULL, NULL, "mode=\"user\"",
	    "cpu{mode=\"user\"}"));
	CHECK(put_is("cpu", "kv", "2", "mode=\"user\"",
	    "cpu{service=\"kv\",instance=\"2\",mode=\"user\"}"));
	CHECK(put_is("cpu", "a\"b\\c\nd", "\"", "",
	    "cpu{service=\"a\\\"b\\\\c\\nd\",instance=\"\\\"\"}"));
	CHECK(put_is("cpu", "", NULL, "", "cpu{service=\"\"}"));
}

int
main(void)
{
	RUN(a_selector_of_any_names);
	RUN(once_over_what_retention_has_left);
	return test_done();
}
