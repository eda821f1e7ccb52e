/*
 * The formats that others write: a table with a name for each, a guess by
 * the first bytes, and one way in.  gzip around any of them is taken off.
 *
 * A format is its own module with NAME_parse(); a row of the table makes it
 * known to `memlens import`, `memlens collapse`, `memlens flamegraph` and
 * /ingest.
 */
#ifndef FCGI_FORMAT_FOREIGN_H
#define FCGI_FORMAT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stacks;
struct stacks_type;

/* Of a format whose text can be parsed piece by piece. */
struct foreign_stream {
	void *(*begin)(struct stacks *s); /* NULL: out of memory */
	/* takes whole records of [p, p + n), all of it if `last`; returns how
	 * many bytes that were; the rest comes again with more behind it */
	size_t (*feed)(void *state, const char *p, size_t n, bool last);
	const struct err *(*finish)(void *state); /* frees it */
};

struct foreign {
	const char *name; /* "folded" */
	const char *what; /* it is, in a few words */
	/* the first bytes, not packed, all there are or at least
	 * FOREIGN_LOOK; NULL: only by name, nothing tells it from others */
	bool (*looks)(const char *p, size_t n);
	/* One of both.  Errors: ERR_REQUEST 422 or ERR_FORMAT with the place,
	 * and those of stacks.  `typed` is of what does not say itself what it
	 * counts: `type` NULL is folded_samples. */
	const struct err *(*parse)(struct stacks *s, const void *data,
	    size_t n);
	const struct err *(*typed)(struct stacks *s, const void *data,
	    size_t n, const struct stacks_type *type);
	const struct foreign_stream *stream; /* NULL: only as a whole */
	const char *also[2];      /* how Pyroscope's agents call it */
	const char *content_type; /* that says it; NULL: none */
	bool sure; /* those first bytes are no other's, whoever sends them */
	bool pair; /* two profiles: to be compared, not to be kept */
};

#define FOREIGN_LOOK 65536

extern const struct foreign foreign_formats[];
extern const size_t foreign_n_formats;

/* NULL when there is none of that name, ours or Pyroscope's. */
const struct foreign *foreign_find(const char *name);
/* That of a request's content type, or NULL. */
const struct foreign *foreign_of_content(const char *content_type);
/* The first format that looks so, or NULL. */
const struct foreign *foreign_guess(const void *data, size_t n);

/* One of both; ERR_REQUEST 422 where there is none. */
const struct err *foreign_choose(const struct foreign **out, const char *name,
    const void *data, size_t n);

/* ERR_REQUEST 422 for a format that is no single profile. */
const struct err *foreign_single(const struct foreign *f);

/* Adds what is not packed and of a format that is read; a `type` for one that
 * says itself what it counts has no meaning. */
const struct err *foreign_take(const struct foreign *f, struct stacks *s,
    const void *data, size_t n, const struct stacks_type *type);

/*
 * Adds what `data` holds, packed or not, to stacks.  `name` NULL: guess.
 * At most `limit` bytes are unpacked.  Errors: ERR_REQUEST 422 for a format
 * that is unknown, cannot be guessed or is a pair; those of gzip_inflate()
 * and parse.
 */
const struct err *foreign_parse(struct stacks *s, const char *name,
    const void *data, size_t n, size_t limit);

/*
 * The same from a descriptor, to its end: in pieces where the format allows
 * it, so that a file may be larger than memory.  The descriptor stays open.
 * For tools: it blocks, and takes pairs.
 */
const struct err *foreign_read(struct stacks *s, const char *name, int fd,
    size_t limit);

#endif
