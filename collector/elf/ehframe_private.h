/*
 * What ehframe.c (entries, order) and ehframe_program.c (instructions)
 * share.
 */
#ifndef COLLECTOR_EHFRAME_PRIVATE_H
#define COLLECTOR_EHFRAME_PRIVATE_H

#include "collector/elf/ehframe.h"

/* DWARF's numbers of the registers that matter: the seam for other
 * machines. */
#define REG_BX 3
#define REG_DI 5
#define REG_BP 6
#define REG_SP 7
#define REG_R10 10
#define REG_RA 16

/* A bounded cursor; once `bad`, reads give 0. */
struct eh_cursor {
	const uint8_t *p, *end;
	bool bad;
};

uint64_t eh_read(struct eh_cursor *c, size_t bytes); /* little endian */
uint64_t eh_read_uleb(struct eh_cursor *c);
int64_t eh_read_sleb(struct eh_cursor *c);
void eh_skip(struct eh_cursor *c, uint64_t n);

#define EH_PTR_OMIT 0xff

/* An encoded pointer (DW_EH_PE_*); `vaddr` is that of c->p.  Bad when the
 * encoding needs what is not known here. */
uint64_t eh_read_pointer(struct eh_cursor *c, uint8_t encoding,
    uint64_t vaddr);

enum eh_rule_kind {
	EH_SAME,
	EH_UNDEFINED,
	EH_OFFSET,     /* at CFA + offset */
	EH_EXPRESSION, /* at the address that it computes */
	EH_REGISTER,   /* in the register `offset` */
	EH_OTHER
};

struct eh_rule {
	enum eh_rule_kind kind;
	int64_t offset;
	const uint8_t *expr;
	size_t n;
};

/* One row of DWARF's table. */
struct eh_state {
	uint64_t cfa_reg;
	int64_t cfa_offset;
	const uint8_t *cfa_expr; /* NULL: register and offset */
	size_t cfa_n;
	struct eh_rule bp, ra;
};

struct eh_cie {
	size_t at; /* of its bytes in the section */
	bool known, valid;
	bool augmented, signal;
	uint8_t encoding;
	uint64_t code_align;
	int64_t data_align;
	struct eh_state initial;
};

/* The state that the machine's calling convention starts with. */
void eh_state_init(struct eh_state *s);

/* Takes a row that holds from offset `pc` on; false to stop. */
typedef bool eh_row_fn(void *arg, uint64_t pc, const struct unwind_row *row);

struct eh_program {
	const struct eh_cie *cie;
	struct eh_cursor code;
	const struct ehframe_input *in; /* for addresses in the program */
	uint64_t start, end; /* virtual addresses that the entry is for */
	eh_row_fn *row;      /* NULL: only the last state is wanted */
	void *arg;
};

/* Runs the instructions from state *s; false when one is not understood,
 * and then the rows so far were told. */
bool eh_run(struct eh_program *p, struct eh_state *s);

/* The row of a state, without pc. */
struct unwind_row eh_row(const struct eh_cie *cie, const struct eh_state *s);

#endif
