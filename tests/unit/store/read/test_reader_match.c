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

/* Everything sealed is open, as for a question of all time. */
static void
need_files(struct store *s)
{
	CHECK_OK(store_refresh(s));
	for (uint32_t i = 0; i < s->n_files; i++)
		CHECK_OK(reader_need(s, &s->files[i]));
}

/* All that the files have, of which nothing has been asked for yet. */
static void
check_sealed(const char *dir, struct store *whole, size_t first)
{
	size_t n_selectors = sizeof(selectors) / sizeof(*selectors);
	struct store *s = NULL;

	CHECK_OK(store_open(&s, dir, 0));
	need_files(s);
	for (size_t i = 0; i < n_selectors; i++) {
		uint32_t *found = NULL, *expected = NULL;
		size_t n = 0, n_expected = 0;
		struct selector *sel = NULL;

		CHECK_OK(selector_parse(selectors[(first + i) % n_selectors],
		    &sel));
		CHECK_OK(reader_match(s, sel, READER_ALL, &found, &n));
		CHECK_OK(reader_match(whole, sel, READER_ALL, &expected,
		    &n_expected));
		CHECK_INT(n, n_expected);
		for (size_t k = 0; k < n && n == n_expected; k++)
			CHECK_INT(symtab_series_hash(&s->syms, found[k]),
			    symtab_series_hash(&whole->syms, expected[k]));
		selector_free(sel);
		free(found);
		free(expected);
	}
	store_close(s);
}

TEST(of_sealed_files_heads_that_cannot_match_are_not_taken_up)
{
	struct store *whole = NULL, *s = NULL;
	struct selector *sel = NULL;
	uint32_t *series = NULL;
	struct model m;
	size_t n = 0;

	model_init(&m, 12);
	for (unsigned i = 0; i < ROUNDS; i++)
		put_some(&m, FIRST + 10 * i);
	CHECK_OK(store_tick(m.w, (int64_t)(FIRST + 300) * SLOT));
	CHECK_OK(store_open(&whole, m.dir, 0));
	need_files(whole);
	check_match(whole, NULL, READER_ALL);
	CHECK(whole->n_files > 0 && whole->syms.series.n > 100);
	for (size_t i = 0; i < sizeof(selectors) / sizeof(*selectors); i++)
		check_sealed(m.dir, whole, i);

	CHECK_OK(store_open(&s, m.dir, 0));
	need_files(s);
	CHECK_OK(selector_parse("nothing", &sel));
	CHECK_OK(reader_match(s, sel, READER_ALL, &series, &n));
	CHECK_INT(n, 0);
	CHECK_INT(s->syms.series.n, 0);
	selector_free(sel);
	free(series);
	store_close(s);
	store_close(whole);
	model_fini(&m);
}

int
main(void)
{
	RUN(matches_are_those_of_each_series_alone);
	RUN(of_sealed_files_heads_that_cannot_match_are_not_taken_up);
	return test_done();
}
