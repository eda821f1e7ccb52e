/*
 * How a stack walk finds the rule of an address: in the maps of unwind.h, or
 * in what was kept of the thread's last walk.  A part of unwind_step.h, which
 * says what it needs from whoever includes it.
 *
 * At 99 Hz nothing that a walk needs is still in the CPU's caches, and what
 * it costs is the lines of memory that it touches.  So a walk keeps its rules
 * in the order of its frames, and the thread's next walk on the same CPU goes
 * along them (unwind_recall()): a line for four frames, which come one behind
 * the other, in place of one of the index and one of the rows for each.  It
 * keeps the range of addresses of the leaf's rule too, since a leaf that
 * takes time is met again somewhere else in it, and the last mapping.
 *
 * Return addresses are read anew in any case; only the way from an address
 * to its rule is kept.  That way depends on nothing but the address and the
 * list of mappings, and neither a list's place nor a region's is used for
 * another one within a second (extents.h): what was kept in this second under
 * the same place of the list is what a search would find.
 */
#ifndef COLLECTOR_BPF_UNWIND_FIND_H
#define COLLECTOR_BPF_UNWIND_FIND_H

#include "collector/bpf/event.h"
#include "collector/bpf/unwind.h"

UNWIND_INLINE const struct unwind_mapping *unwind_mapping(__u32 i);
UNWIND_INLINE const struct unwind_table *unwind_table(__u32 i);
UNWIND_INLINE struct unwind_region *unwind_region(__u32 i);
UNWIND_INLINE const void *unwind_chunk(__u32 i);
UNWIND_INLINE const __u64 *unwind_cell(const void *chunk, __u32 i);

#define UNWIND_KEPT 64     /* frames of a walk; a power of two */
#define UNWIND_KEEPERS 8   /* threads of a CPU; a power of two */
#define UNWIND_LOOK 6      /* frames by which two walks may differ at once */
#define UNWIND_KEPT_MASK (2 * UNWIND_KEEPERS * UNWIND_KEPT - 1)
#define UNWIND_WORDS 8     /* read at once */
/* A region's `used` may be older by so many samples: where each sample wrote
 * it, each had its line to take from another CPU. */
#define UNWIND_TICK_STEP 64

/* A mapping, its table, and the region of it that was looked at last. */
struct unwind_place {
	__u64 start, end, bias;
	__u32 which; /* number of the table */
	__u32 first, base; /* the table's regions, and their first offset */
	__u32 cell, rows;  /* of the region */
	__u16 n;     /* regions of the table */
	__u16 at;    /* the region's number in the table; n: none yet */
	__u16 buckets;
	__u8 shift, row_shift; /* the table's, the region's */
	__u8 state;  /* of the table, then of the region */
	__u8 zero;
};

/* A rule of enum unwind_kind, as in struct unwind_row. */
struct unwind_rule {
	__u16 cfa;
	__u8 kind, bp;
};

/* What was found for a return address. */
struct unwind_kept {
	__u64 ip;
	__u32 words; /* of the stack pointer there: where in the stack */
	struct unwind_rule rule;
};

/* Whose walk was kept, and when. */
struct unwind_keeper {
	__u32 tid, first, n_mappings, now_s;
	__u32 n;    /* kept frames */
	__u32 half; /* of the keeper's two lists; the other one is written */
	__u64 low, high; /* the leaf's rule: addresses from low to high - 1 */
	struct unwind_rule leaf;
	struct unwind_place place; /* where the last search ended */
};

/* The first frame whose rows were not there, where its code is. */
struct unwind_lacking {
	__u64 sp, bp, di, bx;
	__u32 table, offset;
	__u32 frame;
	__u32 is_caller;
};

struct unwind_state {
	__u64 ip, sp, bp;
	__u64 r10, di; /* of the leaf; 0: not known */
	__u64 bx;
	__u64 bottom;  /* the leaf's sp; 0: not known, all has been saved */
	struct unwind_place place;
	struct unwind_place before; /* the one of another mapping before it */
	__u64 trampoline; /* the page of uretprobes; 0: none */
	__u64 instance;   /* the next hidden return address, a kernel's */
	__u64 stepped;    /* whose copy is being executed there; 0: none */
	__u32 first, n;          /* the process's mappings */
	__u32 now_s, tick;
	__u32 depth; /* frames noted, this one among them */
	__u8 is_caller; /* ip is behind a call */
	__u8 error;     /* enum broken, once unwind_step() said stop */
	__u8 pending;   /* frame pointers stood in for a table to come */
	__u8 guessed;   /* frame pointers stood in for a row: enum broken */
	__u32 old, n_old, next; /* the last walk: place, frames, next one */
	__u32 new, n_new;       /* this one */
	__u64 low, high;        /* the leaf's rule, as it will be kept */
	struct unwind_rule leaf;
	__u64 words[UNWIND_WORDS];
	struct unwind_keeper keepers[UNWIND_KEEPERS];
	struct unwind_kept kept[UNWIND_KEPT_MASK + 1];
	struct unwind_lacking lacking;
};

/* Copies the mapping and its table into the state. */
UNWIND_INLINE int
unwind_use(struct unwind_state *s, const struct unwind_mapping *m)
{
	struct unwind_place *p = &s->place;
	const struct unwind_table *t;

	p->start = m->start;
	p->end = m->start + ((__u64)m->pages << 12);
	p->bias = m->bias;
	p->which = m->table;
	p->state = UNWIND_TABLE_NO_FILE;
	p->n = 0;
	p->at = 0;
	if (p->which == UNWIND_NO_TABLE)
		return 1;
	p->state = UNWIND_TABLE_PENDING; /* UNWIND_NO_ROOM */
	t = unwind_table(p->which);
	if (t == 0)
		return 1;
	/* before the rest */
	p->state = (__u8)*(const volatile __u32 *)&t->state;
	if (p->state != UNWIND_TABLE_READY)
		return 1;
	p->first = t->first;
	p->base = t->code.base;
	p->shift = (__u8)t->code.shift;
	p->n = p->at = (__u16)t->code.n;
	return 1;
}

/* Makes the region that holds an offset the state's; 0 when none does.  A
 * table that is ready has some. */
UNWIND_INLINE int
unwind_find_region(struct unwind_state *s, __u64 offset)
{
	struct unwind_place *p = &s->place;
	struct unwind_region *r;
	__u32 at;

	if (p->n == 0)
		return 1; /* what is known of the table is all */
	if (offset < p->base || offset > 0xffffffffu)
		return 0;
	at = (__u32)(offset - p->base) >> (p->shift & 31);
	if (at >= p->n)
		return 0;
	if (at == p->at)
		return 1;
	r = unwind_region(p->first + at);
	if (r == 0)
		return 0;
	p->at = (__u16)at;
	p->state = *(volatile __u8 *)&r->state; /* before the rest */
	p->cell = r->first;
	p->rows = r->rows;
	p->buckets = r->buckets;
	p->row_shift = r->shift;
	if (s->tick - r->used > UNWIND_TICK_STEP)
		r->used = s->tick;
	return 1;
}

/* Does the mapping before the last one hold pc?  A stack goes from a program
 * to its libraries and back. */
UNWIND_INLINE bool
unwind_find_before(struct unwind_state *s, __u64 pc)
{
	struct unwind_place p = s->before;

	s->before = s->place;
	if (pc < p.start || pc >= p.end)
		return 0;
	s->place = p;
	return 1;
}

/* Makes the mapping that holds pc the state's; 0 when none does. */
UNWIND_INLINE int
unwind_find_mapping(struct unwind_state *s, __u64 pc)
{
	__u32 low = s->first, high = s->first + s->n, mid;
	const struct unwind_mapping *m;
	int i;

	if ((pc >= s->place.start && pc < s->place.end) ||
	    unwind_find_before(s, pc))
		return 1;
	for (i = 0; i < UNWIND_MAPPING_STEPS; i++) {
		if (low >= high)
			break;
		mid = (low + high) >> 1;
		m = unwind_mapping(mid);
		if (m == 0)
			return 0;
		if (m->start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == s->first)
		return 0;
	m = unwind_mapping(low - 1);
	if (m == 0 || pc < m->start ||
	    pc - m->start >= (__u64)m->pages << 12)
		return 0;
	return unwind_use(s, m);
}

/* The row for an offset in the state's region; NULL when there is none.
 * *next: the row behind it, which is of the region or not.  See unwind.h for
 * the layout. */
UNWIND_INLINE const struct unwind_row *
unwind_find_row(const struct unwind_state *s, __u32 offset,
    const struct unwind_row **next)
{
	const struct unwind_place *p = &s->place;
	__u32 first = p->cell & ((1u << UNWIND_CHUNK_SHIFT) - 1);
	__u32 rows = first + p->buckets, low, high, mid, at;
	const struct unwind_row *row;
	const void *chunk;
	const __u64 *cell;
	int i;

	at = p->base + ((__u32)p->at << (p->shift & 31));
	at = (offset - at) >> (p->row_shift & 31);
	if (at >= p->buckets)
		return 0;
	chunk = unwind_chunk(p->cell >> UNWIND_CHUNK_SHIFT);
	if (chunk == 0)
		return 0;
	cell = unwind_cell(chunk, first + at);
	if (cell == 0)
		return 0;
	low = (__u32)*cell;
	high = *cell >> 32;
	for (i = 0; i < UNWIND_ROW_STEPS; i++) {
		if (low >= high)
			break;
		mid = (low + high) >> 1;
		row = (const struct unwind_row *)unwind_cell(chunk,
		    rows + mid);
		if (row == 0)
			return 0;
		if (row->pc <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || low > p->rows)
		return 0;
	*next = low == p->rows ? 0 :
	    (const struct unwind_row *)unwind_cell(chunk, rows + low);
	return (const struct unwind_row *)unwind_cell(chunk, rows + low - 1);
}

/* Opens the thread's last walk, if it may be used. */
UNWIND_INLINE void
unwind_keep_begin(struct unwind_state *s, __u32 tid)
{
	__u32 which = tid & (UNWIND_KEEPERS - 1);
	struct unwind_keeper *k = &s->keepers[which];

	s->old = (2 * which + k->half) * UNWIND_KEPT;
	s->new = (2 * which + (k->half ^ 1)) * UNWIND_KEPT;
	s->n_new = 0;
	s->next = 0;
	s->before.start = s->before.end = 0;
	if (k->tid == tid && k->now_s == s->now_s && k->first == s->first &&
	    k->n_mappings == s->n) {
		s->n_old = k->n;
		s->low = k->low;
		s->high = k->high;
		s->leaf = k->leaf;
		s->place = k->place;
	} else {
		s->n_old = 0;
		s->low = s->high = 0;
		s->place.start = s->place.end = 0;
	}
}

/* Leaves this walk to the thread's next one. */
UNWIND_INLINE void
unwind_keep_end(struct unwind_state *s, __u32 tid)
{
	struct unwind_keeper *k = &s->keepers[tid & (UNWIND_KEEPERS - 1)];

	k->tid = tid;
	k->first = s->first;
	k->n_mappings = s->n;
	k->now_s = s->now_s;
	k->n = s->n_new;
	k->half = (k->half ^ 1) & 1;
	k->low = s->low;
	k->high = s->high;
	k->leaf = s->leaf;
	k->place = s->place;
	/* One whose table is to come may have it next time. */
	if (s->place.state != UNWIND_TABLE_READY)
		k->place.end = 0;
}

/* Notes how far the leaf's rule reaches. */
UNWIND_INLINE void
unwind_keep_leaf(struct unwind_state *s, struct unwind_rule rule, __u32 pc,
    const struct unwind_row *next)
{
	s->low = s->place.bias + pc;
	s->high = next != 0 ? s->place.bias + next->pc : s->low;
	/* Nothing behind the mapping: another file may be there. */
	if (s->high > s->place.end)
		s->high = s->place.end;
	if (s->low < s->place.start)
		s->low = s->place.start;
	s->leaf = rule;
}

UNWIND_INLINE void
unwind_keep(struct unwind_state *s, struct unwind_rule rule)
{
	__u32 n = s->n_new;
	struct unwind_kept *m;

	if (!s->is_caller || n >= UNWIND_KEPT)
		return;
	m = &s->kept[(s->new + n) & UNWIND_KEPT_MASK];
	m->ip = s->ip;
	m->words = (__u32)(s->sp >> 3);
	m->rule = rule;
	s->n_new = n + 1;
}

/*
 * Looks for the return address a few frames on along the last walk.  Frames
 * whose stack pointer is below ours are left behind: that is only a guess of
 * where to look, since an address has its rule wherever it stands.
 */
UNWIND_INLINE bool
unwind_recall(struct unwind_state *s, struct unwind_rule *rule)
{
	__u32 words = (__u32)(s->sp >> 3), next = s->next, at = next;
	const struct unwind_kept *m;
	int i;

	if (!s->is_caller) {
		*rule = s->leaf;
		return s->ip >= s->low && s->ip < s->high;
	}
	for (i = 0; i < UNWIND_LOOK; i++, at++) {
		if (at >= s->n_old)
			break;
		m = &s->kept[(s->old + at) & UNWIND_KEPT_MASK];
		if (m->ip == s->ip) {
			*rule = m->rule;
			s->next = at + 1;
			return 1;
		}
		if ((__s32)(m->words - words) < 0)
			next = at + 1;
	}
	s->next = next;
	return 0;
}

#endif
