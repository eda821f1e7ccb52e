/*
 * Reading on behind damage: a sealed file with pages that cannot be read is
 * written anew from the blocks of its lowest level that can.  Those of higher
 * levels are only sums of them.
 */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include "store/file/sealed.h"

struct err;

struct salvage {
	uint64_t first;  /* slot of the file */
	uint64_t each;   /* slots of a block */
	size_t n;        /* blocks of a series at most */
	uint8_t *lost;   /* by block: may one of any series have been there? */
	unsigned breaks; /* of the handle: Berkeley DB leaks 15 KB each */
};

const struct err *salvage_init(struct salvage *v, const struct sealed *f);
void salvage_fini(struct salvage *v);

/* sealed_seek() in the lowest level, to the next block that is whole; what may
 * have been before it is noted as lost. */
const struct err *salvage_seek(struct salvage *v, struct sealed *f,
    uint32_t series, uint64_t slot, const struct block **block);

/* The next stretch of slots, from *until on, that has lost something; false:
 * there is none. */
bool salvage_next_lost(const struct salvage *v, uint64_t *from,
    uint64_t *until);

/* May a file's damage be the cause, and not want of something? */
bool salvage_is_damage(const struct err *e);

#endif
