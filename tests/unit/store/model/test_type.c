/*
 * Names of types: what is kept under one, what text counts, and what a store
 * of before holds under a name that promises something else.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/format/in/texttype.h"
#include "fcgi/format/stacks.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/model/type.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN 102400 /* slot */

TEST(one_name_promises_one_unit)
{
	static const struct {
		enum series_kind kind;
		const char *name, *unit, *kept;
	} names[] = {
	    {SERIES_FLOW, "cpu", "nanoseconds", "cpu"},
	    {SERIES_FLOW, "cpu", "days", "cpu"},
	    {SERIES_FLOW, "cpu", "cycles", "cpu_cycles"},
	    {SERIES_FLOW, "cpu", "samples", "cpu_samples"},
	    {SERIES_STOCK, "cpu", "ns", "cpu_average"},
	    {SERIES_STOCK, "cpu", "odd unit", "cpu_average_odd_unit"},
	    {SERIES_FLOW, "inuse_space", "KiB", "inuse_space_sum"},
	    {SERIES_STOCK, "inuse_space", "KiB", "inuse_space"},
	    {SERIES_FLOW, "samples", "samples", "samples"},
	    {SERIES_FLOW, "own", "furlongs", "own"},
	    {SERIES_FLOW, "cpu-clock", "nanoseconds", "cpu_clock"},
	    {SERIES_FLOW, "sched:switch", "samples", "sched:switch"},
	    {SERIES_FLOW, "7", "samples", "_7"},
	};
	char buf[TYPE_NAME_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(type_name(names[i].kind, names[i].name,
		    names[i].unit, buf), names[i].kept);
}

static const char *
counted(const char *name, const char *units)
{
	static char out[100];
	struct stacks_type t;
	const struct err *e = texttype_of(&t, name, units, 50);

	if (e != NULL)
		return e->field;
	snprintf(out, sizeof(out), "%s %s %lld %s", t.name, t.unit,
	    (long long)t.period, series_kind_name(t.kind));
	return out;
}

TEST(units_of_text_are_honoured_or_refused)
{
	CHECK_STR(counted("cpu", NULL), "cpu nanoseconds 20000000 flow");
	CHECK_STR(counted("cpu", "samples"), "cpu nanoseconds 20000000 flow");
	CHECK_STR(counted("cpu", "ms"), "cpu ms 1 flow");
	CHECK_STR(counted("cpu", "KiB"), "units");
	CHECK_STR(counted("inuse_space", ""), "inuse_space bytes 1 stock");
	CHECK_STR(counted("inuse_space", "KiB"), "inuse_space KiB 1 stock");
	CHECK_STR(counted("inuse_space", "ms"), "units");
	CHECK_STR(counted("block_duration", "ms"), "block_duration ms 1 flow");
	CHECK_STR(counted("own", NULL), "own samples 1 flow");
	CHECK_STR(counted("own", "KiB"), "own KiB 1 flow");
	CHECK_STR(counted(NULL, NULL), "cpu nanoseconds 20000000 flow");
	CHECK_STR(counted(NULL, "KiB"), "inuse_space KiB 1 stock");
	CHECK_STR(counted(NULL, "objects"), "inuse_objects objects 1 stock");
	CHECK_STR(counted(NULL, "lock_nanoseconds"),
	    "lock_duration lock_nanoseconds 1 flow");
	CHECK_STR(counted(NULL, "milliseconds"),
	    "nanoseconds milliseconds 1 flow");
	CHECK_STR(counted(NULL, "nonsense"), "units");
}

/* ---- a store of before ---- */

static void
put(struct store_writer *w, const struct series_desc *d, uint64_t slot,
    int64_t v)
{
	struct batch *b = batch_new(SLOT);
	static const struct frame f = {FRAME_NATIVE, "main", "", "", 0};
	uint32_t series = batch_series(b, d), node = batch_node(b, 0,
	    batch_labels(b, NULL, 0));

	batch_observe(b, series, slot, 1);
	batch_add_profile(b, series, slot,
	    batch_node(b, node, batch_frame(b, &f)), v);
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static int64_t
total(const char *dir, const char *query, const char *unit)
{
	struct profile_query q = {.from_ns = 0,
	    .until_ns = (BEGIN + 9000) * SLOT};
	struct selector *selector;
	struct store *s = NULL;
	struct profile *p;
	int64_t sum;

	CHECK_OK(selector_parse(query, &selector));
	CHECK_OK(store_open(&s, dir, 0));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	CHECK_STR(p->unit, unit);
	sum = (int64_t)p->nodes[0].total;
	profile_free(p);
	store_close(s);
	selector_free(selector);
	return sum;
}

TEST(a_store_of_before_keeps_what_was_cpu_in_cycles)
{
	struct label service = {"service", "app"};
	struct series_desc cpu = {SERIES_FLOW, "cpu", "nanoseconds", 10, 0,
	    &service, 1}, cycles = cpu, own = cpu, average = cpu;
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	char dir[] = "/tmp/test-type-XXXXXX", command[64];
	struct store_writer *w;

	cycles.unit = "cycles";
	own.unit = "cycles";
	own.name = "cpu_cycles";
	cycles.period = own.period = 1;
	average.kind = SERIES_STOCK;
	CHECK(mkdtemp(dir) != NULL);
	CHECK_OK(store_writer_open(&w, dir, &o));
	for (int part = 0; part < 2; part++) { /* a file, then a journal */
		put(w, &cpu, BEGIN + (uint64_t)part * 8000, 4);
		put(w, &cycles, BEGIN + (uint64_t)part * 8000, 50);
		put(w, &own, BEGIN + (uint64_t)part * 8000, 7);
		put(w, &average, BEGIN + (uint64_t)part * 8000, 9);
		if (part == 0)
			CHECK_OK(store_tick(w, (BEGIN + 8000) * SLOT));
		CHECK_INT(total(dir, "cpu", "nanoseconds"), 40 * (part + 1));
		CHECK_INT(total(dir, "cpu_cycles", "cycles"), 57 * (part + 1));
		CHECK_INT(total(dir, "cpu_average", "nanoseconds"), 90);
	}
	CHECK_OK(store_writer_close(w));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	RUN(one_name_promises_one_unit);
	RUN(units_of_text_are_honoured_or_refused);
	RUN(a_store_of_before_keeps_what_was_cpu_in_cycles);
	return test_done();
}
