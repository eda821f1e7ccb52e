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

enum sealed_stream {
	SEALED_META = 1,
	SEALED_DICT,
	SEALED_STACKS,
	SEALED_MARKS
};

struct sealed_meta {
	uint64_t version;      /* of the file; writers need not say it */
	int64_t slot_ns;
	uint64_t first, slots; /* the span that it covers, in slots */
	unsigned base, top;    /* levels that it holds */
	uint64_t until;        /* end of its newest slot with data */
	uint64_t number;       /* of its name; 0: older files do not say */
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
	struct buf chunk;       /* of the dictionary, read last */
	uint64_t chunk_number;
	struct sealed_strip *strips[SEG_MAX_LEVEL + 1]; /* NULL: none yet */
};

/* Opens and checks a file; ERR_FORMAT for a version that is not known. */
const struct err *sealed_open(struct sealed **out, const char *path);
/*
 * The same without its dictionary.  Who takes that up says what the series
 * are, before the first strip is read; and how many nodes there are, before
 * stack_nodes is.
 */
const struct err *sealed_open_nameless(struct sealed **out,
    const char *path);
const struct err *sealed_set_series(struct sealed *f, const uint8_t *kinds,
    uint32_t n);
const struct err *sealed_read_stacks(struct sealed *f, uint32_t n_nodes);
/* All bytes of a stream; none where the file has no such stream. */
const struct err *sealed_read_stream(struct sealed *f,
    enum sealed_stream stream, struct buf *out);
/* n bytes of the dictionary from `offset` on; an open_read_fn. */
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

#define SEALED_STRIPS 0x10

/* The keys of a strip (series, level, start of its last block) and of a chunk
 * of a stream; behind them the number of a piece that is not the first. */
void sealed_strip_key(struct buf *key, uint32_t series, unsigned level,
    uint64_t last);
void sealed_stream_key(struct buf *key, enum sealed_stream stream,
    uint32_t chunk);

/* Writes a strip under its key; a stream, with memory for its keys. */
const struct err *sealed_put_strip(struct dbfile *db, struct buf *key,
    const void *p, size_t n);
const struct err *sealed_put_stream(struct dbfile *db, struct buf *key,
    enum sealed_stream stream, const struct buf *bytes);

#endif
