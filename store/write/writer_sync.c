/*
 * Syncing of journals.  What fdatasync(2) could not write may be lost although
 * the next call says that all is well: the kernel may have marked the pages
 * clean.  So a journal that failed is given up: a copy takes its place, made
 * from what had been synced and from the bytes that are kept in memory until
 * they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/base/log.h"
#include "store/journal/journal.h"
#include "store/write/work.h"

#define SYNC_TAIL (16u << 20) /* kept in memory; more is read back */
#define SYNC_REST (1u << 20)  /* memory that an empty tail may keep */

/* ---- the journals that are not on the disk yet; mutex held ---- */

bool
writer_retire(struct store_writer *w)
{
	if (w->current.fd < 0)
		return true;
	if (w->n_retired == WRITER_RETIRED)
		return false;
	w->stats.sealing_bytes += w->current.bytes;
	w->retired[w->n_retired++] = w->current;
	w->current = (struct journal_slot){.fd = -1};
	w->kicked = w->urgent = true; /* the spare journal is wanted */
	pthread_cond_signal(&w->wake);
	return true;
}

void
writer_keep(struct journal_slot *j, const void *p, size_t n)
{
	if (j->tail.len + n <= SYNC_TAIL)
		buf_put(&j->tail, p, n);
	else
		j->tail.failed = true;
	if (j->tail.failed)
		buf_fini(&j->tail);
}

void
writer_forget(struct journal_slot *j)
{
	if (j->fd >= 0)
		close(j->fd);
	buf_fini(&j->tail);
	*j = (struct journal_slot){.fd = -1};
}

/* All before `until` is on the disk. */
static void
sync_done(struct journal_slot *j, uint64_t until)
{
	size_t left = (size_t)(j->bytes - until);

	j->synced = until;
	if (left < j->tail.len)
		memmove(j->tail.data, j->tail.data + j->tail.len - left, left);
	if (left < j->tail.len)
		j->tail.len = left;
	if (j->tail.len == 0 && j->tail.cap > SYNC_REST)
		buf_fini(&j->tail);
}

/* It may have retired since it was looked at; nobody else takes it away. */
static struct journal_slot *
sync_find(struct store_writer *w, const char *name)
{
	for (size_t i = 0; i < w->n_retired; i++) {
		if (strcmp(w->retired[i].name, name) == 0)
			return &w->retired[i];
	}
	return &w->current;
}

/* Retired journals need no descriptor once they are on the disk. */
static void
sync_drop_retired(struct store_writer *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->n_retired; i++) {
		if (w->retired[i].synced == w->retired[i].bytes)
			writer_forget(&w->retired[i]);
		else
			w->retired[left++] = w->retired[i];
	}
	w->n_retired = left;
}

/* ---- a copy in the place of a journal that failed ---- */

struct rescue {
	char old[MANIFEST_NAME], name[MANIFEST_NAME]; /* of the copy */
	int fd, old_fd; /* of the copy, and of what it copies */
	uint64_t bytes; /* that are in the copy */
	struct buf bytes_kept;
};

static const struct err *
rescue_write(struct rescue *r, const void *p, size_t n)
{
	ssize_t done = write(r->fd, p, n);

	if (done >= 0 && done != (ssize_t)n)
		errno = ENOSPC;
	if (done != (ssize_t)n)
		return err_errno("%s", r->name);
	r->bytes += n;
	return NULL;
}

/* The first n bytes from the old file: what had been synced, or what memory
 * could not hold; a damaged record in it is found by its checksum. */
static const struct err *
rescue_read_back(struct store_writer *w, struct rescue *r, uint64_t n)
{
	int fd = openat(w->dir, r->old, O_RDONLY | O_CLOEXEC);
	const struct err *e = NULL;
	uint8_t part[16384];
	char open_file[40];

	if (fd < 0 && errno == ENOENT) { /* somebody has deleted it */
		snprintf(open_file, sizeof(open_file), "/proc/self/fd/%d",
		    r->old_fd);
		fd = open(open_file, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return err_errno("%s/%s", w->path, r->old);
	while (e == NULL && r->bytes < n) {
		size_t want = n - r->bytes < sizeof(part)
		    ? (size_t)(n - r->bytes)
		    : sizeof(part);
		ssize_t got = pread(fd, part, want, (off_t)r->bytes);

		if (got == 0)
			errno = EIO;
		e = got <= 0 ? err_errno("%s/%s", w->path, r->old)
		             : rescue_write(r, part, (size_t)got);
	}
	close(fd);
	return e;
}

/* Its header has the number of its own name. */
static const struct err *
rescue_begin(struct rescue *r, uint64_t first, uint64_t number)
{
	struct buf header = {0};
	const struct err *e = journal_begin(r->fd, first, number, &header);

	buf_fini(&header);
	r->bytes = JOURNAL_HEADER;
	return e;
}

/* Makes the copy of what the journal holds now, and syncs it. */
static const struct err *
rescue_copy(struct store_writer *w, struct rescue *r)
{
	const struct journal_slot *j;
	const struct err *e;
	uint64_t before, first;

	pthread_mutex_lock(&w->mutex);
	j = sync_find(w, r->old);
	first = j->first;
	r->old_fd = j->fd;
	before = j->bytes - j->tail.len;
	buf_put(&r->bytes_kept, j->tail.data, j->tail.len);
	pthread_mutex_unlock(&w->mutex);
	if (r->bytes_kept.failed)
		return err_nomem();
	snprintf(r->name, sizeof(r->name), "journal-%" PRIu64, ++w->sequence);
	r->fd = openat(w->dir, r->name,
	    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
	if (r->fd < 0)
		return err_errno("%s/%s", w->path, r->name);
	e = rescue_begin(r, first, w->sequence);
	if (e == NULL)
		e = rescue_read_back(w, r, before);
	if (e == NULL)
		e = rescue_write(r, r->bytes_kept.data + (r->bytes - before),
		    r->bytes_kept.len - (r->bytes - before));
	if (e == NULL && fdatasync(r->fd) != 0)
		e = err_errno("%s/%s", w->path, r->name);
	return e;
}

/* Names the copy in the manifest instead of the old journal. */
static const struct err *
rescue_publish(struct store_writer *w, const struct rescue *r,
    bool *published)
{
	const struct manifest_file *old = manifest_find(&w->manifest, r->old);
	struct manifest_file f = {.kind = MANIFEST_JOURNAL};
	struct manifest next;
	const struct err *e = manifest_copy(&next, &w->manifest);

	if (e != NULL)
		return e;
	if (old != NULL)
		f = *old;
	snprintf(f.name, sizeof(f.name), "%s", r->name);
	manifest_remove(&next, r->old);
	e = manifest_add(&next, &f);
	if (e == NULL)
		e = manifest_save(&next, w->dir, published);
	if (*published) {
		manifest_fini(&w->manifest);
		w->manifest = next;
		return e;
	}
	w->manifest.generation = next.generation;
	manifest_fini(&next);
	return e;
}

/* What was appended meanwhile follows; then the copy is the journal.  Appends
 * wait: none may go where no reader looks any more. */
static const struct err *
rescue_exchange(struct store_writer *w, struct rescue *r)
{
	struct journal_slot *j = sync_find(w, r->old);
	uint64_t copied = r->bytes, before = j->bytes - j->tail.len;
	const struct err *e = NULL;
	bool published = false;

	if (before > copied) /* more than memory holds came meanwhile */
		e = rescue_read_back(w, r, before);
	if (e == NULL)
		e = rescue_write(r, j->tail.data + (r->bytes - before),
		    (size_t)(j->bytes - r->bytes));
	if (e == NULL)
		e = rescue_publish(w, r, &published);
	if (!published)
		return e;
	if (e == NULL)
		unlinkat(w->dir, r->old, 0);
	close(j->fd);
	j->fd = r->fd;
	r->fd = -1;
	memcpy(j->name, r->name, sizeof(j->name));
	j->failed = false;
	sync_done(j, copied);
	return e;
}

static const struct err *
sync_rescue(struct store_writer *w, const char *name)
{
	struct rescue r = {.fd = -1};
	const struct err *e;

	snprintf(r.old, sizeof(r.old), "%s", name);
	if (strcmp(w->rescued, name) != 0)
		log_err("store: %s was deleted, or could not be synced; "
		    "writing it anew", name);
	snprintf(w->rescued, sizeof(w->rescued), "%s", name);
	e = rescue_copy(w, &r);
	if (e == NULL) {
		pthread_mutex_lock(&w->mutex);
		e = rescue_exchange(w, &r);
		pthread_mutex_unlock(&w->mutex);
	}
	if (r.fd >= 0) {
		close(r.fd);
		unlinkat(w->dir, r.name, 0);
	}
	buf_fini(&r.bytes_kept);
	return e;
}

/* ---- syncing ---- */

/* What is written to a file without a name is gone with the descriptor. */
static bool
sync_deleted(const struct journal_slot *j)
{
	struct stat st;

	return j->fd >= 0 && j->bytes > 0 && fstat(j->fd, &st) == 0 &&
	    st.st_nlink == 0;
}

/* Syncs the oldest retired journal, or the present one; *more: there are
 * others. */
static const struct err *
sync_one(struct store_writer *w, bool *more)
{
	struct journal_slot j, *slot;
	bool fine, done, due;
	int fd;

	pthread_mutex_lock(&w->mutex);
	sync_drop_retired(w);
	*more = w->n_retired > 0;
	j = *more ? w->retired[0] : w->current;
	j.failed |= sync_deleted(&j);
	due = j.fd >= 0 && (j.bytes > j.synced || j.failed);
	fd = due ? dup(j.fd) : -1;
	pthread_mutex_unlock(&w->mutex);
	if (!due)
		return NULL;
	if (fd < 0)
		return err_errno("%s/%s", w->path, j.name);
	fine = !j.failed && fdatasync(fd) == 0;
	close(fd);
	pthread_mutex_lock(&w->mutex);
	slot = sync_find(w, j.name);
	done = fine || manifest_find(&w->manifest, j.name) == NULL; /* sealed */
	if (done)
		sync_done(slot, j.bytes);
	slot->failed = !done;
	pthread_mutex_unlock(&w->mutex);
	return done ? NULL : sync_rescue(w, j.name);
}

const struct err *
writer_sync(struct store_writer *w)
{
	const struct err *e;
	bool more;

	do
		e = sync_one(w, &more);
	while (e == NULL && more);
	return e;
}
