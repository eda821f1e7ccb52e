/*
 * Files of builders, whole: text or JSON.
 */
#ifndef FCGI_READ_FILE_H
#define FCGI_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/json_in.h"
#include "store/base/buf.h"

#define READ_FILE_MAX (64u << 20)

/* What it holds, with a NUL behind it that is not counted.  False when it is
 * no file, cannot be read, or is larger than READ_FILE_MAX.  *time_ns becomes
 * the time of its writing where that is later. */
bool read_file(const char *path, struct buf *out, int64_t *time_ns);
/* The same of one that is JSON from its beginning to its end: members can be
 * looked for with json_in_find().  It lasts as long as `out`. */
bool read_json(const char *path, struct buf *out, struct json_in *json,
    int64_t *time_ns);

/* "a/b", cut to the room; false when it had to be. */
bool read_join(char *out, size_t room, const char *a, const char *b);
/* The same of a name that a file may not lead away with: no "/" and no "..". */
bool read_join_name(char *out, size_t room, const char *a, const char *name);
/* Is there something of that name in the folder? */
bool read_has(const char *folder, const char *name);

/* A text with a NUL behind it; "" when memory was short. */
const char *read_text(struct buf *b);

#endif
