/*
 * Blocks and strips: the values of a series, in memory and as bytes.
 * The bytes are specified in format.h.
 */
#ifndef STORE_BLOCK_H
#define STORE_BLOCK_H

#include "store/base/buf.h"
#include "store/model/series.h"

struct err;

/* One block of any kind and level.  For profiles the entries' keys are
 * stack numbers, for histograms buckets; both rise strictly. */
struct block {
	uint64_t start;  /* first slot */
	uint64_t count;  /* observations; 0 is "no data" */
	int64_t min, max;/* gauge, histogram */
	int128 sum;      /* gauge, histogram; counter: the increase */
	int64_t last;    /* gauge value, counter raw value */
	int64_t last_ns; /* after the block's start */
	struct cur entries; /* entry_next(); borrowed */
};

/* Entries as bytes: see format.h. */
struct entry_writer {
	struct buf *out;
	uint32_t next; /* smallest key that may follow */
};

void entry_put(struct entry_writer *w, uint32_t key, int128 value);

struct entry_reader {
	struct cur c;
	uint64_t next;
};

/* An entry with a number of more than a byte. */
bool entry_next_long(struct entry_reader *r, uint32_t *key, int128 *value);

/* False at the end or when the bytes are bad (then r->c.bad). */
static inline bool
entry_next(struct entry_reader *r, uint32_t *key, int128 *value)
{
	const uint8_t *p = r->c.p, *end = r->c.end;
	uint64_t gap, more;

	if (p == end)
		return false;
	gap = *p >> 4;
	more = *p++ & 15;
	if ((gap == 15 && (p == end || (gap += *p++) >= 15 + 128)) ||
	    (more == 15 && (p == end || (more += *p++) >= 15 + 128))) {
		/* copies: nobody has the reader's address, so that most
		 * entries are read from registers */
		struct entry_reader rest = *r;
		uint32_t k = 0;
		int128 v = 0;
		bool any = entry_next_long(&rest, &k, &v);

		*r = rest;
		*key = k;
		*value = v;
		return any;
	}
	r->c.p = p;
	*key = (uint32_t)(r->next + gap);
	*value = (int128)more + 1;
	r->next = (uint64_t)*key + 1;
	return true;
}

/* Does the kind carry entries? */
static inline bool
series_has_entries(enum series_kind kind)
{
	return series_is_profile(kind) || kind == SERIES_HISTOGRAM;
}

/* Folds the numbers (not the entries) of a later or equal block into one
 * that begins at into->start; slot_ns places the times. */
void block_fold(enum series_kind kind, struct block *into,
    const struct block *b, int64_t slot_ns);

/*
 * Writing: blocks of one series and level in rising order gather into a
 * strip; strip_full() says when to take it with strip_take().
 */
struct strip_writer {
	enum series_kind kind;
	unsigned level;
	struct block blocks[64]; /* entries unused */
	size_t ends[64];         /* of each block's entries in `entries` */
	size_t n;
	struct buf entries;
};

void strip_begin(struct strip_writer *w, enum series_kind kind,
    unsigned level);
void strip_fini(struct strip_writer *w);
/* Would this block, with `more` bytes of entries, have to begin a new one? */
bool strip_full(const struct strip_writer *w, uint64_t start, size_t more);
/* Adds a block; `entries` are encoded bytes or NULL. */
void strip_add(struct strip_writer *w, const struct block *b,
    const struct buf *entries);
/* The start of the last block of the strip; its key. */
uint64_t strip_last(const struct strip_writer *w);
/* Appends the strip's bytes to out and empties it. */
const struct err *strip_take(struct strip_writer *w, struct buf *out);

/* Of the first n bytes of a strip: do they say how long it is (a large one's
 * do); how long then, n otherwise; how many blocks it has. */
bool strip_is_packed(const void *p, size_t n);
size_t strip_size(const void *p, size_t n);
unsigned strip_blocks(const void *p, size_t n);

/* Reading: all blocks of a strip. */
struct strip {
	struct block blocks[64];
	size_t n;
};

/* Entries point into `bytes`, which are unpacked where they are packed. */
const struct err *strip_read(struct strip *s, enum series_kind kind,
    unsigned level, struct buf *bytes);

#endif
