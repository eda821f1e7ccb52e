/*
 * Which services there are, and which types of profiles each of them has: of
 * each file only numbers, so that a list over many files is made without their
 * names.
 *
 *	file    -> services, pairs        by the file's index of series
 *	pair    -> service, type
 *	type    -> kind, name, unit; how it is shown
 *
 * All numbers are the reader's, until store_forget().
 */
#ifndef STORE_ROSTER_H
#define STORE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/intern.h"
#include "store/file/lives.h"
#include "store/file/series_index.h"

struct err;
struct reader_file;
struct store;

struct roster_type {
	uint32_t kind, name, unit; /* strings */
};

struct roster_pair {
	uint32_t service, type;
	uint32_t next; /* of the same service, or INTERN_NONE */
};

/* All zero when empty. */
struct roster {
	struct intern services, strings;
	struct intern types;    /* struct roster_type */
	uint32_t *shown;        /* by type: string */
	uint32_t *ranks;        /* by type: its place in the order of lists */
	struct map64 known;     /* (service, type) -> pair */
	struct roster_pair *pairs;
	uint32_t *firsts;       /* by service: pair, or INTERN_NONE */
	uint32_t *order;        /* services by their names */
	uint32_t n_pairs, cap_pairs, n_shown, cap_shown, n_ranks, cap_ranks,
	    n_firsts, cap_firsts, n_order, cap_order;
};

/* What a file has.  Profiles of service i of its index are those from
 * ends[i - 1] to ends[i]. */
struct roster_file {
	uint32_t *services; /* by number of the index; 0 is of none */
	uint32_t *ends;     /* the same */
	uint32_t *pairs;    /* by profile; INTERN_NONE: it has no service */
	uint32_t n, n_pairs, cap_pairs;
	struct lives lives; /* .n 0: not known; never of a summary, */
	bool asked;         /* once roster_take_lives() was called */
};

void roster_fini(struct roster *r);
size_t roster_bytes(const struct roster *r);
void roster_file_free(struct roster_file *x); /* NULL is fine */
size_t roster_file_bytes(const struct roster_file *x);

/* Numbers, new or old; INTERN_NONE: out of memory. */
uint32_t roster_service(struct roster *r, const void *name, size_t n);
uint32_t roster_type(struct roster *r, enum series_kind kind,
    struct index_text name, struct index_text unit);
uint32_t roster_pair(struct roster *r, uint32_t service, uint32_t type);

/* All services and types have their places in the orders: services by their
 * names, types as their series.  False: out of memory. */
bool roster_sort(struct roster *r);

/* Takes up an open file, f->roster, if it is not.  Errors are the file's. */
const struct err *roster_take(struct store *s, struct reader_file *f);
/* The same, and when its services lived, if it tells that. */
const struct err *roster_take_lives(struct store *s, struct reader_file *f);

/* Where lives are known, blocks of their level: the newest in [from, until) of
 * service i of the index, and of profile k; UINT32_MAX: none. */
static inline uint32_t
roster_newest(const struct roster_file *x, uint32_t i, uint32_t from,
    uint32_t until)
{
	return lives_newest(&x->lives, i + (i > 0 ? x->ends[i - 1] : 0), from,
	    until);
}

static inline uint32_t
roster_newest_profile(const struct roster_file *x, uint32_t i, uint32_t k,
    uint32_t from, uint32_t until)
{
	return lives_newest(&x->lives, i + 1 + k, from, until);
}

/* The block of a slot. */
static inline uint32_t
roster_block(const struct roster_file *x, uint64_t slot)
{
	uint64_t block = slot / seg_slots(x->lives.level);

	return block < UINT32_MAX ? (uint32_t)block : UINT32_MAX;
}

/* The same rounded up. */
static inline uint32_t
roster_block_end(const struct roster_file *x, uint64_t slot)
{
	return roster_block(x, slot + seg_slots(x->lives.level) - 1);
}

#endif
