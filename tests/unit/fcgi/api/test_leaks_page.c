/*
 * GET /api/v1/leaks of services whose memory is known: a leak beside a cache
 * that fills and stays, what comes and goes, and a burst.
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
#include "store/model/fact.h"
#include "store/model/types.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT_NS (10 * NS_PER_S)
#define FIRST UINT64_C(170000000)
#define SLOTS 240 /* 40 minutes */
#define MB INT64_C(1000000)
#define LEAK (MB / 6) /* a slot: 1 MB a minute */
#define LEFT (100 * MB) /* of the host's memory, at the end */

static char dir[] = "/tmp/memlens-test-XXXXXX";
static struct json_object *answer;

/* The one stack of all that the daemon found, or was not told of. */
static uint32_t
marked(struct batch *b, const char *mark)
{
	struct frame f = {.kind = FRAME_MARK, .name = mark, .module = "",
	    .build_id = ""};

	return batch_node(b, batch_node(b, 0, 0), batch_frame(b, &f));
}

static uint32_t
stack_of(struct batch *b, const char *instance, const char *leaf)
{
	struct label label = {"instance", instance};
	uint32_t node = batch_node(b, 0, instance == NULL ? 0 :
	    batch_labels(b, &label, 1));
	const char *names[] = {"main", leaf};

	for (int i = 0; i < 2; i++) {
		struct frame f = {.kind = FRAME_NATIVE, .name = names[i],
		    .module = "db", .build_id = ""};

		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
stack(struct batch *b, const char *leaf)
{
	return stack_of(b, NULL, leaf);
}

/* So much is left to the control group, and so busy it is. */
#define GROUP_LEFT (40 * MB)
static int64_t busy(int i) { return 1000 + 10 * (i * 37 % 101); }

/* In use by stack and slot. */
static int64_t leaks(int i) { return 5 * MB + LEAK * i; }
static int64_t fills(int i) { return 2 * MB * (i < 140 ? i : 140); }
static int64_t churns(int i) { return (i * 7919 % 64 + 1) * MB; }
static int64_t bursts(int i) { return i == 100 ? 900 * MB : MB; }
/* sessions of a day that becomes busier */
static int64_t serves(int i) { return MB * (i + i * 37 % 11); }

static const struct {
	const char *name;
	int64_t (*bytes)(int i);
} holders[] = {{"leaks", leaks}, {"fills", fills}, {"churns", churns},
    {"bursts", bursts}};

static void
put_gauge(struct batch *b, const char *name, const char *service,
    const char *type, int i, int64_t value)
{
	struct label labels[] = {{"memtype", type}, {"service", service}};
	struct series_desc d = {SERIES_GAUGE, name, "bytes", 0, 0, labels,
	    service != NULL ? 2 : 0};

	batch_add_gauge(b, batch_series(b, &d), FIRST + (uint64_t)i,
	    ((int64_t)FIRST + i) * SLOT_NS + 1, value);
}

/* A service whose memory is its load's, beside a leak; it has a limit. */
static void
fill_loaded(struct batch *b, int i)
{
	struct label service = {"service", "day"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	struct series_desc count = {SERIES_COUNTER, "requests_total", "", 0, 0,
	    &service, 1};
	struct series_desc left = {SERIES_GAUGE,
	    "memlens_service_memory_available_bytes", "bytes", 0, 0, &service,
	    1};
	uint64_t slot = FIRST + (uint64_t)i;
	int64_t at_ns = ((int64_t)FIRST + i) * SLOT_NS + 1;
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, slot, stack(b, "serves"), serves(i));
	batch_add_profile(b, series, slot, stack(b, "leaks"), leaks(i));
	batch_observe(b, series, slot, 1);
	batch_add_counter(b, batch_series(b, &count), slot, at_ns,
	    serves(i) / MB * 7 + busy(i) / 1000, i);
	batch_add_gauge(b, batch_series(b, &left), slot, at_ns, GROUP_LEFT);
}

/* A service whose stack held nothing for 20 minutes. */
static void
fill_born(struct batch *b, int i)
{
	struct label service = {"service", "born"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	uint32_t series = batch_series(b, &use);

	if (i >= 120)
		batch_add_profile(b, series, FIRST + (uint64_t)i,
		    stack(b, "begins"), LEAK * (i - 119));
	batch_observe(b, series, FIRST + (uint64_t)i, 1);
}

/* A leak beside what comes and goes, of which nothing resident is known; its
 * objects are of 1 MB. */
static void
fill_hidden(struct batch *b, int i)
{
	struct label service = {"service", "hidden"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	struct series_desc objects = {SERIES_STOCK, "inuse_objects", "count",
	    1, 0, &service, 1};
	uint64_t slot = FIRST + (uint64_t)i;
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, slot, stack(b, "leaks"), leaks(i));
	batch_add_profile(b, series, slot, stack(b, "churns"), churns(i));
	batch_observe(b, series, slot, 1);
	series = batch_series(b, &objects);
	batch_add_profile(b, series, slot, stack(b, "leaks"), leaks(i) / MB);
	batch_observe(b, series, slot, 1);
}

/* The same leak, in a heap whose two instances say how they sample. */
static void
fill_told(struct batch *b, int i)
{
	struct label labels[] = {{"instance", "one"}, {"service", "told"}};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &labels[1], 1};
	struct series_desc mean = {SERIES_GAUGE, TYPES_SAMPLING, "bytes", 0, 0,
	    labels, 2};
	uint64_t slot = FIRST + (uint64_t)i;
	int64_t at_ns = ((int64_t)FIRST + i) * SLOT_NS + 1;
	struct series_desc held = {SERIES_GAUGE,
	    "memlens_instance_memory_bytes", "bytes", 0, 0, (struct label[]){
	    {"instance", "two"}, {"memtype", "anonymous"}, {"service",
	    "told"}}, 3};
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, slot, stack(b, "leaks"), leaks(i));
	/* what only the other instance has */
	batch_add_profile(b, series, slot, stack_of(b, "two", "grows"),
	    2 * leaks(i));
	batch_observe(b, series, slot, 1);
	batch_add_gauge(b, batch_series(b, &held), slot, at_ns, 3 * leaks(i));
	batch_add_gauge(b, batch_series(b, &mean), slot, at_ns, 524288);
	labels[0].value = "two";
	batch_add_gauge(b, batch_series(b, &mean), slot, at_ns, 2 * 524288);
}

/* A leak that goes on while the daemon begins anew, after ANEW slots; in the
 * first step after that none of it is picked. */
#define ANEW 120

static void
fill_anew(struct batch *b, int i)
{
	struct label service = {"service", "anew"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	uint64_t slot = FIRST + (uint64_t)i;
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, slot, stack(b, "leaks"), i < ANEW
	    ? leaks(i) : i < ANEW + 5 ? 0 : LEAK * (i - ANEW - 4));
	if (i >= ANEW)
		batch_add_profile(b, series, slot, marked(b,
		    "[before MemLens started]"), leaks(ANEW - 1));
	batch_observe(b, series, slot, 1);
}

/* A leak beside a cache of 20 MB, in a program that is restarted in slot BACK,
 * and later loses what the daemon is told of it. */
#define BACK 163
#define LOSES 180

/* One that is restarted, and of whose leak a sample comes so late. */
#define LATE 12

static void
fill_process(struct batch *b, const char *service, int slot, const char *text)
{
	batch_add_fact(b, ((int64_t)FIRST + slot) * SLOT_NS, FACT_PROCESS,
	    service, text, strlen(text));
}

static void
fill_back(struct batch *b, const char *name, int i)
{
	struct label service = {"service", name};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	uint32_t series = batch_series(b, &use);
	uint64_t slot = FIRST + (uint64_t)i;
	int age = i < BACK ? i + 60 : i - BACK;
	char text[64];

	if (strcmp(name, "late") != 0 || i < BACK || age >= LATE)
		batch_add_profile(b, series, slot, stack(b, "leaks"),
		    LEAK * age);
	if (strcmp(name, "late") == 0)
		batch_add_profile(b, series, slot, stack(b, "holds"), 30 * MB);
	batch_add_profile(b, series, slot, stack(b, "caches"),
	    MB * (age < 20 ? age : 20));
	if (i > LOSES)
		batch_add_profile(b, series, slot, marked(b,
		    "[its stack was not taken]"), 2 * MB * (i - LOSES));
	batch_observe(b, series, slot, 1);
	snprintf(text, sizeof(text), "%d %lld db\t", i < BACK ? 7 : 8,
	    (long long)((int64_t)FIRST + i - age) * SLOT_NS);
	if (i % 64 == 0 || i == BACK)
		fill_process(b, name, i, text);
}

/* The same beside one that was there before, and goes on. */
static void
fill_beside(struct batch *b, int i)
{
	fill_back(b, "beside", i);
	if (i % 64 == 0)
		fill_process(b, "beside", i, "1 5 main\t");
}

/* A leak in a program that is restarted in each of OFTEN slots: SLOTS are 48
 * steps of 5, of which a start has fewer than 6 whole ones. */
#define OFTEN 25

static void
fill_often(struct batch *b, const char *name, bool fast, int i)
{
	struct label service = {"service", name};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	uint32_t series = batch_series(b, &use);
	int age = i % OFTEN;
	double grown = fast ? age + 1 : age * age + 1;
	char text[64];

	batch_add_profile(b, series, FIRST + (uint64_t)i, stack(b, "leaks"),
	    (int64_t)(LEAK * grown));
	batch_observe(b, series, FIRST + (uint64_t)i, 1);
	snprintf(text, sizeof(text), "%d %lld db\t", 100 + i / OFTEN,
	    (long long)((int64_t)FIRST + i - age) * SLOT_NS);
	if (age == 0)
		fill_process(b, name, i, text);
}

/* A leak into what was given back and is resident still. */
static void
fill_holes(struct batch *b, int i)
{
	struct label service = {"service", "holes"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, FIRST + (uint64_t)i, stack(b, "leaks"),
	    leaks(i));
	batch_observe(b, series, FIRST + (uint64_t)i, 1);
	put_gauge(b, "namedprocess_namegroup_memory_bytes", "holes",
	    "anonymous", i, 300 * MB + 1000 * i);
}

/* One with a heap that stays, and memory beside it that it maps itself. */
static void
fill_unseen(struct batch *b, int i)
{
	struct label service = {"service", "node"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	struct series_desc touched = {SERIES_FLOW, "faults", "bytes", 4096, 0,
	    &service, 1};
	uint64_t slot = FIRST + (uint64_t)i;
	uint32_t series = batch_series(b, &use);

	batch_add_profile(b, series, slot, stack(b, "fills"), 3 * MB);
	batch_observe(b, series, slot, 1);
	series = batch_series(b, &touched);
	batch_add_profile(b, series, slot, stack(b, "touches"), 10);
	batch_observe(b, series, slot, 1);
	put_gauge(b, "namedprocess_namegroup_memory_bytes", "node",
	    "anonymous", i, 3 * MB + LEAK * i);
}

static void
fill_slot(struct batch *b, int i)
{
	struct label service = {"service", "db"}, young = {"service", "go"};
	struct series_desc use = {SERIES_STOCK, "inuse_space", "bytes", 1, 0,
	    &service, 1};
	struct series_desc touched = {SERIES_FLOW, "faults", "bytes", 4096, 0,
	    &young, 1};
	uint32_t series = batch_series(b, &use);
	uint64_t slot = FIRST + (uint64_t)i;

	/* as a pull once a minute: in each sixth slot */
	for (size_t k = 0; k < 4 && i % 6 == 0; k++)
		batch_add_profile(b, series, slot, stack(b, holders[k].name),
		    holders[k].bytes(i));
	if (i % 6 == 0)
		batch_observe(b, series, slot, 1);
	fill_loaded(b, i);
	fill_born(b, i);
	fill_hidden(b, i);
	fill_told(b, i);
	fill_anew(b, i);
	fill_back(b, "back", i);
	fill_back(b, "late", i);
	fill_beside(b, i);
	fill_holes(b, i);
	fill_unseen(b, i);
	fill_often(b, "often", false, i);
	fill_often(b, "often, fast", true, i);
	series = batch_series(b, &touched);
	batch_add_profile(b, series, slot, stack(b, "touches"), 10);
	batch_observe(b, series, slot, 1);
	put_gauge(b, "namedprocess_namegroup_memory_bytes", "db", "anonymous",
	    i, leaks(i) + fills(i));
	put_gauge(b, "namedprocess_namegroup_memory_bytes", "go", "anonymous",
	    i, 40960 * i);
	/* late in each minute a burst, which more and more slots see */
	if (i % 6 >= 5 - i / 200)
		put_gauge(b, "namedprocess_namegroup_memory_bytes", "go",
		    "anonymous", i, 40960 * i + 100 * MB);
	put_gauge(b, "namedprocess_namegroup_memory_bytes", "full",
	    "anonymous", i, fills(i));
	put_gauge(b, "node_memory_MemAvailable_bytes", NULL, NULL, i,
	    LEFT + LEAK * (SLOTS - i));
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

		fill_slot(b, i);
		CHECK_OK(store_append(w, b));
		batch_free(b);
	}
	CHECK_OK(store_writer_close(w));
}

static const char *asked = ""; /* and what else is */
static int end = SLOTS;        /* of the range */

/* The answer about a service, from slot `from` on. */
static void
ask(const char *service, int from)
{
	char uri[] = "/api/v1/leaks", query[120];
	struct settings settings;
	struct response rs;
	struct request rq;
	struct context c;

	CHECK_OK(settings_load(&settings, NULL));
	context_init(&c, &settings, dir);
	response_init(&rs);
	snprintf(query, sizeof(query), "service=%s&from=%llu&until=%llu%s",
	    service, (unsigned long long)(FIRST + (uint64_t)from) * 10,
	    (unsigned long long)(FIRST + (uint64_t)end) * 10, asked);
	CHECK_OK(request_init(&rq, "GET", uri, NULL, query, clock_wall_ns()));
	CHECK_OK(api_leaks(&c, &rq, &rs));
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

static double
number(const char *path)
{
	return json_object_get_double(at(path));
}

static const char *
text(const char *path)
{
	return json_object_get_string(at(path));
}

static bool
near(double got, double want, double part)
{
	if (got > want * (1 - part) && got < want * (1 + part))
		return true;
	printf("# %g, not %g\n", got, want);
	return false;
}

TEST(the_leak_alone_is_a_suspect)
{
	ask("db", 0);
	CHECK_STR(text("/by"), "inuse_space");
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	CHECK_STR(text("/suspects/0/stack/1"), "leaks");
	CHECK(near(number("/suspects/0/slope"), (double)LEAK / 10, 1e-6));
	CHECK(near(number("/suspects/0/gained"), (double)LEAK * 234, 0.05));
	CHECK_STR(text("/suspects/0/state"), "growing");
	CHECK(number("/plateaus") == 1);
	CHECK(number("/unknown") == 0);
}

TEST(a_cache_that_fills_is_one_until_it_is_full)
{
	ask("full", 0);
	CHECK_STR(text("/by"), "resident");
	CHECK_STR(text("/resident/state"), "plateau");
	CHECK(at("/memory_ends") == NULL);
}

TEST(memory_ends_when_it_does)
{
	ask("go", 0);
	CHECK_STR(text("/by"), "faults");
	CHECK_STR(text("/suspects/0/stack/1"), "touches");
	CHECK_STR(text("/memory_ends/of"), "host");
	CHECK(near(number("/memory_ends/seconds"), (double)(LEFT + LEAK) /
	    4096, 0.01));
	/* ten minutes of the leaking one, after the cache is full */
	ask("db", SLOTS - 60);
	CHECK_STR(text("/suspects/0/stack/1"), "leaks");
}

/* Beside what comes and goes the total does not surely grow. */
TEST(memory_ends_by_what_does_grow)
{
	ask("db", SLOTS - 60);
	CHECK_STR(text("/total/state"), "steady");
	CHECK_STR(text("/resident/state"), "growing");
	CHECK_STR(text("/memory_ends/by"), "resident");
	CHECK(near(number("/memory_ends/seconds"), (double)(LEFT + LEAK) /
	    (double)LEAK * 10, 0.01));
	ask("hidden", SLOTS - 60);
	CHECK_STR(text("/total/state"), "steady");
	CHECK_STR(text("/resident/state"), "unknown");
	CHECK_STR(text("/memory_ends/by"), "suspects");
	CHECK(near(number("/memory_ends/seconds"), (double)(LEFT + LEAK) /
	    (double)LEAK * 10, 0.01));
	CHECK(number("/memory_ends/earliest") < number("/memory_ends/at"));
	CHECK(number("/memory_ends/latest") > number("/memory_ends/at"));
	ask("day", 0);
	CHECK_STR(text("/memory_ends/by"), "total");
	ask("full", 0);
	CHECK(at("/memory_ends") == NULL);
}

TEST(memory_ends_when_a_leak_has_filled_what_was_given_back)
{
	ask("holes", 0);
	CHECK_STR(text("/resident/state"), "growing");
	CHECK_STR(text("/memory_ends/by"), "total");
	CHECK(near(number("/memory_ends/seconds"), (double)(LEFT + LEAK) /
	    (double)LEAK * 10, 0.01));
}

/* By what samples err: of objects of 1 MB less than of small ones. */
TEST(the_interval_has_the_error_of_the_samples)
{
	double rate = (double)LEAK / 10;
	double grain = 1e6 / expm1(1e6 / 524288), unit;

	ask("anew", 0);
	CHECK(near(number("/suspects/0/slope_high") - rate, 1.96 *
	    sqrt(1.2 * 524288 * rate / 1150), 0.2));
	CHECK(at("/sampling") == NULL);
	/* as its source has told, the rarer of two */
	ask("told", 0);
	CHECK(number("/sampling") == 2 * 524288);
	unit = 1.96 * 1.96 * 1.2 * 2 * 524288 / 2350;
	CHECK_STR(text("/suspects/1/stack/1"), "leaks");
	CHECK(near(number("/suspects/1/slope_high") - rate, unit / 2 +
	    sqrt(unit * unit / 4 + unit * rate), 0.15));
	ask("hidden", 0);
	CHECK(near(number("/suspects/0/slope_high") - rate, 1.96 *
	    sqrt(1.2 * grain * rate / 2350), 0.15));
	ask("go", 0); /* a gauge has none */
	CHECK(near(number("/resident/slope_high"), 4096, 1e-6));
}

TEST(stacks_are_judged_since_the_daemon_began)
{
	ask("anew", 0);
	CHECK(number("/anew") == (double)(FIRST + ANEW) * 10);
	CHECK_STR(text("/total/state"), "growing");
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	CHECK_STR(text("/suspects/0/stack/1"), "leaks");
	CHECK(near(number("/suspects/0/slope"), (double)LEAK / 10, 1e-6));
	CHECK(near(number("/suspects/0/gained"), (double)LEAK * 113, 1e-6));
	CHECK(number("/suspects/0/age") == (SLOTS - ANEW - 5) * 10);
	CHECK(json_object_get_boolean(at("/suspects/0/age_at_least")));
	ask("anew", ANEW); /* what was found is known all the time */
	CHECK(at("/anew") == NULL);
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	ask("db", 0);
	CHECK(at("/anew") == NULL);
}

TEST(a_leak_goes_on_over_a_restart)
{
	ask("back", 0);
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	CHECK_STR(text("/suspects/0/stack/1"), "leaks");
	CHECK(near(number("/suspects/0/slope"), (double)LEAK / 10, 1e-6));
	CHECK(number("/suspects/0/restarted") == (double)(FIRST + 160) * 10);
	CHECK(near(number("/suspects/0/gained"), (double)LEAK * 70, 1e-6));
	CHECK(number("/suspects/0/age") == (SLOTS - 165) * 10);
	CHECK(!json_object_get_boolean(at("/suspects/0/age_at_least")));
	CHECK(number("/total/restarted") == (double)(FIRST + 160) * 10);
	CHECK_STR(text("/total/state"), "growing");
	ask("back", BACK + 7);
	CHECK(at("/total/restarted") == NULL);
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	ask("beside", 0); /* who knows whose it was */
	CHECK(at("/total/restarted") == NULL);
	ask("anew", 0);
	CHECK(at("/total/restarted") == NULL);
}

/* Of what has begun just now, the program before it tells the stacks. */
TEST(a_leak_is_found_just_behind_a_restart)
{
	for (end = BACK + 1; end < BACK + 25; end += 3) {
		ask(end % 2 == 0 ? "back" : "late", 0);
		CHECK_INT(json_object_array_length(at("/suspects")), 1);
		CHECK_STR(text("/suspects/0/stack/1"), "leaks");
		CHECK(near(number("/suspects/0/slope"), (double)LEAK / 10,
		    1e-6));
	}
	end = SLOTS;
}

TEST(what_was_lost_is_told_and_no_suspect)
{
	ask("back", 0);
	CHECK(number("/lost") == (double)(2 * MB * (SLOTS - 3 - LOSES)));
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	ask("db", 0);
	CHECK(at("/lost") != NULL && number("/lost") == 0);
	ask("go", 0); /* without a heap */
	CHECK(at("/lost") == NULL);
}

TEST(of_one_instance_what_that_has)
{
	ask("told", 0);
	CHECK_INT(json_object_array_length(at("/suspects")), 2);
	CHECK(at("/instance") == NULL);
	CHECK_STR(text("/resident/state"), "unknown");
	asked = "&instance=two";
	ask("told", 0);
	asked = "";
	CHECK_STR(text("/instance"), "two");
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	CHECK_STR(text("/suspects/0/stack/1"), "grows");
	CHECK(near(number("/total/slope"), (double)LEAK / 5, 1e-6));
	CHECK(near(number("/resident/slope"), (double)LEAK * 3 / 10, 1e-6));
}

TEST(growth_by_the_load_is_no_leak)
{
	ask("day", 0);
	CHECK_INT(json_object_array_length(at("/suspects")), 2);
	CHECK_STR(text("/suspects/0/stack/1"), "serves");
	asked = "&requests=requests_total%7Bservice=%22day%22%7D";
	ask("day", 0);
	asked = "";
	CHECK_INT(json_object_array_length(at("/suspects")), 1);
	CHECK_STR(text("/suspects/0/stack/1"), "leaks");
	CHECK(number("/with_load") == 1);
}

TEST(the_control_group_ends_before_the_host)
{
	ask("day", SLOTS - 60);
	CHECK_STR(text("/memory_ends/of"), "cgroup");
	CHECK(number("/memory_ends/available") == (double)GROUP_LEFT);
	CHECK(near(number("/memory_ends/seconds"), (double)GROUP_LEFT /
	    number("/total/slope"), 1e-3));
	ask("go", 0); /* without a limit */
	CHECK_STR(text("/memory_ends/of"), "host");
}

TEST(the_oldest_is_as_old_as_it_has_been_held)
{
	ask("db", 0);
	CHECK(number("/suspects/0/age") == SLOTS * 10);
	CHECK(json_object_get_boolean(at("/suspects/0/age_at_least")));
	ask("born", 0);
	CHECK(number("/suspects/0/age") == 1200);
	CHECK(!json_object_get_boolean(at("/suspects/0/age_at_least")));
	ask("go", 0);
	CHECK(at("/suspects/0/age") == NULL); /* of what is touched */
}

/* "Memory in use does not grow", with no suspect, is worse than no heap. */
TEST(what_grows_beside_the_heap_is_found_by_faults)
{
	ask("node", 0);
	CHECK(json_object_get_boolean(at("/unseen")));
	CHECK_STR(text("/by"), "faults");
	CHECK_STR(text("/suspects/0/stack/1"), "touches");
	CHECK_STR(text("/memory_ends/by"), "resident");
	ask("db", 0);
	CHECK(!json_object_get_boolean(at("/unseen")));
}

TEST(nothing_is_said_of_nobody)
{
	ask("nobody", 0);
	CHECK_STR(text("/by"), "no data");
	CHECK_INT(json_object_array_length(at("/suspects")), 0);
	CHECK_STR(text("/total/state"), "unknown");
	/* and no data is not 0 */
	CHECK(at("/total") != NULL && at("/total/slope") == NULL);
	CHECK(at("/total/first") == NULL && at("/total/gained") == NULL);
	CHECK(at("/resident/last") == NULL);
	ask("db", SLOTS - 6); /* a moment alone: no slope, but what there is */
	CHECK_STR(text("/total/state"), "unknown");
	CHECK(at("/total/slope") == NULL);
	CHECK(number("/total/first") > 0);
}

/* What it says where it says nothing of the trend. */
TEST(restarts_that_leave_too_little_are_why)
{
	ask("often", 0);
	CHECK_STR(text("/total/state"), "unknown");
	CHECK(strstr(text("/total/why"), "restarted more often than every 6 "
	    "steps") != NULL);
	CHECK(number("/total/restarts") > 5);
	CHECK(number("/unknown") == 1);
	/* which holds more than a quarter again in the step behind it */
	ask("often, fast", 0);
	CHECK_STR(text("/total/state"), "unknown");
	CHECK(number("/total/restarts") > 5);
	ask("often", SLOTS - 3);
	CHECK_STR(text("/total/state"), "unknown");
	CHECK_STR(text("/total/why"), "fewer than 6 steps have data");
	ask("db", 0);
	CHECK_STR(text("/total/why"), "");
	CHECK(number("/total/restarts") == 0);
	ask("nobody", 0);
	CHECK_STR(text("/total/why"), "no step has data");
}

int
main(void)
{
	char command[64];

	CHECK(mkdtemp(dir) != NULL);
	fill();
	RUN(the_leak_alone_is_a_suspect);
	RUN(restarts_that_leave_too_little_are_why);
	RUN(a_cache_that_fills_is_one_until_it_is_full);
	RUN(memory_ends_when_it_does);
	RUN(memory_ends_by_what_does_grow);
	RUN(the_interval_has_the_error_of_the_samples);
	RUN(stacks_are_judged_since_the_daemon_began);
	RUN(a_leak_goes_on_over_a_restart);
	RUN(a_leak_is_found_just_behind_a_restart);
	RUN(memory_ends_when_a_leak_has_filled_what_was_given_back);
	RUN(what_was_lost_is_told_and_no_suspect);
	RUN(of_one_instance_what_that_has);
	RUN(growth_by_the_load_is_no_leak);
	RUN(the_control_group_ends_before_the_host);
	RUN(the_oldest_is_as_old_as_it_has_been_held);
	RUN(what_grows_beside_the_heap_is_found_by_faults);
	RUN(nothing_is_said_of_nobody);
	json_object_put(answer);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
	return test_done();
}
