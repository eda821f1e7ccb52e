/*
 * Names of addresses in program files, kept from one heap dump to the next:
 * a file is read again only where there are addresses that it has not been
 * asked for.  Another file under the same path is another file; what is known
 * of one that is gone stays.  Bounded: what is over the bounds makes it empty,
 * and all is asked for again.
 */
#ifndef FCGI_SYMBOLIZE_HEAP_CACHE_H
#define FCGI_SYMBOLIZE_HEAP_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/intern.h"
#include "store/model/series.h"

#define HEAP_CACHE_ADDRESSES 200000u
#define HEAP_CACHE_BYTES (32u << 20) /* of names */
#define HEAP_CACHE_FRAMES 256u       /* of one address */

struct heap_cache_entry {
	uint32_t first, n; /* frames */
};

struct heap_cache_frame {
	uint32_t name, build_id; /* strings */
	enum frame_kind kind;
	uint64_t offset;
};

struct heap_cache { /* all zero is empty */
	struct intern files, strings;
	struct map64 addresses; /* file and offset -> entry */
	struct map64 inodes;    /* hash of path and inode -> file */
	struct heap_cache_entry *entries;
	struct heap_cache_frame *frames;
	uint32_t n_entries, n_frames, cap_entries, cap_frames;
};

void heap_cache_fini(struct heap_cache *c);

/* Makes it empty where it is over its bounds. */
void heap_cache_trim(struct heap_cache *c);

/* The number of the regular file that is at a path now, of this inode (0: of
 * any); INTERN_NONE where there is none. */
uint32_t heap_cache_file(struct heap_cache *c, const char *path,
    uint64_t inode);

/* The number of one that was there; INTERN_NONE where it was not asked. */
uint32_t heap_cache_gone(const struct heap_cache *c, const char *path,
    uint64_t inode);

/* The frames of an address, outermost first, without modules: how many, 0
 * where the file has no name for it, -1 where it has not been asked.  The
 * strings live until the next heap_cache_put(). */
int heap_cache_get(const struct heap_cache *c, uint32_t file, uint64_t offset,
    struct frame frames[HEAP_CACHE_FRAMES]);

/* Keeps the frames of an address; what there is no memory for is asked for
 * again. */
void heap_cache_put(struct heap_cache *c, uint32_t file, uint64_t offset,
    const struct frame *frames, size_t n);

#endif
