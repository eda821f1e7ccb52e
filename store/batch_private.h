/*
 * What batch.c (building) and batch_code.c (bytes) share.
 */
#ifndef STORE_BATCH_PRIVATE_H
#define STORE_BATCH_PRIVATE_H

#include "batch.h"

/* One batch_add_*(): not folded yet. */
struct batch_addition {
	uint32_t block, key;
	int64_t value;
};

#define BATCH_BUDGET (64u << 20) /* memory of a decoded batch */
#define BATCH_DICT_BYTES (1u << 30) /* of a file's dictionary */

struct batch_index {
	size_t budget; /* decoding: bytes of memory still allowed */
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

/* The same records for the dictionary of a sealed file, which we made
 * ourselves and which may be large. */
const struct err *batch_encode_dict(struct batch *b, struct buf *out);
const struct err *batch_decode_dict(const void *record, size_t size,
    struct batch **out);

#endif
