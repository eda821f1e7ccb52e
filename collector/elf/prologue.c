/*
 * A table of instructions, and how deep the stack is along them.
 */
#include "collector/elf/prologue.h"

#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"

#define CODE_STEP 4096 /* bytes that are read at once */
#define CODE_AHEAD 16  /* no instruction is longer */
#define HEADERS 64     /* of sections: more than linkers make of code */
#define WAYS_MAX 16    /* branches whose targets are to come */
#define DEPTH_MAX 4096 /* words */
#define PUSH_NUMBER 0x68 /* behind the jump of a stub to be bound */
#define FUNCTION_ALIGN 16
#define STUB_ALIGN 8

enum act {
	ACT_NONE,
	ACT_PUSH,
	ACT_POP,
	ACT_SUB,    /* of rsp; an operand of 1 byte ends the instruction */
	ACT_ADD,
	ACT_BRANCH, /* the operand is the distance, of 1 byte */
	ACT_SLOT,   /* a jump through a slot, which may lead to what follows */
	ACT_RETURN,
	ACT_END     /* what follows is not reached from here */
};

/* The instructions that compilers use there, by their first bytes. */
static const struct instruction {
	const char *bytes;
	uint8_t n, size; /* bytes that tell it, of all */
	uint8_t act;
} instructions[] = {
    {"\xf3\x0f\x1e\xfa", 4, 4, ACT_NONE}, /* endbr64 */
    {"\x48\x89\xe5", 3, 3, ACT_NONE},     /* mov %rsp,%rbp */
    {"\x48\x83\xec", 3, 4, ACT_SUB},
    {"\x48\x83\xc4", 3, 4, ACT_ADD},
    {"\x48\x8d\x05", 3, 7, ACT_NONE},     /* lea x(%rip),%rax */
    {"\x48\x8d\x35", 3, 7, ACT_NONE},     /* ,%rsi */
    {"\x48\x8d\x3d", 3, 7, ACT_NONE},     /* ,%rdi */
    {"\x48\x8b\x05", 3, 7, ACT_NONE},     /* mov x(%rip),%rax */
    {"\x48\x8b\x3d", 3, 7, ACT_NONE},     /* ,%rdi */
    {"\x48\xc7\xc0\0\0\0\0", 7, 7, ACT_NONE}, /* mov $0,%rax */
    {"\xb8", 1, 5, ACT_NONE},             /* mov $x,%eax */
    {"\xbe", 1, 5, ACT_NONE},             /* ,%esi */
    {"\xbf", 1, 5, ACT_NONE},             /* ,%edi */
    {"\x48\x3d", 2, 6, ACT_NONE},         /* cmp $x,%rax */
    {"\x48\x39\xf8", 3, 3, ACT_NONE},     /* cmp %rdi,%rax */
    {"\x48\x85\xc0", 3, 3, ACT_NONE},     /* test %rax,%rax */
    {"\x48\x29\xfe", 3, 3, ACT_NONE},     /* sub %rdi,%rsi */
    {"\x48\x81\xee", 3, 7, ACT_NONE},     /* sub $x,%rsi */
    {"\x48\x89\xf0", 3, 3, ACT_NONE},     /* mov %rsi,%rax */
    {"\x48\xc1\xee", 3, 4, ACT_NONE},     /* shr $x,%rsi */
    {"\x48\xc1\xf8", 3, 4, ACT_NONE},     /* sar $x,%rax */
    {"\x48\x01\xc6", 3, 3, ACT_NONE},     /* add %rax,%rsi */
    {"\x48\xd1\xfe", 3, 3, ACT_NONE},     /* sar %rsi */
    {"\x80\x3d", 2, 7, ACT_NONE},         /* cmpb $x,y(%rip) */
    {"\x48\x83\x3d", 3, 8, ACT_NONE},     /* cmpq */
    {"\xc6\x05", 2, 7, ACT_NONE},         /* movb $x,y(%rip) */
    {"\x74", 1, 2, ACT_BRANCH},           /* je */
    {"\x75", 1, 2, ACT_BRANCH},           /* jne */
    {"\xe8", 1, 5, ACT_NONE},             /* call */
    {"\xff\xd0", 2, 2, ACT_NONE},         /* call *%rax */
    {"\xff\x15", 2, 6, ACT_NONE},         /* call *x(%rip) */
    {"\xff\x35", 2, 6, ACT_PUSH},         /* push x(%rip) */
    {"\x68", 1, 5, ACT_PUSH},             /* push $x, PUSH_NUMBER */
    {"\xff\x25", 2, 6, ACT_SLOT},         /* jmp *x(%rip) */
    {"\xf2\xff\x25", 3, 7, ACT_SLOT},     /* bnd jmp *x(%rip) */
    {"\xff\xe0", 2, 2, ACT_END},          /* jmp *%rax */
    {"\xe9", 1, 5, ACT_END},              /* jmp */
    {"\xf2\xe9", 2, 6, ACT_END},          /* bnd jmp */
    {"\xc3", 1, 1, ACT_RETURN},           /* ret */
    {"\xf3\xc3", 2, 2, ACT_RETURN}};      /* repz ret */

struct depth {
	uint16_t words; /* from the stack pointer to the CFA; 0: not known */
	uint8_t bp;     /* the caller's is at CFA - 8 bp; 0: in the register */
};

struct way {
	uint64_t to;
	struct depth depth;
};

/* A walk along the code of a gap, by offsets in the file. */
struct code {
	const struct elf *e;
	uint64_t entry; /* the program's */
	uint64_t at, end;
	struct depth depth;
	struct way ways[WAYS_MAX];
	size_t n_ways;
	uint64_t first; /* of the bytes that are there */
	size_t n;
	uint8_t bytes[CODE_STEP];
};

/* The bytes from the walk's place on, and zeros behind the file; NULL: they
 * cannot be read.  Gaps between functions lie near each other. */
static const uint8_t *
code_bytes(struct code *c)
{
	uint64_t size = c->e->in.size, end = c->first + c->n;

	if (c->at >= c->first && c->at < end &&
	    (c->at + CODE_AHEAD <= end || end == size))
		return c->bytes + (c->at - c->first);
	c->first = c->at;
	c->n = c->at >= size ? 0 : size - c->at < CODE_STEP - CODE_AHEAD ?
	    (size_t)(size - c->at) : CODE_STEP - CODE_AHEAD;
	memset(c->bytes + c->n, 0, CODE_AHEAD);
	if (c->n > 0 && elf_read(c->e, c->at, c->bytes, c->n))
		return c->bytes;
	c->n = 0;
	return NULL;
}

/* The size of an instruction that does nothing, as assemblers fill with; 0:
 * it is another one. */
static size_t
filler_size(const uint8_t *p)
{
	size_t n = 0;

	if (p[0] == 0xcc || p[0] == 0)
		return 1;
	while (n < 4 && (p[n] == 0x66 || p[n] == 0x2e))
		n++;
	if (p[n] == 0x90)
		return n + 1;
	if (p[n] != 0x0f || p[n + 1] != 0x1f)
		return 0;
	p += n + 2;
	return n + 3 + ((p[0] & 7) == 4) + (p[0] < 0x40 ? 0 :
	    p[0] < 0x80 ? 1 : 4);
}

/* A register is pushed (50 to 57) or popped, of r8 and more behind 41. */
static bool
is_push_or_pop(const uint8_t *p, struct instruction *i)
{
	uint8_t n = p[0] == 0x41;

	if ((p[n] & 0xf0) != 0x50)
		return false;
	*i = (struct instruction){.size = n + 1,
	    .act = p[n] < 0x58 ? ACT_PUSH : ACT_POP};
	return true;
}

static bool
code_instruction(const uint8_t *p, struct instruction *out)
{
	size_t i;

	for (i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		*out = instructions[i];
		if (memcmp(p, out->bytes, out->n) == 0)
			return true;
	}
	*out = (struct instruction){.size = (uint8_t)filler_size(p)};
	return (out->size != 0 && p[0] != 0) || is_push_or_pop(p, out);
}

static void
code_add_way(struct code *c, uint64_t to)
{
	if (to > c->at && to < c->end && c->n_ways < WAYS_MAX)
		c->ways[c->n_ways++] = (struct way){to, c->depth};
}

static bool
is_jump_by_slot(const uint8_t *p)
{
	p += p[0] == 0xf2;
	return p[0] == 0xff && p[1] == 0x25;
}

/* How deep the stack is where a function begins: its caller has pushed the
 * return address; where stubs to be bound go on, they have pushed, too. */
static struct depth
code_first_depth(const uint8_t *p)
{
	bool stubs = p[0] == 0xff && p[1] == 0x35 && is_jump_by_slot(p + 6);

	return (struct depth){.words = stubs ? 2 : 1};
}

/* May a function begin here to which no way leads?  Not a program, for there is
 * no return address, nor the file's header. */
static bool
code_begins(const struct code *c, const uint8_t *p)
{
	return c->at != 0 && c->at != c->entry &&
	    (c->at % FUNCTION_ALIGN == 0 ||
	    (c->at % STUB_ALIGN == 0 && is_jump_by_slot(p)));
}

/* Comes to the next instruction, by the one before and by branches, which must
 * agree; false when nobody knows how. */
static bool
code_arrive(struct code *c, const uint8_t *p)
{
	size_t i;

	for (i = 0; i < c->n_ways; i++) {
		const struct depth *d = &c->ways[i].depth;

		if (c->ways[i].to != c->at)
			continue;
		if (c->depth.words != 0 && (c->depth.words != d->words ||
		    c->depth.bp != d->bp))
			return false;
		c->depth = *d;
	}
	if (c->depth.words == 0 && code_begins(c, p)) {
		c->depth = code_first_depth(p);
		c->n_ways = 0;
	}
	return c->depth.words != 0;
}

static bool
code_move(struct code *c, bool down, unsigned words)
{
	struct depth *d = &c->depth;

	if (down ? d->words + words > DEPTH_MAX : d->words <= words)
		return false;
	d->words = (uint16_t)(down ? d->words + words : d->words - words);
	if (d->bp > d->words)
		d->bp = 0; /* it was taken back */
	return true;
}

/* The instruction's effect; false when it makes no sense. */
static bool
code_act(struct code *c, const uint8_t *p, const struct instruction *i)
{
	uint8_t operand = p[i->size - 1];

	if (i->act == ACT_SUB || i->act == ACT_ADD)
		return operand % 8 == 0 && operand < 128 &&
		    code_move(c, i->act == ACT_SUB, operand / 8);
	if (i->act == ACT_BRANCH)
		code_add_way(c, c->at + i->size + (uint64_t)(int8_t)operand);
	else if (i->act == ACT_RETURN && c->depth.words != 1)
		return false;
	else if (i->act == ACT_RETURN || i->act == ACT_END ||
	    (i->act == ACT_SLOT && p[i->size] != PUSH_NUMBER))
		c->depth = (struct depth){0};
	else if (i->act == ACT_POP)
		return code_move(c, false, 1);
	if (i->act != ACT_PUSH)
		return true;
	if (!code_move(c, true, 1))
		return false;
	if (p[0] == 0x55 && c->depth.bp == 0 && c->depth.words <=
	    UNWIND_BP_MAX)
		c->depth.bp = (uint8_t)c->depth.words;
	return true;
}

/* The depth holds from pc on; NULL: it is not known. */
static void
code_put(struct roots *r, uint64_t pc, const struct depth *d)
{
	struct unwind_row row = {.kind = d != NULL ? UNWIND_SP : UNWIND_NONE,
	    .cfa = d != NULL ? d->words : 0, .bp = d != NULL ? d->bp : 0};
	const struct unwind_row *last;

	if (r->n > 0 && r->rows[r->n - 1].pc == pc)
		r->n--;
	last = r->n > 0 ? &r->rows[r->n - 1] : NULL;
	if (last == NULL || (last->pc < pc && (last->kind != row.kind ||
	    last->cfa != row.cfa || last->bp != row.bp)))
		roots_put(r, (uint32_t)pc, &row);
}

/* From where a function begins up to the gap's end or an instruction that is
 * not known; before that one the depth is. */
static void
code_follow(struct code *c, struct roots *r)
{
	struct instruction i;
	const uint8_t *p;
	size_t fill;

	while (c->at < c->end && (p = code_bytes(c)) != NULL) {
		fill = c->depth.words == 0 ? filler_size(p) : 0;
		if (fill > 0) {
			c->at += fill;
			continue;
		}
		if (!code_arrive(c, p))
			break;
		code_put(r, c->at, &c->depth);
		if (!code_instruction(p, &i) || !code_act(c, p, &i)) {
			c->at++;
			break;
		}
		c->at += i.size;
	}
	code_put(r, c->at < c->end ? c->at : c->end, NULL);
}

struct gaps {
	struct roots *out;
	/* Where sections with code begin: a function does there. */
	uint64_t sections[HEADERS];
	size_t n_sections;
	struct code code;
};

static void
gaps_open(struct gaps *g, const struct elf *e, struct roots *out)
{
	Elf64_Shdr s[HEADERS];
	uint64_t n = elf_sections(e), i;

	g->out = out;
	g->code.e = e;
	if (!elf_offset(e, e->head.e_entry, &g->code.entry))
		g->code.entry = UINT64_MAX;
	n = n < HEADERS ? n : HEADERS;
	if (n == 0 || !elf_read(e, e->head.e_shoff, s, n * sizeof(s[0])))
		return;
	for (i = 0; i < n; i++)
		if (s[i].sh_type == SHT_PROGBITS &&
		    (s[i].sh_flags & SHF_EXECINSTR) != 0)
			g->sections[g->n_sections++] = s[i].sh_offset;
}

/* Follows the code from..to - 1, which begins a section or not. */
static void
gaps_follow(struct gaps *g, uint64_t from, uint64_t to, bool section)
{
	struct code *c = &g->code;
	const uint8_t *p;

	c->at = from;
	c->end = to;
	c->n_ways = 0;
	c->depth = (struct depth){0};
	if (section && (p = code_bytes(c)) != NULL && from != c->entry)
		c->depth = code_first_depth(p);
	code_follow(c, g->out);
}

/* The part of a gap that lies in a segment, cut where sections begin. */
static void
gaps_take_part(struct gaps *g, uint64_t from, uint64_t to)
{
	uint64_t next;
	bool section;
	size_t i;

	for (; from < to; from = next) {
		next = to;
		section = false;
		for (i = 0; i < g->n_sections; i++) {
			section = section || g->sections[i] == from;
			if (g->sections[i] > from && g->sections[i] < next)
				next = g->sections[i];
		}
		gaps_follow(g, from, next, section);
	}
}

static void
gaps_take(struct gaps *g, uint64_t from, uint64_t to)
{
	const struct elf *e = g->code.e;
	const struct segment *s;
	uint64_t end;

	for (s = e->segments; s < e->segments + e->n_segments; s++) {
		end = s->offset + s->size;
		if (s->executable && s->offset < to && end > from)
			gaps_take_part(g, from > s->offset ? from : s->offset,
			    to < end ? to : end);
	}
}

/* Where the gap begins that lies around an offset: behind the function before
 * it, or with its segment. */
static uint64_t
gap_begin(const struct elf *e, uint64_t offset)
{
	struct elf_symbol f;
	uint64_t vaddr, at;

	return elf_vaddr(e, offset, &vaddr) && vaddr > 0 &&
	    elf_function_before(e, vaddr - 1, &f) && f.size > 0 &&
	    elf_offset(e, f.entry + f.size - 1, &at) && at < offset ? at + 1 :
	    0;
}

/* Keeps what is behind `low`; the first row may have begun before.  Where
 * nothing is known no row says so. */
static void
gaps_cut(struct roots *r, uint32_t low)
{
	size_t i, n = 0, known = 0;

	for (i = 0; i < r->n; i++) {
		n = r->rows[i].pc <= low ? 0 : n;
		known = r->rows[i].kind != UNWIND_NONE ? i + 1 : known;
		r->rows[n] = r->rows[i];
		if (r->rows[n].pc < low)
			r->rows[n].pc = low;
		n++;
	}
	r->n = known > r->n - n ? n : 0;
}

void
prologue_find(const struct elf *e, const struct ehframe_rows *rows,
    uint32_t low, uint32_t high, size_t max_rows, struct roots *out)
{
	struct gaps *g = calloc(1, sizeof(*g));
	uint64_t from = low, to;
	size_t i;

	*out = (struct roots){.max = max_rows,
	    .status = g == NULL ? EHFRAME_NO_MEMORY : EHFRAME_OK};
	if (g == NULL)
		return;
	gaps_open(g, e, out);
	/* The first one is before all rows. */
	for (i = 0; i <= rows->n; i++) {
		to = i < rows->n ? rows->rows[i].pc : high;
		if (from < to && (i == 0 ||
		    rows->rows[i - 1].kind == UNWIND_NONE))
			gaps_take(g, from == low ? gap_begin(e, low) : from,
			    to);
		from = to;
	}
	gaps_cut(out, low);
	free(g);
}
