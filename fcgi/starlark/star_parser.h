/*
 * What the parser's halves share: a look at the next token, statements
 * (star_parse.c) and expressions (star_parse_expression.c).
 */
#ifndef FCGI_STARLARK_STAR_PARSER_H
#define FCGI_STARLARK_STAR_PARSER_H

#include <string.h>

#include "fcgi/starlark/star_lex.h"
#include "fcgi/starlark/star_private.h"

struct star_parser {
	struct star *s;
	struct star_lexer lex;
	unsigned depth;
};

/* An expression: "a if b else c", "lambda a: b", "a or b" and so on. */
struct star_node *star_parse_test(struct star_parser *p);
/* "a" or "a, b". */
struct star_node *star_parse_tests(struct star_parser *p);
/* Targets of an assignment or a loop: "a", "a, b", "(a, b)". */
struct star_node *star_parse_targets(struct star_parser *p);
/* "a, b = 1, *args, **named", up to and with the sign that ends them. */
struct star_node *star_parse_parameters(struct star_parser *p, int close);

__attribute__((noreturn)) static inline void
parse_fail(struct star_parser *p, const char *wanted)
{
	star_say(p->s, p->lex.module, p->lex.line, "%s was expected", wanted);
	star_end(p->s);
}

static inline struct star_node *
parse_node(struct star_parser *p, enum star_op op)
{
	struct star_node *n = star_alloc(p->s, sizeof(*n));

	n->op = op;
	n->line = p->lex.line;
	return n;
}

static inline bool
parse_is(const struct star_parser *p, int token)
{
	return p->lex.token == token;
}

static inline bool
parse_word(const struct star_parser *p, const char *word)
{
	return p->lex.token == STAR_WORD && strcmp(p->lex.text->p, word) == 0;
}

static inline bool
parse_accept(struct star_parser *p, int token)
{
	if (!parse_is(p, token))
		return false;
	star_lex(&p->lex);
	return true;
}

static inline bool
parse_accept_word(struct star_parser *p, const char *word)
{
	if (!parse_word(p, word))
		return false;
	star_lex(&p->lex);
	return true;
}

static inline void
parse_expect(struct star_parser *p, int token, const char *wanted)
{
	if (!parse_accept(p, token))
		parse_fail(p, wanted);
}

static inline const struct star_text *
parse_name(struct star_parser *p)
{
	const struct star_text *text = p->lex.text;

	parse_expect(p, STAR_WORD, "a name");
	return text;
}

#endif
