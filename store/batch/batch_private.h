/*
 * What batch.c and batch_finish.c (building), batch_write.c, batch_read.c,
 * batch_take.c and batch_stream.c (bytes), batch_trim.c and the journal's own
 * records (journal.h) share.
 */
#ifndef STORE_BATCH_PRIVATE_H
#define STORE_BATCH_PRIVATE_H

#include "store/batch/batch.h"

/* One batch_add_*(): not folded yet. */
struct batch_addition {
	uint32_t block, key;
	int64_t value;
};

/*
 * The numbers of the first elements that a record's sections hold; element 0
 * of strings, label sets and nodes is known to all.  In a self-contained
 * record they are BATCH_FIRST, so that numbers are places in the tables.
 */
struct batch_first {
	uint32_t strings, frames, labels, nodes, series;
};
#define BATCH_FIRST ((struct batch_first){1, 0, 1, 1, 0})
#define BATCH_MAX_FIRST (1u << 24)

/* Readers of the sections, in their order: what they cannot accept makes the
 * cursor bad; false when out of memory. */
#define BATCH_SECTIONS 7
#define BATCH_NAMES 5 /* so many of them are names */
extern bool (*const batch_takers[BATCH_SECTIONS])(struct batch *,
    struct cur *);
/* Which dictionary of the journal, and from where on it is given here. */
void batch_take_first(struct batch *b, struct cur *c);
/*
 * One element of a section by itself, for who reads it in place; bounds are
 * one past the highest number.  What cannot be accepted makes the cursor bad.
 */
void batch_one_first(struct cur *c, uint32_t *dictionary,
    struct batch_first *first);
void batch_one_frame(struct cur *c, size_t strings, struct batch_frame *f);
/* `depths`, from place 1 on, are those of the record's nodes, which begin at
 * number `first`; NULL: they have been looked at before. */
void batch_one_node(struct cur *c, uint32_t own, uint32_t first,
    size_t labels, size_t frames, uint16_t *depths, struct batch_node *n);
void batch_one_series(struct cur *c, size_t strings, size_t labels,
    struct batch_series *s);
/* *key: that of the entry before, 0 for the first; `rising`: of a
 * self-contained record. */
void batch_one_entry(struct cur *c, bool rising, bool first, size_t bound,
    uint64_t *key, int64_t *value);
/* What stands of a gauge or counter after its slot. */
void batch_one_number(struct cur *c, struct batch_block *k);
/* All seven; `start` is the record's, for offsets in errors. */
const struct err *batch_take_sections(struct batch *b, struct cur *c,
    const uint8_t *start);
/* Header and checksum of a whole record; its payload in *c. */
struct batch_form;
extern const struct batch_form batch_of_stream, batch_of_journal,
    batch_of_file;
const struct err *batch_open_record(const void *record, size_t size,
    const struct batch_form *form, struct cur *c, uint8_t *version);

#define BATCH_BUDGET (64u << 20) /* memory of a decoded batch */
#define BATCH_DICT_BYTES (1u << 30) /* of a file's dictionary */

struct batch_index {
	size_t budget; /* decoding: bytes of memory still allowed */
	size_t names_budget; /* of a stream's tables, between records */
	uint32_t dictionary; /* of a journal; 0: the record is self-contained */
	struct batch_first first;
	struct batch_first sent; /* building: what the peer of a stream has */
	bool coded; /* frames are those of frame_code.h */
	uint16_t *depths; /* decoding: of the nodes */
	struct buf node_bytes; /* of batch_code_node() */
	size_t cap_depths, cap_entries;
	struct intern frames, label_sets, series;
	struct map64 nodes, blocks;
	struct batch_addition *adds;
	size_t n_adds, cap_adds;
	size_t cap_frames, cap_labels, cap_pairs, cap_nodes, cap_series,
	    cap_blocks, cap_facts;
};

/* A batch with element 0 of everything, but no id. */
struct batch *batch_alloc(void);
/* The block of a (series, slot), made when it is new; NULL on failure. */
struct batch_block *batch_block(struct batch *b, uint32_t series,
    uint64_t slot);
/* Adds to an entry of a block; negative values fail the batch. */
void batch_add(struct batch *b, const struct batch_block *block, uint32_t key,
    int64_t value);
bool batch_room(struct batch *b, void **array, size_t n, size_t *cap,
    size_t size);

/* The seven, from certain numbers on. */
void batch_put_sections(const struct batch *b, const struct batch_first *from,
    struct buf *out);
/* How many bytes two strings have in common at their beginning. */
size_t batch_shared(const struct intern *t, uint32_t i, uint32_t k);
/* The numbers of a block that are not entries. */
void batch_put_numbers(const struct batch_block *k, struct buf *out);
#define BATCH_RECORD_MORE 0x80000000u /* in its length */
/* The header of the record that begins at `start` of out, over a blank. */
void batch_put_header(struct buf *out, size_t start, const char *magic,
    bool more);

/*
 * Records of a journal (journal.h): self-contained ones and those that need
 * the ones before.  In a batch of such a record tables hold what is new, and
 * all numbers are the journal's.
 */
#define BATCH_JOURNAL_BYTES (2 * BATCH_MAX_BYTES)
const struct err *batch_journal_header(const void *p, size_t *n);
const struct err *batch_decode_journal(const void *record, size_t size,
    struct batch **out);

/* The same records for the dictionary of a sealed file, which we made
 * ourselves and which may be large: of version 3, where frames are as in
 * frame_code.h, or of 1.  Who encodes one finds strings renumbered, and frames
 * that have no name. */
#define BATCH_VERSION_DICT 3
const struct err *batch_encode_dict(struct batch *b, struct buf *out);
/* The next node of a dictionary that is being made, as bytes at once instead
 * of in nodes[]: half of the memory.  Returns its number; when memory runs out
 * batch_encode_dict() says so. */
uint32_t batch_code_node(struct batch *b, uint32_t parent, uint32_t edge);
const struct err *batch_decode_dict(const void *record, size_t size,
    struct batch **out);

#endif
