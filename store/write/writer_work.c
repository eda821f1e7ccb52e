/*
 * The writer's background: each step builds new files beside the old ones
 * and then replaces the manifest, so that a crash anywhere loses nothing and
 * readers see either the state before or the state after.
 *
 *	journals of a span that is over  ->  span file of 64 or 16 slots,
 *	                                     late files for other slots
 *	four spans (and their late files) -> one span, up to 4,096 slots
 *	full spans                        -> summary, levels 6 and up
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/journal/journal.h"
#include "store/write/work.h"

/* What the writer knows to be whole of a journal that it has open; of others,
 * which do not change any more, all. */
static uint64_t
writer_journal_bytes(const struct store_writer *w, const char *name)
{
	struct stat st;

	if (w->current.fd >= 0 && strcmp(w->current.name, name) == 0)
		return w->current.bytes;
	for (size_t i = 0; i < w->n_retired; i++) {
		if (strcmp(w->retired[i].name, name) == 0)
			return w->retired[i].bytes;
	}
	return fstatat(w->dir, name, &st, 0) == 0 && S_ISREG(st.st_mode)
	    ? (uint64_t)st.st_size : 0;
}

void
writer_know_journals(struct store_writer *w)
{
	for (uint32_t i = 0; i < w->manifest.n; i++) {
		struct manifest_file *f = &w->manifest.files[i];
		uint64_t bytes = f->kind == MANIFEST_JOURNAL
		    ? writer_journal_bytes(w, f->name) : 0;

		if (bytes > f->bytes)
			f->bytes = bytes;
	}
}

void
writer_count_sealing(struct store_writer *w)
{
	w->stats.sealing_bytes = 0;
	for (uint32_t i = 0; i < w->manifest.n; i++) {
		const struct manifest_file *f = &w->manifest.files[i];

		if (f->kind == MANIFEST_JOURNAL && (w->current.fd < 0 ||
		    strcmp(w->current.name, f->name) != 0))
			w->stats.sealing_bytes +=
			    writer_journal_bytes(w, f->name);
	}
}

static void
work_recount(struct store_writer *w)
{
	pthread_mutex_lock(&w->mutex);
	writer_count_sealing(w);
	pthread_mutex_unlock(&w->mutex);
}

const struct err *
writer_make_spare(struct store_writer *w, struct journal_slot *made)
{
	struct journal_slot j = {.fd = -1};
	struct manifest_file f = {.kind = MANIFEST_JOURNAL};
	const struct err *e;
	bool published = false;

	snprintf(j.name, sizeof(j.name), "journal-%" PRIu64, ++w->sequence);
	snprintf(f.name, sizeof(f.name), "%s", j.name);
	j.fd = openat(w->dir, j.name,
	    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
	if (j.fd < 0)
		return err_errno("%s/%s", w->path, j.name);
	if ((e = manifest_add(&w->manifest, &f)) == NULL)
		e = manifest_save(&w->manifest, w->dir, &published);
	if (!published) {
		manifest_remove(&w->manifest, j.name);
		unlinkat(w->dir, j.name, 0);
	}
	if (e == NULL)
		*made = j;
	else
		close(j.fd); /* if published: an empty journal like others */
	return e;
}

static const struct err *
work_spare(struct store_writer *w)
{
	struct journal_slot made;
	const struct err *e;
	bool needed;

	pthread_mutex_lock(&w->mutex);
	needed = w->spare.fd < 0;
	if (needed)
		writer_know_journals(w);
	pthread_mutex_unlock(&w->mutex);
	if (!needed)
		return NULL;
	if ((e = writer_make_spare(w, &made)) != NULL)
		return e;
	pthread_mutex_lock(&w->mutex);
	w->spare = made;
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

/* "No space left" is said of both, and df shows room.  Mutex held. */
static void
work_say_inodes(struct store_writer *w)
{
	struct statvfs v;
	size_t n = strlen(w->working.why);

	if (fstatvfs(w->dir, &v) == 0 && v.f_files > 0 && v.f_ffree == 0)
		snprintf(w->working.why + n, sizeof(w->working.why) - n,
		    " (of files: the file system has no inode left)");
}

const struct err *
writer_work(struct store_writer *w)
{
	const struct err *e = writer_sync(w);
	uint64_t open_from;
	bool did = true;

	if (e == NULL)
		e = work_spare(w);
	work_know_names(w);
	if (e == NULL) {
		purge_work(w);
		e = work_spare(w);
	}
	while (e == NULL && did) {
		did = false;
		e = work_seal(w, &did, &open_from);
		if (e == NULL && !did)
			e = work_merge(w, open_from, &did);
		if (e == NULL && !did)
			e = work_summarize(w, open_from, &did);
		if (e == NULL && !did)
			e = work_retain(w, &did);
		if (e != NULL && w->damaged[0] != '\0') {
			e = work_set_aside(w);
			did = true;
		}
		if (did)
			work_recount(w);
		if (e == NULL && did)
			e = writer_sync(w);
	}
	work_index(w);
	pthread_mutex_lock(&w->mutex);
	writer_note(&w->working, e);
	if (w->working.state == STORE_DISK_FULL)
		work_say_inodes(w);
	pthread_mutex_unlock(&w->mutex);
	return e;
}
