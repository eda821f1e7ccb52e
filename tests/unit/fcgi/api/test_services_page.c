/*
 * GET /api/v1/services over a long range: a process is told of again and
 * again, and the list of them is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
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

#define START (INT64_C(1700000000) * NS_PER_S)
#define ROUNDS 70000 /* more than the page keeps at once */

static char dir[] = "/tmp/memlens-test-XXXXXX";

/* One old process, told of again and again, and one that came last. */
static void
fill(void)
{
	struct store_options options = {.slot_ns = 10 * NS_PER_S,
	    .no_thread = true};
	struct batch *b = batch_new(10 * NS_PER_S);
	struct series_desc d = {SERIES_GAUGE, "g", "", 0, 0, NULL, 0};
	static const char old[] = "1 5 old\t", young[] = "2 9 young\t";
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &options));
	for (int i = 0; i < ROUNDS; i++)
		batch_add_fact(b, START + i, FACT_PROCESS, "shop", old,
		    sizeof(old) - 1);
	batch_add_fact(b, START + ROUNDS, FACT_PROCESS, "shop", young,
	    sizeof(young) - 1);
	batch_add_gauge(b, batch_series(b, &d),
	    (uint64_t)(START / (10 * NS_PER_S)), START + 1, 1);
	CHECK_OK(store_append(w, b));
	batch_free(b);
	CHECK_OK(store_writer_close(w));
}

TEST(the_youngest_process_is_listed)
{
	char uri[] = "/api/v1/services", query[80];
	struct settings settings;
	struct response rs;
	struct request rq;
	struct context c;

	CHECK_OK(settings_load(&settings, NULL));
	context_init(&c, &settings, dir);
	response_init(&rs);
	snprintf(query, sizeof(query), "from=%lld&until=%lld",
	    (long long)(START / NS_PER_S), (long long)(START / NS_PER_S + 60));
	CHECK_OK(request_init(&rq, "GET", uri, NULL, query, clock_wall_ns()));
	CHECK_OK(api_services(&c, &rq, &rs));
	buf_put_u8(&rs.body, 0);
	CHECK(strstr((char *)rs.body.data, "\"command\":\"young\"") != NULL);
	CHECK(strstr((char *)rs.body.data, "\"processes_seen\":2") != NULL);
	request_fini(&rq);
	response_fini(&rs);
	context_fini(&c);
	settings_free(&settings);
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	fill();
	RUN(the_youngest_process_is_listed);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
	return test_done();
}
