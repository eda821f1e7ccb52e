/*
 * Which series a sealed file has, by service: who asks for one service's takes
 * a list of those up, and no name of another's.  The bytes are format.h's
 * `series`; of files without them, which are small or old, they are made of
 * the dictionary when it is read.
 *
 *	services, sorted -> their profiles, their metrics
 *	a series of a list -> number, head, values of labels
 *	head -> kind, name, unit, ..., names of labels
 */
#ifndef STORE_SERIES_INDEX_H
#define STORE_SERIES_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/batch/batch.h"

struct err;
struct symtab;

/* Lists of one service; a histogram is a metric here. */
enum index_list { INDEX_PROFILES, INDEX_METRICS, INDEX_LISTS };

/* What many series have in common. */
struct index_head {
	uint32_t kind, scale;
	int64_t period;
	uint32_t at;      /* of its names, in the bytes */
	uint32_t n;       /* labels, */
	uint32_t service; /* which of them is the service; n: none */
	uint32_t first;   /* names of all heads before it, two more each */
};

struct index_service {
	uint32_t at;             /* of its name, in the bytes */
	uint32_t lists[INDEX_LISTS]; /* where they begin, after the head */
};

/* All zero when empty. */
struct series_index {
	struct buf bytes; /* the stream's head; of what was made, all of it */
	struct index_head *heads;
	struct index_service *services; /* the first: of series without one;
	                                 * one more for the end of the last */
	uint32_t n_heads, n_services;
	uint32_t n, n_stacks; /* series and stacks of the file */
	uint32_t n_names;     /* of all heads: name, unit, labels */
	uint32_t fact_kinds; /* bit k: the file has facts of kind k */
	uint32_t head;       /* bytes before the lists */
	bool whole;          /* `bytes` has the lists, too */
};

void series_index_fini(struct series_index *x);
size_t series_index_bytes(const struct series_index *x);

/* Appends the stream of a dictionary with so many stacks; of a table of series
 * alone, of a file with facts of these kinds. */
const struct err *series_index_make(const struct batch *dict,
    uint32_t n_stacks, struct buf *out);
const struct err *series_index_make_of(const struct symtab *t,
    uint32_t fact_kinds, uint32_t n_stacks, struct buf *out);

/* How many bytes the head has that these begin; 0: they are too few, or none
 * of a head. */
uint32_t series_index_head(const void *p, size_t n);
/* Takes up x->bytes, `whole` or the head alone.  ERR_FORMAT: they are
 * malformed, and x is empty. */
const struct err *series_index_open(struct series_index *x);

/* The number of a service, or INTERN_NONE; its name, n bytes. */
uint32_t series_index_find(const struct series_index *x, const void *name,
    size_t n);
const uint8_t *series_index_service(const struct series_index *x,
    uint32_t service, size_t *n);
/* Where in the stream services [from, until) have lists of one sort: they are
 * in a row. */
uint64_t series_index_at(const struct series_index *x, uint32_t from,
    uint32_t until, enum index_list list, size_t *size);

/* A part of a text, not ended by a NUL. */
struct index_text {
	const uint8_t *p;
	size_t n;
};

/* Name, unit and names of labels of a head, its n + 2. */
void series_index_names(const struct series_index *x, uint32_t head,
    struct index_text *names);

/* The next series of a service's list; s->number is that before it, or
 * INTERN_NONE.  False at the end, and where it is malformed (c->bad).  Values
 * are those of its head's labels, but that of the service. */
struct index_series {
	uint32_t number, head;
	struct index_text values[BATCH_MAX_LABELS];
};
bool series_index_next(const struct series_index *x, struct cur *c,
    struct index_series *s);

#endif
