/*
 * The lines of heap dumps: the symbols that may come first, and jemalloc's
 * heap_v2.  gperftools' form is gperftools.c's.
 */
#include "fcgi/format/heap/heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/heap/gperftools.h"
#include "fcgi/format/heap/heap_private.h"
#include "fcgi/format/stacks.h"
#include "store/base/array.h"
#include "store/base/err.h"

#define HEAP_MEAN_MAX 0x1p40 /* bytes; nobody samples as rarely */

static const char *const type_names[HEAP_TYPES] = {
    [HEAP_INUSE_SPACE] = "inuse_space",
    [HEAP_INUSE_OBJECTS] = "inuse_objects",
    [HEAP_ALLOC_SPACE] = "alloc_space",
    [HEAP_ALLOC_OBJECTS] = "alloc_objects"
};

const char *
heap_type_name(enum heap_type type)
{
	return type_names[type];
}

enum heap_type
heap_type_find(const char *name)
{
	unsigned i;

	for (i = 0; i < HEAP_TYPES; i++) {
		if (strcmp(type_names[i], name) == 0)
			break;
	}
	return (enum heap_type)i;
}

/* ---- lines ---- */

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

bool
heap_line_next(struct heap_reader *r, struct heap_line *l)
{
	if (r->p == r->end)
		return false;
	l->p = r->p;
	l->end = memchr(r->p, '\n', (size_t)(r->end - r->p));
	if (l->end == NULL)
		l->end = r->end;
	r->p = l->end == r->end ? r->end : l->end + 1;
	r->line++;
	while (l->p < l->end && blank(*l->p))
		l->p++;
	while (l->p < l->end && blank(l->end[-1]))
		l->end--;
	return true;
}

bool
heap_line_begins(const struct heap_line *l, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(l->end - l->p) >= n && memcmp(l->p, text, n) == 0;
}

bool
heap_take(struct heap_line *l, const char *text)
{
	while (l->p < l->end && blank(*l->p))
		l->p++;
	if (!heap_line_begins(l, text))
		return false;
	l->p += strlen(text);
	return true;
}

bool
heap_take_number(struct heap_line *l, uint64_t *v)
{
	const char *first;

	heap_take(l, "");
	first = l->p;
	for (*v = 0; l->p < l->end; l->p++) {
		unsigned digit = (unsigned char)*l->p - '0';

		if (digit > 9)
			break;
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, digit, v))
			return false;
	}
	return l->p > first;
}

bool
heap_take_counts(struct heap_line *l, uint64_t counts[4])
{
	return heap_take_number(l, &counts[0]) && heap_take(l, ":") &&
	    heap_take_number(l, &counts[1]) && heap_take(l, "[") &&
	    heap_take_number(l, &counts[2]) && heap_take(l, ":") &&
	    heap_take_number(l, &counts[3]) && heap_take(l, "]");
}

const struct err *
heap_bad(const struct heap_reader *r, const char *what)
{
	return err_new(ERR_REQUEST, 422, "line %" PRIu64 ": %s", r->line,
	    what);
}

void
heap_says_mean(struct heap_reader *r, double bytes)
{
	uint64_t mean = bytes < 1 ? 1 : bytes > HEAP_MEAN_MAX
	    ? (uint64_t)HEAP_MEAN_MAX : (uint64_t)bytes;

	if (r->h->mean < mean)
		r->h->mean = mean;
}

void
heap_reader_init(struct heap_reader *r, struct heap *h, const void *data,
    size_t n, double sign)
{
	*r = (struct heap_reader){
	    .h = h, .p = data, .end = (const char *)data + n, .sign = sign,
	    .first_place = h->n_places, .first_stack = h->n_stacks};
}

void
heap_reader_fini(struct heap_reader *r)
{
	map64_fini(&r->symbols);
	free(r->pcs);
	free(r->numbers);
	free(r->maps);
}

/* ---- what comes before the stacks ---- */

/* A line that is not empty and no "%warn" or other command. */
static bool
header_next(struct heap_reader *r, struct heap_line *l)
{
	while (heap_line_next(r, l)) {
		if (l->p < l->end && *l->p != '%')
			return true;
	}
	return false;
}

/* "0x7f07 outer--inner" lines up to "---"; other lines say of what binary. */
static const struct err *
read_symbols(struct heap_reader *r)
{
	struct heap_line l;

	while (heap_line_next(r, &l)) {
		const char *blank_at = memchr(l.p, ' ', (size_t)(l.end - l.p));
		uint64_t pc = 0;
		uint32_t name;

		if (heap_line_begins(&l, "---"))
			return NULL;
		if (!heap_line_begins(&l, "0x") || blank_at == NULL)
			continue;
		for (l.p += 2; l.p < blank_at; l.p++) {
			unsigned c = (unsigned char)*l.p | 0x20;

			if (!((c >= '0' && c <= '9') ||
			    (c >= 'a' && c <= 'f')))
				return heap_bad(r, "an address expected");
			pc = pc << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
		}
		heap_take(&l, "");
		name = heap_string(r->h, l.p, (size_t)(l.end - l.p));
		if (name == INTERN_NONE)
			return err_nomem();
		if (map64_get(&r->symbols, pc) == INTERN_NONE &&
		    !map64_add(&r->symbols, pc, name))
			return err_nomem();
	}
	return NULL;
}

/* Is it a line of dashes before a part, "--- heap" or "---heapz"? */
static bool
part_begins(const struct heap_line *l, const char *part)
{
	struct heap_line rest = *l;

	return heap_take(&rest, "---") && heap_take(&rest, part);
}

/* ---- heap_v2 ---- */

static const struct err *
read_stacks(struct heap_reader *r)
{
	const struct err *e = NULL;
	struct heap_line l;
	uint64_t counts[4];
	bool in_stack = false;

	while (e == NULL && heap_line_next(r, &l)) {
		if (l.p == l.end)
			continue;
		if (*l.p == '@') {
			l.p++;
			e = heap_take_stack(r, &l);
			in_stack = true;
		} else if (heap_take(&l, "t*:")) {
			if (!heap_take_counts(&l, counts))
				e = heap_bad(r, "n: b [n: b] expected");
			else if (in_stack)
				e = heap_add_stack(r, counts);
		} else if (heap_line_begins(&l, "MAPPED_LIBRARIES:") ||
		    heap_line_begins(&l, "--- Memory map:")) {
			e = heap_read_maps(r);
		} else if (*l.p != 't') { /* of one thread */
			r->h->unknown_lines++;
		}
	}
	return e;
}

static const struct err *
read_jemalloc(struct heap_reader *r, struct heap_line *l)
{
	uint64_t rate;

	if (!heap_take_number(l, &rate))
		return heap_bad(r, "heap_v2/ and a number expected");
	r->algorithm = 2;
	r->rate = (double)rate;
	if (rate > 0)
		heap_says_mean(r, r->rate);
	return read_stacks(r);
}

static const struct err *
read_dump(struct heap_reader *r)
{
	struct heap_line l;
	const struct err *e = NULL;
	bool more = header_next(r, &l);

	if (more && part_begins(&l, "symbol")) {
		e = read_symbols(r);
		more = header_next(r, &l);
	}
	if (more && (part_begins(&l, "heap") || part_begins(&l, "growth")))
		more = header_next(r, &l);
	if (e != NULL)
		return e;
	if (more && heap_take(&l, "heap_v2/"))
		return read_jemalloc(r, &l);
	if (more && heap_take(&l, "heap profile:"))
		return gperftools_read(r, &l);
	return heap_bad(r, "heap_v2/ or heap profile: expected");
}

const struct err *
heap_read(struct heap *h, const void *data, size_t n, double sign)
{
	struct heap_reader r;
	const struct err *e;

	/* every address and line takes at least two bytes */
	if (n > UINT32_MAX)
		return err_new(ERR_REQUEST, 413,
		    "a heap dump of more than 4 GB");
	/* where no stack has an address, each is none of some places */
	if (!array_room(&h->places, h->n_places + 1, &h->cap_places))
		return err_nomem();
	heap_reader_init(&r, h, data, n, sign);
	e = read_dump(&r);
	if (e == NULL)
		e = heap_reader_finish(&r);
	heap_reader_fini(&r);
	return e;
}

/* What a dump is, by its first lines. */
static bool
begins_as(const char *data, size_t n, const char *header)
{
	struct heap_reader r;
	struct heap h = {0};
	struct heap_line l;
	bool more;

	heap_reader_init(&r, &h, data, n, 1);
	more = header_next(&r, &l);
	if (more && part_begins(&l, "symbol")) {
		while ((more = heap_line_next(&r, &l)) &&
		    !heap_line_begins(&l, "---"))
			;
		/* symbols may fill all there is to look at */
		if (!more || !header_next(&r, &l))
			return true;
	}
	if (more && (part_begins(&l, "heap") || part_begins(&l, "growth")))
		more = header_next(&r, &l);
	return more && heap_line_begins(&l, header);
}

bool
heap_looks(const char *data, size_t n)
{
	return begins_as(data, n, "heap_v2/");
}

bool
heap_looks_gperftools(const char *data, size_t n)
{
	return begins_as(data, n, "heap profile:");
}

const struct err *
heap_parse(struct stacks *s, const void *data, size_t n)
{
	struct heap h = {.max_addresses = HEAP_ADDRESSES_PUSH};
	const struct err *e = heap_read(&h, data, n, 1);

	if (e == NULL && (!heap_name_rest(&h) || !heap_hide_allocator(&h)))
		e = err_nomem();
	if (e == NULL)
		e = heap_put(&h, s);
	heap_fini(&h);
	return e;
}
