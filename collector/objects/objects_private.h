/*
 * What objects.c (who holds what) and objects_kept.c (stacks that outlive
 * their slot) share.
 */
#ifndef COLLECTOR_OBJECTS_PRIVATE_H
#define COLLECTOR_OBJECTS_PRIVATE_H

#include "collector/objects/objects.h"
#include "store/base/buf.h"

#define STACK_BEFORE 0xfffffffeu /* it lived before we began, */
#define STACK_LOST 0xfffffffdu   /* or nobody was told of its stack */
#define STACK_OPEN 0x80000000u   /* set in a number of the slot's */
#define KEPT_FRAMES_MAX 320

struct frames;

struct holder {
	struct process *p;
	struct holder *next, **at; /* in the list of all */
	uint32_t exec_id; /* of the program whose objects these are; 0: any */
	uint64_t stack_start; /* of its program; 0: not known */
	uint32_t first; /* of its objects */
	uint32_t doublings; /* of the mean, at most since that was asked */
};

struct object {
	uint64_t address, time_ns;
	struct objects_weight weight;
	struct holder *of; /* NULL: free */
	uint32_t stack;    /* OBJECTS_NONE: not told yet */
	uint32_t in_bucket;    /* the next one in its bucket; of a free one,
	                        * the next free one */
	uint32_t before, after; /* of its holder's */
	bool moves; /* perhaps */
};

/* A stack that objects have which outlive their slot. */
struct kept {
	uint64_t hash;
	struct holder *of;
	uint32_t pool;     /* where its text begins */
	uint32_t first, n; /* frames */
	uint32_t objects;  /* that live */
	struct objects_weight sum;
};

struct kept_stacks {
	struct frames *names;
	struct kept *all;
	uint32_t *numbers; /* of frames */
	char *text;
	uint32_t *slots;   /* by hash: number + 1, or 0 */
	uint32_t n, cap, n_numbers, cap_numbers, n_text, cap_text, mask;
	uint32_t dead; /* without objects */
};

struct slot_stack {
	struct objects_slot sum;
	uint32_t first, n; /* names of its frames; 0: not told */
	uint32_t pool;
};

struct objects {
	struct processes *table;
	struct holder *holders;
	struct object *all;
	uint32_t *buckets; /* number + 1, or 0 */
	uint32_t n, cap, free, live, mask;
	struct slot_stack *slot;
	uint32_t n_slot, cap_slot;
	struct buf names, pools; /* of the slot's stacks that go on */
	struct kept_stacks kept;
	uint64_t unknown;
};

bool kept_init(struct kept_stacks *k);
void kept_fini(struct kept_stacks *k);

/* The number of a frame; FRAMES_NONE: no room. */
uint32_t kept_name(struct kept_stacks *k, const struct frame *f);

/* The number of a stack, made when new; OBJECTS_NONE: no room. */
uint32_t kept_stack(struct kept_stacks *k, struct holder *of,
    const char *pool, const uint32_t *frames, uint32_t n);

/* Drops the stacks without objects where they are many: moved[i] is then the
 * new number of stack i.  NULL: all numbers stay, else to be freed. */
uint32_t *kept_compact(struct kept_stacks *k);

/* Room for `want` of a growing array; false: no memory. */
bool objects_grow(void *array, uint32_t *cap, uint32_t want, size_t size);

#endif
