/*
 * Calls by their bytes; places by the rows of the called function, made for
 * rbx.
 */
#include "collector/elf/callees.h"

#include <stdlib.h>
#include <string.h>

#include "collector/elf/ehframe_private.h"
#include "collector/elf/elf_private.h"

#define CODE_MAX 2048  /* bytes of a row with calls */
#define CALLS_MAX 16   /* in them */
#define CALL 0xe8      /* and 4 bytes of distance */
#define CALL_SIZE 5
#define BEGIN_MAX 64   /* bytes before the register is saved */
#define ENTRIES_MAX 16
#define ROWS_MAX 1024  /* of the called function */

struct callees {
	const struct elf *e;
	const struct ehframe_input *in;
	struct ehframe_rows out;
	size_t cap;
};

/* The function's rows, for rbx. */
static bool
callee_rows(const struct callees *c, const struct elf_symbol *f,
    struct ehframe_rows *out)
{
	struct ehframe_input in = *c->in;
	uint64_t found[ENTRIES_MAX], at;
	uint32_t entries[ENTRIES_MAX];
	size_t i, n;

	if (!elf_offset(c->e, f->entry, &at) || at + f->size > UINT32_MAX)
		return false;
	n = elf_function_entries(c->e, f->entry, f->entry, found, ENTRIES_MAX);
	in.n_entries = 0;
	for (i = 0; i < n; i++)
		if (found[i] - in.vaddr < in.size)
			entries[in.n_entries++] =
			    (uint32_t)(found[i] - in.vaddr);
	in.entries = entries;
	in.low = (uint32_t)at;
	in.high = (uint32_t)(at + f->size);
	in.max_rows = ROWS_MAX;
	in.saved = REG_BX;
	return in.n_entries > 0 && ehframe_read(&in, out) == EHFRAME_OK;
}

/* Is there no call in the bytes from..to - 1?  Any byte that begins one
 * counts. */
static bool
has_no_call(const struct elf *e, uint32_t from, uint32_t to)
{
	uint8_t bytes[BEGIN_MAX];
	size_t i, n = to - from;

	if (n > sizeof(bytes) || !elf_read(e, from, bytes, n))
		return false;
	for (i = 0; i < n; i++)
		if (bytes[i] == CALL || bytes[i] == 0xff)
			return false;
	return true;
}

/* The one place, CFA - 8 of it, where rbx is saved before anything is called
 * and up to the end; 0: there is none. */
static uint8_t
callee_place(const struct callees *c, const struct ehframe_rows *r)
{
	size_t i, first = 0;

	for (i = 0; i < r->n; i++) {
		if (r->rows[i].kind != UNWIND_SP &&
		    r->rows[i].kind != UNWIND_BP)
			return 0;
		if (first == 0 && r->rows[i].bp != UNWIND_BP_SAME)
			first = i;
		if (first > 0 && r->rows[i].bp != r->rows[first].bp)
			return 0;
	}
	return first > 0 && r->rows[first].bp <= UNWIND_BP_MAX &&
	    has_no_call(c->e, r->rows[0].pc, r->rows[first].pc) ?
	    r->rows[first].bp : 0;
}

/* The place of the function that begins at vaddr. */
static uint8_t
callee_find(const struct callees *c, uint64_t vaddr)
{
	struct ehframe_rows r = {0};
	struct elf_symbol f;
	uint8_t place = 0;

	if (elf_function(c->e, vaddr, &f) && f.entry == vaddr &&
	    callee_rows(c, &f, &r))
		place = callee_place(c, &r);
	free(r.rows);
	return place;
}

static bool
callees_put(struct callees *c, uint32_t pc, const struct unwind_row *row,
    uint8_t bp)
{
	struct ehframe_rows *out = &c->out;
	size_t cap = c->cap * 2 + 64;
	struct unwind_row *p;

	if (out->n > 0 && out->rows[out->n - 1].pc == pc)
		out->n--;
	if (out->n == c->cap) {
		p = realloc(out->rows, cap * sizeof(*p));
		if (p == NULL)
			return false;
		out->rows = p;
		c->cap = cap;
	}
	out->rows[out->n] = *row;
	out->rows[out->n].pc = pc;
	out->rows[out->n++].bp = bp;
	return true;
}

/* A row that holds up to `end`, and the calls in its code. */
static bool
callees_cut(struct callees *c, const struct unwind_row *row, uint32_t end)
{
	uint8_t code[CODE_MAX], place;
	uint32_t n = end - row->pc, i, calls = 0;
	uint64_t vaddr;
	int32_t distance;

	if (!callees_put(c, row->pc, row, row->bp))
		return false;
	if (row->kind != UNWIND_BX || n > sizeof(code) ||
	    !elf_vaddr(c->e, row->pc, &vaddr) ||
	    !elf_read(c->e, row->pc, code, n))
		return true;
	for (i = 0; i + CALL_SIZE <= n && calls < CALLS_MAX; i++) {
		if (code[i] != CALL)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		place = callee_find(c, vaddr + i + CALL_SIZE +
		    (uint64_t)(int64_t)distance);
		if (place == 0)
			continue;
		if (!callees_put(c, row->pc + i, row, place) ||
		    !callees_put(c, row->pc + i + CALL_SIZE, row, row->bp))
			return false;
		i += CALL_SIZE - 1;
		calls++;
	}
	return true;
}

static bool
callees_are_wanted(const struct ehframe_rows *r)
{
	size_t i = 0;

	while (i < r->n && r->rows[i].kind != UNWIND_BX)
		i++;
	return i < r->n;
}

enum ehframe_status
callees_add(const struct elf *e, const struct ehframe_input *in,
    struct ehframe_rows *rows)
{
	struct callees c = {.e = e, .in = in, .out = *rows};
	enum ehframe_status status = EHFRAME_OK;
	size_t i;

	if (!callees_are_wanted(rows))
		return EHFRAME_OK;
	c.out.rows = NULL;
	c.out.n = 0;
	for (i = 0; i < rows->n && status == EHFRAME_OK; i++)
		if (!callees_cut(&c, &rows->rows[i], i + 1 < rows->n ?
		    rows->rows[i + 1].pc : rows->rows[i].pc))
			status = EHFRAME_NO_MEMORY;
	if (status == EHFRAME_OK && c.out.n > in->max_rows)
		status = EHFRAME_TOO_BIG;
	if (status != EHFRAME_OK) {
		free(c.out.rows);
		return status;
	}
	free(rows->rows);
	*rows = c.out;
	return EHFRAME_OK;
}
