/*
 * Series that match come in the order of their bytes, and are those that
 * selector_match_series() takes one by one, while new ones keep coming.
 */
#include <stdio.h>
#include <stdlib.h>

#include "store/base/err.h"
#include "store/read/reader.h"
#include "tests/unit/store/store_model.h"
#include "tests/unit/test.h"

#define SETS 60
#define ROUNDS 8

static const char *const names[] = {"memory", "cpu", "alloc_space", "a"};
static const enum series_kind kinds[] = {SERIES_GAUGE, SERIES_FLOW,
    SERIES_COUNTER, SERIES_STOCK};
static const char *const selectors[] = {"cpu{service=\"s7\"}",
    "{service=~\"s[1-3].*\"}", "{service!=\"s9\",zone!=\"b\"}",
    "{__name__=~\"a.*\",service=~\".+\"}", "{__kind__=\"gauge\"}",
    "{__unit__=\"\"}", "{zone=\"b\"}", "cpu", "nothing", "{other=\"x\"}",
    "{__name__!=\"cpu\",zone=~\"|b\"}"};

/* Some series of many, with labels of one kind or the other. */
static void
put_some(struct model *m, uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (unsigned i = 0; i < 40; i++) {
		unsigned name = roll(m, 4), kind = roll(m, 4);
		char service[16];
		struct label l[] = {{"service", service}, {"zone", "b"}};
		struct series_desc d = {kinds[kind], names[name],
		    roll(m, 2) ? "bytes" : "", 0, 0, l, 1 + roll(m, 2)};
		uint32_t series;

		snprintf(service, sizeof(service), "s%u", roll(m, SETS));
		series = batch_series(b, &d);
		if (series_is_profile(d.kind))
			batch_observe(b, series, slot, 1);
		else if (d.kind == SERIES_GAUGE)
			batch_add_gauge(b, series, slot, 0, 1);
		else
			batch_add_counter(b, series, slot, 0, 1, 1);
	}
	CHECK_OK(store_append(m->w, b));
	CHECK_OK(store_tick(m->w, (int64_t)slot * SLOT));
	batch_free(b);
}

static bool
takes(const struct store *s, const struct selector *sel, unsigned wanted,
    uint32_t series)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	symtab_desc(&s->syms, series, &d, labels, BATCH_MAX_LABELS);
	return (wanted >> d.kind & 1) &&
	    (sel == NULL || selector_match_series(sel, &d));
}

static void
check_match(struct store *s, const struct selector *sel, unsigned wanted)
{
	uint32_t *series = NULL;
	size_t n = 0, expected = 0;

	CHECK_OK(reader_match(s, sel, wanted, &series, &n));
	for (uint32_t i = 0; i < s->syms.series.n; i++)
		expected += takes(s, sel, wanted, i);
	CHECK_INT(n, expected);
	for (size_t i = 0; i < n; i++)
		CHECK(takes(s, sel, wanted, series[i]));
	for (size_t i = 1; i < n; i++)
		CHECK(symtab_compare_series(&s->syms, series[i - 1],
		    series[i]) < 0);
	free(series);
}

static void
check_all(struct store *s)
{
	check_match(s, NULL, READER_ALL);
	for (size_t i = 0; i < sizeof(selectors) / sizeof(*selectors); i++) {
		struct selector *sel = NULL;

		CHECK_OK(selector_parse(selectors[i], &sel));
		check_match(s, sel, READER_ALL);
		check_match(s, sel, READER_PROFILES);
		check_match(s, sel, READER_METRICS);
		selector_free(sel);
	}
}

TEST(matches_are_those_of_each_series_alone)
{
	struct store *s = NULL;
	struct model m;

	model_init(&m, 11);
	put_some(&m, FIRST);
	CHECK_OK(store_open(&s, m.dir, 0));
	for (unsigned i = 1; i < ROUNDS; i++) {
		put_some(&m, FIRST + 10 * i);
		CHECK_OK(store_refresh(s));
		check_all(s);
	}
	CHECK(s->syms.series.n > 100);
	store_close(s);
	model_fini(&m);
}

int
main(void)
{
	RUN(matches_are_those_of_each_series_alone);
	return test_done();
}
