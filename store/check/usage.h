/*
 * What the bytes of a store are: by level, by series, and what stands beside
 * the blocks.  Reads every sealed file; changes nothing.
 */
#ifndef STORE_USAGE_H
#define STORE_USAGE_H

#include "store/base/buf.h"
#include "store/base/intern.h"
#include "store/file/segtree.h"
#include "store/model/series.h"

struct err;

struct usage_part {
	uint64_t blocks, bytes; /* keys and values, without the pages' own */
};

struct usage {
	struct usage_part levels[SEG_MAX_LEVEL + 1];
	struct intern names;        /* series as text, in order of sight */
	struct usage_part *series; /* names.n of them */
	uint64_t dictionary;        /* bytes of dictionaries and stack lists */
	uint64_t pages;             /* of sealed files beside all that */
	uint64_t journals, ids;     /* bytes */
	uint64_t sealed;            /* bytes of span, late, summary files */
	uint64_t damaged;           /* files that could not be read */
};

/* Told how far it is, 0 to 1. */
typedef void usage_fn(void *arg, double share);

/* Fills *c, which the caller gives to usage_fini(), also after an error.  A
 * file that the writer replaces meanwhile is left out. */
const struct err *store_usage(const char *dir, usage_fn *fn, void *arg,
    struct usage *c);
void usage_fini(struct usage *c);

#endif
