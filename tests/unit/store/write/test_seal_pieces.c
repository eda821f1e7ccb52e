/*
 * A journal that is sealed in pieces, as it is where it holds more than may be
 * in memory at once: what is asked is there, whatever the pieces were.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/check/repair.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(10000000000)
#define SPAN 4096
#define FIRST (200 * SPAN)

static char dir[64];
static struct store_writer *writer;

static void
begin_with(const struct store_options *o)
{

	if (dir[0] == '\0') {
		snprintf(dir, sizeof(dir), "%s/test-pieces-XXXXXX",
		    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		if (mkdtemp(dir) == NULL)
			abort();
	}
	CHECK_OK(store_writer_open(&writer, dir, o));
	if (writer == NULL)
		exit(1);
}

static void
begin(size_t seal_bytes)
{
	begin_with(&(struct store_options){.slot_ns = SLOT, .no_thread = true,
	    .seal_bytes = seal_bytes});
}

static void
begin_short(uint64_t short_bytes)
{
	begin_with(&(struct store_options){.slot_ns = SLOT, .no_thread = true,
	    .short_bytes = short_bytes});
}

static void
end(void)
{
	char command[128];

	CHECK_OK(store_writer_close(writer));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
	dir[0] = '\0';
}

/* One stack of a function of its own, beside one that all have. */
static void
put(int64_t slot, unsigned i)
{
	struct label l = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds",
	    COUNTS_PERIOD_NS, 0, &l, 1};
	char own[64];
	struct frame all = {FRAME_NATIVE, "all", "kv", "", 0};
	struct frame f = {FRAME_NATIVE, own, "kv", "", 0};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));
	uint32_t series = batch_series(b, &d);

	snprintf(own, sizeof(own), "a_function_of_its_own_%u", i);
	top = batch_node(b, top, batch_frame(b, &all));
	batch_add_profile(b, series, (uint64_t)slot, top, 1);
	batch_add_profile(b, series, (uint64_t)slot,
	    batch_node(b, top, batch_frame(b, &f)), 1);
	if (i > 0)
		batch_add_fact(b, slot * SLOT, FACT_MARK, own, "m", 1);
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

/* Samples, and stacks, of [from, until). */
static uint64_t
count(int64_t from, int64_t until, uint64_t *stacks)
{
	struct profile_query q = {.from_ns = from * SLOT,
	    .until_ns = until * SLOT};
	struct selector *selector = NULL;
	struct profile *p = NULL;
	struct store *s = NULL;
	uint64_t n = 0;

	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_query_profile(s, &q, &p));
	if (p != NULL)
		n = (uint64_t)counts_of(p, 0).total;
	*stacks = p != NULL ? p->stacks : 0;
	profile_free(p);
	store_close(s);
	selector_free(selector);
	return n;
}

static int
files(const char *kind)
{
	char command[128], text[32] = "";
	FILE *f;

	snprintf(command, sizeof(command), "ls %s | grep -c ^%s-", dir, kind);
	f = popen(command, "r");
	if (f == NULL || fgets(text, sizeof(text), f) == NULL)
		text[0] = '\0';
	if (f != NULL)
		pclose(f);
	return atoi(text);
}

/* 40 records that go on with one dictionary, a piece each. */
TEST(pieces_of_one_dictionary_add_up)
{
	uint64_t stacks;

	begin(1000);
	for (unsigned i = 0; i < 40; i++)
		put(FIRST + i, i);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK(files("late") > 3);
	CHECK_INT(files("span"), 1);
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	CHECK_INT(count(FIRST + 7, FIRST + 8, &stacks), 2);
	CHECK_OK(store_tick(writer, (FIRST + 400) * SLOT));
	CHECK_INT(files("late"), 0); /* they were merged */
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	end();
}

/* Each journal begins a dictionary; names of the one before go. */
static bool
count_mark(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	(void)time_ns, (void)subject, (void)data, (void)n;
	++*(int *)arg;
	return true;
}

/* Marks of slots [from, until). */
static int
marks(int64_t from, int64_t until)
{
	struct store *s = NULL;
	int n = 0;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_each_fact(s, FACT_MARK, from * SLOT, until * SLOT - 1,
	    count_mark, &n));
	store_close(s);
	return n;
}

static void
put_mark(int64_t slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	batch_add_fact(b, slot * SLOT, FACT_MARK, "note", "m", 1);
	CHECK_OK(store_append(writer, b));
	batch_free(b);
}

/* What was said of yesterday is yesterday's, and what was told a moment late
 * needs no file of its own. */
TEST(facts_stand_at_their_time)
{
	begin(0);
	put(FIRST + 20, 0);
	put_mark(FIRST - 1000);
	put_mark(FIRST - 2);
	put_mark(FIRST + 20);
	put_mark(FIRST + 65);
	for (int sealed = 0; sealed < 2; sealed++) {
		CHECK_INT(marks(FIRST - 1001, FIRST - 999), 1);
		CHECK_INT(marks(FIRST - 3, FIRST - 1), 1);
		CHECK_INT(marks(FIRST + 20, FIRST + 21), 1);
		CHECK_INT(marks(FIRST + 65, FIRST + 66), 1);
		CHECK_INT(marks(0, FIRST + 200), 4);
		CHECK_OK(store_tick(writer, (FIRST + 140) * SLOT));
		CHECK_INT(files("span"), 2); /* yesterday has its own */
	}
	end();
}
TEST(pieces_of_many_dictionaries_add_up)
{
	uint64_t stacks;

	begin(1);
	for (unsigned i = 0; i < 12; i++) {
		put(FIRST + i, i);
		put(FIRST + i, i + 1);
		CHECK_OK(store_writer_close(writer));
		begin(1);
	}
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 48);
	CHECK_INT(stacks, 14);
	end();
}

/* Slots [from, until) of FIRST's span, a record each. */
static void
put_slots(unsigned from, unsigned until)
{
	for (unsigned i = from; i < until; i++) {
		CHECK_OK(store_tick(writer, (FIRST + i) * SLOT));
		put(FIRST + i, i);
	}
}

static void
check_slots(unsigned n)
{
	uint64_t stacks;

	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 2 * n);
	CHECK_INT(stacks, n + 1);
	for (unsigned i = 0; i < n; i += 5) {
		CHECK_INT(count(FIRST + i, FIRST + i + 1, &stacks), 2);
		CHECK_INT(count(FIRST, FIRST + i, &stacks), 2 * i);
	}
}

/* Where much is written readers do not keep 64 slots of it open. */
TEST(journals_of_16_slots_become_a_span_of_64)
{
	begin_short(1);
	put_slots(0, 17);
	CHECK_OK(store_tick(writer, (FIRST + 17) * SLOT));
	CHECK_INT(files("span-2"), 1);
	check_slots(17);
	put_slots(17, 64);
	CHECK_INT(files("span-2"), 3);
	CHECK_INT(files("late"), 0);
	check_slots(64);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_INT(files("span-3"), 1);
	CHECK_INT(files("span"), 1);
	CHECK_INT(files("late"), 0);
	check_slots(64);
	end();
}

/* What begins small is of 64 slots, however much comes later. */
TEST(a_journal_that_was_small_stays_whole)
{
	begin_short(10000);
	put_slots(0, 17);
	for (unsigned i = 0; i < 100; i++)
		put(FIRST + 17, i);
	put_slots(18, 64);
	CHECK_INT(files("span"), 0);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_INT(files("span-3"), 1);
	CHECK_INT(files("span"), 1);
	end();
}

/* A restart begins with the 64 slots; what it has of those that are sealed
 * goes late, until they are one. */
TEST(restarts_between_journals_of_16_slots_lose_nothing)
{
	begin_short(1);
	for (unsigned i = 0; i < 60; i += 7) {
		put_slots(i, i + 7);
		CHECK_OK(store_writer_close(writer));
		begin_short(1);
		check_slots(i + 7);
	}
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	check_slots(63);
	CHECK_OK(store_tick(writer, (FIRST + 400) * SLOT));
	CHECK_INT(files("late"), 0);
	CHECK_INT(files("span"), 1);
	check_slots(63);
	end();
}

/* What came after so many late files had been made went with the journal. */
TEST(late_data_of_150_spans_is_all_sealed)
{
	uint64_t stacks;

	begin(0);
	for (unsigned i = 0; i < 150; i++)
		put(FIRST - (int64_t)i * SPAN, i);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_INT(count(0, FIRST + 64, &stacks), 300);
	CHECK_INT(stacks, 151);
	end();
}

/* Pieces of two names each, of which the names of few fit into a merge. */
static const struct store_options few = {.slot_ns = SLOT, .no_thread = true,
    .seal_bytes = 1000, .merge_bytes = 1200, .retain_fine_ns = SPAN * SLOT,
    .retain_ns = 3 * SPAN * SLOT};

static void
put_apart(void)
{
	begin_with(&few);
	for (unsigned i = 0; i < 40; i++)
		put(FIRST + i, i);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_OK(store_tick(writer, (FIRST + 400) * SLOT));
	CHECK_INT(files("late"), 0);
	CHECK(files("apart") > 20 && files("apart") < 39);
}

static void
silent(void *arg, const char *what)
{
	(void)arg;
	(void)what;
}

TEST(what_is_set_apart_counts_after_a_repair)
{
	struct repair_report r;
	struct aside_report aside;
	char path[80];
	uint64_t stacks;
	int n;

	put_apart();
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	CHECK_INT(count(FIRST + 7, FIRST + 8, &stacks), 2);
	n = files("apart");
	CHECK_OK(store_writer_close(writer));
	snprintf(path, sizeof(path), "%s/manifest", dir);
	CHECK_INT(unlink(path), 0);
	CHECK_OK(store_repair(dir, silent, NULL, &r));
	CHECK_INT(files("apart"), n);
	CHECK_OK(store_aside(dir, false, &aside));
	CHECK_INT(aside.files, 0);
	begin_with(&few);
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	end();
}

/* A command in which $d is the directory. */
static void
sh(const char *command)
{
	char text[400];

	snprintf(text, sizeof(text), "d=%s; %s", dir, command);
	CHECK_INT(system(text), 0);
}

/* What the first three late files did not have was in the journal alone,
 * which was set aside for the span. */
TEST(a_repair_takes_no_piece_for_the_whole_journal)
{
	struct repair_report r;
	uint64_t stacks;

	begin(1000);
	for (unsigned i = 0; i < 40; i++)
		put(FIRST + i, i);
	sh("cp -a $d $d.kept");
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_OK(store_writer_close(writer));
	CHECK_INT(files("span"), 1);
	sh("cd $d && rm ids-* manifest && "
	   "ls late-* | sort -t- -k4n | tail -n +4 | xargs rm && "
	   "cp -n ../${d##*/}.kept/* . && rm -r $d.kept manifest");
	CHECK_INT(files("late"), 3);
	CHECK_OK(store_repair(dir, silent, NULL, &r));
	CHECK_INT(r.superseded, 4);
	CHECK_INT(r.damaged, 0);
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	begin(1000);
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	end();
}

/* The list of ids is made last: the journal has nothing of its own. */
TEST(a_repair_takes_all_pieces_for_the_journal)
{
	struct repair_report r;
	uint64_t stacks;

	begin(1000);
	for (unsigned i = 0; i < 40; i++)
		put(FIRST + i, i);
	sh("cp -a $d $d.kept");
	CHECK_OK(store_tick(writer, (FIRST + 70) * SLOT));
	CHECK_OK(store_writer_close(writer));
	sh("cp -n $d.kept/* $d && rm -r $d.kept $d/manifest");
	CHECK_OK(store_repair(dir, silent, NULL, &r));
	sh("ls $d/journal-*.old >/dev/null");
	CHECK_INT(count(FIRST, FIRST + 64, &stacks), 80);
	CHECK_INT(stacks, 41);
	begin(1000);
	end();
}

static void
run(int64_t from, int64_t until)
{
	for (int64_t slot = from; slot < until; slot++) {
		put(slot, 0);
		CHECK_OK(store_tick(writer, (slot + 1) * SLOT));
	}
}

/* Fine slots go with their span; these wait until all goes. */
TEST(what_is_set_apart_goes_when_all_goes)
{
	struct store_options whole = few;
	uint64_t stacks;
	int n;

	put_apart();
	n = files("apart");
	CHECK_OK(store_writer_close(writer));
	whole.seal_bytes = 0;
	begin_with(&whole);
	run(FIRST + 400, FIRST + 2 * SPAN + SPAN / 2);
	CHECK(files("apart") >= n);
	CHECK_INT(count(FIRST, FIRST + SPAN, &stacks),
	    80 + 2 * (SPAN - 400));
	CHECK_INT(stacks, 41);
	run(FIRST + 2 * SPAN + SPAN / 2, FIRST + 4 * SPAN + SPAN / 2);
	CHECK_INT(files("apart"), 0);
	CHECK_INT(count(FIRST, FIRST + SPAN, &stacks), 0);
	end();
}

int
main(void)
{
	RUN(pieces_of_one_dictionary_add_up);
	RUN(facts_stand_at_their_time);
	RUN(pieces_of_many_dictionaries_add_up);
	RUN(journals_of_16_slots_become_a_span_of_64);
	RUN(a_journal_that_was_small_stays_whole);
	RUN(restarts_between_journals_of_16_slots_lose_nothing);
	RUN(late_data_of_150_spans_is_all_sealed);
	RUN(what_is_set_apart_counts_after_a_repair);
	RUN(a_repair_takes_no_piece_for_the_whole_journal);
	RUN(a_repair_takes_all_pieces_for_the_journal);
	RUN(what_is_set_apart_goes_when_all_goes);
	return test_done();
}
