/*
 * What pprof.c (types, functions, locations) and pprof_samples.c share while
 * a profile is read.
 */
#ifndef FCGI_FORMAT_PPROF_PRIVATE_H
#define FCGI_FORMAT_PPROF_PRIVATE_H

#include "fcgi/format/arena.h"
#include "fcgi/format/pprof/pprof.h"
#include "pprof.pb-c.h"
#include "store/base/buf.h"
#include "store/base/intern.h"

#define PPROF_COLUMNS_MAX STACKS_TYPES_MAX

/* Ids to positions: most writers count from 1. */
struct pprof_ids {
	struct map64 map;
	size_t n;
	bool dense;
};

/* The frames of a location, root first: frames[first...]. */
struct pprof_place {
	uint32_t first, n;
};

/* A location of a stack, and the node that it led to. */
struct pprof_step {
	uint64_t id;
	uint32_t node;
};

/* A function and a frame that it has become. */
struct pprof_named {
	uint32_t function, frame;
};

struct pprof_reader {
	struct stacks *s;
	const Pprof__Profile *p; /* without its samples */
	const struct pprof_options *o;
	struct arena arena;
	struct pprof_ids mappings, functions, locations;
	struct pprof_place *places;
	uint32_t *frames;
	int64_t *seen;  /* by function: the first line of it; 0: none */
	uint32_t *last; /* by function: its last frame, + 1 */
	struct pprof_named *named;
	size_t n_named;
	uint32_t types[PPROF_COLUMNS_MAX]; /* of the stacks */
	int64_t periods[PPROF_COLUMNS_MAX]; /* values are divided by them */
	int64_t factors[PPROF_COLUMNS_MAX]; /* and multiplied by these */
	uint64_t numeric, requests, unnamed; /* left out */
	/* the last stack, root first: what it shares with the next need not
	 * be sought */
	struct pprof_step *path;
	size_t n_path, cap_path;
	uint32_t last_top;
	/* the samples: where they stand, and what was read of each */
	struct cur all, wire; /* what there is, and what is not read yet */
	size_t n_samples;
	uint32_t *nodes;
	int64_t *values; /* n_sample_type of each */
};

/* ERR_REQUEST 422: "sample 3: a negative value". */
const struct err *pprof_bad(const char *what, size_t i, const char *why);
/* The same: which byte does not fit. */
const struct err *pprof_damaged(const struct pprof_reader *r);
/* Of n items, or one; NULL: pprof_full() says why. */
void *pprof_alloc(struct pprof_reader *r, size_t n, size_t size);
const struct err *pprof_full(const struct pprof_reader *r);

static inline uint32_t
pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	if (ids->dense)
		return id - 1 < ids->n ? (uint32_t)(id - 1) : INTERN_NONE;
	return map64_get(&ids->map, id);
}

/*
 * Is a period (ns) one that somebody chose: whole Hz or whole milliseconds?
 * Others are measured (V8's agent does so), new with each profile, and each
 * would make a series of its own.
 */
bool pprof_is_steady(int64_t period);

/* A text of the string table. */
const struct err *pprof_str(const struct pprof_reader *r, int64_t i,
    const char **text);

/*
 * Where functions were written: room for those of so many lines, each line as
 * it is read, and at the end all places into the stacks.  Errors: as
 * pprof_parse().
 */
const struct err *pprof_places_begin(struct pprof_reader *r, size_t lines);
void pprof_places_see(struct pprof_reader *r, uint32_t function,
    uint32_t frame, int64_t line);
const struct err *pprof_places_end(struct pprof_reader *r);

/*
 * Counts the samples of a profile and copies all else into `rest`, for
 * protobuf-c: unpacked at once, samples are many times their bytes.  False
 * where the bytes are no message.
 */
bool pprof_split(struct pprof_reader *r, const void *data, size_t n,
    struct buf *rest);

/* Reads the samples into stacks and values, one after the other.  Errors:
 * as pprof_parse(). */
const struct err *pprof_samples(struct pprof_reader *r);

#endif
