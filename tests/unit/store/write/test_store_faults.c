/*
 * The store when memory, disk or descriptors run out: allocations and system
 * calls fail at random places, Berkeley DB's calls among them.  Whatever
 * fails, an answer is an error or exactly what was acknowledged; a batch
 * that was refused counts once when it is given again, and all goes on when
 * the fault is over.
 */
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/faults.h"
#include "tests/unit/test.h"

/* ---- the model: what was acknowledged, by slot and service ---- */

#define SLOT INT64_C(1000000000)
#define FIRST 4000
#define SLOTS 20000
#define SERVICES 3

struct model {
	char dir[64];
	struct store_writer *w;
	struct store_options options;
	int64_t want[SERVICES][SLOTS];
	struct batch *pending; /* refused, to be given again */
	int64_t pending_value;
	size_t pending_parts; /* it comes so often, in one push */
	uint64_t pending_slot;
	int pending_service;
	uint64_t now;
	unsigned seed, refused, faults;
	bool torn; /* refused records may stay in old journals, in part */
};

static unsigned
roll(struct model *m, unsigned n)
{
	return (unsigned)rand_r(&m->seed) % n;
}

/* Opens the writer, in the end without faults. */
static void
model_open(struct model *m)
{
	m->w = NULL;
	if (store_writer_open(&m->w, m->dir, &m->options) == NULL)
		return;
	fault_end();
	CHECK_OK(store_writer_open(&m->w, m->dir, &m->options));
	if (m->w == NULL) {
		printf("# the store cannot be opened any more\n");
		exit(1);
	}
}

static struct model *
model_new(unsigned seed, bool threaded)
{
	struct model *m = calloc(1, sizeof(*m));

	m->seed = seed;
	m->now = FIRST;
	snprintf(m->dir, sizeof(m->dir), "%s/test-faults-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(m->dir) == NULL)
		abort();
	m->options = (struct store_options){.slot_ns = SLOT,
	    .no_thread = !threaded};
	model_open(m);
	return m;
}

static void
model_free(struct model *m)
{
	char command[128];

	CHECK_OK(store_writer_close(m->w));
	snprintf(command, sizeof(command), "rm -rf %s", m->dir);
	CHECK(system(command) == 0);
	batch_free(m->pending);
	free(m);
}

static struct batch *
model_batch(struct model *m)
{
	int service = (int)roll(m, SERVICES), n = 1 + (int)roll(m, 20);
	char name[16], function[32];
	struct label l = {"service", name}, pool = {"pool", "p"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t series;

	snprintf(name, sizeof(name), "s%d", service);
	m->pending_service = service;
	m->pending_slot = roll(m, 30) == 0 ? m->now - 1 - roll(m, 200)
	                                   : m->now;
	if (m->pending_slot < FIRST)
		m->pending_slot = FIRST;
	m->pending_value = 0;
	series = batch_series(b, &d);
	for (int i = 0; i < n; i++) {
		int value = 1 + (int)roll(m, 30);
		struct frame f = {FRAME_NATIVE, function, "kv", "b1", 16};
		uint32_t node = batch_node(b, 0, batch_labels(b, &pool, 1));

		snprintf(function, sizeof(function), "fn_%u", roll(m, 60));
		node = batch_node(b, node, batch_frame(b, &f));
		batch_add_profile(b, series, m->pending_slot, node, value);
		m->pending_value += value;
	}
	return b;
}

static const struct err *
model_part(void *arg, size_t i, struct batch **b)
{
	const struct model *m = arg;

	(void)i;
	*b = m->pending;
	return NULL;
}

static const struct err *
model_append(struct model *m)
{
	struct store_parts parts = {m->pending_parts, m->pending->id,
	    m->pending_slot + 1, model_part, NULL, m};

	return parts.n == 1 ? store_append(m->w, m->pending)
	                    : store_append_parts(m->w, &parts);
}

/* Gives the pending batch, or a new one. */
static bool
model_give(struct model *m)
{
	int kinds = fault_kinds;

	if (m->pending == NULL) {
		fault_kinds = 0; /* the caller's memory is not the point */
		m->pending = model_batch(m);
		m->pending_parts = roll(m, 3) == 0 ? 3 : 1;
		m->pending_value *= (int64_t)m->pending_parts;
		CHECK_OK(batch_finish(m->pending));
		fault_kinds = kinds;
	}
	if (model_append(m) != NULL) {
		m->refused++;
		return false;
	}
	m->want[m->pending_service][m->pending_slot - FIRST] +=
	    m->pending_value;
	batch_free(m->pending);
	m->pending = NULL;
	return true;
}

/* ---- answers ---- */

static int128
naive(const struct model *m, int service, uint64_t from, uint64_t until)
{
	int128 sum = 0;

	for (uint64_t i = from; i < until; i++)
		sum += m->want[service][i - FIRST];
	return sum;
}

/* The total of a service, or an error. */
static const struct err *
ask(struct store *s, int service, uint64_t from, uint64_t until,
    int128 *total)
{
	struct profile_query q = {NULL, (int64_t)from * SLOT,
	    (int64_t)until * SLOT, NULL, false};
	struct selector *sel = NULL;
	struct profile *p = NULL;
	const struct err *e;
	char text[48];

	snprintf(text, sizeof(text), "cpu{service=\"s%d\"}", service);
	if ((e = selector_parse(text, &sel)) != NULL)
		return e;
	q.selector = sel;
	e = store_query_profile(s, &q, &p);
	if (e == NULL) {
		CHECK(p != NULL);
		*total = counts_of(p, 0).total;
	} else
		CHECK(p == NULL);
	profile_free(p);
	selector_free(sel);
	return e;
}

/* Whether the pending batch counts in [from, until) of a service. */
static int128
model_share(const struct model *m, int service, uint64_t from, uint64_t until)
{
	return m->pending != NULL && service == m->pending_service &&
	        m->pending_slot >= from && m->pending_slot < until
	    ? m->pending_value
	    : 0;
}

/* Is the answer the model's, the pending batch counting never or once? */
static void
model_compare(const struct model *m, int service, uint64_t from,
    uint64_t until, int128 got, int *pending)
{
	int128 want = naive(m, service, from, until);
	int128 share = model_share(m, service, from, until);

	if (share > 0 && *pending < 0)
		*pending = got == want + share;
	want += *pending > 0 ? share : 0;
	CHECK(got == want);
	if (got != want)
		printf("# s%d %lu to %lu: %ld, not %ld\n", service,
		    (unsigned long)from, (unsigned long)until, (long)got,
		    (long)want);
}

static void
model_check(struct model *m, struct store *s, unsigned times)
{
	int pending = -1;
	int128 got = 0;

	for (unsigned i = 0; i < times; i++) {
		unsigned n = (unsigned)(m->now - FIRST) + 1;
		uint64_t from = i == 0 ? FIRST : FIRST + roll(m, n);
		uint64_t until = i == 0 ? m->now + 1
		                        : from + roll(m, n) + 1;
		int service = (int)roll(m, SERVICES);

		if (until > m->now + 1)
			until = m->now + 1;
		CHECK_OK(ask(s, service, from, until, &got));
		model_compare(m, service, from, until, got, &pending);
	}
}

static void
model_check_anew(struct model *m, unsigned times)
{
	struct store *s = NULL;
	struct store_extent x;

	CHECK_OK(store_open(&s, m->dir, 0));
	if (s == NULL)
		return;
	model_check(m, s, times);
	store_extent(s, &x);
	CHECK(x.damaged == 0 || m->torn);
	store_close(s);
}

/* ---- random faults under a running writer ---- */

/* A few calls, or many, from any of the first to some thousand on. */
static void
model_fault(struct model *m, int kinds)
{
	int after = (int)roll(m, 1u << roll(m, 13));

	fault_count = 0;
	fault_begin(kinds, after, roll(m, 3) ? 1 : 1 + (int)roll(m, 30));
}

static void
model_step(struct model *m, int kinds)
{
	bool faulty = roll(m, 3) == 0;

	if (faulty)
		model_fault(m, kinds);
	(void)store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2);
	if (roll(m, 20) != 0)
		(void)model_give(m);
	if (roll(m, 100) == 0) {
		(void)store_writer_close(m->w);
		model_open(m);
	}
	fault_end();
	if (faulty) {
		m->faults += (unsigned)fault_count;
		if (fault_count > 0 && roll(m, 4) == 0)
			model_check_anew(m, 3);
	}
	m->now++;
}

/* After the fault the same batch is taken, once, and the state is good. */
static void
model_recover(struct model *m)
{
	struct store_writer_stats stats;

	for (int i = 0; i < 6000 && m->pending != NULL; i++) {
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2));
		if (!model_give(m) && !m->options.no_thread)
			usleep(10000);
	}
	CHECK(m->pending == NULL);
	for (int i = 0; i < 6000; i++) {
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2));
		store_writer_stats(m->w, &stats);
		if (stats.state == STORE_OK)
			break;
		usleep(10000);
	}
	CHECK_INT(stats.state, STORE_OK);
	CHECK_STR(stats.why, "");
	model_check_anew(m, 20);
}

static void
faults_in_the_writer(int kinds, unsigned slots, bool threaded)
{
	struct model *m = model_new((unsigned)kinds * 7 + 1, threaded);

	m->torn = (kinds & FAULT_CUT) != 0;
	for (unsigned i = 1; i <= slots && test_bad < 20; i++) {
		model_step(m, kinds);
		if (threaded)
			usleep(200);
		if (i % 100 == 0)
			model_recover(m);
		m->now += roll(m, 300) == 0 ? roll(m, 80) : 0;
	}
	printf("# %u calls failed, %u batches refused\n", m->faults,
	    m->refused);
	CHECK(m->faults > 0 || (kinds == FAULT_MALLOC && !MALLOC_FAILS));
	model_free(m);
}

TEST(no_memory_in_the_writer)
{
	faults_in_the_writer(FAULT_MALLOC, 2000, false);
}

TEST(writes_fail)
{
	faults_in_the_writer(FAULT_WRITE, 2000, false);
}

TEST(writes_are_short)
{
	faults_in_the_writer(FAULT_SHORT, 1000, false);
}

TEST(torn_records_cannot_be_cut_off)
{
	faults_in_the_writer(FAULT_SHORT | FAULT_CUT, 1000, false);
}

TEST(syncs_fail)
{
	faults_in_the_writer(FAULT_SYNC, 2000, false);
}

TEST(renames_fail)
{
	faults_in_the_writer(FAULT_RENAME, 2000, false);
}

TEST(opens_fail)
{
	faults_in_the_writer(FAULT_OPEN, 2000, false);
}

TEST(everything_fails_under_the_thread)
{
	faults_in_the_writer(FAULT_MALLOC | FAULT_WRITE | FAULT_SYNC |
	    FAULT_RENAME | FAULT_OPEN, 2000, true);
}

/* ---- random faults under a reader that stays ---- */

static void
reader_step(struct model *m, struct store *s, int kinds)
{
	int service = (int)roll(m, SERVICES), none = -1;
	uint64_t from = FIRST + roll(m, (unsigned)(m->now - FIRST));
	struct store_extent x;
	const struct err *e;
	int128 got = 0;

	model_fault(m, kinds);
	e = store_refresh(s);
	if (e == NULL)
		e = ask(s, service, from, m->now + 1, &got);
	fault_end();
	m->faults += (unsigned)fault_count;
	store_extent(s, &x);
	/* A file that Berkeley DB calls damaged for want of memory is left
	 * out, and counted, until the next manifest. */
	if (e == NULL && x.damaged == 0)
		model_compare(m, service, from, m->now + 1, got, &none);
	else
		CHECK(fault_count > 0 || x.damaged > 0);
}

static void
faults_in_the_reader(int kinds, size_t cache)
{
	struct model *m = model_new(99, false);
	struct store *s = NULL;
	struct store_extent x;

	CHECK_OK(store_open(&s, m->dir, cache));
	for (unsigned i = 0; i < 1500 && s != NULL && test_bad < 20; i++) {
		CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2));
		CHECK(model_give(m));
		m->now++;
		reader_step(m, s, kinds);
		CHECK_OK(store_refresh(s));
		store_extent(s, &x);
		if (i % 10 == 0 && x.damaged == 0)
			model_check(m, s, 2);
	}
	for (unsigned i = 0; i < 130; i++) { /* two manifests at least */
		CHECK_OK(store_tick(m->w, (int64_t)m->now++ * SLOT));
		CHECK(model_give(m));
	}
	CHECK_OK(store_refresh(s));
	model_check(m, s, 20);
	store_extent(s, &x);
	CHECK_INT(x.damaged, 0);
	printf("# %u calls failed\n", m->faults);
	CHECK(m->faults > 0 || !MALLOC_FAILS);
	store_close(s);
	model_free(m);
}

TEST(no_memory_in_the_reader)
{
	faults_in_the_reader(FAULT_MALLOC, 0);
}

TEST(no_memory_in_a_reader_that_forgets)
{
	faults_in_the_reader(FAULT_MALLOC, 100000);
}

TEST(no_descriptors_in_the_reader)
{
	faults_in_the_reader(FAULT_OPEN, 100000);
}

/* ---- regressions ---- */

/* The manifest was renamed but its folder not synced: its files must stay. */
TEST(a_published_manifest_keeps_its_files)
{
	struct model *m = model_new(5, false);
	struct store *s = NULL;

	for (int round = 0; round < 200 && test_bad < 20; round++) {
		fault_begin(FAULT_SYNC, round % 12, 1);
		(void)store_tick(m->w, (int64_t)m->now * SLOT + SLOT / 2);
		fault_end();
		CHECK(model_give(m));
		m->now += 9;
		if (s == NULL)
			CHECK_OK(store_open(&s, m->dir, 0));
		if (s == NULL)
			break;
		CHECK_OK(store_refresh(s));
		model_check(m, s, 3);
	}
	store_close(s);
	model_free(m);
}

/* Slot by slot: higher levels are folded before a block is written. */
static void
model_check_slots(struct model *m, uint64_t from, uint64_t until)
{
	struct store *s = NULL;
	int128 got = 0;
	int none = -1;

	CHECK_OK(store_open(&s, m->dir, 0));
	for (uint64_t slot = from; s != NULL && slot < until; slot += 16) {
		for (int service = 0; service < SERVICES; service++) {
			CHECK_OK(ask(s, service, slot, slot + 1, &got));
			model_compare(m, service, slot, slot + 1, got, &none);
		}
	}
	store_close(s);
}

/*
 * Where memory for them was missing, a span was sealed with a block without
 * its entries (a batch was lost), or with stacks without numbers (values went
 * anywhere).  Each allocation of sealing fails once, of spans that are all
 * the same, and some of merging.
 */
TEST(what_memory_was_missing_for_is_not_sealed)
{
	struct model *m = model_new(0, false);
	int failed = 0;

	for (int n = 0; n == failed && n < 250 && test_bad < 5; n++) {
		uint64_t first = m->now = (m->now + 63) / 64 * 64;

		for (m->seed = 7; m->now < first + 64; m->now += 16) {
			CHECK_OK(store_tick(m->w, (int64_t)m->now * SLOT));
			CHECK(model_give(m));
		}
		fault_count = 0;
		fault_begin(FAULT_MALLOC, n, 1);
		(void)store_tick(m->w, (int64_t)(m->now + 1) * SLOT);
		fault_end();
		failed += fault_count;
		CHECK_OK(store_tick(m->w, (int64_t)(m->now + 1) * SLOT));
		model_check_slots(m, first, m->now);
	}
	printf("# %d allocations failed\n", failed);
	CHECK(failed > 50 || !MALLOC_FAILS);
	model_free(m);
}

int
main(void)
{
	const char *loud = getenv("LOUD");

	fault_init();
	if (loud == NULL && freopen("/dev/null", "w", stderr) == NULL)
		return 1; /* the store's warnings, which are many here */
	RUN(a_published_manifest_keeps_its_files);
	RUN(what_memory_was_missing_for_is_not_sealed);
	RUN(no_memory_in_the_writer);
	RUN(writes_fail);
	RUN(writes_are_short);
	RUN(torn_records_cannot_be_cut_off);
	RUN(syncs_fail);
	RUN(renames_fail);
	RUN(opens_fail);
	RUN(everything_fails_under_the_thread);
	RUN(no_memory_in_the_reader);
	RUN(no_memory_in_a_reader_that_forgets);
	RUN(no_descriptors_in_the_reader);
	return test_done();
}
