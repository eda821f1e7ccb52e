/*
 * One growing table of symbols: strings, frames, label sets, series and the
 * call tree, filled from the dictionaries of batches and files.  A worker
 * has one for all that it reads; sealing has one for each file it makes.
 *
 * A dictionary is a struct batch of which only the tables are used.
 */
#ifndef STORE_SYMTAB_H
#define STORE_SYMTAB_H

#include "store/base/intern.h"
#include "store/batch/batch.h"

struct err;

/* Keys of the interned tables.  No padding. */
struct sym_frame {
	uint64_t offset;
	uint32_t kind, name, module, build_id;
};

struct sym_series {
	int64_t period;
	uint32_t kind, scale, name, unit, labels;
	uint32_t shown; /* another name, type_name(); 0: the name itself */
};

struct sym_node {
	uint32_t parent, edge; /* as in struct batch_node */
};

struct symtab {
	struct intern strings;
	struct intern frames; /* struct sym_frame */
	struct intern labels; /* uint32_t pairs: name, value */
	struct intern series; /* struct sym_series */
	struct sym_node *nodes;
	uint64_t *hashes; /* node -> of its whole stack's bytes, stable for
	                   * ever, of the first n_hashed */
	uint32_t n_nodes, cap_nodes, n_hashed, cap_hashes;
	struct map64 node_map;
	uint32_t indexed;   /* nodes that are found */
	bool shown;         /* series get the name that they are shown with */
	bool roots;         /* of a call tree only the root is known, a label
	                     * set, and stands for all of it */
};

/* From the numbers of a dictionary to those of the table. */
struct symtab_map {
	uint32_t *strings, *frames, *labels, *nodes, *series;
};

/* A reader's; and one of who seals, who shows nothing to anybody. */
const struct err *symtab_init(struct symtab *t);
const struct err *symtab_init_unshown(struct symtab *t);
void symtab_fini(struct symtab *t);
/* Nothing will be put for now: gives back the memory that only finds what is
 * there, which is made anew where that was wrong.  The second keeps what finds
 * strings and series, for who looks for those. */
void symtab_rest(struct symtab *t);
void symtab_rest_stacks(struct symtab *t);

/* Adds all of a dictionary; fills *map (symtab_map_fini() it). */
const struct err *symtab_add(struct symtab *t, const struct batch *dict,
    struct symtab_map *map);
void symtab_map_fini(struct symtab_map *map);

/* One node, new or old; INTERN_NONE when out of memory.  Other symbols are
 * put into their tables with intern_put(). */
uint32_t symtab_put_node(struct symtab *t, uint32_t parent, uint32_t edge);
/* The same where it is known to be new; symtab_put_node() finds it. */
uint32_t symtab_push_node(struct symtab *t, uint32_t parent, uint32_t edge);

/* The hashes of all nodes are there. */
const struct err *symtab_hash_nodes(struct symtab *t);

/* A series, new or old, whose strings and labels are there; readers give it
 * the name that it is shown with, sealing leaves it as it is.  INTERN_NONE
 * when out of memory. */
uint32_t symtab_put_series(struct symtab *t, struct sym_series key);

/* An estimate of the memory in use. */
size_t symtab_bytes(const struct symtab *t);

static inline const struct sym_frame *
symtab_frame(const struct symtab *t, uint32_t frame)
{
	return intern_at(&t->frames, frame);
}

static inline const struct sym_series *
symtab_series(const struct symtab *t, uint32_t series)
{
	return intern_at(&t->series, series);
}

/* Number of pairs of a label set. */
static inline size_t
symtab_n_labels(const struct symtab *t, uint32_t set)
{
	return t->labels.items[set].len / (2 * sizeof(uint32_t));
}

/* Fills labels[] (room for n_room) of a set; returns how many. */
size_t symtab_labels(const struct symtab *t, uint32_t set,
    struct label *labels, size_t n_room);

/* Fills *d; labels[] has room for n_room; strings live until the next
 * symtab_add(). */
void symtab_desc(const struct symtab *t, uint32_t series,
    struct series_desc *d, struct label *labels, size_t n_room);

/* A hash of the descriptor's bytes; stable for ever. */
uint64_t symtab_series_hash(const struct symtab *t, uint32_t series);

/* Orders by what people read: frames by (name, kind, module, build id,
 * offset), label sets by their pairs, series by all their parts. */
int symtab_compare_frames(const struct symtab *t, uint32_t a, uint32_t b);
int symtab_compare_labels(const struct symtab *t, uint32_t a, uint32_t b);
int symtab_compare_series(const struct symtab *t, uint32_t a, uint32_t b);

#endif
