/*
 * What is told of services is what their series have together, block by block,
 * and of profiles what each has; damage is found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/file/lives.h"
#include "store/file/series_index.h"
#include "tests/unit/test.h"

#define SERVICES 12
#define BLOCKS 90
#define FIRST 40000

static void
put_one(struct batch *b, unsigned i)
{
	char service[16], name[16];
	struct label label = {"service", service};
	bool flow = rand() % 3 == 0;
	struct series_desc d = {flow ? SERIES_FLOW : SERIES_GAUGE, name,
	    flow ? "nanoseconds" : "", flow ? 10 : 0, 0, &label,
	    rand() % 9 > 0};

	snprintf(service, sizeof(service), "s%d", rand() % SERVICES);
	snprintf(name, sizeof(name), "name%u", i);
	batch_series(b, &d);
}

/* By series and block. */
static uint8_t *
live(uint32_t n, struct lives *series)
{
	uint8_t *has = calloc(n + 1, BLOCKS);

	for (uint32_t i = 0; i < n; i++) {
		int sparse = 1 + rand() % 20;

		for (unsigned b = 0; b < BLOCKS; b++) {
			has[i * BLOCKS + b] = rand() % sparse == 0;
			if (has[i * BLOCKS + b])
				CHECK(lives_put(series, FIRST + b));
		}
		CHECK(lives_end(series));
	}
	return has;
}

static void
check_thing(const struct lives *l, uint32_t thing, const uint8_t *has)
{
	for (unsigned from = 0; from <= BLOCKS; from += 1 + from / 7) {
		for (unsigned until = from; until <= BLOCKS; until++) {
			uint32_t newest = UINT32_MAX;

			for (unsigned b = from; b < until; b++)
				if (has[b])
					newest = FIRST + b;
			CHECK_INT(lives_newest(l, thing, FIRST + from,
			    FIRST + until), newest);
		}
	}
}

static void
check_all(const struct series_index *x, const struct lives *l,
    const uint8_t *has)
{
	uint32_t thing = 0;

	for (uint32_t i = 0; i < x->n_services; i++) {
		uint8_t any[BLOCKS] = {0};
		uint32_t service = thing++;

		for (int k = 0; k < INDEX_LISTS; k++) {
			struct index_series t = {.number = UINT32_MAX};
			size_t n;
			uint64_t at = series_index_at(x, i, i + 1,
			    (enum index_list)k, &n);
			struct cur c = cur_of(x->bytes.data + at, n);

			while (series_index_next(x, &c, &t)) {
				const uint8_t *h = has + t.number * BLOCKS;

				for (unsigned b = 0; b < BLOCKS; b++)
					any[b] |= h[b];
				if (k == INDEX_PROFILES)
					check_thing(l, thing++, h);
			}
		}
		check_thing(l, service, any);
	}
	CHECK_INT(thing, l->n);
}

static void
check_damage(const struct buf *bytes)
{
	for (int i = 0; i < 200; i++) {
		struct lives l = {0};
		size_t n = bytes->len;
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, bytes->data, n);
		if (i % 3 == 0)
			n = (size_t)rand() % n;
		else
			copy[(size_t)rand() % n] ^= (uint8_t)(1 + rand() % 255);
		CHECK(lives_open(&l, copy, n) != NULL);
		CHECK_INT(l.n, 0);
		free(copy);
	}
}

static void
check_of(unsigned n)
{
	struct batch *b = batch_new(1000000000u);
	struct series_index x = {.whole = true};
	struct lives series = {0}, l = {0};
	struct buf bytes = {0};
	uint8_t *has;

	for (unsigned i = 0; i < n; i++)
		put_one(b, i);
	CHECK_OK(series_index_make(b, 0, &x.bytes));
	CHECK_OK(series_index_open(&x));
	has = live((uint32_t)b->n_series, &series);
	CHECK_OK(lives_make(&x, x.bytes.data + x.head, &series, &bytes));
	CHECK_OK(lives_open(&l, bytes.data, bytes.len));
	check_all(&x, &l, has);
	check_damage(&bytes);
	lives_fini(&l);
	lives_fini(&series);
	series_index_fini(&x);
	buf_fini(&bytes);
	free(has);
	batch_free(b);
}

TEST(services_have_what_their_series_have)
{
	srand(5);
	for (unsigned n = 1; n < 60; n += 7)
		check_of(n);
}

TEST(of_no_series_nothing_is_told)
{
	struct batch *b = batch_new(1000000000u);
	struct series_index x = {.whole = true};
	struct lives series = {0}, l = {0};
	struct buf bytes = {0};

	CHECK_OK(series_index_make(b, 0, &x.bytes));
	CHECK_OK(series_index_open(&x));
	CHECK_OK(lives_make(&x, x.bytes.data + x.head, &series, &bytes));
	CHECK_OK(lives_open(&l, bytes.data, bytes.len));
	CHECK_INT(l.n, 1);
	CHECK_INT(lives_newest(&l, 0, 0, UINT32_MAX), UINT32_MAX);
	lives_fini(&l);
	series_index_fini(&x);
	buf_fini(&bytes);
	batch_free(b);
}

int
main(void)
{
	RUN(services_have_what_their_series_have);
	RUN(of_no_series_nothing_is_told);
	return test_done();
}
