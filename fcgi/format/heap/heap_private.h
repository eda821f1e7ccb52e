/*
 * What the readers of heap dumps share: lines, addresses of one file, and
 * the scaling of samples.
 */
#ifndef FCGI_FORMAT_HEAP_PRIVATE_H
#define FCGI_FORMAT_HEAP_PRIVATE_H

#include "fcgi/format/heap/heap.h"

struct heap_map {
	uint64_t start, end, offset;
	uint32_t module;
};

/* A file while it is read: its addresses are numbered as they come, and
 * become places in modules at the end, where the maps are. */
struct heap_reader {
	struct heap *h;
	const char *p, *end; /* what is left */
	uint64_t line;       /* of what was last taken, from 1 */
	double sign;
	unsigned algorithm;  /* of sampling: 0, 1 or 2 */
	double rate;         /* bytes a sample */
	uint64_t *pcs;
	uint32_t *numbers; /* table of pcs by value; + 1 */
	unsigned number_bits;
	uint32_t n_pcs, cap_pcs;
	uint32_t stack_first, stack_n; /* being read */
	uint32_t first_place, first_stack; /* of this file */
	struct heap_map *maps;
	uint32_t n_maps, cap_maps;
	struct map64 symbols; /* address -> string */
	const struct err *e;
};

struct heap_line {
	const char *p, *end; /* without blanks around it */
};

void heap_reader_init(struct heap_reader *r, struct heap *h,
    const void *data, size_t n, double sign);
void heap_reader_fini(struct heap_reader *r);

bool heap_line_next(struct heap_reader *r, struct heap_line *l);
bool heap_line_begins(const struct heap_line *l, const char *text);
/* Decimal digits, at least one, below 2^64. */
bool heap_take_number(struct heap_line *l, uint64_t *v);
/* `text`, with blanks before it. */
bool heap_take(struct heap_line *l, const char *text);
/* n: b [n: b], as objects and bytes in use, then allocated. */
bool heap_take_counts(struct heap_line *l, uint64_t counts[4]);
/* The dump says how many bytes lie between two samples. */
void heap_says_mean(struct heap_reader *r, double bytes);
/* ERR_REQUEST 422 with the line. */
const struct err *heap_bad(const struct heap_reader *r, const char *what);

/* The addresses of a line become r->stack_*; errors: 422, ENOMEM. */
const struct err *heap_take_stack(struct heap_reader *r,
    struct heap_line *l);
/* A stack of its own with these counts, scaled. */
const struct err *heap_add_stack(struct heap_reader *r,
    const uint64_t counts[4]);
/* The lines after MAPPED_LIBRARIES: or --- Memory map:. */
const struct err *heap_read_maps(struct heap_reader *r);
/* Where an address lies: a module's number, or HEAP_NONE. */
uint32_t heap_find_map(const struct heap_reader *r, uint64_t pc,
    uint64_t *offset);
/* Addresses become places, equal stacks one, symbols frames. */
const struct err *heap_reader_finish(struct heap_reader *r);

/* The number of a string; HEAP_NONE when out of memory. */
uint32_t heap_string(struct heap *h, const char *p, size_t n);

#endif
