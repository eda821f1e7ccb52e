/*
 * Inside the scan of a record: open_skim.c, and open_skim_names.c for its
 * names.
 */
#ifndef STORE_OPEN_SKIM_H
#define STORE_OPEN_SKIM_H

#include "store/batch/frame_code.h"
#include "store/journal/openspan.h"

struct skim {
	struct openspan *o;
	struct open_dict *d;
	const uint8_t *start; /* of the record, or of a part of it: */
	uint32_t base;        /* which begins here */
	uint32_t record;
	bool plain;           /* self-contained: the version before */
	bool later;           /* of a journal: frames and nodes are read when
	                       * somebody asks for them */
	struct frame_code frames_before; /* of a file's dictionary */
	struct batch_first first;
	size_t strings, frames, labels, nodes, series; /* ends of numbers */
	struct buf text;
	uint16_t *depths;
};

static inline uint32_t
skim_at(const struct skim *k, const struct cur *c)
{
	return k->base + (uint32_t)(c->p - k->start);
}

/* The count that begins a section, each element of at least so many bytes. */
static inline size_t
skim_count(struct cur *c, size_t least)
{
	uint64_t n = cur_varint(c);

	if (n > cur_left(c) / least)
		c->bad = true;
	return c->bad ? 0 : (size_t)n;
}

/* A section of names.  False: out of memory. */
bool skim_names(struct skim *k, struct cur *c, enum open_kind kind);

#endif
