/*
 * Roots beside Go's are found by their bytes, which debuggers know them by,
 * too.
 */
#include "collector/elf/roots.h"

#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"
#include "collector/elf/go_rows.h"

#define ROOTS_FIRST 64 /* room at first */

bool
roots_put(struct roots *r, uint32_t pc, const struct unwind_row *row)
{
	size_t cap = r->cap != 0 ? r->cap * 2 : ROOTS_FIRST;
	struct unwind_row *p;

	if (r->n == r->max && r->status == EHFRAME_OK)
		r->status = EHFRAME_TOO_BIG;
	if (r->status != EHFRAME_OK)
		return false;
	if (r->n == r->cap) {
		p = realloc(r->rows, cap * sizeof(*p));
		if (p == NULL) {
			r->status = EHFRAME_NO_MEMORY;
			return false;
		}
		r->rows = p;
		r->cap = cap;
	}
	r->rows[r->n] = *row;
	r->rows[r->n++].pc = pc;
	return true;
}

static void
roots_add(struct roots *r, uint64_t pc, uint8_t kind)
{
	struct unwind_row row = {.kind = kind};

	if (pc <= UINT32_MAX)
		roots_put(r, (uint32_t)pc, &row);
}

/* A range whose root it is, and behind it what was there. */
static void
roots_stop(struct roots *r, uint64_t from, uint64_t to, uint8_t behind)
{
	roots_add(r, from, UNWIND_STOP);
	roots_add(r, to, behind);
}

/* Go's code, and the part of it that is wanted: addresses, and offsets. */
struct roots_go {
	struct roots *out;
	uint64_t address;         /* of the code */
	uint64_t from, low, high; /* offsets: of the code, of the part */
};

static bool
same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kind == b->kind && a->cfa == b->cfa && a->bp == b->bp;
}

static bool
roots_take_go(void *arg, uint64_t vaddr, const struct unwind_row *row)
{
	const struct roots_go *g = arg;
	struct roots *r = g->out;
	uint64_t pc = vaddr - g->address + g->from;

	if (vaddr < g->address || pc < g->low)
		pc = g->low; /* of what is before, the last one serves */
	if (pc >= g->high)
		return false;
	if (r->n > 0 && r->rows[r->n - 1].pc > pc)
		return true;
	if (r->n > 0 && r->rows[r->n - 1].pc == pc)
		r->n--;
	return (r->n > 0 && same_rule(&r->rows[r->n - 1], row)) ||
	    roots_put(r, (uint32_t)pc, row);
}

/* False when the file has none: it may have other roots then. */
static bool
roots_of_go(const struct elf *e, uint32_t low, uint32_t high,
    struct roots *r)
{
	struct roots_go g = {.out = r, .low = low, .high = high};
	uint64_t end, last;

	if (!go_code(e, &g.address, &end) ||
	    !elf_offset(e, g.address, &g.from) ||
	    !elf_offset(e, end - 1, &last) ||
	    last - g.from != end - 1 - g.address)
		return false;
	if (g.low < g.from)
		g.low = g.from;
	if (g.low < g.high)
		go_rows(e, g.low - g.from + g.address,
		    g.high - g.from + g.address, roots_take_go, &g);
	return true;
}

/* What the function of makecontext() returns to: the first byte of code that
 * nobody calls, so the address before it is of nothing. */
static void
roots_of_contexts(const struct elf *e, uint32_t low, uint32_t high,
    struct roots *r)
{
	struct elf_symbol s;

	if (elf_find_context(e, low, (uint64_t)high + 1, &s) && s.entry > 0)
		roots_stop(r, s.entry - 1, s.entry + s.size, UNWIND_NONE);
}

/*
 * musl has no .eh_frame, and its start code keeps other things in %rbp:
 *
 *	_start:             xor %rbp,%rbp; mov %rsp,%rdi;
 *	                    lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call 1
 *	1, _start_c:        ...; jmp 2
 *	2, __libc_start_main: ...; lea 3(%rip),%rax; ... jmp *%rax
 *	3:                  ...; call *%rbx (main); mov %eax,%edi; call exit
 */
#define MUSL_CODE 128 /* bytes of a function in which that is looked for */

struct musl_code {
	uint64_t vaddr;
	uint8_t bytes[MUSL_CODE];
};

static bool
musl_read(const struct elf *e, uint64_t vaddr, struct musl_code *c)
{
	uint64_t at;

	c->vaddr = vaddr;
	return elf_offset(e, vaddr, &at) &&
	    elf_read(e, at, c->bytes, sizeof(c->bytes));
}

/* Goes to where the first instruction of these bytes and 4 more of distance
 * leads. */
static bool
musl_follow(const struct elf *e, struct musl_code *c, const char *op, size_t n)
{
	int32_t distance;
	size_t i;

	for (i = 0; i + n + 4 <= MUSL_CODE; i++) {
		if (memcmp(c->bytes + i, op, n) != 0)
			continue;
		memcpy(&distance, c->bytes + i + n, sizeof(distance));
		return musl_read(e, c->vaddr + i + n + 4 +
		    (uint64_t)(int64_t)distance, c);
	}
	return false;
}

static void
roots_of_musl(const struct elf *e, struct roots *r)
{
	static const uint8_t start[] = {0x48, 0x31, 0xed, 0x48, 0x89, 0xe7,
	    0x48, 0x8d, 0x35};
	struct musl_code c;
	uint64_t at;
	size_t i;

	if (!musl_read(e, e->head.e_entry, &c) ||
	    memcmp(c.bytes, start, sizeof(start)) != 0 ||
	    !musl_follow(e, &c, "\x48\x83\xe4\xf0\xe8", 5) ||
	    !musl_follow(e, &c, "\xe9", 1) ||
	    !musl_follow(e, &c, "\x48\x8d\x05", 3))
		return;
	for (i = 0; i + 5 <= MUSL_CODE; i++) {
		if (c.bytes[i] != 0xff || (c.bytes[i + 1] & 0xf8) != 0xd0 ||
		    memcmp(c.bytes + i + 2, "\x89\xc7\xe8", 3) != 0)
			continue;
		if (elf_offset(e, c.vaddr + i, &at))
			roots_stop(r, at, at + 2, UNWIND_NONE);
		return;
	}
}

/* The loader begins without a row: the kernel's first step into it may fault
 * there. */
static void
roots_of_loader(const struct elf *e, struct roots *r)
{
	struct elf_symbol s;
	uint64_t at;

	if (elf_start_of_loader(e, &s) && elf_offset(e, s.entry, &at))
		roots_stop(r, at, at + s.size, UNWIND_NONE);
}

static int
roots_compare(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Keeps the rows of the part; the first may have begun before it. */
static void
roots_cut(struct roots *r, uint32_t low, uint32_t high)
{
	size_t i, n = 0;

	for (i = 0; i < r->n && r->rows[i].pc < high; i++) {
		if (r->rows[i].pc <= low)
			n = 0;
		r->rows[n++] = r->rows[i];
		if (r->rows[n - 1].pc < low)
			r->rows[n - 1].pc = low;
	}
	r->n = n;
}

void
roots_find(const struct elf *e, uint32_t low, uint32_t high, size_t max_rows,
    struct roots *out)
{
	*out = (struct roots){.max = max_rows};
	if (roots_of_go(e, low, high, out))
		return;
	roots_of_musl(e, out);
	roots_of_loader(e, out);
	roots_of_contexts(e, low, high, out);
	if (out->n > 0)
		qsort(out->rows, out->n, sizeof(out->rows[0]), roots_compare);
	roots_cut(out, low, high);
}

/* What holds where one of .eh_frame and a root meet. */
static const struct unwind_row *
merge_choose(const struct unwind_row *row, const struct unwind_row *root)
{
	static const struct unwind_row none = {.kind = UNWIND_NONE};

	if (root != NULL && (root->kind == UNWIND_STOP || row == NULL ||
	    row->kind == UNWIND_NONE))
		return root;
	return row != NULL ? row : &none;
}

enum ehframe_status
roots_merge(const struct roots *r, struct ehframe_rows *rows, size_t max_rows)
{
	size_t i = 0, k = 0, n = 0, max = rows->n + r->n;
	struct unwind_row *out, now;

	if (r->status != EHFRAME_OK || r->n == 0)
		return r->status;
	out = calloc(max, sizeof(*out));
	if (out == NULL)
		return EHFRAME_NO_MEMORY;
	while (i < rows->n || k < r->n) {
		uint32_t pc = k == r->n || (i < rows->n &&
		    rows->rows[i].pc < r->rows[k].pc) ? rows->rows[i].pc :
		    r->rows[k].pc;

		while (i < rows->n && rows->rows[i].pc == pc)
			i++;
		while (k < r->n && r->rows[k].pc == pc)
			k++;
		now = *merge_choose(i > 0 ? &rows->rows[i - 1] : NULL,
		    k > 0 ? &r->rows[k - 1] : NULL);
		now.pc = pc;
		if (n == 0 || !same_rule(&out[n - 1], &now))
			out[n++] = now;
	}
	if (n > max_rows) {
		free(out);
		return EHFRAME_TOO_BIG;
	}
	free(rows->rows);
	rows->rows = out;
	rows->n = n;
	return EHFRAME_OK;
}
