/*
 * Inside sealing: what seal.c (the file), seal_input.c (what the sources
 * hold), seal_merge.c (their dictionaries) and seal_levels.c (blocks and
 * their parents) share.
 */
#ifndef STORE_SEAL_PRIVATE_H
#define STORE_SEAL_PRIVATE_H

#include "store/file/dbfile.h"
#include "store/file/lives.h"
#include "store/file/segtree.h"
#include "store/file/series_index.h"
#include "store/seal/seal.h"
#include "store/seal/seal_dict.h"
#include "store/seal/seal_sieve.h"

/* The block of one level that is being added up. */
struct accumulator {
	struct block b;
	bool open;
	int128 *values;  /* dense, by stack or bucket; NULL until needed */
	uint64_t *dirty; /* bitmap of non-zero values */
	struct strip_writer strip;
	struct buf held; /* finished strips: be64 last, be32 size, bytes */
};

enum seal_table { SEAL_STRINGS, SEAL_FRAMES, SEAL_LABELS, SEAL_SERIES };
#define SEAL_TABLES 4

/* From a file's numbers to those of the new one; INTERN_NONE: not needed. */
struct seal_names {
	uint32_t *map[SEAL_TABLES], n[SEAL_TABLES];
	uint8_t *nodes; /* needed? */
};

/* A source with its numbers translated to those of the new file. */
struct seal_input {
	const struct seal_source *source;
	struct seal_names to;   /* file */
	struct seal_sieve sieve;/* what a purge takes out of the file */
	uint32_t *stacks;       /* file's stack number -> new one */
	uint32_t *series;       /* new series -> file's, or INTERN_NONE */
	uint32_t *order;        /* memory: blocks by (series, slot) */
	size_t next, n_order;   /* position in order */
	struct block block;     /* memory: at */
	const struct block *at; /* next leaf of the present series, or NULL */
	uint32_t at_series;     /* file's number of that series */
};

struct seal {
	const struct sealed_meta *meta;
	uint32_t levels; /* that the file has */
	struct seal_dict dict;
	struct seal_input *inputs;
	size_t n_inputs;
	struct accumulator level[SEG_MAX_LEVEL + 1];
	size_t n_keys; /* size of the dense arrays */
	struct dbfile *db;
	struct sealed_writer writer;
	struct series_index index; /* to make of the lives of series */
	struct lives lives;        /* those of services; or empty */
	struct buf key, bytes, entries;
	struct seal_result *result;
};

/* seal_merge.c: the dictionary of files alone, their stacks' and series'
 * numbers in it. */
const struct err *seal_merge(struct seal *s);
void seal_names_fini(struct seal_names *names);

/* seal_input.c: does a source give what it has of a slot?  And the dictionary
 * of all sources, and their numbers in it. */
bool seal_in_range(const struct seal_source *s, uint64_t slot);
const struct err *seal_prepare_inputs(struct seal *s);
void seal_input_fini(struct seal_input *in);
/* Sets in->at to the first leaf of the present series at `slot` or later. */
const struct err *seal_advance(struct seal *s, struct seal_input *in,
    uint32_t series, uint64_t slot);

/* seal_levels.c: all blocks of a series, from the leaves upwards. */
const struct err *seal_series(struct seal *s, uint32_t series);
void seal_levels_fini(struct seal *s);

#endif
