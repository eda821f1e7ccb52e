/*
 * The memory behind a heap dump: addresses numbered by a hash, stacks as
 * ranges of one array, equal stacks found by their places.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/heap/heap_private.h"
#include "store/base/array.h"
#include "store/base/err.h"

void
heap_fini(struct heap *h)
{
	intern_fini(&h->strings);
	intern_fini(&h->address_keys);
	map64_fini(&h->module_numbers);
	free(h->modules);
	free(h->addresses);
	free(h->frames);
	free(h->places);
	free(h->stacks);
	free(h->same);
	*h = (struct heap){0};
}

uint32_t
heap_string(struct heap *h, const char *p, size_t n)
{
	return intern_put(&h->strings, p, n);
}

/* ---- stacks of a file ---- */

static uint32_t
number_hash(const struct heap_reader *r, uint64_t pc)
{
	return (uint32_t)((pc * 0x9e3779b97f4a7c15u) >>
	    (64 - r->number_bits));
}

/* Where an address stands in the table, or would: small entries, since
 * there are a hundred look-ups for each address, all over the table. */
static uint32_t *
number_slot(const struct heap_reader *r, uint64_t pc)
{
	uint32_t mask = (1u << r->number_bits) - 1;
	uint32_t at = number_hash(r, pc);

	while (r->numbers[at] != 0 && r->pcs[r->numbers[at] - 1] != pc)
		at = (at + 1) & mask;
	return &r->numbers[at];
}

/* Keeps the table at most half full. */
static bool
numbers_grow(struct heap_reader *r)
{
	if (r->number_bits > 0 && r->n_pcs < 1u << (r->number_bits - 1))
		return true;
	free(r->numbers);
	r->number_bits = r->number_bits == 0 ? 10 : r->number_bits + 1;
	if (r->number_bits > 31)
		return false;
	r->numbers = calloc((size_t)1 << r->number_bits,
	    sizeof(*r->numbers));
	for (uint32_t i = 0; r->numbers != NULL && i < r->n_pcs; i++)
		*number_slot(r, r->pcs[i]) = i + 1;
	return r->numbers != NULL;
}

/* The number of an address within its file. */
static uint32_t
reader_number(struct heap_reader *r, uint64_t pc)
{
	uint32_t *slot;

	if (r->numbers != NULL && *(slot = number_slot(r, pc)) != 0)
		return *slot - 1;
	if (!numbers_grow(r) ||
	    !array_room(&r->pcs, r->n_pcs + 1, &r->cap_pcs))
		return HEAP_NONE;
	slot = number_slot(r, pc);
	r->pcs[r->n_pcs++] = pc;
	*slot = r->n_pcs;
	return r->n_pcs - 1;
}

/* 16 more than the value of a hexadecimal digit, 0 for what is none: no
 * branch that digits and letters would send either way at random. */
static const uint8_t hex_digits[256] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21,
    ['6'] = 22, ['7'] = 23, ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27,
    ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31, ['A'] = 26, ['B'] = 27,
    ['C'] = 28, ['D'] = 29, ['E'] = 30, ['F'] = 31
};

/* One address, 0x before it or not; false where none is there. */
static bool
take_address(struct heap_line *l, uint64_t *pc)
{
	const char *p = l->p, *first;
	uint64_t v = 0;

	while (p < l->end && (*p == ' ' || *p == '\t'))
		p++;
	if (l->end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x')
		p += 2;
	for (first = p; p < l->end; p++) {
		uint8_t digit = hex_digits[(unsigned char)*p];

		if (digit == 0)
			break;
		v = v << 4 | (digit & 15);
	}
	if (p == first || p - first > 16)
		return false;
	*pc = v;
	l->p = p;
	return true;
}

/* Appends addresses to the places. */
static bool
stack_append(struct heap_reader *r, const uint64_t *pcs, size_t n)
{
	struct heap *h = r->h;

	for (size_t i = 0; r->numbers != NULL && i < n; i++) {
		uint32_t number = r->numbers[number_hash(r, pcs[i])];

		__builtin_prefetch(&r->pcs[number - (number > 0)]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t number = reader_number(r, pcs[i]);

		if (number == HEAP_NONE ||
		    !array_room(&h->places, h->n_places + 1, &h->cap_places))
			return false;
		h->places[h->n_places++] = number;
	}
	return true;
}

const struct err *
heap_take_stack(struct heap_reader *r, struct heap_line *l)
{
	uint64_t pcs[64]; /* looked up together: the memory is fetched ahead */
	size_t n = 0;
	bool caller = false;

	r->stack_first = r->h->n_places;
	while (l->p < l->end) {
		if (!take_address(l, &pcs[n]))
			return heap_bad(r, "an address expected");
		/* a caller's is where it returns to: the call is before */
		pcs[n] -= caller;
		caller = true;
		if (r->numbers != NULL)
			__builtin_prefetch(&r->numbers[number_hash(r,
			    pcs[n])]);
		if (++n == 64 || l->p == l->end) {
			if (!stack_append(r, pcs, n))
				return err_nomem();
			if (r->h->max_addresses > 0 &&
			    r->n_pcs > r->h->max_addresses)
				return err_new(ERR_REQUEST, 413,
				    "more than %" PRIu32 " addresses",
				    r->h->max_addresses);
			n = 0;
		}
	}
	r->stack_n = r->h->n_places - r->stack_first;
	return NULL;
}

/* Scales a pair of counts up as jeprof's AdjustSamples does. */
static void
unsample(const struct heap_reader *r, double *objects, double *bytes)
{
	double ratio, factor, part;

	if (r->algorithm == 0 || r->rate <= 0 || *objects == 0 ||
	    *bytes == 0)
		return;
	ratio = *bytes / *objects / r->rate;
	if (r->algorithm == 1) {
		if (ratio < 1) {
			*objects /= ratio;
			*bytes /= ratio;
		}
		return;
	}
	part = 1 - exp(-ratio);
	/* only where jeprof would divide by zero */
	factor = 1 / (part > 0 ? part : -expm1(-ratio));
	*objects *= factor;
	*bytes *= factor;
}

const struct err *
heap_add_stack(struct heap_reader *r, const uint64_t counts[4])
{
	struct heap *h = r->h;
	struct heap_stack *s;
	double v[4];

	for (unsigned i = 0; i < 4; i++)
		v[i] = (double)counts[i];
	unsample(r, &v[0], &v[1]);
	unsample(r, &v[2], &v[3]);
	for (unsigned i = 0; i < 4; i++) {
		if (!(v[i] < 0x1p62))
			return heap_bad(r, "more than 2^62 of something");
		v[i] *= r->sign;
	}
	if (!array_room(&h->stacks, h->n_stacks + 1, &h->cap_stacks))
		return err_nomem();
	s = &h->stacks[h->n_stacks++];
	s->first = r->stack_first;
	s->n = r->stack_n;
	s->value[HEAP_INUSE_OBJECTS] = v[0];
	s->value[HEAP_INUSE_SPACE] = v[1];
	s->value[HEAP_ALLOC_OBJECTS] = v[2];
	s->value[HEAP_ALLOC_SPACE] = v[3];
	return NULL;
}

/* ---- places in modules ---- */

struct address_key {
	uint64_t offset;
	uint32_t module, zero;
};

/* The numbers of up to INTERN_MANY addresses, new or old. */
static bool
heap_addresses(struct heap *h, const struct address_key *at, size_t n,
    uint32_t *numbers)
{
	struct intern_key keys[INTERN_MANY];

	for (size_t i = 0; i < n; i++)
		keys[i] = (struct intern_key){&at[i], sizeof(at[i]), 0};
	if (!intern_put_many(&h->address_keys, keys, n, numbers) ||
	    !array_room(&h->addresses, h->address_keys.n,
	        &h->cap_addresses))
		return false;
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == h->n_addresses)
			h->addresses[h->n_addresses++] = (struct heap_address)
			    {at[i].offset, at[i].module, 0, 0};
	return true;
}

/* Frames from a dump's own symbols: outermost--...--innermost. */
static bool
name_by_symbol(struct heap *h, uint32_t address, const char *names)
{
	struct frame frames[64];
	char text[8192], *p = text, *next;
	size_t n = 0;

	if (strlen(names) >= sizeof(text))
		return true;
	strcpy(text, names);
	for (; p != NULL && n < 64; p = next) {
		next = strstr(p, "--");
		/* as in "operator--(int)" */
		if (next != NULL && next - p >= 8 &&
		    memcmp(next - 8, "operator", 8) == 0)
			next = strstr(next + 2, "--");
		if (next != NULL) {
			*next = '\0';
			next += 2;
		}
		frames[n] = (struct frame){
		    .kind = n == 0 ? FRAME_NATIVE : FRAME_INLINED,
		    .name = p, .module = "", .build_id = ""};
		n += *p != '\0';
	}
	return n == 0 || heap_name(h, address, frames, n);
}

/* Names an address by what the file says of it, if it does. */
static bool
reader_name(struct heap_reader *r, uint32_t place, uint64_t pc)
{
	uint32_t name = map64_get(&r->symbols, pc);

	if (name == INTERN_NONE) /* by the address of the return */
		name = map64_get(&r->symbols, pc + 1);
	return name == INTERN_NONE || name_by_symbol(r->h, place,
	    intern_str(&r->h->strings, name));
}

/* The place of each of a file's addresses; its name where the file has it. */
static bool
reader_places(struct heap_reader *r, uint32_t *place)
{
	struct address_key at[INTERN_MANY];
	uint32_t n;

	for (uint32_t i = 0; i < r->n_pcs; i += n) {
		n = r->n_pcs - i < INTERN_MANY ? r->n_pcs - i : INTERN_MANY;
		for (uint32_t k = 0; k < n; k++) {
			at[k] = (struct address_key){r->pcs[i + k], 0, 0};
			at[k].module = heap_find_map(r, r->pcs[i + k],
			    &at[k].offset);
		}
		if (!heap_addresses(r->h, at, n, place + i))
			return false;
	}
	for (uint32_t i = 0; r->symbols.n > 0 && i < r->n_pcs; i++)
		if (r->h->addresses[place[i]].n == 0 &&
		    !reader_name(r, place[i], r->pcs[i]))
			return false;
	return true;
}

/* ---- equal stacks ---- */

static uint64_t
stack_hash(const struct heap *h, const struct heap_stack *s)
{
	uint64_t x = s->n;

	for (uint32_t i = 0; i < s->n; i++) {
		x = (x ^ h->places[s->first + i]) * 0x9e3779b97f4a7c15u;
		x ^= x >> 29;
	}
	return x;
}

static uint32_t *
same_slot(const struct heap *h, const struct heap_stack *s)
{
	uint32_t at = (uint32_t)stack_hash(h, s) & (h->cap_same - 1);

	while (h->same[at] != 0) {
		const struct heap_stack *o = &h->stacks[h->same[at] - 1];

		if (o->n == s->n && memcmp(h->places + o->first,
		    h->places + s->first, s->n * sizeof(*h->places)) == 0)
			break;
		at = (at + 1) & (h->cap_same - 1);
	}
	return &h->same[at];
}

/* Makes one of equal stacks, from stack `first` on; those before are in the
 * table already unless it is made anew. */
static bool
heap_merge(struct heap *h, uint32_t first)
{
	uint64_t cap = 256;
	uint32_t kept = first;

	while (cap < (uint64_t)h->n_stacks * 2)
		cap *= 2;
	if (cap > UINT32_MAX)
		return false;
	if (cap > h->cap_same || first == 0) {
		free(h->same);
		h->same = calloc(cap, sizeof(*h->same));
		h->cap_same = h->same == NULL ? 0 : (uint32_t)cap;
		kept = 0;
	}
	if (h->same == NULL)
		return false;
	for (uint32_t i = kept; i < h->n_stacks; i++) {
		struct heap_stack s = h->stacks[i];
		uint32_t *slot = same_slot(h, &s);

		if (*slot == 0) {
			h->stacks[kept++] = s;
			*slot = kept;
			continue;
		}
		for (unsigned t = 0; t < HEAP_TYPES; t++)
			h->stacks[*slot - 1].value[t] += s.value[t];
	}
	h->n_stacks = kept;
	return true;
}

const struct err *
heap_reader_finish(struct heap_reader *r)
{
	struct heap *h = r->h;
	uint32_t *place = malloc((r->n_pcs + 1) * sizeof(*place));
	bool good = place != NULL && reader_places(r, place);

	for (uint32_t i = r->first_place; good && i < h->n_places; i++)
		h->places[i] = place[h->places[i]];
	free(place);
	return good && heap_merge(h, r->first_stack) ? NULL : err_nomem();
}

/* ---- names ---- */

bool
heap_name(struct heap *h, uint32_t address, const struct frame *frames,
    size_t n)
{
	struct heap_address *a = &h->addresses[address];

	a->first = h->n_frames;
	a->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct frame *f = &frames[i];
		struct heap_frame x = {
		    .name = heap_string(h, f->name, strlen(f->name)),
		    .module = heap_string(h, f->module, strlen(f->module)),
		    .build_id = heap_string(h, f->build_id,
		        strlen(f->build_id)),
		    .kind = f->kind,
		    .offset = f->offset};

		if (x.name == INTERN_NONE || x.module == INTERN_NONE ||
		    x.build_id == INTERN_NONE ||
		    !array_room(&h->frames, h->n_frames + 1, &h->cap_frames))
			return false;
		h->frames[h->n_frames++] = x;
		a->n++;
	}
	return true;
}
