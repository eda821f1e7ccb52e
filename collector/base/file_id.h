/*
 * Is it the file that was seen?  It is while neither its contents nor its place
 * have changed, whatever links it has: what is upgraded while it runs loses its
 * name.  Who writes other contents may give the old time to them, but the time
 * of the change remains, and then both ends of the file are compared.
 */
#ifndef COLLECTOR_BASE_FILE_ID_H
#define COLLECTOR_BASE_FILE_ID_H

#include <stdbool.h>
#include <stdint.h>

struct stat;

struct file_id {
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	int64_t ctime_ns; /* when it was last known to be the same */
	uint64_t ends;    /* hash of its first and its last bytes */
};

/* Of an open file, and what fstat() says of it. */
void file_id_set(struct file_id *id, int fd, const struct stat *st);

bool file_id_is(struct file_id *id, int fd, const struct stat *st);

/* Whatever its time and place: the same bytes, as far as its size, the time of
 * its last change and its ends say. */
bool file_id_has_bytes(struct file_id *id, int fd, const struct stat *st);

/* Where no file is at hand: its place, size and time are the same. */
bool file_id_may_be(const struct file_id *id, const struct stat *st);

/* As fstat() would have it. */
void file_id_stat(const struct file_id *id, struct stat *st);

#endif
