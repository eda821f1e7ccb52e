/*
 * Which series there are, over ranges of a store with many full spans: all
 * that have data in the range, none without any near it, and few files are
 * opened for it; facts of a kind that a file has not do not open it again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/read/reader.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define SPAN 4096
#define FIRST SPAN
#define SPANS 6
#define SLOTS (SPANS * SPAN + 200)
#define SERIES 8
#define ALONE 4 /* has no service */

static char dir[64];
static unsigned seed = 3;

/* Series i lives in these slots, after FIRST; 0 is always there. */
static const unsigned lives[SERIES][2] = {{0, SLOTS}, {0, 10},
    {SPAN - 1, SPAN}, {SPAN, SPAN + 1}, {3 * SPAN, 5 * SPAN},
    {3 * SPAN - 5, 3 * SPAN + 5}, {SLOTS - 300, SLOTS},
    {SLOTS - 10, SLOTS}};

static bool
alive(int i, unsigned from, unsigned until)
{
	return lives[i][0] < until && from < lives[i][1];
}

static void
put(struct store_writer *w, unsigned slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (int i = 0; i < SERIES; i++) {
		char name[16];
		struct label l[] = {{"device", name}, {"path",
		    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"},
		    {"service", name}};
		struct series_desc d = {SERIES_GAUGE, "load", "", 0, 0, l,
		    i == ALONE ? 2 : 3};

		snprintf(name, sizeof(name), "d%d", i);
		if (alive(i, slot, slot + 1))
			batch_add_gauge(b, batch_series(b, &d), FIRST + slot,
			    (int64_t)(FIRST + slot) * SLOT + 1, i);
	}
	if (slot == 2 * SPAN)
		batch_add_fact(b, (int64_t)(FIRST + slot) * SLOT, FACT_RUN,
		    "night", "{}", 2);
	CHECK_OK(store_tick(w, (int64_t)(FIRST + slot) * SLOT));
	CHECK_OK(store_append(w, b));
	batch_free(b);
}

static bool
see(void *arg, const struct series_desc *d, int64_t last_ns)
{
	int64_t *last = arg;

	last[atoi(d->labels[0].value + 1)] = last_ns;
	return true;
}

static bool
see_service(void *arg, const struct store_service *x)
{
	int64_t *last = arg;
	int i = atoi(x->name + 1);

	CHECK(i != ALONE && i < SERIES && last[i] == 0);
	CHECK_INT(x->n_profiles, 0);
	last[i] = x->last_ns;
	return true;
}

static void
see_type(void *arg, enum series_kind kind, const char *name,
    const char *unit)
{
	(void)arg;
	(void)kind;
	(void)unit;
	CHECK_STR(name, "a profile");
}

static bool
see_none(void *arg, const struct series_desc *d, int64_t last_ns)
{
	(void)arg;
	CHECK_STR(d->name, "a profile");
	CHECK_INT(last_ns, 0);
	return true;
}

/* Those that have a number in the range, and no others. */
static void
check_metrics(struct store *s, unsigned from, unsigned until)
{
	struct metric_query q = {NULL, (int64_t)(FIRST + from) * SLOT,
	    (int64_t)(FIRST + until) * SLOT, (int64_t)(until - from) * SLOT,
	    SERIES, from % 2};
	struct metric_series *m = NULL;
	struct selector *load;
	size_t n = 0, k = 0;

	CHECK_OK(selector_parse("load", &load));
	q.selector = load;
	CHECK_OK(store_query_metric(s, &q, &m, &n));
	for (int i = 0; i < SERIES; i++) {
		if (!alive(i, from, until))
			continue;
		CHECK(k < n);
		if (k < n)
			CHECK_INT(atoi(m[k].desc.labels[0].value + 1), i);
		k++;
	}
	CHECK_INT(n, k);
	metric_series_free(m, n);
	selector_free(load);
}

static unsigned
opened(const struct store *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n_files; i++)
		n += s->files[i].sealed != NULL;
	return n;
}

static void
check_range(struct store *s, unsigned from, unsigned until)
{
	/* spans are what is known of older times */
	unsigned near = from / SPAN * SPAN, far = (until / SPAN + 1) * SPAN;
	int64_t last[SERIES] = {0}, again[SERIES] = {0};
	int64_t from_ns = (int64_t)(FIRST + from) * SLOT;
	int64_t until_ns = (int64_t)(FIRST + until) * SLOT;
	struct selector *none;

	CHECK_OK(store_each_series(s, NULL, from_ns, until_ns, see, last));
	CHECK_OK(store_each_service(s, from_ns, until_ns, see_service,
	    again));
	CHECK_OK(selector_parse("{service=\"\"}", &none));
	CHECK_OK(store_each_series(s, none, from_ns, until_ns, see, again));
	selector_free(none);
	CHECK_OK(store_each_type(s, see_type, NULL));
	CHECK(memcmp(last, again, sizeof(last)) == 0);
	CHECK_OK(store_each_profile(s, from_ns, until_ns, see_none, NULL));
	check_metrics(s, from, until);
	for (int i = 0; i < SERIES; i++) {
		unsigned end = lives[i][1] < until ? lives[i][1] : until;

		if (alive(i, from, until)) {
			CHECK(last[i] >= (int64_t)(FIRST + end) * SLOT);
			CHECK(last[i] <= (int64_t)(FIRST + until) * SLOT);
		} else if (!alive(i, near, far)) {
			CHECK_INT(last[i], 0);
		}
	}
}

TEST(series_of_any_range)
{
	struct store *s = NULL;

	CHECK_OK(store_open(&s, dir, 0));
	for (int i = 0; i < 300; i++) {
		unsigned from = (unsigned)rand_r(&seed) % SLOTS;
		unsigned n = 1 + (unsigned)rand_r(&seed) %
		    (i % 2 ? 100 : SLOTS - from);

		check_range(s, from, from + n < SLOTS ? from + n : SLOTS);
	}
	store_close(s);
}

TEST(few_files_are_opened)
{
	struct store *s = NULL;
	int64_t last[SERIES] = {0};

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_INT(opened(s), 0);
	CHECK_OK(store_each_series(s, NULL, 0, INT64_MAX / 2, see, last));
	for (int i = 0; i < SERIES; i++)
		CHECK(last[i] > 0);
	/* the summary, two full spans, what is not summarized yet */
	CHECK(opened(s) < s->n_files - (SPANS - 3));
	store_close(s);
}

/* To look up each series in the summary takes far longer. */
TEST(an_hour_of_long_ago_opens_its_span_alone)
{
	int64_t from = (int64_t)(FIRST + SPAN + 100) * SLOT;
	int64_t last[SERIES] = {0};
	struct store *s = NULL;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_each_series(s, NULL, from, from + 360 * SLOT, see,
	    last));
	CHECK_INT(opened(s), 1);
	CHECK(last[0] > 0);
	store_close(s);
}

/* Without spans the summary tells: services that began later are known from
 * then on, and are told where they are asked for. */
TEST(services_of_the_summary_are_told_from_their_beginning_on)
{
	char copy[80], command[200];
	struct store *s = NULL;

	snprintf(copy, sizeof(copy), "%s-summary", dir);
	snprintf(command, sizeof(command), "cp -a %s %s && rm %s/span-6-*",
	    dir, copy, copy);
	CHECK_INT(system(command), 0);
	CHECK_OK(store_open(&s, copy, 0));
	for (int i = 0; i < 24; i++) {
		unsigned from = (unsigned)(i < 12 ? i : 23 - i) * SPAN / 2;
		int64_t last[SERIES] = {0};

		CHECK_OK(store_each_service(s, (int64_t)(FIRST + from) * SLOT,
		    (int64_t)(FIRST + from + SPAN / 2) * SLOT, see_service,
		    last));
		for (int k = 0; k < SERIES; k++)
			CHECK_INT(last[k] > 0, k != ALONE && alive(k,
			    from / SPAN * SPAN, (from / SPAN + 1) * SPAN));
	}
	store_close(s);
	snprintf(command, sizeof(command), "rm -rf %s", copy);
	CHECK_INT(system(command), 0);
}

/* Neither all series nor none. */
TEST(an_expression_that_takes_too_long_lists_nothing)
{
	struct store *s = NULL;
	struct selector *slow[2];
	int64_t last[SERIES] = {0};

	CHECK_OK(selector_parse("load{path=~\"(a+)+[bd]\"}", &slow[0]));
	CHECK_OK(selector_parse("load{path!~\"(a+)+[bd]\"}", &slow[1]));
	CHECK_OK(store_open(&s, dir, 0));
	for (int i = 0; i < 2; i++) {
		const struct err *e = store_each_series(s, slow[i], 0,
		    INT64_MAX / 2, see, last);

		CHECK(e != NULL && e->code == 400);
		selector_free(slow[i]);
	}
	for (int i = 0; i < SERIES; i++)
		CHECK_INT(last[i], 0);
	store_close(s);
}

static bool
take(void *arg, int64_t time_ns, const char *subject, const void *data,
    size_t n)
{
	(void)time_ns;
	CHECK_STR(subject, "night");
	CHECK(n == 2 && memcmp(data, "{}", 2) == 0);
	++*(int *)arg;
	return true;
}

TEST(facts_open_their_files_only)
{
	struct store *s = NULL;
	int n = 0;

	CHECK_OK(store_open(&s, dir, 300000));
	CHECK_OK(store_each_fact(s, FACT_RUN, 0, INT64_MAX, take, &n));
	CHECK_INT(n, 1);
	for (uint32_t i = 0; i < s->n_files; i++)
		CHECK(s->files[i].facts_known ||
		    s->files[i].entry.kind == MANIFEST_SUMMARY);
	store_forget(s); /* and closes them */
	CHECK_OK(store_refresh(s));
	CHECK(opened(s) < s->n_files / 2);
	n = (int)opened(s);
	CHECK_OK(store_each_fact(s, FACT_RUN, 0, INT64_MAX, take, &n));
	CHECK(opened(s) <= (unsigned)n);
	store_close(s);
}

int
main(void)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct store_writer *w;
	char command[96];

	snprintf(dir, sizeof(dir), "%s/test-list-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(dir) == NULL ||
	    store_writer_open(&w, dir, &o) != NULL)
		return 1;
	for (unsigned slot = 0; slot < SLOTS; slot++)
		put(w, slot);
	CHECK_OK(store_writer_close(w));
	RUN(series_of_any_range);
	RUN(few_files_are_opened);
	RUN(an_hour_of_long_ago_opens_its_span_alone);
	RUN(services_of_the_summary_are_told_from_their_beginning_on);
	RUN(an_expression_that_takes_too_long_lists_nothing);
	RUN(facts_open_their_files_only);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || test_done();
}
