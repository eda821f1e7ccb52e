/*
 * Two reads for each file that is new, and for each whose links or rights have
 * changed.
 */
#include "collector/base/file_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include "store/base/buf.h"
#include "store/base/clock.h"

#define END 4096 /* bytes of each */

static int64_t
file_id_time(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

/* What cannot be read counts as nothing. */
static uint64_t
file_id_ends(int fd, uint64_t size)
{
	uint64_t at[2] = {0, size > END ? size - END : 0}, hash = size;
	char bytes[END];
	ssize_t n;

	for (int i = 0; i < 2; i++) {
		n = pread(fd, bytes, sizeof(bytes), (off_t)at[i]);
		hash = hash64(hash, bytes, n > 0 ? (size_t)n : 0);
	}
	return hash;
}

void
file_id_set(struct file_id *id, int fd, const struct stat *st)
{
	*id = (struct file_id){.dev = st->st_dev, .ino = st->st_ino,
	    .size = (uint64_t)st->st_size,
	    .mtime_ns = file_id_time(&st->st_mtim),
	    .ctime_ns = file_id_time(&st->st_ctim),
	    .ends = file_id_ends(fd, (uint64_t)st->st_size)};
}

bool
file_id_may_be(const struct file_id *id, const struct stat *st)
{
	return id->dev == st->st_dev && id->ino == st->st_ino &&
	    id->size == (uint64_t)st->st_size &&
	    id->mtime_ns == file_id_time(&st->st_mtim);
}

bool
file_id_has_bytes(struct file_id *id, int fd, const struct stat *st)
{
	if (id->size != (uint64_t)st->st_size)
		return false;
	if (id->ctime_ns == file_id_time(&st->st_ctim))
		return true;
	if (id->ends != file_id_ends(fd, id->size))
		return false;
	id->ctime_ns = file_id_time(&st->st_ctim);
	return true;
}

bool
file_id_is(struct file_id *id, int fd, const struct stat *st)
{
	return file_id_may_be(id, st) && file_id_has_bytes(id, fd, st);
}

void
file_id_stat(const struct file_id *id, struct stat *st)
{
	*st = (struct stat){.st_dev = id->dev, .st_ino = id->ino,
	    .st_size = (off_t)id->size, .st_mtim = {
	    .tv_sec = id->mtime_ns / NS_PER_S,
	    .tv_nsec = id->mtime_ns % NS_PER_S}, .st_ctim = {
	    .tv_sec = id->ctime_ns / NS_PER_S,
	    .tv_nsec = id->ctime_ns % NS_PER_S}};
}
