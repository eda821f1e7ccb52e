/*
 * One table from file and offset to a range of frames.
 */
#include "fcgi/symbolize/heap_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/base/array.h"

#define OFFSET_BITS 40

void
heap_cache_fini(struct heap_cache *c)
{
	intern_fini(&c->files);
	intern_fini(&c->strings);
	map64_fini(&c->addresses);
	map64_fini(&c->inodes);
	free(c->entries);
	free(c->frames);
	*c = (struct heap_cache){0};
}

void
heap_cache_trim(struct heap_cache *c)
{
	if (c->n_entries > HEAP_CACHE_ADDRESSES ||
	    c->strings.bytes.len > HEAP_CACHE_BYTES)
		heap_cache_fini(c);
}

static uint64_t
inode_key(const char *path, uint64_t inode)
{
	return hash64(inode + 1, path, strlen(path));
}

uint32_t
heap_cache_gone(const struct heap_cache *c, const char *path, uint64_t inode)
{
	return inode == 0 ? INTERN_NONE
	    : map64_get(&c->inodes, inode_key(path, inode));
}

/* An inode may be used again: the file of its first use keeps it. */
static void
cache_keep_inode(struct heap_cache *c, const char *path, uint64_t inode,
    uint32_t number)
{
	uint64_t key = inode_key(path, inode);

	if (inode != 0 && number != INTERN_NONE &&
	    map64_get(&c->inodes, key) == INTERN_NONE)
		map64_add(&c->inodes, key, number);
}

uint32_t
heap_cache_file(struct heap_cache *c, const char *path, uint64_t inode)
{
	struct buf key = {0};
	struct stat st;
	uint32_t number;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (inode != 0 && st.st_ino != inode))
		return INTERN_NONE;
	buf_put_str(&key, path);
	buf_put_be64(&key, st.st_dev);
	buf_put_be64(&key, st.st_ino);
	buf_put_be64(&key, (uint64_t)st.st_size);
	buf_put_be64(&key, (uint64_t)st.st_mtim.tv_sec);
	buf_put_be64(&key, (uint64_t)st.st_mtim.tv_nsec);
	number = key.failed ? INTERN_NONE
	    : intern_put(&c->files, key.data, key.len);
	buf_fini(&key);
	cache_keep_inode(c, path, inode, number);
	return number;
}

static uint64_t
cache_key(uint32_t file, uint64_t offset)
{
	return (uint64_t)file << OFFSET_BITS | offset;
}

int
heap_cache_get(const struct heap_cache *c, uint32_t file, uint64_t offset,
    struct frame frames[HEAP_CACHE_FRAMES])
{
	const struct heap_cache_entry *x;
	uint32_t i;

	if (offset >> OFFSET_BITS != 0)
		return 0; /* no file is so long */
	i = map64_get(&c->addresses, cache_key(file, offset));
	if (i == INTERN_NONE)
		return -1;
	x = &c->entries[i];
	for (uint32_t k = 0; k < x->n; k++) {
		const struct heap_cache_frame *f = &c->frames[x->first + k];

		frames[k] = (struct frame){.kind = f->kind,
		    .name = intern_str(&c->strings, f->name),
		    .module = "",
		    .build_id = intern_str(&c->strings, f->build_id),
		    .offset = f->offset};
	}
	return (int)x->n;
}

void
heap_cache_put(struct heap_cache *c, uint32_t file, uint64_t offset,
    const struct frame *frames, size_t n)
{
	uint32_t first = c->n_frames;

	if (offset >> OFFSET_BITS != 0 || n > HEAP_CACHE_FRAMES ||
	    !array_room(&c->entries, c->n_entries + 1, &c->cap_entries) ||
	    !array_room(&c->frames, first + (uint32_t)n, &c->cap_frames))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		struct heap_cache_frame k = {.kind = f->kind,
		    .offset = f->offset,
		    .name = intern_put(&c->strings, f->name,
		        strlen(f->name)),
		    .build_id = intern_put(&c->strings, f->build_id,
		        strlen(f->build_id))};

		if (k.name == INTERN_NONE || k.build_id == INTERN_NONE)
			return;
		c->frames[first + i] = k;
	}
	if (!map64_add(&c->addresses, cache_key(file, offset), c->n_entries))
		return;
	c->entries[c->n_entries++] =
	    (struct heap_cache_entry){first, (uint32_t)n};
	c->n_frames += (uint32_t)n;
}
