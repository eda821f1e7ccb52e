/*
 * From the depths of Go's functions to rows.  A function saves the frame
 * pointer right below its return address, if it does: before Go 1.21 an
 * instruction behind the one that makes room for it.
 *
 *	push %rbp                      Go 1.21
 *	sub $depth,%rsp
 *	mov %rbp,depth - 8(%rsp)       before
 */
#include "collector/elf/go_rows.h"

#include <string.h>

#include "collector/elf/go_table.h"

#define SP_WRITTEN 2 /* flag: the stack is changed, and no depth is right */
#define FRAME_SAVED 2 /* at CFA - 16 */

struct rows {
	const struct elf *e;
	struct go_table t;
	struct go_window pairs, described, names, depths, code;
	uint8_t kind; /* of rows with a depth */
	go_row_fn *take;
	void *arg;
};

struct function {
	uint64_t entry, end; /* addresses */
	uint64_t at;         /* of its description in the section */
};

static const struct unwind_row by_pointer = {.kind = UNWIND_GO};

/* Functions that are not walked as others are. */
enum special {
	SPECIAL_NOT,
	SPECIAL_ROOT,   /* a stack of the runtime begins there: it came there by
	                 * changing the stack, or nobody called it */
	SPECIAL_GROW,   /* it too, but its caller waits on the other stack */
	SPECIAL_CLONE,  /* a new thread is on its own stack, with its parent's
	                 * pointers */
	SPECIAL_FROM_C, /* C called it: its frame is its own, and Go 1.26's of
	                 * crosscall2() is no frame pointer's */
	SPECIAL_PREEMPT, /* what it interrupted has not called it, and may have
	                  * no frame */
	SPECIAL_SIGNAL  /* what a signal's handler returns to */
};

static enum special
rows_special(struct rows *r, uint64_t at)
{
	static const struct {
		const char *name;
		enum special special;
	} list[] = {{"runtime.goexit", SPECIAL_ROOT},
	    {"runtime.mcall", SPECIAL_ROOT}, {"runtime.mstart", SPECIAL_ROOT},
	    {"runtime.rt0_go", SPECIAL_ROOT},
	    {"runtime.morestack", SPECIAL_GROW},
	    {"runtime.clone", SPECIAL_CLONE}, {"crosscall2", SPECIAL_FROM_C},
	    {"runtime.sigtramp", SPECIAL_FROM_C},
	    {"runtime.asyncPreempt", SPECIAL_PREEMPT},
	    {"runtime.sigreturn", SPECIAL_SIGNAL},
	    {"runtime.sigreturn__sigaction", SPECIAL_SIGNAL}};
	const uint8_t *p;
	size_t i, n;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		n = strlen(list[i].name);
		p = go_bytes(&r->names, at, n + 6);
		if (p != NULL && memcmp(p, list[i].name, n) == 0 &&
		    (p[n] == '\0' || memcmp(p + n, ".abi0", 6) == 0))
			return list[i].special;
	}
	return SPECIAL_NOT;
}

static bool
rows_read_number(struct rows *r, uint64_t *at, uint32_t *out)
{
	const uint8_t *p;

	*out = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		p = go_bytes(&r->depths, (*at)++, 1);
		if (p == NULL)
			return false;
		*out |= (uint32_t)(*p & 0x7f) << shift;
		if (*p < 0x80)
			return true;
	}
	return false;
}

static struct unwind_row
rows_at_depth(const struct rows *r, int64_t depth, bool saved)
{
	struct unwind_row row = by_pointer;

	if (depth < 0 || depth % 8 != 0 || depth / 8 >= UNWIND_CFA_MAX)
		return row;
	row.kind = r->kind;
	row.cfa = (uint16_t)(depth / 8 + 1);
	row.bp = saved && depth > 0 ? FRAME_SAVED : UNWIND_BP_SAME;
	return row;
}

/* From where on the frame pointer is saved, of a stack that becomes deeper at
 * vaddr; UINT64_MAX: it is not. */
static uint64_t
rows_find_saved(struct rows *r, uint64_t vaddr, int64_t depth)
{
	const uint8_t *p;
	uint64_t at;
	int32_t place = 0;

	if (!elf_offset(r->e, vaddr - 1, &at) ||
	    (p = go_bytes(&r->code, at, 9)) == NULL)
		return UINT64_MAX;
	if (depth == 8 && p[0] == 0x55)
		return vaddr;
	if (p[1] != 0x48 || p[2] != 0x89 || p[4] != 0x24)
		return UINT64_MAX;
	if (p[3] == 0x6c)
		place = (int8_t)p[5];
	else if (p[3] == 0xac)
		memcpy(&place, p + 5, sizeof(place));
	else if (p[3] != 0x2c)
		return UINT64_MAX;
	if (place != depth - 8)
		return UINT64_MAX;
	return vaddr + (p[3] == 0x6c ? 5 : p[3] == 0xac ? 8 : 4);
}

/* The depth holds from one address up to another. */
static bool
rows_put_depth(struct rows *r, uint64_t from, uint64_t to, int64_t depth,
    uint64_t *saved)
{
	struct unwind_row row;

	if (depth > 0 && *saved == 0)
		*saved = rows_find_saved(r, from, depth);
	row = rows_at_depth(r, depth, *saved <= from);
	if (!r->take(r->arg, from, &row))
		return false;
	if (*saved <= from || *saved >= to)
		return true;
	row = rows_at_depth(r, depth, true);
	return r->take(r->arg, *saved, &row);
}

/* Steps of no bytes are read over, so many as there may be others.  Behind the
 * last one there is no code. */
static bool
rows_put_depths(struct rows *r, const struct function *f, uint64_t at)
{
	uint64_t pc = f->entry, left = f->end - f->entry + 1, saved = 0;
	int64_t depth = -1;
	uint32_t rise, bytes;
	bool first = true;

	for (; pc < f->end && left > 0; left--, first = false) {
		if (!rows_read_number(r, &at, &rise) ||
		    (rise == 0 && !first) || !rows_read_number(r, &at, &bytes))
			break;
		depth += (rise & 1) != 0 ? -(int64_t)(rise >> 1) - 1 :
		    (int64_t)(rise >> 1);
		if (bytes > f->end - pc)
			bytes = (uint32_t)(f->end - pc);
		if (bytes > 0 &&
		    !rows_put_depth(r, pc, pc + bytes, depth, &saved))
			return false;
		pc += bytes;
	}
	return true;
}

/* All of the function is alike.  Where a handler returns to its first byte, the
 * one before is a caller's. */
static bool
rows_put_alike(struct rows *r, const struct function *f, uint8_t kind)
{
	const struct unwind_row row = {.kind = kind};
	uint64_t before = kind == UNWIND_SIGNAL && f->entry > 0;

	return r->take(r->arg, f->entry - before, &row);
}

static bool
rows_put_function(struct rows *r, const struct function *f)
{
	static const uint8_t kinds[] = {[SPECIAL_NOT] = UNWIND_GO,
	    [SPECIAL_ROOT] = UNWIND_STOP, [SPECIAL_GROW] = UNWIND_ELSEWHERE,
	    [SPECIAL_CLONE] = UNWIND_GO, [SPECIAL_FROM_C] = UNWIND_SP,
	    [SPECIAL_PREEMPT] = UNWIND_PUSHED,
	    [SPECIAL_SIGNAL] = UNWIND_SIGNAL};
	uint64_t name, at = f->at + r->t.number, depths = 0;
	const uint8_t *flags = NULL;
	enum special special;

	if (!go_number(&r->described, at, 4, &name))
		return false;
	special = rows_special(r, name + r->t.names);
	r->kind = kinds[special];
	if (special != SPECIAL_NOT && special != SPECIAL_FROM_C &&
	    special != SPECIAL_PREEMPT)
		return rows_put_alike(r, f, r->kind);
	if (r->t.depths != 0 && go_number(&r->described, at + 12, 4, &depths))
		flags = go_bytes(&r->described, f->at + r->t.flags, 1);
	if (flags == NULL || (*flags & SP_WRITTEN) != 0 || depths == 0)
		return rows_put_alike(r, f, UNWIND_GO);
	return rows_put_depths(r, f, r->t.depths + depths);
}

/* The function that holds an address, by its place, or one near it. */
static uint64_t
rows_find_function(struct rows *r, uint64_t vaddr)
{
	uint64_t low = 0, high = r->t.functions, mid, entry, at;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (!go_function(&r->pairs, &r->t, mid, &entry, &at))
			break;
		if (r->t.text + entry <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? low - 1 : 0;
}

static bool
rows_open(struct rows *r, const struct elf *e)
{
	if (!go_open(e, &r->pairs, &r->t) || !go_has_functions(&r->t) ||
	    r->t.functions == 0 || r->t.functions > ELF_SYMBOLS_MAX)
		return false;
	r->e = e;
	r->described = r->names = r->depths = r->pairs;
	r->code = (struct go_window){.e = e, .size = e->in.size};
	return true;
}

bool
go_code(const struct elf *e, uint64_t *low, uint64_t *high)
{
	uint64_t at;
	struct rows r;

	if (!rows_open(&r, e) || !go_function(&r.pairs, &r.t, 0, low, &at) ||
	    !go_function(&r.pairs, &r.t, r.t.functions, high, &at) ||
	    *low >= *high)
		return false;
	*low += r.t.text;
	*high += r.t.text;
	return true;
}

bool
go_has_depths(const struct elf *e)
{
	struct rows r;

	return rows_open(&r, e) && r.t.depths != 0;
}

void
go_rows(const struct elf *e, uint64_t low, uint64_t high, go_row_fn *take,
    void *arg)
{
	static const struct unwind_row none = {.kind = UNWIND_NONE};
	uint64_t i, entry, next, after;
	struct function f;
	struct rows r;

	if (!rows_open(&r, e))
		return;
	r.take = take;
	r.arg = arg;
	i = rows_find_function(&r, low);
	if (!go_function(&r.pairs, &r.t, i, &entry, &f.at))
		return;
	/* One that begins behind the last address may have a row there. */
	for (; i < r.t.functions && r.t.text + entry <= high; i++) {
		if (!go_function(&r.pairs, &r.t, i + 1, &next, &after))
			return;
		f.entry = r.t.text + entry;
		f.end = r.t.text + next;
		f.at += r.t.described;
		if (f.entry < f.end && !rows_put_function(&r, &f))
			return;
		entry = next;
		f.at = after;
	}
	if (i == r.t.functions)
		take(arg, r.t.text + entry, &none);
}
