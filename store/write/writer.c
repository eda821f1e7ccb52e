/*
 * The writer's front: opening a directory, taking batches into the journal,
 * and handing the rest to the background.
 */
#include "store/write/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/file/format.h"
#include "store/file/segtree.h"
#include "store/journal/journal.h"
#include "store/journal/open_index.h"
#include "store/model/unwatched.h"
#include "store/write/work.h"

#define WORK_EVERY_NS (50 * NS_PER_MS)

/* ---- opening ---- */

static const struct err *
writer_lock_dir(struct store_writer *w)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (mkdir(w->path, 02750) != 0 && errno != EEXIST)
		return err_errno("%s", w->path);
	w->dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->dir < 0)
		return err_errno("%s", w->path);
	w->lock = openat(w->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (w->lock < 0)
		return err_errno("%s/lock", w->path);
	/* Of the open file, not of the process; readers can ask for it. */
	if (fcntl(w->lock, F_OFD_SETLK, &lock) == 0) {
		open_index_drop(w->dir); /* of who crashed, maybe the host */
		return NULL;
	}
	if (errno == EAGAIN || errno == EACCES)
		return err_new(ERR_LIMIT, EWOULDBLOCK,
		    "%s: another writer has this store", w->path);
	return err_errno("%s/lock", w->path);
}

static const struct err *
writer_load_manifest(struct store_writer *w)
{
	const struct err *e = manifest_load(&w->manifest, w->dir);

	if (e != NULL && e->domain == ERR_ERRNO && e->code == ENOENT) {
		w->manifest.slot_ns = w->options.slot_ns
		    ? w->options.slot_ns
		    : 10 * NS_PER_S;
		e = writer_refuse_remains(w);
	} else if (e == NULL) {
		e = writer_sweep(w);
	}
	if (e != NULL && e->domain == ERR_FORMAT)
		return err_new(ERR_FORMAT, e->code, "%s: %s; \"memlens repair "
		    "%s\" makes a new manifest of what is there", w->path,
		    e->text, w->path);
	if (e != NULL)
		return err_wrap(e, "%s", w->path);
	if (w->options.slot_ns != 0 &&
	    w->options.slot_ns != w->manifest.slot_ns)
		return err_new(ERR_LIMIT, 0,
		    "%s: its slots are %lld ns long, not %lld", w->path,
		    (long long)w->manifest.slot_ns,
		    (long long)w->options.slot_ns);
	w->options.slot_ns = w->manifest.slot_ns;
	return NULL;
}

/* The ids of batches that are in journals but not in the ids file yet. */
static const struct err *
writer_scan_journal(struct store_writer *w, const char *name)
{
	struct journal_reader r = {.journal = true};
	const struct err *e = NULL;
	struct batch *b;

	r.fd = journal_open(w->dir, name);
	if (r.fd < 0 && (errno == ENOENT || errno == JOURNAL_ODD)) {
		log_warn("store: %s is %s", name,
		    errno == ENOENT ? "missing" : "no regular file");
		return NULL;
	}
	if (r.fd < 0)
		return err_errno("%s/%s", w->path, name);
	while (e == NULL) {
		e = journal_next(&r, &b);
		if (e != NULL || b == NULL)
			break;
		if (!ids_has(&w->ids, b->id))
			e = ids_add(&w->ids, b->id, clock_wall_ns());
		for (size_t i = 0; i < b->n_blocks; i++)
			writer_saw(w, b->blocks[i].slot + 1);
		batch_free(b);
	}
	journal_reader_fini(&r);
	close(r.fd);
	return e;
}

/* What is lost of the list is lost: the store goes on without, and says so.
 * The next list takes its place in the manifest. */
static const struct err *
writer_load_ids(struct store_writer *w, const char *name)
{
	const struct err *e = ids_load(&w->ids, w->dir, name);

	if (e == NULL || !ids_lost(e))
		return e;
	log_warn("%s: %s: batches of the last 24 hours that are sent again "
	    "may count twice", w->path, e->text);
	w->ids.lost_ns = clock_wall_ns();
	return NULL;
}

static const struct err *
writer_recall_ids(struct store_writer *w)
{
	const struct manifest *m = &w->manifest;
	const struct err *e = NULL;

	for (uint32_t i = 0; i < m->n && e == NULL; i++) {
		writer_saw(w, m->files[i].until);
		if (m->files[i].kind == MANIFEST_IDS)
			e = writer_load_ids(w, m->files[i].name);
	}
	for (uint32_t i = 0; i < m->n && e == NULL; i++) {
		if (m->files[i].kind == MANIFEST_JOURNAL)
			e = writer_scan_journal(w, m->files[i].name);
	}
	return e;
}

/* Waits until there is work, and for what comes soon after the last: many
 * appends a second share a sync.  Mutex held. */
static void
writer_wait(struct store_writer *w, int64_t rest_until_ns)
{
	struct timespec until = {.tv_sec = rest_until_ns / NS_PER_S,
	    .tv_nsec = rest_until_ns % NS_PER_S};

	while (!w->stop && !w->kicked)
		pthread_cond_wait(&w->wake, &w->mutex);
	while (!w->stop && !w->urgent && pthread_cond_timedwait(&w->wake,
	    &w->mutex, &until) == 0)
		continue;
}

/* Are they the same but for numbers, as in names of files? */
static bool
writer_same_text(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	for (;; a++, b++) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b)
			return false;
		if (*a == '\0')
			return true;
	}
}

/* What fails again and again is said once, and how often when it ends. */
static void
writer_log(struct store_writer *w, const struct err *e)
{
	const char *text = e != NULL ? e->text : "";

	if (writer_same_text(text, w->logged)) {
		w->logged_again++;
		return;
	}
	if (w->logged[0] != '\0')
		log_err("store: that was so %" PRIu64 " times: %s",
		    w->logged_again + 1, w->logged);
	if (e != NULL)
		log_err("store: %s", e->text);
	else
		log_info("store: the work goes on");
	snprintf(w->logged, sizeof(w->logged), "%s", text);
	w->logged_again = 0;
}

static void *
writer_thread(void *arg)
{
	struct store_writer *w = arg;
	const struct err *e;
	int64_t began_ns = 0;

	pthread_mutex_lock(&w->mutex);
	for (;;) {
		writer_wait(w, began_ns + WORK_EVERY_NS);
		if (w->stop)
			break;
		began_ns = clock_mono_ns();
		w->kicked = w->urgent = false;
		pthread_mutex_unlock(&w->mutex);
		e = writer_work(w);
		writer_log(w, e);
		pthread_mutex_lock(&w->mutex);
		writer_say(w);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

/* Of the monotonic clock. */
static const struct err *
writer_init_wake(struct store_writer *w)
{
	pthread_condattr_t attr;
	int rc = pthread_condattr_init(&attr);

	if (rc == 0)
		rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (rc == 0)
		rc = pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
	errno = rc;
	return rc == 0 ? NULL : err_errno("a thread for the store");
}

static const struct err *
writer_start(struct store_writer *w)
{
	const struct err *e;

	writer_know_journals(w);
	writer_count_sealing(w);
	e = writer_make_spare(w, &w->spare);
	if (e != NULL || w->options.no_thread)
		return e;
	if (pthread_create(&w->thread, NULL, writer_thread, w) != 0)
		return err_errno("a thread for the store");
	w->threaded = true;
	return NULL;
}

const struct err *
store_writer_open(struct store_writer **out, const char *dir,
    const struct store_options *options)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	const struct err *e;

	*out = NULL;
	if (w == NULL)
		return err_nomem();
	w->dir = w->lock = w->current.fd = w->spare.fd = -1;
	w->options = *options;
	pthread_mutex_init(&w->mutex, NULL);
	e = writer_init_wake(w);
	w->path = strdup(dir);
	if (e == NULL)
		e = w->path == NULL ? err_nomem() : writer_lock_dir(w);
	if (e == NULL)
		e = writer_load_manifest(w);
	if (e == NULL)
		e = writer_recall_ids(w);
	if (e == NULL)
		e = writer_start(w);
	if (e == NULL) {
		writer_say(w);
		writer_beat(w);
	}
	if (e != NULL) {
		w->options.no_thread = true; /* nothing to wait for */
		w->stop = true;
		store_writer_close(w);
		return e;
	}
	*out = w;
	return NULL;
}

/* ---- its clock, its state, its end ---- */

const struct err *
store_tick(struct store_writer *w, int64_t now_ns)
{
	int64_t grace = w->options.slot_ns / 2;
	uint64_t due;

	pthread_mutex_lock(&w->mutex);
	w->now_ns = now_ns;
	calm_tick(&w->calm, w->options.slot_ns, now_ns,
	    clock_boot_ns(), (int64_t)w->newest * w->options.slot_ns);
	due = writer_slot(w, now_ns - grace);
	/* Without a spare one the next batch would have nowhere to go. */
	if (w->current.fd >= 0 && (w->spare.fd >= 0 || !w->threaded) &&
	    due >= w->current.first + writer_journal_slots(&w->current))
		writer_retire(w);
	w->kicked = true; /* also to try again what failed */
	pthread_cond_signal(&w->wake);
	writer_say(w);
	pthread_mutex_unlock(&w->mutex);
	return w->options.no_thread ? writer_work(w) : NULL;
}

void
writer_note(struct writer_trouble *t, const struct err *e)
{
	t->state = STORE_OK;
	t->why[0] = '\0';
	if (e == NULL)
		return;
	t->state = (e->domain == ERR_LIMIT && e->code == 507) ||
	        ((e->domain == ERR_ERRNO || e->domain == ERR_DB) &&
	            (e->code == ENOSPC || e->code == EDQUOT))
	    ? STORE_DISK_FULL
	    : STORE_FAILED;
	snprintf(t->why, sizeof(t->why), "%s", e->text);
}

void
store_writer_stats(struct store_writer *w, struct store_writer_stats *s)
{
	const struct writer_trouble *t;

	pthread_mutex_lock(&w->mutex);
	*s = w->stats;
	s->open_bytes = s->sealing_bytes;
	if (w->current.fd >= 0) {
		s->open_bytes += w->current.bytes;
		s->open_until_ns = (int64_t)writer_journal_end(w) *
		    w->options.slot_ns;
	}
	t = w->taking.state != STORE_OK ? &w->taking : &w->working;
	s->state = t->state;
	memcpy(s->why, t->why, sizeof(s->why));
	pthread_mutex_unlock(&w->mutex);
}

static void
writer_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

const struct err *
store_writer_close(struct store_writer *w)
{
	const struct err *e = NULL, *last;

	if (w == NULL)
		return NULL;
	if (w->threaded) {
		pthread_mutex_lock(&w->mutex);
		w->stop = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->mutex);
		pthread_join(w->thread, NULL);
	}
	if (w->threaded || !w->stop) {
		e = writer_work(w);
		open_index_drop(w->dir);
	}
	last = writer_sync(w);
	writer_forget(&w->current);
	writer_forget(&w->spare);
	while (w->n_retired > 0)
		writer_forget(&w->retired[--w->n_retired]);
	writer_close_fd(&w->dir);
	writer_close_fd(&w->lock);
	manifest_fini(&w->manifest);
	ids_fini(&w->ids);
	stock_count_fini(&w->observed);
	journal_dict_fini(&w->dict);
	unwatched_free(w->sweep.unwatched);
	unwatched_free(w->unwatched_told);
	buf_fini(&w->record);
	pthread_mutex_destroy(&w->mutex);
	pthread_cond_destroy(&w->wake);
	free(w->path);
	free(w);
	return e != NULL ? e : last;
}
