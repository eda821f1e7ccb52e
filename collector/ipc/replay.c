/*
 * A damaged record costs itself alone: behind it the next place where a record
 * is whole is looked for.
 */
#include "collector/ipc/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/batch/batch.h"

struct replay {
	FILE *file;
	struct buf bytes;
	uint64_t damaged;
};

const struct err *
replay_open(struct replay **out, const char *path)
{
	struct replay *r = calloc(1, sizeof(*r));
	const struct err *e;

	if (r == NULL)
		return err_nomem();
	r->file = fopen(path, "re");
	if (r->file == NULL) {
		e = err_errno("%s", path);
		free(r);
		return e;
	}
	*out = r;
	return NULL;
}

/* Moves to the next place, from `at`, that a record could begin at; false at
 * the end of the file. */
static bool
replay_seek(struct replay *r, long at)
{
	static const char magic[] = "MLB1";
	size_t matched = 0;
	int c;

	if (fseek(r->file, at, SEEK_SET) != 0)
		return false;
	while ((c = getc(r->file)) != EOF) {
		matched = c == magic[matched] ? matched + 1 : c == magic[0];
		if (matched == 4)
			return fseek(r->file, -4, SEEK_CUR) == 0;
	}
	return false;
}

/* Reads one record into bytes; false at its end or when it is damaged. */
static bool
replay_read(struct replay *r)
{
	size_t n;

	buf_clear(&r->bytes);
	if (!buf_reserve(&r->bytes, BATCH_RECORD_HEADER) ||
	    fread(r->bytes.data, 1, BATCH_RECORD_HEADER, r->file) !=
	        BATCH_RECORD_HEADER ||
	    batch_record_header(r->bytes.data, &n) != NULL ||
	    n > BATCH_MAX_BYTES)
		return false;
	r->bytes.len = BATCH_RECORD_HEADER;
	if (!buf_reserve(&r->bytes, n) ||
	    fread(r->bytes.data + r->bytes.len, 1, n, r->file) != n)
		return false;
	r->bytes.len += n;
	return true;
}

const struct err *
replay_next(struct replay *r, struct batch **out)
{
	const struct err *e;
	long at;

	*out = NULL;
	for (;;) {
		if ((at = ftell(r->file)) < 0)
			return err_errno("a recording must be a file");
		if (replay_read(r)) {
			e = batch_decode(r->bytes.data, r->bytes.len, out);
			if (e == NULL)
				return NULL;
			r->damaged++;
			continue; /* its length was right: go on behind it */
		}
		if (ferror(r->file))
			return err_errno("recording");
		if (r->bytes.failed)
			return err_nomem();
		fseek(r->file, at, SEEK_SET);
		if (getc(r->file) == EOF)
			return NULL;
		r->damaged++;
		if (!replay_seek(r, at + 1))
			return NULL;
	}
}

int64_t
replay_time_ns(const struct batch *b)
{
	int64_t time_ns = 0;

	for (size_t i = 0; i < b->n_blocks; i++) {
		int64_t end = (int64_t)((b->blocks[i].slot + 1) * b->slot_ns);

		if (end > time_ns)
			time_ns = end;
	}
	for (size_t i = 0; i < b->n_facts && b->n_blocks == 0; i++) {
		if (b->facts[i].time_ns > time_ns)
			time_ns = b->facts[i].time_ns;
	}
	return time_ns;
}

uint64_t
replay_damaged(const struct replay *r)
{
	return r->damaged;
}

void
replay_close(struct replay *r)
{
	if (r == NULL)
		return;
	fclose(r->file);
	buf_fini(&r->bytes);
	free(r);
}
