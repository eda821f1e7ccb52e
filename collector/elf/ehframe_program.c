/*
 * The instructions of .eh_frame: DWARF's little machine that describes, for
 * each address of a function, where the caller's registers are; and the
 * translation of its states to rows.
 */
#include <string.h>

#include "collector/elf/ehframe_private.h"

#define STATES_MAX 32 /* remembered */

uint64_t
eh_read(struct eh_cursor *c, size_t bytes)
{
	uint64_t v = 0;
	size_t i;

	if (c->bad || (size_t)(c->end - c->p) < bytes) {
		c->bad = true;
		return 0;
	}
	for (i = 0; i < bytes; i++)
		v |= (uint64_t)c->p[i] << (8 * i);
	c->p += bytes;
	return v;
}

/* Bits beyond the 64th are dropped: padded numbers are legal.  *sign: the
 * bits above those that were read, where the number is a negative one. */
static uint64_t
eh_read_leb(struct eh_cursor *c, uint64_t *sign)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = eh_read(c, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while ((byte & 0x80) != 0);
	*sign = (byte & 0x40) != 0 && shift < 64 ? ~UINT64_C(0) << shift : 0;
	return v;
}

uint64_t
eh_read_uleb(struct eh_cursor *c)
{
	uint64_t sign;

	return eh_read_leb(c, &sign);
}

int64_t
eh_read_sleb(struct eh_cursor *c)
{
	uint64_t sign, v = eh_read_leb(c, &sign);

	return (int64_t)(v | sign);
}

void
eh_skip(struct eh_cursor *c, uint64_t n)
{
	if (c->bad || (uint64_t)(c->end - c->p) < n)
		c->bad = true;
	else
		c->p += n;
}

static uint64_t
eh_read_signed(struct eh_cursor *c, size_t bytes)
{
	uint64_t v = eh_read(c, bytes);
	uint64_t sign = UINT64_C(1) << (8 * bytes - 1);

	return (v ^ sign) - sign;
}

/* The low half says how the number is written, the high one what it counts
 * from: here only from nothing, or from where it stands. */
uint64_t
eh_read_pointer(struct eh_cursor *c, uint8_t encoding, uint64_t vaddr)
{
	uint64_t v = 0;

	if (encoding == EH_PTR_OMIT)
		return 0;
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		v = eh_read(c, 8);
		break;
	case 0x01:
		v = eh_read_uleb(c);
		break;
	case 0x02:
		v = eh_read(c, 2);
		break;
	case 0x03:
		v = eh_read(c, 4);
		break;
	case 0x09:
		v = (uint64_t)eh_read_sleb(c);
		break;
	case 0x0a:
		v = eh_read_signed(c, 2);
		break;
	case 0x0b:
		v = eh_read_signed(c, 4);
		break;
	default:
		c->bad = true;
	}
	if ((encoding & 0x70) == 0x10)
		v += vaddr;
	else if ((encoding & 0x70) != 0)
		c->bad = true;
	return v;
}

void
eh_state_init(struct eh_state *s)
{
	*s = (struct eh_state){.cfa_reg = REG_SP, .cfa_offset = 8,
	    .bp = {.kind = EH_SAME},
	    .ra = {.kind = EH_OFFSET, .offset = -8}};
}

static int64_t
eh_scale(int64_t n, int64_t factor)
{
	return (int64_t)((uint64_t)n * (uint64_t)factor);
}

/* Is it the register whose place is wanted? */
static bool
eh_is_saved(const struct eh_program *p, uint64_t reg)
{
	return reg == (p->in->saved != 0 ? p->in->saved : REG_BP);
}

static void
eh_set(struct eh_program *p, struct eh_state *s, uint64_t reg,
    const struct eh_rule *rule)
{
	if (eh_is_saved(p, reg))
		s->bp = *rule;
	else if (reg == REG_RA)
		s->ra = *rule;
}

static void
eh_set_kind(struct eh_program *p, struct eh_state *s, uint64_t reg,
    enum eh_rule_kind kind)
{
	eh_set(p, s, reg, &(struct eh_rule){.kind = kind});
}

static void
eh_set_offset(struct eh_program *p, struct eh_state *s, uint64_t reg,
    int64_t n)
{
	eh_set(p, s, reg, &(struct eh_rule){.kind = EH_OFFSET,
	    .offset = eh_scale(n, p->cie->data_align)});
}

static void
eh_restore(struct eh_program *p, struct eh_state *s, uint64_t reg)
{
	eh_set(p, s, reg, eh_is_saved(p, reg) ? &p->cie->initial.bp :
	    &p->cie->initial.ra);
}

static const uint8_t *
eh_block(struct eh_cursor *c, size_t *n)
{
	uint64_t size = eh_read_uleb(c);
	const uint8_t *p = c->p;

	eh_skip(c, size);
	*n = c->bad ? 0 : (size_t)size;
	return p;
}

static void
eh_set_expression(struct eh_program *p, struct eh_state *s,
    enum eh_rule_kind kind)
{
	uint64_t reg = eh_read_uleb(&p->code);
	struct eh_rule rule = {.kind = kind};

	rule.expr = eh_block(&p->code, &rule.n);
	eh_set(p, s, reg, &rule);
}

static void
eh_define_cfa(struct eh_state *s, uint64_t reg, int64_t offset)
{
	s->cfa_reg = reg;
	s->cfa_offset = offset;
	s->cfa_expr = NULL;
}

/* DWARF's numbers of instructions without an operand in the opcode. */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f
};

/* Instructions about where a register is; false when `op` is none. */
static bool
eh_run_register(struct eh_program *p, struct eh_state *s, uint8_t op)
{
	struct eh_cursor *c = &p->code;
	uint64_t reg;

	if (op == CFA_EXPRESSION || op == CFA_VAL_EXPRESSION) {
		eh_set_expression(p, s, op == CFA_EXPRESSION ?
		    EH_EXPRESSION : EH_OTHER);
		return true;
	}
	reg = eh_read_uleb(c);
	switch (op) {
	case CFA_OFFSET_EXTENDED:
		eh_set_offset(p, s, reg, (int64_t)eh_read_uleb(c));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		eh_set_offset(p, s, reg, eh_read_sleb(c));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		eh_set_offset(p, s, reg, eh_scale(eh_read_sleb(c), -1));
		return true;
	case CFA_RESTORE_EXTENDED:
		eh_restore(p, s, reg);
		return true;
	case CFA_UNDEFINED:
		eh_set_kind(p, s, reg, EH_UNDEFINED);
		return true;
	case CFA_SAME_VALUE:
		eh_set_kind(p, s, reg, EH_SAME);
		return true;
	case CFA_REGISTER:
		eh_set(p, s, reg, &(struct eh_rule){.kind = EH_REGISTER,
		    .offset = (int64_t)eh_read_uleb(c)});
		return true;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF: /* the operand's sign does not matter */
		eh_read_uleb(c);
		eh_set_kind(p, s, reg, EH_OTHER);
		return true;
	}
	return false;
}

/* Instructions about the CFA; false when `op` is none. */
static bool
eh_run_cfa(struct eh_program *p, struct eh_state *s, uint8_t op)
{
	struct eh_cursor *c = &p->code;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = eh_read_uleb(c);
		eh_define_cfa(s, reg, (int64_t)eh_read_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = eh_read_uleb(c);
		eh_define_cfa(s, reg, eh_scale(eh_read_sleb(c),
		    p->cie->data_align));
		return true;
	case CFA_DEF_CFA_REGISTER:
		eh_define_cfa(s, eh_read_uleb(c), s->cfa_offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		eh_define_cfa(s, s->cfa_reg, (int64_t)eh_read_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		eh_define_cfa(s, s->cfa_reg, eh_scale(eh_read_sleb(c),
		    p->cie->data_align));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		s->cfa_expr = eh_block(c, &s->cfa_n);
		return true;
	case CFA_GNU_ARGS_SIZE:
		eh_read_uleb(c);
		return true;
	}
	return op == CFA_NOP;
}

/* Where the program is in the code that it describes. */
struct eh_place {
	uint64_t loc;
	size_t depth;
	struct eh_state states[STATES_MAX];
};

/* Goes on to `loc`: what was said so far holds up to there. */
static bool
eh_advance(struct eh_program *p, const struct eh_state *s,
    struct eh_place *at, uint64_t loc)
{
	struct unwind_row row;

	if (loc <= at->loc)
		return loc == at->loc;
	if (p->row != NULL && at->loc < p->end) {
		row = eh_row(p->cie, s);
		if (!p->row(p->arg, at->loc, &row))
			return false;
	}
	at->loc = loc;
	return true;
}

static bool
eh_run_place(struct eh_program *p, struct eh_state *s, struct eh_place *at,
    uint8_t op)
{
	struct eh_cursor *c = &p->code;
	uint64_t n = 0;

	switch (op) {
	case CFA_REMEMBER_STATE:
		if (at->depth == STATES_MAX)
			return false;
		at->states[at->depth++] = *s;
		return true;
	case CFA_RESTORE_STATE:
		if (at->depth == 0)
			return false;
		*s = at->states[--at->depth];
		return true;
	case CFA_SET_LOC:
		n = eh_read_pointer(c, p->cie->encoding, p->in->vaddr +
		    (uint64_t)(c->p - p->in->bytes));
		return !c->bad && eh_advance(p, s, at, n);
	}
	n = eh_read(c, op == CFA_ADVANCE_LOC1 ? 1 :
	    op == CFA_ADVANCE_LOC2 ? 2 : 4);
	return !c->bad &&
	    eh_advance(p, s, at, at->loc + n * p->cie->code_align);
}

static bool
eh_step(struct eh_program *p, struct eh_state *s, struct eh_place *at)
{
	uint8_t op = (uint8_t)eh_read(&p->code, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case 0x40:
		return eh_advance(p, s, at, at->loc +
		    low * p->cie->code_align);
	case 0x80:
		eh_set_offset(p, s, low, (int64_t)eh_read_uleb(&p->code));
		return !p->code.bad;
	case 0xc0:
		eh_restore(p, s, low);
		return true;
	}
	if ((op >= CFA_SET_LOC && op <= CFA_ADVANCE_LOC4) ||
	    op == CFA_REMEMBER_STATE || op == CFA_RESTORE_STATE)
		return eh_run_place(p, s, at, op);
	if (eh_run_cfa(p, s, op))
		return !p->code.bad;
	return eh_run_register(p, s, op) && !p->code.bad;
}

bool
eh_run(struct eh_program *p, struct eh_state *s)
{
	static const struct unwind_row lost = {.kind = UNWIND_UNSUPPORTED};
	struct eh_place at;

	at.loc = p->start;
	at.depth = 0;
	while (p->code.p < p->code.end && at.loc < p->end) {
		if (eh_step(p, s, &at))
			continue;
		if (p->row != NULL && at.loc < p->end)
			p->row(p->arg, at.loc, &lost);
		return false;
	}
	return eh_advance(p, s, &at, p->end > at.loc ? p->end : at.loc);
}

/* Is the expression "register + offset", as DW_OP_breg? */
static bool
eh_is_breg(const uint8_t *expr, size_t n, uint64_t reg, int64_t *offset,
    size_t *used)
{
	struct eh_cursor c = {.p = expr, .end = expr + n};

	if (n == 0 || eh_read(&c, 1) != 0x70 + reg)
		return false;
	*offset = eh_read_sleb(&c);
	*used = (size_t)(c.p - expr);
	return !c.bad;
}

/* The rule "at register + offset". */
static bool
eh_is_at(const struct eh_rule *rule, uint64_t reg, int64_t offset)
{
	int64_t got;
	size_t used;

	return rule->kind == EH_EXPRESSION && eh_is_breg(rule->expr, rule->n,
	    reg, &got, &used) && used == rule->n && got == offset;
}

/* The linker's procedure linkage table: an entry is 16 bytes, and its push
 * is over from byte N on:
 *	rsp + 8 + (((rip & 15) >= N) << 3) */
static bool
eh_plt(const struct eh_state *s, struct unwind_row *row)
{
	static const uint8_t before[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a};
	static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
	uint8_t literal;

	if (s->cfa_n != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(s->cfa_expr, before, sizeof(before)) != 0 ||
	    memcmp(s->cfa_expr + sizeof(before) + 1, after,
	    sizeof(after)) != 0)
		return false;
	literal = s->cfa_expr[sizeof(before)];
	if (literal < 0x30 || literal > 0x3f)
		return false;
	row->kind = UNWIND_PLT;
	row->cfa = literal - 0x30;
	return true;
}

/* Functions that align their stack keep the CFA in it: *(register + n). */
static bool
eh_memory(const struct eh_state *s, struct unwind_row *row)
{
	int64_t offset, cell;
	size_t used;

	if (eh_is_breg(s->cfa_expr, s->cfa_n, REG_BP, &offset, &used))
		row->kind = UNWIND_AT_BP;
	else if (eh_is_breg(s->cfa_expr, s->cfa_n, REG_SP, &offset, &used))
		row->kind = UNWIND_AT_SP;
	else
		return false;
	cell = offset / 8 + UNWIND_CFA_ZERO;
	if (s->cfa_n != used + 1 || s->cfa_expr[used] != 0x06 ||
	    offset % 8 != 0 || cell < 0 || cell > UNWIND_CFA_MAX)
		return false;
	row->cfa = (uint16_t)cell;
	return true;
}

/* How the CFA is found from a register. */
static enum unwind_kind
eh_kind(uint64_t reg)
{
	return reg == REG_SP ? UNWIND_SP : reg == REG_BP ? UNWIND_BP :
	    reg == REG_R10 ? UNWIND_R10 : reg == REG_BX ? UNWIND_BX :
	    UNWIND_UNSUPPORTED;
}

static bool
eh_row_cfa(const struct eh_state *s, struct unwind_row *row)
{
	int64_t cell = s->cfa_offset / 8;

	if (s->cfa_expr != NULL)
		return eh_plt(s, row) || eh_memory(s, row);
	row->kind = eh_kind(s->cfa_reg);
	if (row->kind == UNWIND_SP && cell >= UNWIND_CFA_FAR) {
		row->kind = UNWIND_SP_FAR;
		cell -= UNWIND_CFA_FAR;
	}
	if (row->kind == UNWIND_UNSUPPORTED || s->cfa_offset < 0 ||
	    s->cfa_offset % 8 != 0 || cell > UNWIND_CFA_MAX)
		return false;
	row->cfa = (uint16_t)cell;
	return true;
}

static bool
eh_row_bp(const struct eh_rule *bp, struct unwind_row *row)
{
	row->bp = UNWIND_BP_SAME;
	if (bp->kind == EH_SAME || bp->kind == EH_UNDEFINED)
		return true;
	if (eh_is_at(bp, REG_BP, 0)) {
		row->bp = UNWIND_BP_AT_BP;
		return true;
	}
	if (bp->kind != EH_OFFSET || bp->offset >= 0 || bp->offset % 8 != 0 ||
	    bp->offset / -8 > UNWIND_BP_MAX)
		return false;
	row->bp = (uint8_t)(bp->offset / -8);
	return true;
}

/* The kernel's signal frame on x86-64: struct ucontext is at sp, and in it
 * rbp at 120, rsp at 160, rip at 168. */
static bool
eh_is_signal(const struct eh_cie *cie, const struct eh_state *s)
{
	return cie->signal && eh_is_at(&s->bp, REG_SP, 120) &&
	    eh_is_at(&s->ra, REG_SP, 168);
}

/* The return address is in rdi: vfork() of the GNU C library. */
static bool
eh_is_di(const struct eh_cie *cie, const struct eh_state *s,
    struct unwind_row *row)
{
	if (cie->signal || s->ra.kind != EH_REGISTER ||
	    s->ra.offset != REG_DI || s->bp.kind != EH_SAME ||
	    !eh_row_cfa(s, row) || row->kind != UNWIND_SP)
		return false;
	row->kind = UNWIND_DI;
	return true;
}

struct unwind_row
eh_row(const struct eh_cie *cie, const struct eh_state *s)
{
	struct unwind_row row = {0};

	if (eh_is_signal(cie, s))
		return (struct unwind_row){.kind = UNWIND_SIGNAL};
	if (s->ra.kind == EH_UNDEFINED)
		return (struct unwind_row){.kind = UNWIND_STOP};
	if (eh_is_di(cie, s, &row))
		return row;
	if (cie->signal || s->ra.kind != EH_OFFSET || s->ra.offset != -8 ||
	    !eh_row_cfa(s, &row) || !eh_row_bp(&s->bp, &row) ||
	    (row.kind == UNWIND_BX && row.bp != UNWIND_BP_SAME))
		return (struct unwind_row){.kind = UNWIND_UNSUPPORTED};
	return row;
}
