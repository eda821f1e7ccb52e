/*
 * Each line becomes two of folded text, one for each column.
 */
#include "fcgi/format/in/folded_pair.h"

#include <string.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/in/foreign.h"
#include "fcgi/format/stacks.h"
#include "store/base/buf.h"
#include "store/base/err.h"

static const struct stacks_type pair_types[2] = {
    {"A", "samples", 1, SERIES_FLOW}, {"B", "samples", 1, SERIES_FLOW}};

struct pair_line {
	const char *p, *stack_end; /* the stack */
	const char *first_end;     /* of "stack a" */
	const char *second, *end;  /* the last number */
};

static bool
pair_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static const char *
pair_trim(const char *p, const char *end)
{
	while (end > p && pair_is_blank(end[-1]))
		end--;
	return end;
}

/* Where the number that ends at `end` begins, with a blank before it; NULL
 * where there is none. */
static const char *
pair_number(const char *p, const char *end)
{
	const char *at = end;

	while (at > p && ((at[-1] >= '0' && at[-1] <= '9') || at[-1] == '.'))
		at--;
	return at == end || *at == '.' || at == p || !pair_is_blank(at[-1])
	    ? NULL : at;
}

static bool
pair_split(struct pair_line *l, const char *p, const char *end)
{
	const char *first;

	l->p = p;
	l->end = pair_trim(p, end);
	l->second = pair_number(p, l->end);
	if (l->second == NULL)
		return false;
	l->first_end = pair_trim(p, l->second);
	first = pair_number(p, l->first_end);
	if (first == NULL)
		return false;
	l->stack_end = pair_trim(p, first);
	return l->stack_end > p;
}

static bool
pair_is_comment(const char *p, const char *end)
{
	return *p == '#' || pair_trim(p, end) == p;
}

bool
folded_pair_looks(const char *p, size_t n)
{
	const char *limit = p + n, *end;
	struct pair_line l;
	size_t lines = 0;
	bool deep = false;

	for (; p < limit; p = end + 1) {
		end = memchr(p, '\n', (size_t)(limit - p));
		if (end == NULL && n >= FOREIGN_LOOK)
			break; /* it goes on behind what we see */
		if (end == NULL)
			end = limit;
		if (pair_is_comment(p, end))
			continue;
		if (!pair_split(&l, p, end))
			return false;
		lines++;
		deep |= memchr(p, ';', (size_t)(l.stack_end - p)) != NULL;
	}
	return lines > 1 && deep;
}

static void
pair_put(struct buf text[2], const struct pair_line *l)
{
	buf_put(&text[0], l->p, (size_t)(l->first_end - l->p));
	buf_put_u8(&text[0], '\n');
	buf_put(&text[1], l->p, (size_t)(l->stack_end - l->p));
	buf_put_u8(&text[1], ' ');
	buf_put(&text[1], l->second, (size_t)(l->end - l->second));
	buf_put_u8(&text[1], '\n');
}

/* Splits the text; the number of the first line that is none, or 0. */
static size_t
pair_divide(struct buf text[2], const char *p, size_t n, uint64_t *bad)
{
	const char *limit = p + n, *end;
	size_t line = 0, first = 0;

	for (; p < limit; p = end + 1) {
		struct pair_line l;

		end = memchr(p, '\n', (size_t)(limit - p));
		if (end == NULL)
			end = limit;
		line++;
		if (pair_is_comment(p, end))
			continue;
		if (pair_split(&l, p, end))
			pair_put(text, &l);
		else if ((*bad)++ == 0)
			first = line;
	}
	return first;
}

const struct err *
folded_pair_parse(struct stacks *s, const void *data, size_t n)
{
	struct buf text[2] = {{0}, {0}};
	const struct err *e = NULL;
	uint64_t bad = 0;
	size_t first = pair_divide(text, data, n, &bad);

	if (text[0].failed || text[1].failed)
		e = err_nomem();
	else if (first != 0 && text[0].len == 0)
		e = err_new(ERR_REQUEST, 422, "line %zu is no folded stack "
		    "with two counts", first);
	for (int i = 0; i < 2 && e == NULL; i++)
		e = folded_parse(s, text[i].data, text[i].len,
		    &pair_types[i]);
	if (bad > 0)
		stacks_skip(s, "lines without two counts", bad);
	buf_fini(&text[0]);
	buf_fini(&text[1]);
	return e;
}

bool
folded_pair_in(const struct stacks *s)
{
	struct stacks_type t;

	for (uint32_t i = 0; i < stacks_n_types(s); i++) {
		stacks_get_type(s, i, &t);
		if (strcmp(t.name, pair_types[0].name) == 0 ||
		    strcmp(t.name, pair_types[1].name) == 0)
			return true;
	}
	return false;
}
