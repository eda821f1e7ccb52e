/*
 * Heap dumps of jemalloc (heap_v2) and gperftools in memory.
 *
 *	heap_v2/524288                      a sample each 524288 bytes
 *	  t*: 28: 9921 [0: 0]               all threads: objects, bytes in
 *	  t0: 20: 8000 [0: 0] name          use [and ever allocated]
 *	@ 0x7f07738a2630 0x561c33d3528e     a stack, leaf first
 *	  t*: 13: 6688 [0: 0]
 *	  t0: 12: 6500 [0: 0]               one thread's part: not read
 *
 *	MAPPED_LIBRARIES:
 *	561c33d35000-561c33d36000 r-xp 00001000 fe:00 10231816 /usr/bin/db
 *
 * An address is a module's file and an offset in it, so that two dumps of
 * one program agree wherever it was loaded.  All but a stack's first are
 * those of the call: one before where it returns to.
 *
 * Values are scaled up from samples with jeprof's own arithmetic.  They
 * stay doubles here: sums over functions are then jeprof's to the last
 * digit.  Where whole numbers are needed, each stack gets what the running
 * sum grew by, rounded down: the parts differ from their exact values by
 * less than 1 and their sum is the total rounded down.
 */
#ifndef FCGI_FORMAT_HEAP_H
#define FCGI_FORMAT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/buf.h"
#include "store/base/intern.h"
#include "store/model/series.h"

struct err;
struct stacks;
struct stacks_type;

enum heap_type {
	HEAP_INUSE_SPACE,
	HEAP_INUSE_OBJECTS,
	HEAP_ALLOC_SPACE,
	HEAP_ALLOC_OBJECTS,
	HEAP_TYPES
};

/* "inuse_space", ...; the number of a name, HEAP_TYPES for an unknown. */
const char *heap_type_name(enum heap_type type);
enum heap_type heap_type_find(const char *name);
/* What the table of types says of it. */
struct stacks_type heap_type_of(enum heap_type type);

#define HEAP_NONE UINT32_MAX

/* A file under a path; another one there is another module. */
struct heap_module {
	uint32_t path, name; /* strings; name is the path's last part */
	uint64_t inode;      /* 0: nobody says */
	bool gone;           /* it was no longer under its path */
};

/* A place in code.  Where no module holds it, offset is the address. */
struct heap_address {
	uint64_t offset; /* in the module's file */
	uint32_t module; /* or HEAP_NONE */
	uint32_t first, n; /* frames[first..first + n), outermost first */
};

struct heap_frame {
	uint32_t name, module, build_id; /* strings */
	enum frame_kind kind;
	uint64_t offset;
};

struct heap_stack {
	uint32_t first, n; /* places[first..first + n), leaf first */
	double value[HEAP_TYPES];
};

/* All zero is empty.  No two stacks hold the same places. */
struct heap {
	struct intern strings;
	struct heap_module *modules;
	struct heap_address *addresses;
	struct heap_frame *frames;
	uint32_t *places; /* numbers of addresses */
	struct heap_stack *stacks;
	uint32_t n_modules, n_addresses, n_frames, n_places, n_stacks;
	uint64_t unknown_lines; /* that were passed over */
	/* Bytes between two samples, of those that were read the most: 1 where
	 * all is counted, 0 where none has said it. */
	uint64_t mean;
	uint32_t max_addresses; /* of one dump, set before it is read; 0: any */
	/* private */
	uint32_t cap_modules, cap_addresses, cap_frames, cap_places,
	    cap_stacks, cap_same;
	uint32_t *same; /* table of stacks by their places; + 1 */
	struct intern address_keys;
	struct map64 module_numbers; /* by a string of path and inode */
};

void heap_fini(struct heap *h);

/* Does it begin as a heap dump of jemalloc does (of gperftools), symbols before
 * it or not? */
bool heap_looks(const char *data, size_t n);
bool heap_looks_gperftools(const char *data, size_t n);

/*
 * Adds a dump, times `sign`: 1, or -1 to take a base away.  Names that the
 * dump brings along (a "--- symbol" part) become frames.  Errors:
 * ERR_REQUEST 422 with the line number, 413 for more than max_addresses,
 * ENOMEM; `h` is then only good for heap_fini().
 */
const struct err *heap_read(struct heap *h, const void *data, size_t n,
    double sign);

/* Names an address: its frames, outermost first, of which all but the first
 * are inlined.  Strings are copied.  False when out of memory. */
bool heap_name(struct heap *h, uint32_t address, const struct frame *frames,
    size_t n);

/* Calls every address that has no name yet by its module and offset. */
bool heap_name_rest(struct heap *h);

/* Takes the allocator's own frames off the leaves: up to the last function
 * that jeprof hides, and what lies in a library known as an allocator. */
bool heap_hide_allocator(struct heap *h);

/* Adds every stack with values above 0; negative ones are passed over and
 * counted by stacks_skip().  Errors: ENOMEM, stacks_error(). */
const struct err *heap_put(const struct heap *h, struct stacks *s);

/* Some types alone, a bit of enum heap_type each. */
#define HEAP_ALL ((1u << HEAP_TYPES) - 1)
#define HEAP_INUSE (1u << HEAP_INUSE_SPACE | 1u << HEAP_INUSE_OBJECTS)
#define HEAP_ALLOC (1u << HEAP_ALLOC_SPACE | 1u << HEAP_ALLOC_OBJECTS)
const struct err *heap_put_types(const struct heap *h, struct stacks *s,
    unsigned wanted);

/* Of a dump that a worker takes: each costs about 130 bytes. */
#define HEAP_ADDRESSES_PUSH (1u << 20)

/* Reads, names, hides and puts: the parser for tables of formats, with the
 * bound of a push. */
const struct err *heap_parse(struct stacks *s, const void *data, size_t n);

/* ---- as text (heap_text.c) ---- */

/*
 * Functions with their own bytes or objects and those of what they called,
 * in the columns of jeprof --text.  `bytes`: no MB.  `cumulative` sorts by
 * the second number.  ENOMEM.
 */
const struct err *heap_text(const struct heap *h, enum heap_type type,
    bool bytes, bool cumulative, struct buf *out);

/* root;...;leaf value lines, inlined frames ending in _[i]; lines of value 0
 * are left out.  ENOMEM. */
const struct err *heap_folded(const struct heap *h, enum heap_type type,
    struct buf *out);

#endif
