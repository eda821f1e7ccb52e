/*
 * The entries of .eh_frame: finds them, brings them into the order of the
 * code, and joins their rows to one table.
 *
 *	entry   length, CIE: 0     ─► common part: alignments, first state
 *	entry   length, CIE: back  ─► function: start, size, instructions
 *
 * Two passes: the first notes where each function's entry is, the second
 * runs the instructions in the order of the functions, so that the rows come
 * out sorted and need no memory but their own.
 */
#include "collector/elf/ehframe.h"

#include <stdlib.h>
#include <string.h>

#include "collector/elf/ehframe_private.h"

#define CIES 64            /* remembered; a power of two */
#define CIE_BYTES_MAX 1024 /* larger ones are refused */
#define PADDING 15         /* a smaller gap between functions is none */

struct eh_entry {
	struct eh_cursor body; /* behind the length and the CIE field */
	size_t at;             /* of the length */
	size_t cie;            /* where its CIE is; `at` itself: it is one */
};

struct eh_reader {
	const struct ehframe_input *in;
	struct ehframe_rows *out;
	size_t cap;
	enum ehframe_status status;
	/* Functions as (offset of the code, offset of the entry), 32 bits
	 * each: sorting the numbers sorts the functions. */
	uint64_t *functions;
	size_t n_functions, cap_functions;
	struct eh_cie cies[CIES];
	uint64_t bias, limit; /* of the function at work: pc = loc - bias */
	uint64_t high;        /* where the wanted part ends */
};

static bool
eh_need(const struct ehframe_input *in, size_t at, size_t n)
{
	return in->need == NULL || in->need(in->arg, at, n);
}

static uint64_t
eh_read_length(const struct ehframe_input *in, struct eh_cursor *c)
{
	if (c->end - c->p < 4 || !eh_need(in, (size_t)(c->p - in->bytes), 4))
		c->bad = true;
	return eh_read(c, 4);
}

/* One entry; *at goes on to the next.  False at the end. */
static bool
eh_next(const struct ehframe_input *in, size_t *at, struct eh_entry *e)
{
	struct eh_cursor c = {.p = in->bytes + *at,
	    .end = in->bytes + in->size};
	uint64_t length = eh_read_length(in, &c), id, field;

	while (length == 0 && in->exact && !c.bad)
		/* an end in the middle, by a link */
		length = eh_read_length(in, &c);
	e->at = (size_t)(c.p - in->bytes) - 4;
	/* 64-bit entries do not occur; what follows one is lost. */
	if (c.bad || length == 0 || length == UINT32_MAX ||
	    length > (uint64_t)(c.end - c.p) ||
	    !eh_need(in, (size_t)(c.p - in->bytes), length))
		return false;
	c.end = c.p + length;
	*at = (size_t)(c.end - in->bytes);
	field = (uint64_t)(c.p - in->bytes);
	id = eh_read(&c, 4);
	e->cie = id == 0 ? e->at : id <= field ? (size_t)(field - id) :
	    SIZE_MAX;
	e->body = c;
	if (c.bad)
		e->cie = SIZE_MAX; /* too short: of no CIE */
	return true;
}

/* The letters behind "z" say what the augmentation data are. */
static void
eh_read_augmentation(const struct ehframe_input *in, struct eh_cie *cie,
    struct eh_cursor *c, const char *letters)
{
	uint64_t size = eh_read_uleb(c);
	const uint8_t *begin = c->p;
	uint8_t encoding;

	cie->augmented = true;
	for (; *letters != '\0' && !c->bad; letters++) {
		if (*letters == 'R') {
			cie->encoding = (uint8_t)eh_read(c, 1);
		} else if (*letters == 'L') {
			eh_read(c, 1);
		} else if (*letters == 'P') {
			encoding = (uint8_t)eh_read(c, 1);
			eh_read_pointer(c, encoding & 0x0f,
			    in->vaddr + (uint64_t)(c->p - in->bytes));
		} else if (*letters == 'S') {
			cie->signal = true;
		} else if (*letters != 'B') {
			break; /* the size says where the rest ends */
		}
	}
	c->p = begin;
	eh_skip(c, size);
}

static bool
eh_read_cie_head(const struct ehframe_input *in, struct eh_cie *cie,
    struct eh_cursor *c)
{
	uint8_t version = (uint8_t)eh_read(c, 1);
	const char *letters = (const char *)c->p;
	const uint8_t *end = memchr(c->p, '\0', (size_t)(c->end - c->p));

	if ((version != 1 && version != 3 && version != 4) || end == NULL)
		return false;
	c->p = end + 1;
	if (version == 4 && eh_read(c, 2) != 8) /* address, segment size */
		return false;
	cie->code_align = eh_read_uleb(c);
	cie->data_align = eh_read_sleb(c);
	if ((version == 1 ? eh_read(c, 1) : eh_read_uleb(c)) != REG_RA)
		return false;
	if (letters[0] == 'z')
		eh_read_augmentation(in, cie, c, letters + 1);
	else if (letters[0] != '\0')
		return false;
	return !c->bad;
}

static bool
eh_read_cie(const struct ehframe_input *in, struct eh_cie *cie)
{
	size_t at = cie->at;
	struct eh_entry e;
	struct eh_program p = {.cie = cie, .in = in, .end = UINT64_MAX};
	struct eh_state first;

	if (at > in->size || !eh_next(in, &at, &e) || e.cie != cie->at ||
	    e.body.end - e.body.p > CIE_BYTES_MAX ||
	    !eh_read_cie_head(in, cie, &e.body))
		return false;
	eh_state_init(&first);
	cie->initial = first;
	p.code = e.body;
	if (!eh_run(&p, &first))
		return false;
	cie->initial = first;
	return true;
}

/* NULL when it is not understood. */
static const struct eh_cie *
eh_cie(struct eh_reader *r, size_t at)
{
	struct eh_cie *cie = &r->cies[(at / 4) % CIES];

	if (at == SIZE_MAX)
		return NULL;
	if (!cie->known || cie->at != at) {
		*cie = (struct eh_cie){.at = at, .known = true};
		cie->valid = eh_read_cie(r->in, cie);
	}
	return cie->valid ? cie : NULL;
}

/* A function's entry up to its instructions. */
static bool
eh_read_range(const struct ehframe_input *in, const struct eh_cie *cie,
    struct eh_cursor *c, uint64_t *start, uint64_t *size)
{
	*start = eh_read_pointer(c, cie->encoding,
	    in->vaddr + (uint64_t)(c->p - in->bytes));
	*size = eh_read_pointer(c, cie->encoding & 0x0f, 0);
	if (cie->augmented)
		eh_skip(c, eh_read_uleb(c));
	return !c->bad && *size > 0;
}

static const struct ehframe_segment *
eh_segment(const struct ehframe_input *in, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < in->n_segments; i++)
		if (vaddr >= in->segments[i].vaddr &&
		    vaddr - in->segments[i].vaddr < in->segments[i].size)
			return &in->segments[i];
	return NULL;
}

static bool
eh_note(struct eh_reader *r, uint64_t offset, size_t at)
{
	size_t cap = r->cap_functions != 0 ? r->cap_functions * 2 : 1024;
	uint64_t *p;

	if (r->n_functions == r->cap_functions) {
		p = realloc(r->functions, cap * sizeof(*p));
		if (p == NULL) {
			r->status = EHFRAME_NO_MEMORY;
			return false;
		}
		r->functions = p;
		r->cap_functions = cap;
	}
	r->functions[r->n_functions++] = offset << 32 | at;
	return true;
}

static void
eh_collect_entry(struct eh_reader *r, struct eh_entry *e)
{
	const struct ehframe_segment *seg;
	const struct eh_cie *cie;
	uint64_t start, size, offset;

	if (e->cie == e->at)
		return;
	cie = eh_cie(r, e->cie);
	if (cie == NULL ||
	    !eh_read_range(r->in, cie, &e->body, &start, &size)) {
		r->out->skipped++;
		return;
	}
	/* Code that the linker dropped keeps its entry, at 0. */
	seg = eh_segment(r->in, start);
	if (seg == NULL)
		return;
	offset = seg->offset + (start - seg->vaddr);
	if (offset > UINT32_MAX)
		r->out->skipped++;
	else
		eh_note(r, offset, e->at);
}

/* First pass: where is each function's entry? */
static void
eh_collect(struct eh_reader *r)
{
	const struct ehframe_input *in = r->in;
	struct eh_entry e;
	size_t at = 0, i;

	for (i = 0; i < in->n_entries && r->status == EHFRAME_OK; i++) {
		at = in->entries[i];
		if (at < in->size && eh_next(in, &at, &e))
			eh_collect_entry(r, &e);
	}
	while (in->entries == NULL && r->status == EHFRAME_OK &&
	    eh_next(in, &at, &e))
		eh_collect_entry(r, &e);
}

static bool
eh_same_rule(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kind == b->kind && a->cfa == b->cfa && a->bp == b->bp;
}

static bool
eh_put(struct eh_reader *r, uint32_t pc, const struct unwind_row *row)
{
	struct ehframe_rows *out = r->out;
	size_t cap = r->cap != 0 ? r->cap * 2 : 1024;
	struct unwind_row *p;

	pc = pc > r->in->low ? pc : r->in->low;
	if (out->n > 0 && out->rows[out->n - 1].pc == pc)
		out->n--; /* of what is before the part, the last one serves */
	if (out->n > 0 && eh_same_rule(&out->rows[out->n - 1], row))
		return true;
	if (out->n == r->in->max_rows) {
		r->status = EHFRAME_TOO_BIG;
		return false;
	}
	if (out->n == r->cap) {
		p = realloc(out->rows, cap * sizeof(*p));
		if (p == NULL) {
			r->status = EHFRAME_NO_MEMORY;
			return false;
		}
		out->rows = p;
		r->cap = cap;
	}
	out->rows[out->n] = *row;
	out->rows[out->n++].pc = pc;
	out->unsupported += row->kind == UNWIND_UNSUPPORTED;
	return true;
}

static bool
eh_take_row(void *arg, uint64_t loc, const struct unwind_row *row)
{
	struct eh_reader *r = arg;
	uint64_t pc = loc - r->bias;

	return pc < r->limit && eh_put(r, (uint32_t)pc, row);
}

/* The rows of one function, up to the next one's code. */
static void
eh_add_function(struct eh_reader *r, uint64_t function, uint64_t next)
{
	static const struct unwind_row none = {.kind = UNWIND_NONE};
	size_t at = (uint32_t)function;
	const struct ehframe_segment *seg;
	struct eh_entry e;
	struct eh_program p = {.in = r->in, .row = eh_take_row, .arg = r};
	struct eh_state s;
	uint64_t size, pc = function >> 32, end;

	if (!eh_next(r->in, &at, &e) ||
	    (p.cie = eh_cie(r, e.cie)) == NULL ||
	    !eh_read_range(r->in, p.cie, &e.body, &p.start, &size) ||
	    (seg = eh_segment(r->in, p.start)) == NULL)
		return; /* cannot be: it was read before */
	if (size > seg->size - (p.start - seg->vaddr))
		size = seg->size - (p.start - seg->vaddr);
	p.end = p.start + size;
	p.code = e.body;
	end = pc + size < UINT32_MAX ? pc + size : UINT32_MAX;
	r->bias = p.start - pc;
	r->limit = end < next ? end : next;
	if (r->limit > r->high)
		r->limit = r->high;
	s = p.cie->initial;
	r->out->functions++;
	eh_run(&p, &s);
	if (r->status == EHFRAME_OK && end < next && next - end > PADDING &&
	    end < r->high)
		eh_put(r, (uint32_t)end, &none);
}

static int
eh_compare(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

static void
eh_sort(struct eh_reader *r)
{
	size_t i;

	for (i = 1; i < r->n_functions; i++)
		if (r->functions[i - 1] > r->functions[i])
			break;
	if (i < r->n_functions)
		qsort(r->functions, r->n_functions, sizeof(r->functions[0]),
		    eh_compare);
}

/* Second pass, in the order of the code.  Of entries for the same start the
 * last one counts; what ends before the wanted part or begins behind it does
 * not. */
static void
eh_emit(struct eh_reader *r)
{
	uint64_t next;
	size_t i;

	for (i = 0; i < r->n_functions && r->status == EHFRAME_OK; i++) {
		next = i + 1 < r->n_functions ? r->functions[i + 1] >> 32 :
		    UINT64_MAX;
		if (next > r->in->low && next != r->functions[i] >> 32 &&
		    r->functions[i] >> 32 < r->high)
			eh_add_function(r, r->functions[i], next);
	}
}

enum ehframe_status
ehframe_read(const struct ehframe_input *in, struct ehframe_rows *out)
{
	struct eh_reader *r = calloc(1, sizeof(*r));
	enum ehframe_status status;

	*out = (struct ehframe_rows){0};
	if (r == NULL)
		return EHFRAME_NO_MEMORY;
	r->in = in;
	r->out = out;
	r->high = in->high != 0 ? in->high : UINT64_MAX;
	if (in->size > EHFRAME_BYTES_MAX)
		r->status = EHFRAME_TOO_BIG;
	eh_collect(r);
	eh_sort(r);
	eh_emit(r);
	status = r->status;
	if (status != EHFRAME_OK) {
		free(out->rows);
		*out = (struct ehframe_rows){0};
	}
	free(r->functions);
	free(r);
	return status;
}
