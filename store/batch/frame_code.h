/*
 * Frames of a sealed file's dictionary as bytes.  What frames have in common is
 * told once for 64 of them in a row, so that any 64 are read without others.
 *
 *	varint   0: u8 kind, module and build id (varints) follow; else which
 *	         of those that the 64 had so far: 1 is what was used last
 *	varint   zigzag of the name less that of the frame before; of a kind
 *	         `address` one more, and 0: its name is "module+0xoffset", which
 *	         is no string of the dictionary, and not the one before
 *	zigzag   offset less that of the frame before with these three
 *
 * What comes before the first is 0.  Names, modules and build ids are string
 * numbers.
 */
#ifndef STORE_FRAME_CODE_H
#define STORE_FRAME_CODE_H

#include "store/batch/batch.h"

#define FRAME_CODE_ROW 64  /* frames; numbers that begin one are multiples */
#define FRAME_CODE_LEAST 3 /* bytes of a frame */

struct frame_code {
	uint32_t name; /* of the frame before */
	uint32_t n;
	struct batch_frame of[FRAME_CODE_ROW]; /* last used first; offsets: the
	                                        * last ones */
};

/* The name is INTERN_NONE where it is told by module and offset. */
void frame_code_put(struct frame_code *c, struct buf *out, uint32_t number,
    const struct batch_frame *f);
/* What is malformed, or a string number that is not below `strings`, makes the
 * cursor bad. */
void frame_code_take(struct frame_code *c, struct cur *in, uint32_t number,
    size_t strings, struct batch_frame *f);

/* Appends "module+0xoffset"; the module has n bytes. */
void frame_code_address(struct buf *out, const void *module, size_t n,
    uint64_t offset);

/* Makes names that are told by module and offset INTERN_NONE, and drops
 * strings that nothing else needs; the other way round, where the strings stay
 * in order. */
const struct err *frame_code_drop_names(struct batch *b);
const struct err *frame_code_make_names(struct batch *b);

#endif
