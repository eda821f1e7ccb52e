/*
 * From a descriptor to stacks, in pieces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define PIECE (1u << 20)

struct foreign_input {
	gzFile file; /* passes through what is not packed */
	struct buf buf;
	size_t limit;
	bool end;
};

/* Appends a piece; `end` where there is no more. */
static const struct err *
input_more(struct foreign_input *in)
{
	const char *why;
	int n, code;

	if (in->buf.len >= in->limit)
		return err_new(ERR_REQUEST, 413, "larger than %zu bytes in one "
		    "piece", in->limit);
	if (!buf_reserve(&in->buf, PIECE))
		return err_nomem();
	n = gzread(in->file, in->buf.data + in->buf.len, PIECE);
	if (n < 0) {
		why = gzerror(in->file, &code);
		return code == Z_ERRNO ? err_errno("the input")
		    : err_new(ERR_REQUEST, 422, "gzip: %s", why);
	}
	in->buf.len += (size_t)n;
	in->end = n == 0;
	return NULL;
}

/* Enough for a guess, or everything. */
static const struct err *
input_begin(struct foreign_input *in)
{
	const struct err *e = NULL;

	while (e == NULL && !in->end && in->buf.len < FOREIGN_LOOK)
		e = input_more(in);
	return e;
}

static const struct err *
input_whole(struct foreign_input *in, struct stacks *s,
    const struct foreign *f)
{
	const struct err *e = NULL;

	while (e == NULL && !in->end)
		e = input_more(in);
	return e != NULL ? e : foreign_take(f, s, in->buf.data, in->buf.len,
	    NULL);
}

static const struct err *
input_stream(struct foreign_input *in, struct stacks *s,
    const struct foreign_stream *stream)
{
	void *state = stream->begin(s);
	const struct err *e = NULL, *last;

	if (state == NULL)
		return err_nomem();
	while (e == NULL && stacks_error(s) == NULL) {
		size_t used = stream->feed(state, (const char *)in->buf.data,
		    in->buf.len, in->end);

		if (in->end)
			break;
		memmove(in->buf.data, in->buf.data + used,
		    in->buf.len - used);
		in->buf.len -= used;
		e = input_more(in);
	}
	last = stream->finish(state);
	return e != NULL ? e : last;
}

const struct err *
foreign_read(struct stacks *s, const char *name, int fd, size_t limit)
{
	struct foreign_input in = {.limit = limit};
	const struct foreign *f;
	const struct err *e;
	int own = dup(fd);

	if (own < 0)
		return err_errno("the input");
	in.file = gzdopen(own, "rb");
	if (in.file == NULL) {
		close(own);
		return err_nomem();
	}
	gzbuffer(in.file, 1u << 17);
	e = input_begin(&in);
	if (e == NULL)
		e = foreign_choose(&f, name, in.buf.data, in.buf.len);
	if (e == NULL && f->stream != NULL)
		e = input_stream(&in, s, f->stream);
	else if (e == NULL)
		e = input_whole(&in, s, f);
	if (e == NULL)
		e = stacks_error(s);
	gzclose_r(in.file);
	buf_fini(&in.buf);
	return e;
}
