/*
 * Functions and inlined calls from debug information, unit by unit.
 *
 *	unit      its ranges, sorted over all units; read when first hit
 *	function  sorted ranges of one unit; its tree is walked when first hit
 *	call      inlined into a function: pre-order, `skip` jumps over the
 *	          calls inside, so that an address goes down one path
 *
 *	0 thr ──┬─ 1 small ── 2 inl        calls of thr: small skip=3,
 *	        └─ 3 big ─── 4 inl         inl skip=3, big skip=5, inl skip=5
 */
#include "collector/elf/dwarf_index.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"

#define DEPTH_MAX 512         /* of nested debug entries */
#define RANGES_MAX (1u << 22) /* of a file's units, a unit, a function */

struct range {
	uint64_t low, high;
	uint32_t what; /* a unit or a function */
};

struct ranges {
	struct range *items;
	uint32_t n, cap;
	uint32_t read; /* entries may all point to one long list */
};

struct call {
	Dwarf_Die die;
	uint32_t first_part, n_parts; /* of parts[] */
	uint32_t skip;
};

struct function {
	Dwarf_Die die;
	uint64_t entry;
	const void *far; /* as a unit's */
	struct call *calls;
	struct range *parts;
	uint32_t n_calls, cap_calls, n_parts, cap_parts, n_read;
	bool walked;
};

struct unit {
	Dwarf_Die die;
	const void *far; /* the entry that the walk has come to */
	bool indexed;
	bool nested; /* functions may stand in types */
	bool deep;   /* walked into functions as well */
	struct ranges ranges; /* of functions */
	struct function *functions;
	uint32_t n_functions, cap_functions;
};

struct dwarf_index {
	struct unit *units;
	uint32_t n_units, cap_units;
	struct ranges ranges; /* of units */
};

/* ---- ranges ---- */

static int
range_order(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->high < y->high) - (x->high > y->high);
}

/* Adds what a debug entry covers; where that begins: cold parts come after,
 * wherever they lie. */
static uint64_t
ranges_add(struct ranges *r, Dwarf_Die *die, uint32_t what)
{
	Dwarf_Addr base, low, high;
	uint64_t first = UINT64_MAX;
	ptrdiff_t at = 0;

	while (r->read < RANGES_MAX &&
	    (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		r->read++;
		if (low >= high || low == 0 ||
		    !array_room(&r->items, r->n + 1, &r->cap))
			continue;
		r->items[r->n++] = (struct range){low, high, what};
		if (first == UINT64_MAX)
			first = low;
	}
	return first;
}

/* The narrowest of the ranges that hold an address, of those that begin
 * near it. */
static const struct range *
ranges_find(const struct ranges *r, uint64_t address)
{
	size_t n = array_upto(r->items, r->n, low, address);

	for (size_t i = n; i > 0 && n - i < 32; i--) {
		if (address < r->items[i - 1].high)
			return &r->items[i - 1];
	}
	return NULL;
}

/* ---- units ---- */

struct dwarf_index *
dwarf_index_new(Dwarf *dw)
{
	struct dwarf_index *x = calloc(1, sizeof(*x));
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (x != NULL && dwarf_get_units(dw, cu, &cu, NULL, &type, &die,
	    NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!array_room(&x->units, x->n_units + 1, &x->cap_units))
			break;
		x->units[x->n_units] = (struct unit){.die = die};
		ranges_add(&x->ranges, &die, x->n_units++);
	}
	if (x != NULL && x->ranges.n > 0)
		qsort(x->ranges.items, x->ranges.n, sizeof(struct range),
		    range_order);
	return x;
}

static void
unit_fini(struct unit *u)
{
	for (uint32_t i = 0; i < u->n_functions; i++) {
		free(u->functions[i].calls);
		free(u->functions[i].parts);
	}
	free(u->functions);
	free(u->ranges.items);
}

void
dwarf_index_free(struct dwarf_index *x)
{
	if (x == NULL)
		return;
	for (uint32_t i = 0; i < x->n_units; i++)
		unit_fini(&x->units[i]);
	free(x->units);
	free(x->ranges.items);
	free(x);
}

/* May definitions of functions stand below such an entry?  In C and C++
 * they stand outside of their types, in Rust and others inside; those of
 * some lambdas in the function around them. */
static bool
may_hold_functions(const struct unit *u, int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return u->deep;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return u->nested;
	default:
		return false;
	}
}

static void
unit_add_function(struct unit *u, Dwarf_Die *die)
{
	struct function *f;
	uint32_t n = u->n_functions;
	uint64_t entry;

	if (!array_room(&u->functions, n + 1, &u->cap_functions))
		return;
	entry = ranges_add(&u->ranges, die, n);
	if (entry == UINT64_MAX) /* a declaration, or only inlined */
		return;
	f = &u->functions[u->n_functions++];
	*f = (struct function){.die = *die, .entry = entry};
}

/* Entries stand in the order of the walk.  One that stands before what has
 * been seen is a lie of DW_AT_sibling, by which a walk would never end. */
static bool
goes_on(const Dwarf_Die *die, const void **far)
{
	if ((uintptr_t)die->addr <= (uintptr_t)*far)
		return false;
	*far = die->addr;
	return true;
}

static void
unit_walk(struct unit *u, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int status = dwarf_child(parent, &die);

	while (status == 0 && goes_on(&die, &u->far)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			unit_add_function(u, &die);
		if (depth < DEPTH_MAX && may_hold_functions(u, tag))
			unit_walk(u, &die, depth + 1);
		status = dwarf_siblingof(&die, &die);
	}
}

static void
unit_sort(struct unit *u)
{
	if (u->ranges.n > 0)
		qsort(u->ranges.items, u->ranges.n, sizeof(struct range),
		    range_order);
}

/* Finds a unit's functions anew, wherever they stand: the first walk found
 * none at an address that has a line. */
static void
unit_index_deep(struct unit *u)
{
	for (uint32_t i = 0; i < u->n_functions; i++) {
		free(u->functions[i].calls);
		free(u->functions[i].parts);
	}
	u->n_functions = u->ranges.n = u->ranges.read = 0;
	u->far = NULL;
	u->deep = u->nested = true;
	unit_walk(u, &u->die, 0);
	unit_sort(u);
}

static void
unit_index(struct unit *u)
{
	static const int flat[] = {DW_LANG_C89, DW_LANG_C, DW_LANG_C99,
	    DW_LANG_C11, DW_LANG_C_plus_plus, DW_LANG_C_plus_plus_03,
	    DW_LANG_C_plus_plus_11, DW_LANG_C_plus_plus_14};
	int language = dwarf_srclang(&u->die);

	u->indexed = u->nested = true;
	for (size_t i = 0; i < sizeof(flat) / sizeof(flat[0]); i++)
		u->nested = u->nested && language != flat[i];
	unit_walk(u, &u->die, 0);
	unit_sort(u);
}

/* ---- inlined calls ---- */

static void
call_parts(struct function *f, struct call *c)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	c->first_part = f->n_parts;
	while (f->n_read < RANGES_MAX &&
	    (at = dwarf_ranges(&c->die, at, &base, &low, &high)) > 0) {
		f->n_read++;
		if (low >= high || !array_room(&f->parts, f->n_parts + 1,
		    &f->cap_parts))
			continue;
		f->parts[f->n_parts++] = (struct range){low, high, 0};
	}
	c->n_parts = f->n_parts - c->first_part;
}

/* Calls below an entry become an interval of calls[]. */
static void
function_walk(struct function *f, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int status = dwarf_child(parent, &die);

	while (status == 0 && depth < DEPTH_MAX && goes_on(&die, &f->far)) {
		int tag = dwarf_tag(&die);
		uint32_t n = f->n_calls;

		if (tag == DW_TAG_lexical_block) {
			function_walk(f, &die, depth + 1);
		} else if (tag == DW_TAG_inlined_subroutine) {
			if (!array_room(&f->calls, n + 1, &f->cap_calls))
				return;
			f->calls[n] = (struct call){.die = die};
			call_parts(f, &f->calls[n]);
			f->n_calls++;
			function_walk(f, &die, depth + 1);
			f->calls[n].skip = f->n_calls;
		}
		status = dwarf_siblingof(&die, &die);
	}
}

static bool
call_holds(const struct function *f, const struct call *c, uint64_t address)
{
	for (uint32_t i = 0; i < c->n_parts; i++) {
		const struct range *r = &f->parts[c->first_part + i];

		if (r->low <= address && address < r->high)
			return true;
	}
	return false;
}

/* ---- the whole ---- */

static void
function_find(struct function *f, uint64_t address, struct dwarf_scopes *out)
{
	if (!f->walked) {
		f->walked = true;
		function_walk(f, &f->die, 0);
	}
	out->entry = f->entry;
	out->dies[out->n++] = &f->die;
	for (uint32_t i = 0, end = f->n_calls;
	    i < end && out->n < DWARF_SCOPES_MAX;) {
		struct call *c = &f->calls[i];

		if (!call_holds(f, c, address)) {
			i = c->skip;
			continue;
		}
		out->dies[out->n++] = &c->die;
		end = c->skip;
		i++;
	}
}

uint32_t
dwarf_index_units(const struct dwarf_index *x)
{
	return x->n_units;
}

bool
dwarf_index_find(struct dwarf_index *x, uint64_t address,
    struct dwarf_scopes *out)
{
	const struct range *r = ranges_find(&x->ranges, address);
	struct unit *u;

	out->n = 0;
	if (r == NULL)
		return false;
	out->unit = r->what;
	u = &x->units[r->what];
	out->unit_die = &u->die;
	if (!u->indexed)
		unit_index(u);
	r = ranges_find(&u->ranges, address);
	if (r == NULL && !u->deep &&
	    dwarf_getsrc_die(&u->die, address) != NULL) {
		unit_index_deep(u);
		r = ranges_find(&u->ranges, address);
	}
	if (r != NULL)
		function_find(&u->functions[r->what], address, out);
	return true;
}
