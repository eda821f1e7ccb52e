/*
 * The size of an expression with its repetitions written out, group by
 * group.
 */
#include "store/base/pattern.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct pattern_group {
	size_t size;  /* of all before the last atom */
	size_t atom;  /* the last one, that a repetition is about */
	size_t nested, atom_nested; /* repetitions in each other */
};

struct pattern_state {
	struct pattern_group groups[PATTERN_DEPTH_MAX];
	size_t depth;
	bool excessive;
};

static void
pattern_atom(struct pattern_state *s, size_t size, size_t nested)
{
	struct pattern_group *g = &s->groups[s->depth];

	g->size += g->atom;
	g->atom = size;
	g->atom_nested = nested;
	if (nested > g->nested)
		g->nested = nested;
	if (g->size + g->atom > PATTERN_NODES_MAX)
		s->excessive = true;
}

static void
pattern_repeat(struct pattern_state *s, size_t times)
{
	struct pattern_group *g = &s->groups[s->depth];

	if (times > PATTERN_NODES_MAX)
		times = PATTERN_NODES_MAX;
	g->atom = g->atom * times + 1;
	if (++g->atom_nested > g->nested)
		g->nested = g->atom_nested;
	if (g->size + g->atom > PATTERN_NODES_MAX ||
	    g->nested > PATTERN_NESTED_MAX)
		s->excessive = true;
}

static void
pattern_open(struct pattern_state *s)
{
	if (s->depth + 1 == PATTERN_DEPTH_MAX) {
		s->excessive = true;
		return;
	}
	s->groups[++s->depth] = (struct pattern_group){1, 0, 0, 0};
}

static void
pattern_close(struct pattern_state *s)
{
	struct pattern_group *g = &s->groups[s->depth];

	if (s->depth == 0) {
		pattern_atom(s, 1, 0);
		return;
	}
	s->depth--;
	pattern_atom(s, g->size + g->atom, g->nested);
}

/* The end of "[...]", where "]" may come first and "[:x:]" may be inside. */
static const char *
pattern_skip_bracket(const char *p)
{
	p++;
	p += *p == '^';
	p += *p == ']';
	for (; *p != '\0' && *p != ']'; p++) {
		char kind = p[1];
		const char *end;

		if (*p != '[' || (kind != ':' && kind != '.' && kind != '='))
			continue;
		for (end = p + 2; *end != '\0'; end++)
			if (end[0] == kind && end[1] == ']')
				break;
		if (*end != '\0')
			p = end + 1;
	}
	return *p == '\0' ? p - 1 : p;
}

/* The larger number of "{m,n}"; "{m,}" writes m + 1 out. */
static size_t
pattern_times(const char *p)
{
	char *end;
	unsigned long low = strtoul(p + 1, &end, 10), high = low;

	if (*end == ',')
		high = end[1] == '}' ? low + 1 : strtoul(end + 1, NULL, 10);
	return high > low ? high : low ? low : 1;
}

static const char *
pattern_step(struct pattern_state *s, const char *p)
{
	switch (*p) {
	case '(':
		pattern_open(s);
		return p;
	case ')':
		pattern_close(s);
		return p;
	case '[':
		pattern_atom(s, 1, 0);
		return pattern_skip_bracket(p);
	case '+':
		pattern_repeat(s, 2);
		return p;
	case '*':
	case '?':
		pattern_repeat(s, 1);
		return p;
	case '{':
		pattern_repeat(s, pattern_times(p));
		return p;
	case '\\':
		if (p[1] >= '1' && p[1] <= '9')
			s->excessive = true;
		pattern_atom(s, 1, 0);
		return p[1] != '\0' ? p + 1 : p;
	default:
		pattern_atom(s, 1, 0);
		return p;
	}
}

bool
pattern_is_bounded(const char *text)
{
	struct pattern_state s = {.depth = 0};

	for (const char *p = text; *p != '\0' && !s.excessive; p++)
		p = pattern_step(&s, p);
	return !s.excessive;
}
