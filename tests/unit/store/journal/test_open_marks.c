/*
 * What a file's marks tell of its dictionary is what the dictionary tells
 * when it is read whole; and marks that are damaged tell nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch_private.h"
#include "store/journal/open_marks.h"
#include "tests/unit/test.h"

#define SLOT 1000000000u

static const struct err *
read_at(void *arg, uint64_t offset, void *to, size_t n, size_t *got)
{
	const struct buf *b = arg;

	*got = offset >= b->len ? 0 : b->len - (size_t)offset;
	*got = *got < n ? *got : n;
	memcpy(to, b->data + offset, *got);
	return NULL;
}

static void
put_stack(struct batch *b, uint32_t series, unsigned i)
{
	char name[300];
	struct label label = {"thread", name};
	struct frame f = {FRAME_NATIVE, name, "module", "id", i};
	uint32_t node;

	snprintf(name, sizeof(name), "pool%u", i % 7);
	node = batch_node(b, 0, batch_labels(b, &label, 1));
	for (unsigned k = 0; k < 12; k++) {
		snprintf(name, sizeof(name), "a::name::%u::%0*u", k,
		    (int)(i * 37 % 250), k < 3 ? 0 : i);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	batch_add_profile(b, series, 5, node, 1);
}

/* A dictionary of so many stacks, series and facts. */
static void
make(struct buf *out, unsigned n)
{
	struct batch *b = batch_new(SLOT);

	for (unsigned i = 0; i < n; i++) {
		char name[16];
		struct label label = {"service", name};
		struct series_desc d = {SERIES_FLOW, "cpu", "samples", 0, 0,
		    &label, 1};

		snprintf(name, sizeof(name), "s%u", i % 50);
		put_stack(b, batch_series(b, &d), i);
		if (i % 9 == 0)
			batch_add_fact(b, i, FACT_RUN, name, name,
			    strlen(name));
	}
	CHECK_OK(batch_finish(b));
	b->n_blocks = 0;
	CHECK_OK(batch_encode_dict(b, out));
	batch_free(b);
}

static void
begin(struct openspan *o, struct symtab *syms, struct buf *dict)
{
	CHECK_OK(symtab_init(syms));
	*o = (struct openspan){.syms = syms,
	    .pages = {.fd = -1, .read = read_at, .arg = dict}};
}

static void
name_all(struct openspan *o)
{
	struct open_dict *d = &o->dicts[0];

	CHECK_OK(openspan_name(o));
	for (uint32_t i = 1; i < d->marks[OPEN_NODES].end; i++)
		CHECK(open_names_need(d, &d->asked, OPEN_NODES, i));
	for (uint32_t i = 0; i < o->n_facts; i++)
		CHECK(openspan_need_fact(o, &o->facts[i]));
	CHECK_OK(openspan_resolve(o, UINT32_MAX));
}

static void
check_same(struct openspan *a, struct openspan *b)
{
	CHECK_INT(a->n_strips, b->n_strips);
	CHECK_INT(a->n_facts, b->n_facts);
	CHECK_INT(a->syms->n_nodes, b->syms->n_nodes);
	CHECK_INT(a->syms->strings.n, b->syms->strings.n);
	CHECK_OK(symtab_hash_nodes(a->syms));
	CHECK_OK(symtab_hash_nodes(b->syms));
	for (uint32_t i = 1; i < a->syms->n_nodes; i++)
		CHECK(a->syms->hashes[i] == b->syms->hashes[i]);
	for (uint32_t i = 0; i < a->n_strips; i++)
		CHECK(symtab_series_hash(a->syms, a->symbols[i]) ==
		    symtab_series_hash(b->syms, b->symbols[i]));
	for (uint32_t i = 0; i < a->n_facts; i++) {
		CHECK_INT(a->facts[i].at, b->facts[i].at);
		CHECK_INT(a->facts[i].time_ns, b->facts[i].time_ns);
		CHECK_STR(intern_str(&a->syms->strings,
		    openspan_subject(a, &a->facts[i])),
		    intern_str(&b->syms->strings,
		    openspan_subject(b, &b->facts[i])));
	}
}

static void
check_of(unsigned n)
{
	struct buf dict = {0}, marks = {0};
	struct symtab whole_syms = {0}, marked_syms = {0};
	struct openspan whole, marked;

	make(&dict, n);
	CHECK_OK(open_marks_make(dict.data, dict.len, &marks));
	begin(&whole, &whole_syms, &dict);
	begin(&marked, &marked_syms, &dict);
	CHECK_OK(openspan_take_dict(&whole, dict.data, dict.len));
	CHECK_OK(openspan_take_marks(&marked, marks.data, marks.len,
	    BATCH_VERSION_DICT, true));
	name_all(&whole);
	name_all(&marked);
	check_same(&whole, &marked);
	openspan_fini(&whole);
	openspan_fini(&marked);
	symtab_fini(&whole_syms);
	symtab_fini(&marked_syms);
	buf_fini(&dict);
	buf_fini(&marks);
}

TEST(marks_tell_what_the_dictionary_tells)
{
	check_of(0);
	check_of(1);
	check_of(130);
	check_of(2000);
}

static bool
refused(struct openspan *o, const struct buf *marks, size_t n)
{
	const struct err *e = openspan_take_marks(o, marks->data, n,
	    BATCH_VERSION_DICT, true);

	return e != NULL && e->domain == ERR_FORMAT && o->n_dicts == 0;
}

TEST(damaged_marks_are_refused)
{
	struct buf dict = {0}, marks = {0};
	struct symtab syms = {0};
	struct openspan o;

	make(&dict, 300);
	CHECK_OK(open_marks_make(dict.data, dict.len, &marks));
	begin(&o, &syms, &dict);
	for (size_t i = 0; i < marks.len; i += 1 + i / 8) {
		marks.data[i] ^= 4;
		CHECK(refused(&o, &marks, marks.len));
		marks.data[i] ^= 4;
		CHECK(refused(&o, &marks, i));
	}
	CHECK_OK(openspan_take_marks(&o, marks.data, marks.len,
	    BATCH_VERSION_DICT, true));
	openspan_fini(&o);
	symtab_fini(&syms);
	buf_fini(&dict);
	buf_fini(&marks);
}

int
main(void)
{
	RUN(marks_tell_what_the_dictionary_tells);
	RUN(damaged_marks_are_refused);
	return test_done();
}
