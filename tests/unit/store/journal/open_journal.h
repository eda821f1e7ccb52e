/*
 * Journals of random batches, and what they hold as lines of text: as sealing
 * reads them, and by the reader's index.
 */
#ifndef TESTS_UNIT_OPEN_JOURNAL_H
#define TESTS_UNIT_OPEN_JOURNAL_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/journal/journal_dict.h"
#include "store/journal/openspan.h"
#include "store/seal/memspan.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define RECORDS 40

struct journal {
	int fd;
	struct journal_dict dict;
	struct buf record;
	off_t starts[RECORDS + 1];
	size_t n;
};

static inline void
journal_init(struct journal *j)
{
	*j = (struct journal){.starts[0] = JOURNAL_HEADER};
	j->fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	CHECK(j->fd >= 0);
	CHECK_OK(journal_begin(j->fd, 0, 1, &j->record));
}

static inline void
journal_fini(struct journal *j)
{
	journal_dict_fini(&j->dict);
	buf_fini(&j->record);
	close(j->fd);
}

static inline void
journal_put(struct journal *j, struct batch *b)
{
	CHECK_OK(journal_dict_encode(&j->dict, b, &j->record));
	CHECK(pwrite(j->fd, j->record.data, j->record.len,
	    j->starts[j->n]) == (ssize_t)j->record.len);
	journal_dict_sent(&j->dict);
	j->starts[j->n + 1] = j->starts[j->n] + (off_t)j->record.len;
	j->n++;
	batch_free(b);
}

static inline void
journal_flip(const struct journal *j, size_t record, off_t at)
{
	uint8_t byte = 0;

	at += j->starts[record];
	CHECK(pread(j->fd, &byte, 1, at) == 1);
	byte ^= 0x40;
	CHECK(pwrite(j->fd, &byte, 1, at) == 1);
}

/* ---- batches ---- */

static inline uint32_t
series_of(struct batch *b, enum series_kind kind, const char *service)
{
	struct label l = {"service", service};
	struct series_desc d = {kind, series_kind_name(kind), "units",
	    series_is_profile(kind) ? 10 : 0, 0, &l, 1};

	return batch_series(b, &d);
}

static inline uint32_t
stack_of(struct batch *b, const char *pool, unsigned seed, unsigned depth)
{
	struct label l = {"pool", pool};
	uint32_t node = batch_node(b, 0, batch_labels(b, &l, 1));
	char name[32];

	for (unsigned i = 0; i < depth; i++) {
		struct frame f = {FRAME_NATIVE, name, i % 2 ? "kv" : "", "",
		    seed % 3};

		snprintf(name, sizeof(name), "function_%u", seed % 97);
		node = batch_node(b, node, batch_frame(b, &f));
		seed = seed * 31 + 7;
	}
	return node;
}

static inline void
add_random(struct batch *b, uint64_t slot)
{
	char service[16], pool[16];
	uint32_t p, g, c, h;

	snprintf(service, sizeof(service), "s%d", rand() % 6);
	snprintf(pool, sizeof(pool), "pool%d", rand() % 3);
	p = series_of(b, rand() % 2 ? SERIES_FLOW : SERIES_STOCK, service);
	g = series_of(b, SERIES_GAUGE, service);
	c = series_of(b, SERIES_COUNTER, service);
	h = series_of(b, SERIES_HISTOGRAM, service);
	batch_observe(b, p, slot, 1);
	for (int i = rand() % 9; i > 0; i--)
		batch_add_profile(b, p, slot, stack_of(b, pool,
		    (unsigned)rand() % 500, 1 + (unsigned)rand() % 70),
		    1 + rand() % 5);
	batch_add_gauge(b, g, slot, (int64_t)slot * SLOT + 5, rand() - 1000);
	batch_add_counter(b, c, slot, (int64_t)slot * SLOT + 6, rand() % 99,
	    rand());
	for (int i = rand() % 4; i > 0; i--)
		batch_add_histogram(b, h, slot, rand(), 1 + rand() % 3);
	batch_add_fact(b, (int64_t)slot * SLOT, FACT_MARK, service, pool,
	    strlen(pool) * (unsigned)(rand() % 2));
}

static inline struct batch *
random_batch(unsigned record)
{
	struct batch *b = batch_new((uint64_t)SLOT);

	for (int i = rand() % 3; i >= 0; i--)
		add_random(b, rand() % 5 ? record : (unsigned)rand() % RECORDS);
	return b;
}

/* ---- both as text ---- */

struct lines {
	char **of;
	size_t n, cap;
};

static inline void
lines_take(struct lines *l, struct buf *b)
{
	buf_put_u8(b, 0);
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->of = realloc(l->of, l->cap * sizeof(*l->of));
	}
	l->of[l->n++] = strdup((char *)b->data);
	buf_clear(b);
}

static inline int
lines_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void
lines_fini(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->of[i]);
	free(l->of);
}

static inline void
say_series(struct buf *out, const struct symtab *t, uint32_t series)
{
	struct label labels[BATCH_MAX_LABELS];
	struct series_desc d;

	symtab_desc(t, series, &d, labels, BATCH_MAX_LABELS);
	buf_printf(out, "%s{%s} %s %d", d.name,
	    d.n_labels ? labels[0].value : "", d.unit, (int)d.period);
}

static inline void
say_numbers(struct buf *out, const struct block *b)
{
	buf_printf(out, " at %llu: %llu %lld %lld %lld %lld %lld",
	    (unsigned long long)b->start, (unsigned long long)b->count,
	    (long long)b->min, (long long)b->max, (long long)b->sum,
	    (long long)b->last, (long long)b->last_ns);
}

static inline void
say_node(struct buf *out, const struct symtab *t, uint32_t node)
{
	for (; node != 0; node = t->nodes[node].parent) {
		const struct sym_node *n = &t->nodes[node];
		const struct sym_frame *f = symtab_frame(t, n->edge);
		struct label l[BATCH_MAX_LABELS];

		if (n->parent != 0)
			buf_printf(out, ";%s,%s,%u",
			    intern_str(&t->strings, f->name),
			    intern_str(&t->strings, f->module),
			    (unsigned)f->offset);
		else if (symtab_labels(t, n->edge, l, BATCH_MAX_LABELS) > 0)
			buf_printf(out, ";%s", l[0].value);
	}
}

/* What sealing would take. */
static inline void
say_sealed(int fd, struct lines *out, uint64_t *damaged)
{
	struct journal_reader r = {.fd = fd, .journal = true,
	    .offset = JOURNAL_HEADER};
	struct symtab syms;
	struct memspan m = {.syms = &syms};
	struct buf text = {0};
	struct batch *b;

	CHECK_OK(symtab_init(&syms));
	while (journal_next(&r, &b) == NULL && b != NULL) {
		CHECK_OK(memspan_add(&m, b, &r.names));
		batch_free(b);
	}
	for (size_t i = 0; i < m.n_blocks; i++) {
		const struct mem_block *k = &m.blocks[i];
		bool profile = series_is_profile(
		    (enum series_kind)symtab_series(&syms, k->series)->kind);
		struct block numbers;
		uint32_t node = 0;
		int64_t value;

		memspan_block(&m, i, &numbers);
		say_series(&text, &syms, k->series);
		say_numbers(&text, &numbers);
		while (memspan_entry(&numbers.entries, &node, &value)) {
			buf_printf(&text, " %u=%lld", profile ? 0 : node,
			    (long long)value);
			if (profile)
				say_node(&text, &syms, node);
		}
		lines_take(out, &text);
	}
	for (size_t i = 0; i < m.n_facts; i++) {
		const struct mem_fact *f = &m.facts[i];

		buf_printf(&text, "fact %lld %u %s ", (long long)f->time_ns,
		    f->kind, intern_str(&syms.strings, f->subject));
		buf_put(&text, m.fact_bytes.data + f->first, f->n);
		lines_take(out, &text);
	}
	*damaged = r.damaged + r.names.lost;
	buf_fini(&text);
	journal_reader_fini(&r);
	memspan_fini(&m);
	symtab_fini(&syms);
}

struct found {
	size_t ahead; /* bytes of entries to be read ahead */
	struct symtab syms;
	struct openspan span;
	struct journal_reader reader;
};

static inline const struct err *
found_take(void *arg, const void *record, size_t size, uint64_t offset)
{
	struct found *x = arg;

	return openspan_take(&x->span, record, size, offset);
}

static inline void
found_follow(struct found *x)
{
	bool taken = true;

	while (taken)
		CHECK_OK(journal_take(&x->reader, found_take, x, &taken));
	CHECK_OK(openspan_name(&x->span));
}

static inline void
found_init(struct found *x, int fd)
{
	*x = (struct found){.reader = {.fd = fd, .journal = true,
	    .offset = JOURNAL_HEADER}, .span.pages.fd = fd};
	x->span.syms = &x->syms;
	CHECK_OK(symtab_init(&x->syms));
}

static inline void
found_fini(struct found *x)
{
	journal_reader_fini(&x->reader);
	openspan_fini(&x->span);
	symtab_fini(&x->syms);
}

static inline void
say_entries(struct buf *text, struct found *x, struct open_walk *w,
    const struct block *b)
{
	struct entry_reader r = {b->entries, 0};
	int64_t value;
	int128 wide;
	uint32_t key;

	if (series_is_profile(w->kind)) {
		CHECK_OK(openspan_entries(w));
		while (openspan_entry(w, &key, &value)) {
			buf_printf(text, " 0=%lld", (long long)value);
			say_node(text, &x->syms, key);
		}
		CHECK(!w->c.bad);
	}
	while (w->kind == SERIES_HISTOGRAM && entry_next(&r, &key, &wide))
		buf_printf(text, " %u=%lld", key, (long long)wide);
}

/* Blocks of [from, until), and facts where these are all slots. */
static inline void
say_open(struct found *x, uint64_t from, uint64_t until, struct lines *out)
{
	struct openspan *o = &x->span;
	struct buf text = {0};
	struct open_walk w;
	struct block b;

	if (x->ahead > 0)
		CHECK_OK(openspan_read_ahead(o, o->symbols, o->n_named, from,
		    until, x->ahead));
	for (uint32_t i = 0; i < o->n_named; i++) {
		CHECK_OK(openspan_need(o, o->symbols[i], from, until));
		CHECK_OK(openspan_resolve(o, UINT32_MAX));
		openspan_walk(&w, o, o->symbols[i], from, until);
		while (openspan_next(&w, &b)) {
			say_series(&text, &x->syms, o->symbols[i]);
			say_numbers(&text, &b);
			say_entries(&text, x, &w, &b);
			lines_take(out, &text);
		}
	}
	for (uint32_t i = 0; i < o->n_facts && until == UINT64_MAX; i++) {
		const uint8_t *data = NULL;

		CHECK(openspan_need_fact(o, &o->facts[i]));
		CHECK_OK(openspan_resolve(o, UINT32_MAX));
		CHECK_OK(openspan_fact(o, &o->facts[i], &data));
		buf_printf(&text, "fact %lld %u %s ",
		    (long long)o->facts[i].time_ns, o->facts[i].kind,
		    intern_str(&x->syms.strings,
		        openspan_subject(o, &o->facts[i])));
		buf_put(&text, data, o->facts[i].n);
		lines_take(out, &text);
	}
	buf_fini(&text);
}

static inline void
check_same(struct lines *a, struct lines *b)
{
	size_t differ = 0;

	qsort(a->of, a->n, sizeof(*a->of), lines_compare);
	qsort(b->of, b->n, sizeof(*b->of), lines_compare);
	CHECK_INT(a->n, b->n);
	for (size_t i = 0; i < a->n && i < b->n; i++) {
		if (strcmp(a->of[i], b->of[i]) != 0 && differ++ == 0)
			printf("# %s\n# %s\n", a->of[i], b->of[i]);
	}
	CHECK_INT(differ, 0);
}

#endif
