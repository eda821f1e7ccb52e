/*
 * GET /api/v1/lifetimes of a service whose allocations are known, by pool and
 * stack, and of one whose heap profile was pulled.
 */
#include <json-c/json.h>
#include <math.h>
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

#define SLOT_NS (10 * NS_PER_S)
#define FIRST UINT64_C(170000000)
#define SLOTS 30

static char dir[] = "/tmp/memlens-test-XXXXXX";
static struct json_object *answer;

/* What a slot brings: bytes, of them short ones, and objects. */
static const struct known {
	const char *pool, *leaf;
	int64_t allocated, brief, objects;
} known[] = {{"request", "parse", 1000, 1000, 100},
    {"request", "cache", 5000, 500, 5}, {"flush", "cache", 300, 0, 3}};

static uint32_t
stack(struct batch *b, bool ours, const char *pool, const char *leaf)
{
	struct label labels[] = {{"pool", pool}, {"process", "db"}};
	uint32_t node = batch_node(b, 0, batch_labels(b, labels, 1 + ours));
	const char *names[] = {"main", leaf};

	for (int i = 0; i < 2; i++) {
		struct frame f = {.kind = FRAME_NATIVE, .name = names[i],
		    .module = "db", .build_id = ""};

		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static void
put(struct batch *b, const char *service, bool ours, const char *type, int i,
    int64_t (*amount)(const struct known *))
{
	struct label label = {"service", service};
	struct series_desc d = {SERIES_FLOW, type,
	    strcmp(type, "alloc_objects") == 0 ? "count" : "bytes", 1, 0,
	    &label, 1};
	uint32_t series = batch_series(b, &d);

	for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
		if (amount(&known[k]) > 0)
			batch_add_profile(b, series, FIRST + (uint64_t)i,
			    stack(b, ours, known[k].pool, known[k].leaf),
			    amount(&known[k]));
	batch_observe(b, series, FIRST + (uint64_t)i, 1);
}

static int64_t allocated(const struct known *k) { return k->allocated; }
static int64_t brief(const struct known *k) { return k->brief; }
static int64_t objects(const struct known *k) { return k->objects; }

static int64_t
nothing(const struct known *k)
{
	(void)k;
	return 0;
}

static void
put_counter(struct batch *b, const char *name, const char *unit, int i,
    int64_t n)
{
	struct label labels[] = {{"reason", "ring full"},
	    {"source", "alloc_space"}};
	struct series_desc d = {SERIES_COUNTER, name, unit, 0, 0, labels, 2};

	batch_add_counter(b, batch_series(b, &d), FIRST + (uint64_t)i,
	    ((int64_t)FIRST + i) * SLOT_NS, n, n);
}

/* Records that nobody knows whose they are, in the last slot. */
static void
put_lost(struct batch *b, int i)
{
	if (i != SLOTS - 1)
		return;
	put_counter(b, "memlens_profile_samples_lost_total", "", i, 3);
	put_counter(b, "memlens_profile_lost_bytes_total", "bytes", i, 3000);
	put_counter(b, "memlens_profile_lost_objects_total", "", i, 30);
}

/* One of three processes, and a tenth of what is resident, have the library. */
static void
put_library(struct batch *b, int i, bool has)
{
	struct label labels[] = {{"library", has ? "yes" : "no"},
	    {"service", "db"}};
	struct series_desc d = {SERIES_GAUGE, "memlens_heap_processes", "", 0,
	    0, labels, 2};
	uint64_t slot = FIRST + (uint64_t)i;

	batch_add_gauge(b, batch_series(b, &d), slot, (int64_t)slot * SLOT_NS,
	    has ? 1 : 2);
	d.name = "memlens_heap_resident_bytes";
	d.unit = "bytes";
	batch_add_gauge(b, batch_series(b, &d), slot, (int64_t)slot * SLOT_NS,
	    has ? 1000 : 9000);
}

static void
fill(void)
{
	struct store_options options = {.slot_ns = SLOT_NS,
	    .no_thread = true};
	struct store_writer *w;

	CHECK_OK(store_writer_open(&w, dir, &options));
	for (int i = 0; i < SLOTS; i++) {
		struct batch *b = batch_new(SLOT_NS);

		put(b, "db", true, "alloc_space", i, allocated);
		put(b, "db", true, "short_space", i, brief);
		put(b, "db", true, "alloc_objects", i, objects);
		put(b, "pulled", false, "alloc_space", i, allocated);
		put(b, "both", true, "alloc_space", i, allocated);
		put(b, "both", true, "short_space", i, brief);
		put(b, "both", true, "alloc_objects", i, objects);
		put(b, "both", false, "alloc_space", i, allocated);
		put(b, "both", false, "alloc_objects", i, objects);
		put(b, "seen", true, "alloc_space", i, nothing);
		put(b, "seen", true, "short_space", i, nothing);
		put_library(b, i, true);
		put_library(b, i, false);
		put_lost(b, i);
		CHECK_OK(store_append(w, b));
		batch_free(b);
	}
	CHECK_OK(store_writer_close(w));
}

static void
ask(const char *service, int slots, const char *more)
{
	char uri[] = "/api/v1/lifetimes", query[120];
	struct settings settings;
	struct response rs;
	struct request rq;
	struct context c;

	CHECK_OK(settings_load(&settings, NULL));
	context_init(&c, &settings, dir);
	response_init(&rs);
	snprintf(query, sizeof(query), "service=%s&from=%llu&until=%llu%s",
	    service, (unsigned long long)FIRST * 10,
	    (unsigned long long)(FIRST + (uint64_t)slots) * 10, more);
	CHECK_OK(request_init(&rq, "GET", uri, NULL, query, clock_wall_ns()));
	CHECK_OK(api_lifetimes(&c, &rq, &rs));
	buf_put_u8(&rs.body, 0);
	json_object_put(answer);
	answer = json_tokener_parse((char *)rs.body.data);
	CHECK(answer != NULL);
	request_fini(&rq);
	response_fini(&rs);
	context_fini(&c);
	settings_free(&settings);
}

static struct json_object *
at(const char *path)
{
	struct json_object *o = NULL;

	json_pointer_get(answer, path, &o);
	return o;
}

/* The four amounts below a path, of so many slots. */
static void
check_amounts(const char *path, int64_t slots, int64_t all, int64_t brief,
    int64_t n)
{
	static const char *const names[] = {"allocated", "short", "kept",
	    "objects"};
	int64_t want[] = {all, brief, all - brief, n};
	char place[64];

	for (int i = 0; i < 4; i++) {
		snprintf(place, sizeof(place), "%s/%s", path, names[i]);
		CHECK(at(place) != NULL);
		CHECK_INT(json_object_get_int64(at(place)), want[i] * slots);
	}
}

TEST(what_is_short_and_what_is_kept)
{
	for (int slots = 1; slots <= SLOTS; slots += 7) {
		ask("db", slots, "");
		check_amounts("", slots, 6300, 1500, 108);
		CHECK_INT(json_object_array_length(at("/pools")), 2);
		CHECK_STR(json_object_get_string(at("/pools/0/pool")),
		    "request");
		check_amounts("/pools/0", slots, 6000, 1500, 105);
		check_amounts("/pools/1", slots, 300, 0, 3);
		CHECK_INT(json_object_array_length(at("/stacks")), 3);
		CHECK_STR(json_object_get_string(at("/stacks/0/stack/1")),
		    "parse");
		check_amounts("/stacks/0", slots, 1000, 1000, 100);
		CHECK_STR(json_object_get_string(at("/stacks/1/pool")),
		    "request");
		check_amounts("/stacks/1", slots, 5000, 500, 5);
		/* the same stack of another pool is another one */
		check_amounts("/stacks/2", slots, 300, 0, 3);
	}
	ask("db", SLOTS, "");
	CHECK_INT(json_object_get_int64(at("/seconds")), SLOTS * 10);
	CHECK_INT(json_object_get_int64(at("/elsewhere")), 0);
	ask("db", SLOTS + 20, "");
	CHECK_INT(json_object_get_int64(at("/seconds")), SLOTS * 10);
	/* what a profile that was pulled has is not ours, and not kept */
	ask("both", SLOTS, "");
	check_amounts("", SLOTS, 6300, 1500, 108);
	check_amounts("/stacks/1", SLOTS, 5000, 500, 5);
	CHECK_INT(json_object_get_int64(at("/elsewhere")), 6300 * SLOTS);
	ask("db", SLOTS, "&limit=1");
	CHECK_INT(json_object_array_length(at("/stacks")), 1);
	check_amounts("", SLOTS, 6300, 1500, 108);
}

TEST(what_nobody_knows_is_null)
{
	ask("pulled", SLOTS, "");
	CHECK_STR(json_object_get_string(at("/state")), "data");
	CHECK_INT(json_object_get_int64(at("/allocated")), 6300 * SLOTS);
	CHECK(at("/short") == NULL);
	CHECK(at("/kept") == NULL);
	CHECK(at("/pools/0/objects") == NULL);
	ask("nobody", SLOTS, "");
	CHECK_STR(json_object_get_string(at("/state")), "no data");
	CHECK(at("/allocated") == NULL);
}

static int64_t
number(const char *path)
{
	return json_object_get_int64(at(path));
}

TEST(what_was_lost_is_said)
{
	ask("db", SLOTS - 1, "");
	CHECK(at("/incomplete") == NULL);
	CHECK_STR(json_object_get_string(at("/lost_bytes")), "{ }");
	CHECK_STR(json_object_get_string(at("/why")), "");
	ask("db", SLOTS, "");
	CHECK_STR(json_object_get_string(at("/state")), "data");
	CHECK_INT(number("/lost/ring full"), 3);
	CHECK_INT(number("/lost_bytes/ring full"), 3000);
	CHECK_INT(number("/lost_bytes_on_host/ring full"), 3000);
	CHECK_INT(number("/lost_objects/ring full"), 30);
	CHECK(json_object_get_boolean(at("/incomplete")));
	CHECK(strstr(json_object_get_string(at("/why")), "may lack some") !=
	    NULL);
	/* nobody has counted who has the library, and somebody had */
	ask("both", SLOTS, "");
	CHECK_INT(number("/lost_bytes/ring full"), 3000);
	/* which is nothing to who had not */
	ask("pulled", SLOTS, "");
	CHECK_STR(json_object_get_string(at("/lost")), "{ }");
	CHECK_STR(json_object_get_string(at("/lost_bytes")), "{ }");
	CHECK(at("/incomplete") == NULL);
	/* of whom nothing was seen that may be all that there was */
	ask("seen", SLOTS - 1, "");
	CHECK_STR(json_object_get_string(at("/state")), "data");
	ask("seen", SLOTS, "");
	CHECK_STR(json_object_get_string(at("/state")), "no data");
	CHECK(strstr(json_object_get_string(at("/why")), "nothing was seen") !=
	    NULL);
}

TEST(who_is_not_observed_is_said)
{
	ask("db", SLOTS, "");
	CHECK(fabs(json_object_get_double(at("/observed/processes")) -
	    1.0 / 3) < 1e-9);
	CHECK(json_object_get_double(at("/observed/resident")) == 0.1);
	ask("both", SLOTS, "");
	CHECK(at("/observed") == NULL);
	ask("pulled", SLOTS, "");
	CHECK(at("/observed") == NULL);
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	fill();
	RUN(what_is_short_and_what_is_kept);
	RUN(what_nobody_knows_is_null);
	RUN(what_was_lost_is_said);
	RUN(who_is_not_observed_is_said);
	json_object_put(answer);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
	return test_done();
}
