/*
 * Sums over instances of GET /api/v1/series against the service's own figure,
 * where instances begin, end and come back under other names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/api/pages.h"
#include "fcgi/server/context.h"
#include "fcgi/server/request.h"
#include "fcgi/server/respond.h"
#include "fcgi/server/settings.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT_S 10
#define SLOTS 640
#define FIRST 170000000 /* slot */
#define INSTANCES 4

static char dir[] = "/tmp/memlens-test-XXXXXX";

/* What an instance holds in a slot; 0: it is not there.  One has run all the
 * time in the first half, none in the second, where they follow each other. */
static int64_t
held(int instance, int slot)
{
	bool late = slot >= SLOTS / 2;

	if (instance == 0)
		return late ? 0 : 1000 + slot % 7;
	if (late && slot % 50 / 15 != instance - 1)
		return 0;
	if (!late && slot % 83 > 20 * instance)
		return 0;
	return 100 * instance + slot % 11;
}

static void
put(struct batch *b, const char *kind, int instance, int slot, int64_t value)
{
	char name[64], number[8];
	struct label labels[2] = {{"service", "kv"}, {"instance", number}};
	struct series_desc d = {SERIES_GAUGE, name, "bytes", 0, 0, labels,
	    instance < 0 ? 1 : 2};
	int64_t time_ns = (int64_t)(FIRST + slot) * SLOT_S * NS_PER_S + 1;

	snprintf(number, sizeof(number), "#%d", instance);
	snprintf(name, sizeof(name), "%s_bytes", kind);
	batch_add_gauge(b, batch_series(b, &d), (uint64_t)(FIRST + slot),
	    time_ns, value);
	d.kind = SERIES_COUNTER;
	d.unit = "";
	snprintf(name, sizeof(name), "%s_ops_total", kind);
	batch_add_counter(b, batch_series(b, &d), (uint64_t)(FIRST + slot),
	    time_ns, value, value);
}

static void
fill(void)
{
	struct store_options options = {.slot_ns = SLOT_S * NS_PER_S,
	    .no_thread = true};
	struct batch *b = batch_new(SLOT_S * NS_PER_S);
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &options));
	for (int slot = 0; slot < SLOTS; slot++) {
		int64_t all = 0;

		for (int i = 0; i < INSTANCES; i++) {
			int64_t value = held(i, slot);

			all += value;
			if (value > 0)
				put(b, "memlens_instance", i, slot, value);
		}
		if (all > 0)
			put(b, "own", -1, slot, all);
	}
	CHECK_OK(store_append(w, b));
	batch_free(b);
	CHECK_OK(store_writer_close(w));
}

/* The points of the answer to a query, by steps of so many slots. */
static const char *
points(struct context *c, const char *query, int slots, char *out,
    size_t size)
{
	char uri[] = "/api/v1/series", text[300];
	struct response rs;
	struct request rq;
	const char *at;

	response_init(&rs);
	snprintf(text, sizeof(text), "query=%s&step=%d&from=%d&until=%d",
	    query, slots * SLOT_S, FIRST * SLOT_S, (FIRST + SLOTS) * SLOT_S);
	CHECK_OK(request_init(&rq, "GET", uri, NULL, text, clock_wall_ns()));
	CHECK_OK(api_series(c, &rq, &rs));
	buf_put_u8(&rs.body, 0);
	at = strstr((char *)rs.body.data, "\"points\":");
	snprintf(out, size, "%s", at != NULL ? at : "");
	request_fini(&rq);
	response_fini(&rs);
	return out;
}

static char of_all[65536], own[65536];

static void
compare(struct context *c, const char *metric, const char *fn, int slots)
{
	char query[160];

	snprintf(query, sizeof(query), "memlens_instance_%s&fn=%s&"
	    "sum=instance", metric, fn);
	points(c, query, slots, of_all, sizeof(of_all));
	snprintf(query, sizeof(query), "own_%s&fn=%s", metric, fn);
	points(c, query, slots, own, sizeof(own));
	CHECK(own[0] != '\0');
	CHECK_STR(of_all, own);
}

/* An instance that ran for a moment counted with its whole mean. */
TEST(sums_over_instances_are_the_service)
{
	static const int steps[] = {1, 7, 20, 50, 64};
	struct settings settings;
	struct context c;

	CHECK_OK(settings_load(&settings, NULL));
	context_init(&c, &settings, dir);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		compare(&c, "bytes", "mean", steps[i]);
		compare(&c, "bytes", "last", steps[i]);
		compare(&c, "ops_total", "increase", steps[i]);
		compare(&c, "ops_total", "rate", steps[i]);
	}
	context_fini(&c);
	settings_free(&settings);
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	fill();
	RUN(sums_over_instances_are_the_service);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return test_done() | system(command);
}
