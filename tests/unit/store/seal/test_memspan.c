/*
 * The numbers and entries of a span in memory are those of the batches that
 * were added to it, whatever they are.
 */
#include <stdlib.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/seal/memspan.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define START UINT64_C(5000000000)
#define BATCHES 20

static uint64_t state = 88172645463325252;

static uint64_t
draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Of any size, with the extremes among them. */
static int64_t
number(void)
{
	static const int64_t odd[] = {0, 1, -1, INT64_MAX, INT64_MIN};

	return draw() % 4 == 0 ? odd[draw() % 5]
	                       : (int64_t)(draw() >> draw() % 64);
}

static uint32_t
series(struct batch *b, enum series_kind kind, const char *name)
{
	struct series_desc d = {kind, name, "", kind == SERIES_FLOW, 0, NULL,
	    0};

	return batch_series(b, &d);
}

static uint32_t
stack(struct batch *b)
{
	char name[24];
	struct frame f = {FRAME_NATIVE, name, "", "", 0};

	snprintf(name, sizeof(name), "f%u", (unsigned)(draw() % 999));
	return batch_node(b, batch_node(b, 0, batch_labels(b, NULL, 0)),
	    batch_frame(b, &f));
}

static struct batch *
random_batch(void)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (unsigned i = 0; i < 200; i++) {
		uint64_t slot = START + draw() % 64;
		int64_t at = (int64_t)slot * SLOT + (int64_t)(draw() % SLOT);
		int64_t few = 1 + (int64_t)(draw() % 90);

		batch_add_gauge(b, series(b, SERIES_GAUGE, "g"), slot, at,
		    number());
		batch_add_counter(b, series(b, SERIES_COUNTER, "c"), slot,
		    at, few, number());
		batch_add_histogram(b, series(b, SERIES_HISTOGRAM, "h"), slot,
		    number() & INT64_MAX, few);
		batch_add_profile(b, series(b, SERIES_FLOW, "cpu"), slot,
		    stack(b), (number() & INT64_MAX) / 400 + 1);
	}
	CHECK_OK(batch_finish(b));
	return b;
}

static const char *
batch_name(const struct batch *b, uint32_t node)
{
	return intern_str(&b->strings, b->frames[b->nodes[node].edge].name);
}

static const char *
table_name(const struct symtab *t, uint32_t node)
{
	return intern_str(&t->strings,
	    symtab_frame(t, t->nodes[node].edge)->name);
}

static void
check_entries(const struct batch *b, const struct batch_block *k,
    const struct symtab *t, struct cur entries)
{
	uint32_t node = 0;
	int64_t value;

	for (uint32_t i = k->first; i < k->first + k->n; i++) {
		CHECK(memspan_entry(&entries, &node, &value));
		CHECK_INT(value, b->entries[i].value);
		if (k->kind == SERIES_HISTOGRAM)
			CHECK_INT(node, b->entries[i].key);
		else
			CHECK_STR(table_name(t, node),
			    batch_name(b, b->entries[i].key));
	}
	CHECK(!memspan_entry(&entries, &node, &value) && !entries.bad);
}

static void
check_block(const struct batch *b, const struct batch_block *k,
    const struct memspan *m, size_t i)
{
	struct block got;

	memspan_block(m, i, &got);
	CHECK(got.start == k->slot && got.count == k->count);
	CHECK(got.min == k->min && got.max == k->max);
	CHECK(got.last == k->last && got.last_ns == k->last_ns);
	CHECK(got.sum ==
	    (k->kind == SERIES_COUNTER ? k->increase : k->sum));
	CHECK_INT(symtab_series(m->syms, m->blocks[i].series)->kind, k->kind);
	check_entries(b, k, m->syms, got.entries);
}

TEST(blocks_are_those_that_were_added)
{
	struct batch *batches[BATCHES];
	struct journal_names names = {0};
	struct symtab syms;
	struct memspan m = {.syms = &syms};
	size_t at = 0;

	CHECK_OK(symtab_init(&syms));
	for (size_t i = 0; i < BATCHES; i++) {
		batches[i] = random_batch();
		CHECK_OK(memspan_add(&m, batches[i], &names));
	}
	for (size_t i = 0; i < BATCHES; i++) {
		const struct batch *b = batches[i];

		for (size_t k = 0; k < b->n_blocks; k++)
			check_block(b, &b->blocks[k], &m, at++);
		batch_free(batches[i]);
	}
	CHECK(at == m.n_blocks && at > 0);
	CHECK_INT(names.lost, 0);
	memspan_fini(&m);
	journal_names_fini(&names);
	symtab_fini(&syms);
}

int
main(void)
{
	RUN(blocks_are_those_that_were_added);
	return test_done();
}
