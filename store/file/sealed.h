/*
 * A sealed file, opened for reading: its strips on demand, its dictionary in
 * memory, or on demand too (sealed_open_nameless()).  The layout is format.h.
 */
#ifndef STORE_SEALED_H
#define STORE_SEALED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/batch/batch.h"
#include "store/file/block.h"
#include "store/file/segtree.h"

struct dbfile;
struct err;
struct manifest_file;

#define SEALED_STRIPS 0x10
#define SEALED_STRIP_KEY 14
#define SEALED_BUNDLE 0 /* the first byte of some strips in one record */
#define SEALED_CHUNK 8192 /* of a stream or a bundle, before it is deflated */

enum sealed_stream {
	SEALED_META = 1,
	SEALED_DICT,
	SEALED_STACKS,
	SEALED_MARKS,
	SEALED_SERIES,
	SEALED_LIVES_BEFORE, /* of files of before */
	SEALED_LIVES = 0x11
};

struct sealed_meta {
	uint64_t version;      /* of the file; writers need not say it */
	int64_t slot_ns;
	uint64_t first, slots; /* the span that it covers, in slots */
	unsigned base, top;    /* the lowest and highest level that it has, */
	uint32_t levels;       /* which of them, 1 << level each; writers need
	                        * not say it */
	uint64_t until;        /* end of its newest slot with data */
	uint64_t number;       /* of its name; 0: older files do not say */
	uint64_t names;        /* bytes of memory that its dictionary and the
	                        * numbers of stacks take; 0: it does not say */
};

/* The strip that was read last of a level. */
struct sealed_strip {
	struct strip strip;
	struct buf bytes;     /* its memory */
	uint32_t series;
	uint64_t from, until; /* slots that it answers for */
	bool valid;
};

struct sealed {
	struct sealed_meta meta;
	struct batch *dict;     /* tables and facts; no blocks; or NULL */
	uint8_t *kinds;         /* of series: enum series_kind */
	uint32_t n_series;
	uint32_t *stack_nodes;  /* stack number -> node of dict; see below */
	uint32_t n_stacks;
	struct dbfile *db;
	struct buf chunk;       /* of a stream, read last */
	enum sealed_stream chunk_of;
	uint64_t chunk_number;
	struct buf bundle;      /* of strips, read last; for keys from, last */
	size_t bundle_at;       /* of the strip that was found last */
	uint8_t bundle_from[SEALED_STRIP_KEY], bundle_last[SEALED_STRIP_KEY];
	struct sealed_strip *strips[SEG_MAX_LEVEL + 1]; /* NULL: none yet */
	uint64_t joined;        /* bytes of records that were read behind the
	                         * first ones of theirs */
};

/* Opens and checks a file; ERR_FORMAT for a version that is not known. */
const struct err *sealed_open(struct sealed **out, const char *path);
/*
 * The same without its dictionary.  Who takes that up says how many series
 * there are, and sets the kind of each before its first strip is read; and how
 * many nodes there are, before stack_nodes is.
 */
const struct err *sealed_open_nameless(struct sealed **out,
    const char *path);
const struct err *sealed_set_series(struct sealed *f, uint32_t n);
const struct err *sealed_read_stacks(struct sealed *f, uint32_t n_nodes);
/* All bytes of a stream; none where the file has no such stream. */
const struct err *sealed_read_stream(struct sealed *f,
    enum sealed_stream stream, struct buf *out);
/* Of SEALED_LIVES, wherever the file has it. */
const struct err *sealed_read_lives(struct sealed *f, struct buf *out);
/* n bytes of a stream from `offset` on; fewer (*got) where it ends.  And of the
 * dictionary; an open_read_fn. */
const struct err *sealed_read_part(struct sealed *f,
    enum sealed_stream stream, uint64_t offset, void *to, size_t n,
    size_t *got);
const struct err *sealed_read_dict(void *arg, uint64_t offset, void *to,
    size_t n, size_t *got);
void sealed_close(struct sealed *f);
/* ERR_FORMAT when it is not the file that the manifest names: another one's
 * content lies under its name.  `dir` is where it lies. */
const struct err *sealed_check(const struct sealed *f, int dir,
    const struct manifest_file *entry);

/* After a failed read: blocks can be read again, where the file lets them be.
 * After an error it is good for closing only. */
const struct err *sealed_reopen(struct sealed *f);

/* Frees what only names things, for who has taken it over: all of dict but
 * series, whose kinds are still needed, and facts; and stack_nodes. */
void sealed_drop_names(struct sealed *f);

/* The memory in use, Berkeley DB's included. */
size_t sealed_bytes(const struct sealed *f);

/*
 * The first block of (series, level) that begins at `slot` or later; *block
 * is NULL when there is none.  The block lives until the next call for the
 * same level.
 */
const struct err *sealed_seek(struct sealed *f, uint32_t series,
    unsigned level, uint64_t slot, const struct block **block);

/* The same, but only the block that begins exactly there. */
const struct err *sealed_block(struct sealed *f, uint32_t series,
    unsigned level, uint64_t slot, const struct block **block);

/* Which levels a new file has of those from base to top. */
uint32_t sealed_levels(unsigned base, unsigned top);
/*
 * What the block of (series, level) at `start` is made of, one after the
 * other: itself, or blocks of the highest level below it that the file has.
 * *at is `start` to begin with; *block is NULL behind the last, and lives as
 * above.  *at is UINT64_MAX then where the series has none later either.
 */
const struct err *sealed_part(struct sealed *f, uint32_t series,
    unsigned level, uint64_t start, uint64_t *at,
    const struct block **block);
/* The slots that each of them covers; 0: it has none of that level. */
uint64_t sealed_part_slots(const struct sealed *f, unsigned level);

/* The keys of a strip (series, level, start of its last block) and of a chunk
 * of a stream; behind them the number of a piece that is not the first. */
void sealed_strip_key(struct buf *key, uint32_t series, unsigned level,
    uint64_t last);
void sealed_stream_key(struct buf *key, enum sealed_stream stream,
    uint32_t chunk);

/* Writes a stream, with memory for its keys. */
const struct err *sealed_put_stream(struct dbfile *db, struct buf *key,
    enum sealed_stream stream, const struct buf *bytes);

/* Writing strips in the order of their keys. */
struct sealed_writer {
	struct dbfile *db;  /* borrowed */
	struct buf bundle;  /* small strips, which share a record */
	struct buf last;    /* the key of the last of them */
};

const struct err *sealed_put_strip(struct sealed_writer *w, struct buf *key,
    const void *p, size_t n);
/* Writes those that wait. */
const struct err *sealed_put_end(struct sealed_writer *w);
void sealed_writer_fini(struct sealed_writer *w);

/* What the record `value`, which was read last, holds, into `out`; its strips
 * one by one, false at the end and where the bytes are bad. */
const struct err *sealed_unpack_bundle(struct sealed *f, struct cur value,
    struct buf *out);
bool sealed_bundle_next(struct cur *c, struct cur *key, struct cur *strip);

#endif
