/*
 * The index beside the present journal (open_index.h), made as a reader makes
 * it: from what the last one has, and what was written since.  Nothing of it
 * stays in memory.  It comes when it is worth it: what a reader scans behind it
 * is little, or a small part of the journal.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/journal/open_index.h"
#include "store/write/work.h"

#define INDEX_LEAST (128u << 10) /* bytes that are new, */
#define INDEX_PART 8             /* and this part of the journal */

static bool
index_is_due(struct store_writer *w, char *journal)
{
	uint64_t bytes, before;
	bool due;

	pthread_mutex_lock(&w->mutex);
	snprintf(journal, MANIFEST_NAME, "%s", w->current.name);
	bytes = w->current.fd >= 0 ? w->current.bytes : 0;
	pthread_mutex_unlock(&w->mutex);
	if (strcmp(w->indexed, journal) != 0)
		w->indexed_bytes = 0;
	before = w->indexed_bytes;
	due = bytes >= before + INDEX_LEAST &&
	    bytes >= before + before / INDEX_PART;
	if (due) {
		snprintf(w->indexed, sizeof(w->indexed), "%s", journal);
		w->indexed_bytes = bytes;
	}
	return due;
}

/* Of an opened journal; false: there is none. */
static bool
index_make(struct store_writer *w, const struct open_index *x)
{
	bool empty;
	const struct err *e = journal_first(x->reader->fd, x->journal,
	    &x->gaps->first, &empty);

	if (e != NULL || empty)
		return false;
	gaps_begin(x->gaps, x->gaps->first);
	open_index_load(w->dir, x);
	return open_index_follow(x) == NULL && open_index_save(w->dir, x);
}

void
work_index(struct store_writer *w)
{
	char journal[MANIFEST_NAME];
	struct journal_reader r = {.journal = true};
	struct openspan o = {0};
	struct gaps gaps = {0};
	const struct open_index x = {journal, &r, &gaps, &o};

	if (!index_is_due(w, journal) || writer_check_space(w) != NULL)
		return;
	r.fd = o.pages.fd = journal_open(w->dir, journal);
	if (r.fd < 0 || !index_make(w, &x))
		open_index_drop(w->dir);
	openspan_fini(&o);
	journal_reader_fini(&r);
	if (r.fd >= 0)
		close(r.fd);
}
