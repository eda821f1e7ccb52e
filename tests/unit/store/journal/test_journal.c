/*
 * Journals: records that need those before them, what damage to some of them
 * costs, and journals of the version before.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/journal/journal_dict.h"
#include "store/seal/memspan.h"
#include "store/store.h"
#include "tests/unit/counts.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define RECORDS 20
#define RECORDS_MOST 200

/* A journal of some records, and where each begins. */
struct fixture {
	int fd;
	struct journal_dict dict;
	struct buf record;
	off_t starts[RECORDS_MOST + 1];
	size_t n;
};

static void
fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND, 0600);
	CHECK(f->fd >= 0);
	CHECK_OK(journal_begin(f->fd, 0, 1, &f->record));
	f->starts[0] = JOURNAL_HEADER;
}

static void
fixture_fini(struct fixture *f)
{
	journal_dict_fini(&f->dict);
	buf_fini(&f->record);
	close(f->fd);
}

static void
fixture_put(struct fixture *f, struct batch *b)
{
	CHECK_OK(journal_dict_encode(&f->dict, b, &f->record));
	CHECK(write(f->fd, f->record.data, f->record.len) ==
	    (ssize_t)f->record.len);
	journal_dict_sent(&f->dict);
	f->starts[f->n + 1] = f->starts[f->n] + (off_t)f->record.len;
	f->n++;
	batch_free(b);
}

/* Value 1 of a stack that is named by a number, of a series that is too. */
static struct batch *
one(unsigned slot, unsigned stack, unsigned series)
{
	struct batch *b = batch_new((uint64_t)SLOT);
	char name[32], service[32];
	struct label l = {"service", service}, pool = {"pool", name};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	struct frame f = {FRAME_NATIVE, name, "kv", "", stack};
	uint32_t node;

	snprintf(service, sizeof(service), "s%u", series);
	snprintf(name, sizeof(name), "pool_%u", stack % 3);
	node = batch_node(b, 0, batch_labels(b, &pool, 1));
	snprintf(name, sizeof(name), "stack_%u", stack);
	node = batch_node(b, node, batch_frame(b, &f));
	batch_add_profile(b, batch_series(b, &d), slot, node, 1);
	return b;
}

struct found {
	struct symtab syms;
	struct memspan span;
	struct journal_reader reader;
};

static void
found_read(struct found *x, int fd)
{
	const struct err *e = NULL;
	struct batch *b = NULL;

	memset(x, 0, sizeof(*x));
	CHECK_OK(symtab_init(&x->syms));
	x->span.syms = &x->syms;
	x->reader = (struct journal_reader){.fd = fd, .journal = true,
	    .offset = JOURNAL_HEADER};
	while (e == NULL && (e = journal_next(&x->reader, &b)) == NULL &&
	    b != NULL) {
		e = memspan_add(&x->span, b, &x->reader.names);
		batch_free(b);
	}
	CHECK_OK(e);
}

static void
found_fini(struct found *x)
{
	journal_reader_fini(&x->reader);
	memspan_fini(&x->span);
	symtab_fini(&x->syms);
}

/* The sum of the values of stacks with this name; NULL: of all. */
static int64_t
found_sum(const struct found *x, const char *name)
{
	int64_t sum = 0;

	for (size_t i = 0; i < x->span.n_blocks; i++) {
		uint32_t node = 0;
		struct block b;
		int64_t value;

		memspan_block(&x->span, i, &b);
		while (memspan_entry(&b.entries, &node, &value)) {
			const struct sym_frame *f = symtab_frame(&x->syms,
			    x->syms.nodes[node].edge);

			if (name == NULL ||
			    strcmp(name, intern_str(&x->syms.strings,
			        f->name)) == 0)
				sum += value;
		}
	}
	return sum;
}

static void
damage(const struct fixture *f, size_t record)
{
	off_t at = f->starts[record] + BATCH_RECORD_HEADER + 20;
	uint8_t byte = 0;
	int fd;
	char path[64];

	/* without O_APPEND */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
	byte ^= 0x40;
	CHECK(pwrite(fd, &byte, 1, at) == 1);
	close(fd);
}

TEST(records_carry_what_is_new)
{
	struct fixture f;
	struct found x;

	fixture_init(&f);
	for (unsigned i = 0; i < RECORDS; i++)
		fixture_put(&f, one(i, i % 4, 0));
	CHECK(f.starts[RECORDS] - f.starts[RECORDS - 1] <
	    f.starts[1] - f.starts[0] - 30);
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 0);
	CHECK_INT(found_sum(&x, "stack_3"), RECORDS / 4);
	CHECK_INT(found_sum(&x, NULL), RECORDS);
	CHECK_INT(x.syms.frames.n, 4);
	CHECK_INT(x.syms.series.n, 1);
	found_fini(&x);
	fixture_fini(&f);
}

/* Any one record, and any two in a row. */
/* Cut off anywhere, as a writer that is killed leaves it: what a reader finds
 * is that before the push, or all. */
TEST(a_push_counts_when_its_last_record_is_there)
{
	struct fixture f;
	struct found x;

	fixture_init(&f);
	for (unsigned i = 0; i < 5; i++) {
		struct batch *b = one(7, i, 0);

		b->more = i >= 1 && i < 4; /* 1 to 4 are one push */
		fixture_put(&f, b);
	}
	for (off_t end = f.starts[5]; end >= f.starts[1]; end--) {
		if (ftruncate(f.fd, end) != 0)
			abort();
		found_read(&x, f.fd);
		CHECK_INT(x.span.n_blocks, end == f.starts[5] ? 5 : 1);
		CHECK_INT(x.reader.damaged, 0);
		CHECK_INT((off_t)x.reader.offset,
		    end == f.starts[5] ? end : f.starts[1]);
		found_fini(&x);
	}
	fixture_fini(&f);
}

TEST(damaged_records_cost_only_themselves)
{
	for (size_t n = 1; n <= JOURNAL_RESTATE; n++) {
		for (size_t first = 0; first + n <= RECORDS; first++) {
			struct fixture f;
			struct found x;

			fixture_init(&f);
			for (unsigned i = 0; i < RECORDS; i++)
				fixture_put(&f, one(i, i % 7, i % 5));
			for (size_t i = 0; i < n; i++)
				damage(&f, first + i);
			found_read(&x, f.fd);
			CHECK_INT(x.reader.damaged, n);
			CHECK_INT(x.reader.names.lost, 0);
			CHECK_INT(found_sum(&x, NULL), RECORDS - n);
			CHECK_INT(found_sum(&x, "(lost)"), 0);
			found_fini(&x);
			fixture_fini(&f);
		}
	}
}

/* Stacks 1 and 2 come with records 1 and 2, and 3 and 4 are damaged too;
 * what is new in those two is said again, but 4 hangs on the pool of 1. */
TEST(lost_names_keep_their_values)
{
	struct fixture f;
	struct found x;

	fixture_init(&f);
	for (unsigned i = 0; i < RECORDS; i++)
		fixture_put(&f, one(i, i % 5, 0));
	for (size_t i = 1; i <= 4; i++)
		damage(&f, i);
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 4);
	CHECK_INT(x.reader.names.lost, 0);
	CHECK_INT(found_sum(&x, NULL), RECORDS - 4);
	CHECK_INT(found_sum(&x, "(lost)"), 3 * (RECORDS / 5 - 1));
	CHECK_INT(found_sum(&x, "stack_0"), RECORDS / 5);
	CHECK_INT(found_sum(&x, "stack_3"), RECORDS / 5 - 1);
	found_fini(&x);
	fixture_fini(&f);
}

TEST(blocks_of_lost_series_are_counted)
{
	struct fixture f;
	struct found x;

	fixture_init(&f);
	for (unsigned i = 0; i < RECORDS; i++)
		fixture_put(&f, one(i, 0, i == 1 || i > 10));
	for (size_t i = 1; i <= 4; i++)
		damage(&f, i);
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 4);
	CHECK_INT(x.reader.names.lost, RECORDS - 11);
	CHECK_INT(found_sum(&x, NULL), 11 - 4);
	found_fini(&x);
	fixture_fini(&f);
}

/* A record that was not written: what it added comes with the next. */
TEST(a_record_that_failed_is_said_again)
{
	struct fixture f;
	struct found x;
	struct batch *b;

	fixture_init(&f);
	for (unsigned i = 0; i < RECORDS; i++) {
		b = one(100, 50 + i, 7);
		CHECK_OK(journal_dict_encode(&f.dict, b, &f.record));
		batch_free(b);
		fixture_put(&f, one(i, 50 + i / 2, 7));
	}
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 0);
	CHECK_INT(found_sum(&x, NULL), RECORDS);
	CHECK_INT(found_sum(&x, "stack_50"), 2);
	CHECK_INT(found_sum(&x, "(lost)"), 0);
	found_fini(&x);
	fixture_fini(&f);
}

/* A batch of slot i with 5,000 new stacks, more than a megabyte of names. */
static struct batch *
many_new(unsigned i)
{
	struct batch *b = one(i, 0, 0);
	char name[300];
	struct frame frame = {FRAME_NATIVE, name, "kv", "", 0};

	for (unsigned k = 0; k < 5000; k++) {
		snprintf(name, sizeof(name), "%0*u", 250, i * 5000 + k);
		batch_add_profile(b, 0, i, batch_node(b, 1,
		    batch_frame(b, &frame)), 1);
	}
	return b;
}

/* Names that fill the bound on memory: dictionaries follow each other. */
TEST(a_full_dictionary_is_left_for_a_new_one)
{
	struct fixture f;
	struct found x;
	int64_t sum = 0;
	uint32_t first;

	fixture_init(&f);
	fixture_put(&f, one(0, 0, 0));
	first = f.dict.number;
	for (unsigned i = 0; i < RECORDS - 1; i++) {
		sum += 5000;
		fixture_put(&f, many_new(i));
	}
	CHECK(f.dict.number > first);
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 0);
	CHECK_INT(found_sum(&x, NULL), RECORDS + sum);
	CHECK_INT(found_sum(&x, "stack_0"), RECORDS);
	CHECK_INT(found_sum(&x, "(lost)"), 0);
	found_fini(&x);
	fixture_fini(&f);
}

/* Until there is a new dictionary: the memory that the one before took. */
static size_t
fill_one(struct fixture *f, unsigned *i)
{
	uint32_t number = f->dict.number;
	size_t bytes = 0;

	do {
		bytes = name_cache_bytes(&f->dict.cache);
		fixture_put(f, many_new((*i)++));
	} while (f->dict.number == number);
	return bytes;
}

/* One that a few records fill is followed by a larger one, and one that has
 * lasted by a small one. */
TEST(a_dictionary_that_fills_soon_may_be_larger)
{
	struct fixture f;
	unsigned i = 0;
	size_t small, large;

	fixture_init(&f);
	fixture_put(&f, one(0, 0, 0));
	small = fill_one(&f, &i);
	large = fill_one(&f, &i);
	CHECK(small > 4 << 20 && small <= 8 << 20);
	CHECK(large > 8 << 20 && large <= 16 << 20);
	CHECK(fill_one(&f, &i) > 16 << 20);
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned j = 0; j < 10; j++)
			fixture_put(&f, one(i, 0, 0));
		fill_one(&f, &i);
	}
	small = fill_one(&f, &i);
	CHECK(small > 4 << 20 && small <= 8 << 20);
	fixture_fini(&f);
}

/* Each part of a frame, of a label set and of a path tells stacks apart, in
 * one batch and from batch to batch. */
TEST(what_differs_in_one_part_is_not_one)
{
	static const struct frame frames[] = {
	    {FRAME_NATIVE, "f", "kv", "b1", 16},
	    {FRAME_INLINED, "f", "kv", "b1", 16},
	    {FRAME_NATIVE, "g", "kv", "b1", 16},
	    {FRAME_NATIVE, "f", "kw", "b1", 16},
	    {FRAME_NATIVE, "f", "kv", "b2", 16},
	    {FRAME_NATIVE, "f", "kv", "b1", 17},
	    {FRAME_NATIVE, "fk", "v", "b1", 16}};
	struct label sets[] = {{"a", "b"}, {"ab", ""}, {"a", "c"}};
	struct fixture f;
	struct found x;

	fixture_init(&f);
	for (unsigned round = 0; round < 3; round++) {
		struct batch *b = one(round, 0, 0);
		uint32_t top, node;

		for (unsigned s = 0; s < 3; s++) {
			top = batch_node(b, 0, batch_labels(b, &sets[s], 1));
			for (unsigned i = 0; i < 7; i++) {
				node = batch_node(b, top,
				    batch_frame(b, &frames[(i + round) % 7]));
				batch_add_profile(b, 0, round, node, 1);
				node = batch_node(b, node,
				    batch_frame(b, &frames[0]));
				batch_add_profile(b, 0, round, node, 1);
			}
		}
		fixture_put(&f, b);
	}
	found_read(&x, f.fd);
	CHECK_INT(x.reader.damaged, 0);
	/* the root, pool_0 and its stack, and 3 sets of 1 + 7 * 2 */
	CHECK_INT(x.syms.n_nodes, 3 + 3 * 15);
	CHECK_INT(found_sum(&x, NULL), 3 * (1 + 3 * 14));
	CHECK_INT(found_sum(&x, "g"), 3 * 3);
	found_fini(&x);
	fixture_fini(&f);
}

/* What every cut or flipped byte of a record does: it is left out. */
TEST(every_flipped_byte_is_safe)
{
	struct fixture f;
	struct batch *b;

	fixture_init(&f);
	fixture_put(&f, one(0, 0, 0));
	b = one(1, 1, 1);
	CHECK_OK(journal_dict_encode(&f.dict, b, &f.record));
	batch_free(b);
	for (size_t i = 0; i < f.record.len; i++) {
		CHECK(batch_decode_journal(f.record.data, i, &b) != NULL);
		f.record.data[i] ^= 0x11;
		CHECK(batch_decode_journal(f.record.data, f.record.len, &b) !=
		    NULL);
		/* with a right checksum it may mean something */
		batch_put_header(&f.record, 0, "MLB2", false);
		if (i >= BATCH_RECORD_HEADER &&
		    batch_decode_journal(f.record.data, f.record.len, &b) ==
		        NULL) {
			struct journal_names names = {0};
			struct symtab syms;
			struct memspan m = {.syms = &syms};

			CHECK_OK(symtab_init(&syms));
			(void)memspan_add(&m, b, &names);
			journal_names_fini(&names);
			memspan_fini(&m);
			symtab_fini(&syms);
			batch_free(b);
		}
		f.record.data[i] ^= 0x11;
		batch_put_header(&f.record, 0, "MLB2", false);
	}
	CHECK(batch_decode(f.record.data, f.record.len, &b) != NULL);
	fixture_fini(&f);
}

/* A stack that no file could hold is refused before it is written. */
TEST(a_stack_that_is_too_deep_is_refused)
{
	struct fixture f;
	struct batch *b = one(0, 0, 0);
	uint32_t node = 1;

	fixture_init(&f);
	for (unsigned i = 0; i <= BATCH_MAX_DEPTH; i++)
		node = batch_node(b, node, 0);
	batch_add_profile(b, 0, 0, node, 1);
	CHECK(journal_dict_encode(&f.dict, b, &f.record) != NULL);
	batch_free(b);
	fixture_fini(&f);
}

/* ---- the version before ---- */

#define GOLDEN "tests/data/store-1"

static int64_t
cpu_of(const char *dir, const char *name)
{
	struct profile_query q = {NULL, 0, 100000 * SLOT, NULL, false};
	struct selector *selector;
	struct profile *p = NULL;
	struct store *s = NULL;
	int64_t sum = 0;

	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	for (size_t i = 0; p != NULL && i < p->n_nodes; i++) {
		if (strcmp(p->nodes[i].name, name) == 0)
			sum += (int64_t)counts_of(p, i).self;
	}
	profile_free(p);
	selector_free(selector);
	store_close(s);
	return sum;
}

TEST(a_store_of_version_1_is_read_and_goes_on)
{
	struct store_options o = {.no_thread = true};
	char dir[] = "/tmp/test-journal-XXXXXX", command[200];
	struct store_writer_stats stats;
	struct store_writer *w = NULL;
	struct batch *b = one(643, 9, 0);

	if (access(GOLDEN, R_OK) != 0 || mkdtemp(dir) == NULL) {
		CHECK(access(GOLDEN, R_OK) == 0);
		batch_free(b);
		return;
	}
	snprintf(command, sizeof(command), "cp %s/* %s", GOLDEN, dir);
	CHECK(system(command) == 0);
	CHECK_INT(cpu_of(dir, "main"), 30);
	CHECK_INT(cpu_of(dir, "leaf_2"), 3);
	CHECK_OK(store_writer_open(&w, dir, &o));
	CHECK_OK(store_append(w, b));
	batch_free(b);
	CHECK_INT(cpu_of(dir, "main"), 30);
	CHECK_OK(store_tick(w, 710 * SLOT)); /* seals both */
	CHECK_OK(store_tick(w, 711 * SLOT));
	store_writer_stats(w, &stats);
	CHECK_INT(stats.damaged_records, 0);
	CHECK_INT(cpu_of(dir, "main"), 30);
	CHECK_INT(cpu_of(dir, "leaf_0"), 1);
	CHECK_INT(cpu_of(dir, "stack_9"), 1);
	CHECK_OK(store_writer_close(w));
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK(system(command) == 0);
}

int
main(void)
{
	RUN(records_carry_what_is_new);
	RUN(a_push_counts_when_its_last_record_is_there);
	RUN(damaged_records_cost_only_themselves);
	RUN(lost_names_keep_their_values);
	RUN(blocks_of_lost_series_are_counted);
	RUN(a_record_that_failed_is_said_again);
	RUN(a_full_dictionary_is_left_for_a_new_one);
	RUN(a_dictionary_that_fills_soon_may_be_larger);
	RUN(what_differs_in_one_part_is_not_one);
	RUN(every_flipped_byte_is_safe);
	RUN(a_stack_that_is_too_deep_is_refused);
	RUN(a_store_of_version_1_is_read_and_goes_on);
	return test_done();
}
