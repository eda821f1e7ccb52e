/*
 * One Berkeley DB B-tree file with page checksums, without an environment that
 * others could join: written once, then only read.  A handle that failed is
 * closed for good.
 */
#ifndef STORE_DBFILE_H
#define STORE_DBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"

struct err;
struct dbfile;

/* Makes a new file; ENOENT, EEXIST and the like as ERR_DB. */
const struct err *dbfile_create(struct dbfile **out, const char *path,
    uint32_t page_size);
const struct err *dbfile_put(struct dbfile *f, const struct buf *key,
    const void *p, size_t n);
/*
 * How many of n bytes to put next, under a key of so many: all, or as many as
 * the page takes that is being filled, the rest to follow under a higher key;
 * 128 at least, where there are so many.  So pages are full where keys come in
 * their order, but for a short record with the lowest of all, which may come
 * last.
 */
size_t dbfile_piece(const struct dbfile *f, size_t key, size_t n);
/* Writes everything out and syncs it; frees f in any case. */
const struct err *dbfile_finish(struct dbfile *f);

/* It keeps as many bytes of pages, and a quarter more. */
const struct err *dbfile_open(struct dbfile **out, const char *path,
    size_t cache_bytes);
/*
 * The first record whose key is not less than `key`; *found tells whether
 * there is one.  key_out and value point into the handle until the next
 * call.
 */
const struct err *dbfile_seek(struct dbfile *f, const struct buf *key,
    struct cur *key_out, struct cur *value, bool *found);
/* The record after the one that the last dbfile_seek or dbfile_next gave. */
const struct err *dbfile_next(struct dbfile *f, struct cur *key_out,
    struct cur *value, bool *found);
/* Reads every page that a record needs: checks their checksums, and the
 * order of keys. */
const struct err *dbfile_verify(const char *path);
/* A new handle of the same file in the place of one that has failed; *f is
 * NULL on failure. */
const struct err *dbfile_reopen(struct dbfile **f, size_t cache_bytes);
/* Closes without writing; NULL is fine. */
void dbfile_close(struct dbfile *f);

#endif
