/*
 * A record goes out in one write(2); what did not fit is cut off again, so that
 * a full disk leaves a file that replay reads to its end.
 */
#include "collector/ipc/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/batch/batch.h"

struct record {
	int fd;
	off_t end; /* of the last whole record */
	uint64_t lost;
	struct buf bytes;
};

const struct err *
record_open(struct record **out, const char *path)
{
	struct record *r = calloc(1, sizeof(*r));
	const struct err *e;

	if (r == NULL)
		return err_nomem();
	r->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (r->fd < 0 || (r->end = lseek(r->fd, 0, SEEK_END)) < 0) {
		e = err_errno("%s", path);
		record_close(r);
		return e;
	}
	*out = r;
	return NULL;
}

const struct err *
record_write(struct record *r, struct batch *b)
{
	const struct err *e;
	ssize_t n;

	buf_clear(&r->bytes);
	if ((e = batch_encode(b, &r->bytes)) != NULL)
		return e;
	n = write(r->fd, r->bytes.data, r->bytes.len);
	if (n == (ssize_t)r->bytes.len) {
		r->end += n;
		return NULL;
	}
	r->lost++;
	if (n >= 0)
		errno = ENOSPC;
	e = err_errno("recording");
	if (n > 0 && ftruncate(r->fd, r->end) != 0)
		r->end += n; /* replay finds the next record by its magic */
	return e;
}

uint64_t
record_lost(const struct record *r)
{
	return r == NULL ? 0 : r->lost;
}

void
record_close(struct record *r)
{
	if (r == NULL)
		return;
	if (r->fd >= 0)
		close(r->fd);
	buf_fini(&r->bytes);
	free(r);
}
