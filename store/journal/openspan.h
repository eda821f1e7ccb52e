/*
 * What a reader knows of an open journal: an index by series.  A journal is
 * scanned once, record after record as they come; the numbers of metrics and
 * histograms are kept as bytes, of profiles the place in the journal.  Stacks
 * and their names are read when a query asks for them, and only those of its
 * series: what others have pushed costs it nothing.
 *
 *	series -> strip:  (place of slot, bytes, numbers) ...
 *	                           profile: count, record, place of entries
 *	record -> offset, dictionary, checksums
 *	dictionary -> marks (open_names.h)
 *
 * The reader's numbers for what was asked for are kept until
 * openspan_forget().
 *
 *	openspan_need(o, series, from, until)...;
 *	openspan_resolve(o, UINT32_MAX)
 *	openspan_walk(&w, o, series, from, until)
 *	while (openspan_next(&w, &b))
 *		b's numbers; for a profile:
 *		openspan_entries(&w); while (openspan_entry(&w, &node, &v))
 */
#ifndef STORE_OPENSPAN_H
#define STORE_OPENSPAN_H

#include "store/file/block.h"
#include "store/journal/journal.h"
#include "store/journal/open_names.h"
#include "store/journal/open_series.h"

/* Blocks in the order of the journal; the place of a block's slot is told by
 * how far it is from that of the block before. */
struct open_strip {
	uint8_t *bytes;
	uint32_t len, cap; /* cap 0: they stand in the span's row */
	uint32_t n;
	uint32_t last_at, last_place; /* of the last block, */
	uint32_t last_before;         /* and the place before it */
	int64_t value, value_before;  /* the same of open_numbers.h's `last` */
	bool falls; /* slots do not rise all the way */
};

/* Slots in the order in which they first came. */
struct open_slot {
	uint64_t slot, blocks;
	int64_t time; /* openspan.times of its first number */
};

/* Tens of thousands where compilers run. */
#define OPEN_FACT_MAX 0xffffffu /* bytes: a batch has fewer */
struct open_fact {
	int64_t time_ns;
	uint32_t record, at;
	uint32_t subject; /* string of the record's dictionary */
	uint32_t n : 24;  /* bytes */
	uint32_t kind : 8;
};

/* Where a file's dictionary has its series and its facts. */
enum { OPEN_SERIES_AT, OPEN_FACTS_AT, OPEN_PLACES };

struct open_place {
	uint32_t at, size; /* bytes */
};

/* Names of one kind that one record has brought, and the next ones say again:
 * those after the first stand in so many bytes, with this checksum. */
struct open_again {
	uint32_t first, n; /* numbers; n 0: none */
	uint32_t sum;
	size_t bytes;
	struct buf text; /* strings: the last one */
};

/* Blocks of a strip whose entries are in memory: their places in a row. */
struct open_run {
	uint32_t strip, first, n, places;
};

/* What a question reads ahead. */
struct open_ahead {
	struct open_run *runs; /* by strip */
	uint32_t *places;      /* in bytes */
	uint32_t n_runs, cap_runs, n_places, cap_places;
	struct buf bytes;
};

struct openspan {
	struct symtab *syms; /* borrowed: the reader's */
	struct open_pages pages;
	struct open_ahead ahead;
	struct open_dict *dicts; /* the newest is the last */
	uint32_t n_dicts, cap_dicts;
	struct symtab series;  /* nothing but series and what they need, */
	struct open_series lists; /* and what of them belongs together */
	struct open_view own;  /* of that table, of the newest dictionary */
	struct open_strip *strips; /* by series of that table */
	uint64_t *ends;            /* the same: of its newest slot; 0: none */
	uint32_t n_strips, cap_strips, cap_ends;
	uint32_t *symbols;     /* strip -> the reader's series, or INTERN_NONE:
	                        * not asked for yet; n_named */
	uint32_t *places;      /* and back; n_places */
	uint32_t n_named, cap_symbols, n_places, cap_places;
	struct open_slot *slots;
	struct map64 slot_map;
	uint32_t n_slots, cap_slots;
	uint64_t *recent; /* slots of the last record's blocks */
	uint32_t n_recent, cap_recent;
	struct open_fact *facts;
	uint32_t n_facts, cap_facts;
	int64_t *times; /* of numbers, as they came; most are of many */
	uint32_t n_times, cap_times;
	struct open_place dict_at[OPEN_PLACES]; /* in the last record */
	struct open_again again[OPEN_KINDS][JOURNAL_RESTATE]; /* oldest first */
	size_t strip_bytes; /* memory of all strips, but for */
	uint8_t *row;       /* what was taken up from an index (open_index.h):
	                     * strips one after the other */
	uint64_t row_bytes;
	uint32_t lost_node; /* where values of lost stacks go; 0: nowhere */
	uint64_t lost;      /* blocks whose series is not known */
	uint64_t first_slot, until_slot; /* of its blocks; until 0: none */
};

void openspan_fini(struct openspan *o);
size_t openspan_bytes(const struct openspan *o);

/*
 * Takes up the next whole record of the journal, which begins at `offset`.
 * ERR_FORMAT: it is malformed, and left out.  After any other error the span
 * is empty, and the journal is to be read from its beginning.
 */
const struct err *openspan_take(struct openspan *o, const void *record,
    size_t size, uint64_t offset);

/* The dictionary of a sealed file, alone and once: number i of its series is
 * strip i.  Errors as openspan_take()'s. */
const struct err *openspan_take_dict(struct openspan *o, const void *record,
    size_t size);

/* Gives a strip's series its number in the reader's table; and all of them. */
const struct err *openspan_name_strip(struct openspan *o, uint32_t strip);
const struct err *openspan_name(struct openspan *o);
/* No series will come any more, and no block: frees what was for them. */
void openspan_settle(struct openspan *o);
/* The reader's table is emptied: forgets its numbers. */
void openspan_forget(struct openspan *o);

/* The end of a series' newest slot in [from, until); 0: it has none. */
uint64_t openspan_newest(struct openspan *o, uint32_t series,
    uint64_t from, uint64_t until);
/* The same for a strip. */
uint64_t openspan_strip_newest(struct openspan *o, uint32_t strip,
    uint64_t from, uint64_t until);

/* The stacks of a series in [from, until) will be asked for: what names they
 * need is remembered, and with openspan_resolve() in the reader's table; for
 * `most` nodes, where more are ERR_REQUEST 413. */
const struct err *openspan_need(struct openspan *o, uint32_t series,
    uint64_t from, uint64_t until);
const struct err *openspan_resolve(struct openspan *o, uint32_t most);
/* That error, where n nodes are more than `most`; else NULL. */
const struct err *openspan_bound(uint64_t n, uint32_t most);

/*
 * The stacks of several series in [from, until) will be asked for: reads the
 * journal's pages that have them, each once and in their order; up to `most`
 * bytes of entries, others as they are asked for.  They are kept until the
 * next call or openspan_drop_ahead().  open_pages_read()'s errors.
 */
const struct err *openspan_read_ahead(struct openspan *o,
    const uint32_t *series, size_t n, uint64_t from, uint64_t until,
    size_t most);
void openspan_drop_ahead(struct openspan *o);
size_t open_ahead_bytes(const struct open_ahead *a);
/* The entries of a strip's block; NULL: they were not read ahead. */
const uint8_t *open_ahead_get(const struct open_ahead *a, uint32_t strip,
    uint32_t block);

/* Blocks of a series in [from, until), in the order of the journal. */
struct open_walk {
	struct openspan *o;
	const struct open_strip *strip; /* NULL: none */
	uint64_t from, until;
	enum series_kind kind;
	uint32_t i;             /* of the next block, */
	uint32_t next, place;   /* where it is, and the slot before it, */
	int64_t value;          /* and what was last before */
	/* of a profile's block: */
	uint32_t record, at, n, size;
	struct open_dict *dict;
	struct cur c;
	uint64_t key;
	bool plain;
};

void openspan_walk(struct open_walk *w, struct openspan *o, uint32_t series,
    uint64_t from, uint64_t until);
/* The next one; a histogram's has its entries in *b. */
bool openspan_next(struct open_walk *w, struct block *b);
/* Reads the entries of the profile's block at hand; open_pages_read()'s
 * errors.  Then each of them, until false. */
const struct err *openspan_entries(struct open_walk *w);
bool openspan_entry(struct open_walk *w, uint32_t *node, int64_t *value);

/* A fact's subject will be asked for (openspan_resolve() once for all); it,
 * as a string of the reader's; its bytes, until the next is read.  False,
 * INTERN_NONE: out of memory. */
bool openspan_need_fact(struct openspan *o, const struct open_fact *f);
uint32_t openspan_subject(struct openspan *o, const struct open_fact *f);
const struct err *openspan_fact(struct openspan *o, const struct open_fact *f,
    const uint8_t **data);

/* What the next record may say again is forgotten; and so where it takes much
 * memory, until the next record comes. */
void openspan_drop_again(struct openspan *o);
void openspan_rest_again(struct openspan *o);
size_t openspan_again_bytes(const struct openspan *o);

/* For open_skim.c.  The place of a slot; INTERN_NONE: out of memory. */
uint32_t openspan_slot(struct openspan *o, uint64_t slot);
/* Adds a block of the slot at this place.  False: out of memory. */
bool openspan_put_block(struct openspan *o, uint32_t strip, uint32_t place,
    const void *numbers, size_t n);

#endif
