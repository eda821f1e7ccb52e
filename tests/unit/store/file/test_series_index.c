/*
 * The index of a file's series tells of each what was put, once, under its
 * service; from a dictionary and from a table it is the same; and of what is
 * damaged it tells nothing that is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/symtab.h"
#include "store/file/series_index.h"
#include "tests/unit/test.h"

#define SLOT 1000000000u
#define SERVICES 40

static unsigned seed = 3;

/* Some have no service, some an empty one, some labels before it and after. */
static void
put_one(struct batch *b, unsigned i)
{
	char device[16], service[16];
	struct label all[] = {{"device", device}, {"service", service},
	    {"zone", "z"}};
	unsigned first = i / SERVICES % 2, n = 1 + i / 7 % (3 - first);
	bool flow = i % 3 == 0;
	char name[16];
	struct series_desc d = {flow ? SERIES_FLOW : SERIES_GAUGE, name,
	    flow ? "nanoseconds" : "", flow ? -5 + (int64_t)i : 0,
	    flow ? 0 : (uint8_t)(i % 4), all + first, n};

	snprintf(device, sizeof(device), "d%u", i % 11);
	snprintf(service, sizeof(service), i % SERVICES ? "s%u" : "",
	    i % SERVICES);
	snprintf(name, sizeof(name), "name%u", i % 5);
	if (i % 13 == 0)
		d.n_labels = 0;
	batch_series(b, &d);
	if (i % 50 == 0)
		batch_add_fact(b, i, i % 100 ? FACT_RUN : FACT_MARK, "s", "t",
		    1);
}

static struct batch *
make(unsigned n)
{
	struct batch *b = batch_new(SLOT);

	for (unsigned i = 0; i < n; i++)
		put_one(b, i);
	CHECK(!b->failed);
	return b;
}

static bool
same(struct index_text t, const char *s)
{
	return t.n == strlen(s) && memcmp(t.p, s, t.n) == 0;
}

/* What is told of one series is what was put. */
static void
check_series(const struct series_index *x, const struct batch *b,
    uint32_t service, const struct index_series *told)
{
	const struct index_head *h = &x->heads[told->head];
	struct index_text names[BATCH_MAX_LABELS + 2], value, owner;
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	batch_series_desc(b, told->number, &d, labels, BATCH_MAX_LABELS);
	series_index_names(x, told->head, names);
	owner.p = series_index_service(x, service, &owner.n);
	CHECK_INT(h->kind, d.kind);
	CHECK_INT(h->scale, d.scale);
	CHECK_INT(h->period, d.period);
	CHECK_INT(h->n, d.n_labels);
	CHECK(same(names[0], d.name) && same(names[1], d.unit));
	CHECK_INT(label_find(labels, d.n_labels, "service") == NULL,
	    service == 0);
	for (uint32_t i = 0; i < h->n; i++) {
		value = i == h->service ? owner : told->values[i];
		CHECK(same(names[i + 2], labels[i].name) &&
		    same(value, labels[i].value));
	}
}

static void
check_of(unsigned n)
{
	struct batch *b = make(n);
	struct series_index x = {.whole = true};
	uint8_t *seen = calloc(b->n_series + 1, 1);

	CHECK_OK(series_index_make(b, 17, &x.bytes));
	CHECK_OK(series_index_open(&x));
	CHECK_INT(x.n, b->n_series);
	CHECK_INT(x.n_stacks, 17);
	CHECK_INT(x.fact_kinds, n == 0 ? 0
	    : n <= 50 ? 1u << FACT_MARK
	              : 1u << FACT_MARK | 1u << FACT_RUN);
	for (uint32_t i = 0; i < x.n_services; i++) {
		const uint8_t *name;
		size_t size;

		name = series_index_service(&x, i, &size);
		if (i > 0)
			CHECK_INT(series_index_find(&x, name, size), i);
		for (int k = 0; k < INDEX_LISTS; k++) {
			uint64_t at = series_index_at(&x, i, i + 1, k, &size);
			struct cur c = cur_of(x.bytes.data + at, size);
			struct index_series told = {.number = INTERN_NONE};

			while (series_index_next(&x, &c, &told)) {
				CHECK_INT(seen[told.number]++, 0);
				CHECK_INT(series_is_profile((enum series_kind)
				    x.heads[told.head].kind),
				    k == INDEX_PROFILES);
				check_series(&x, b, i, &told);
			}
			CHECK(!c.bad);
		}
	}
	for (size_t i = 0; i < b->n_series; i++)
		CHECK_INT(seen[i], 1);
	CHECK_INT(series_index_find(&x, "nobody", 6), INTERN_NONE);
	series_index_fini(&x);
	batch_free(b);
	free(seen);
}

TEST(each_series_is_under_its_service)
{
	check_of(0);
	check_of(1);
	check_of(14);
	check_of(900);
}

TEST(a_table_tells_the_same_as_its_dictionary)
{
	struct batch *b = make(700);
	struct symtab t;
	struct symtab_map map;
	struct buf dict = {0}, table = {0};

	CHECK_OK(symtab_init_unshown(&t));
	CHECK_OK(symtab_add(&t, b, &map));
	CHECK_OK(series_index_make(b, 5, &dict));
	CHECK_OK(series_index_make_of(&t, 1u << FACT_MARK | 1u << FACT_RUN, 5,
	    &table));
	CHECK(dict.len == table.len &&
	    memcmp(dict.data, table.data, dict.len) == 0);
	buf_fini(&dict);
	buf_fini(&table);
	symtab_map_fini(&map);
	symtab_fini(&t);
	batch_free(b);
}

/* Every list is walked, wherever that leads. */
static void
walk(const struct series_index *x)
{
	for (uint32_t i = 0; i < x->n_services; i++) {
		for (int k = 0; k < INDEX_LISTS; k++) {
			struct index_series told = {.number = INTERN_NONE};
			size_t size;
			uint64_t at = series_index_at(x, i, i + 1, k, &size);
			struct cur c = cur_of(x->bytes.data + at, size);

			while (series_index_next(x, &c, &told))
				CHECK(told.number < x->n &&
				    told.head < x->n_heads);
		}
	}
}

TEST(damage_is_told_or_harmless)
{
	struct batch *b = make(200);
	struct buf good = {0};
	uint32_t head;

	CHECK_OK(series_index_make(b, 5, &good));
	head = series_index_head(good.data, good.len);
	CHECK(head > 0 && head < good.len);
	for (int i = 0; i < 2000; i++) {
		struct series_index x = {.whole = true};
		size_t at = (size_t)rand_r(&seed) % good.len;
		const struct err *e;

		buf_put(&x.bytes, good.data,
		    i % 4 ? good.len : (size_t)rand_r(&seed) % good.len);
		if (i % 4)
			x.bytes.data[at] ^= (uint8_t)(1 + rand_r(&seed) % 255);
		e = series_index_open(&x);
		CHECK(e == NULL ? i % 4 && at >= head
		                : e->domain == ERR_FORMAT);
		if (e == NULL)
			walk(&x);
		series_index_fini(&x);
	}
	buf_fini(&good);
	batch_free(b);
}

int
main(void)
{
	RUN(each_series_is_under_its_service);
	RUN(a_table_tells_the_same_as_its_dictionary);
	RUN(damage_is_told_or_harmless);
	return test_done();
}
