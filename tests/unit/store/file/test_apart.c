/*
 * What a late file has alone, as a word of the manifest.
 */
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/file/apart.h"
#include "tests/unit/test.h"

static void
add(struct batch *b, const char *service, enum series_kind kind,
    const char *name, const char *unit)
{
	struct label l = {"service", service};
	struct series_desc d = {kind, name, unit, 0, 0, &l,
	    service != NULL ? 1 : 0};

	batch_series(b, &d);
}

static const char *
told(struct batch *b, char of[APART_OF])
{
	apart_tell(b, of);
	batch_free(b);
	return of;
}

TEST(services_and_types_come_back)
{
	static const char *const services[] = {"loud", "my app,1;2/%", "\xff"};
	struct batch *b = batch_new(1000);
	struct apart_item t;
	char of[APART_OF];
	const char *at;

	for (int i = 0; i < 3; i++) {
		add(b, services[i], SERIES_GAUGE, "load", "");
		add(b, services[i], SERIES_FLOW, "cpu", "ns");
		add(b, services[i], SERIES_STOCK, "in use, all", "b/s");
	}
	at = told(b, of);
	CHECK(strpbrk(of, " \n") == NULL);
	for (int i = 0; i < 6; i++) {
		CHECK(apart_next(&at, &t));
		CHECK_STR(t.service, services[i / 2]);
		CHECK(t.profile);
		CHECK_INT(t.kind, i % 2 ? SERIES_STOCK : SERIES_FLOW);
		CHECK_STR(t.name, i % 2 ? "in use, all" : "cpu");
		CHECK_STR(t.unit, i % 2 ? "b/s" : "ns");
		CHECK(apart_may_have(of, services[i / 2]));
	}
	CHECK(!apart_next(&at, &t));
	CHECK(apart_may_have_metric(of, "load"));
	CHECK(!apart_may_have_metric(of, "cpu") && !apart_may_have_metric(of,
	    "loads"));
	CHECK(!apart_may_have(of, "my app"));
	CHECK(!apart_may_have(of, ""));
}

TEST(a_service_without_profiles_stands_by_itself)
{
	struct batch *b = batch_new(1000);
	struct apart_item t;
	char of[APART_OF];
	const char *at = of;

	add(b, "kv", SERIES_COUNTER, "reads", "");
	add(b, "kvs", SERIES_FLOW, "cpu", "ns");
	told(b, of);
	CHECK(strncmp(of, "kvs/1/cpu/ns,kv;", 16) == 0 && strlen(of) == 20);
	CHECK(apart_next(&at, &t) && t.profile);
	CHECK(apart_next(&at, &t) && !t.profile);
	CHECK_STR(t.service, "kv");
	CHECK(!apart_next(&at, &t));
	CHECK(apart_may_have_metric(of, "reads"));
	CHECK(!apart_may_have_metric(of, "writes"));
}

/* They may be any, where they do not fit. */
TEST(metrics_that_are_many_are_not_told)
{
	struct batch *b = batch_new(1000);
	char of[APART_OF], name[16];

	add(b, "kv", SERIES_FLOW, "cpu", "nanoseconds");
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		add(b, "kv", SERIES_GAUGE, name, "");
	}
	CHECK_STR(told(b, of), "kv/1/cpu/nanoseconds;*");
	CHECK(apart_may_have_metric(of, "m7") &&
	    apart_may_have_metric(of, "other"));
	CHECK(apart_may_have(of, "kv") && !apart_may_have(of, "other"));
}

/* Nothing is told: it may have anything. */
TEST(what_cannot_be_told_is_not)
{
	struct batch *b = batch_new(1000);
	struct apart_item t;
	char of[APART_OF];
	const char *at = of;

	CHECK_STR(told(b, of), "");
	CHECK(apart_may_have(of, "kv") && apart_may_have_metric(of, "reads"));
	CHECK(!apart_next(&at, &t));
	b = batch_new(1000);
	add(b, "kv", SERIES_FLOW, "cpu", "");
	add(b, NULL, SERIES_GAUGE, "load", "");
	CHECK_STR(told(b, of), "");
	b = batch_new(1000);
	add(b, "kv", SERIES_FLOW, "cpu", "");
	batch_add_fact(b, 1, FACT_MARK, "kv", "m", 1);
	CHECK_OK(batch_finish(b));
	CHECK_STR(told(b, of), "");
	for (unsigned n = APART_OF - 8; n < APART_OF + 4; n++) {
		char long_name[APART_OF + 8];

		memset(long_name, 'x', n);
		long_name[n] = '\0';
		b = batch_new(1000);
		add(b, long_name, SERIES_GAUGE, "load", "");
		told(b, of);
		CHECK(of[0] == '\0' || strlen(of) > n + 1);
		CHECK(apart_may_have(of, long_name));
	}
}

int
main(void)
{
	RUN(services_and_types_come_back);
	RUN(a_service_without_profiles_stands_by_itself);
	RUN(metrics_that_are_many_are_not_told);
	RUN(what_cannot_be_told_is_not);
	return test_done();
}
