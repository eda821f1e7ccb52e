/*
 * From a file's text to a tree of statements, by recursive descent; the lexer
 * is in star_lex.h.
 */
#include "fcgi/starlark/star_parser.h"

static struct star_node *parse_block(struct star_parser *p);

struct star_node *
star_parse_parameters(struct star_parser *p, int close)
{
	struct star_node *first = NULL, **end = &first, *n;

	while (!parse_is(p, close)) {
		n = parse_node(p, OP_ARG);
		if (parse_accept(p, '*'))
			n->sign = 1;
		else if (parse_accept(p, SIGN_POWER))
			n->sign = 2;
		if (n->sign != 1 || !parse_is(p, ','))
			n->text = parse_name(p);
		if (n->sign == 0 && parse_accept(p, '='))
			n->a = star_parse_test(p);
		*end = n;
		end = &n->next;
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, close, "the end of the parameters");
	return first;
}

static struct star_node *
parse_def(struct star_parser *p)
{
	struct star_node *n = parse_node(p, OP_DEF);

	n->text = parse_name(p);
	parse_expect(p, '(', "\"(\"");
	n->a = star_parse_parameters(p, ')');
	n->b = parse_block(p);
	return n;
}

static struct star_node *
parse_if(struct star_parser *p)
{
	struct star_node *n = parse_node(p, OP_IF);

	n->a = star_parse_test(p);
	n->b = parse_block(p);
	if (++p->depth > STAR_DEPTH_MAX)
		parse_fail(p, "less depth");
	if (parse_accept_word(p, "elif"))
		n->c = parse_if(p);
	else if (parse_accept_word(p, "else"))
		n->c = parse_block(p);
	p->depth--;
	return n;
}

static struct star_node *
parse_for(struct star_parser *p)
{
	struct star_node *n = parse_node(p, OP_FOR);

	n->a = star_parse_targets(p);
	if (!parse_accept_word(p, "in"))
		parse_fail(p, "\"in\"");
	n->b = star_parse_tests(p);
	n->c = parse_block(p);
	return n;
}

/* load("label", "theirs", ours = "theirs") */
static struct star_node *
parse_load(struct star_node *call)
{
	struct star_node *label = call->b;

	if (call->op != OP_CALL || call->a->op != OP_NAME ||
	    strcmp(call->a->text->p, "load") != 0 || label == NULL ||
	    label->a->op != OP_VALUE || label->a->value.kind != STAR_TEXT)
		return NULL;
	call->op = OP_LOAD;
	call->text = label->a->value.text;
	call->a = label->next;
	return call;
}

static struct star_node *
parse_expression(struct star_parser *p)
{
	static const int signs[] = {'=', '+', '-', '*', '%', '|'};
	struct star_node *n, *left = star_parse_tests(p);

	if (parse_load(left) != NULL)
		return left;
	n = parse_node(p, OP_DO);
	n->a = left;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (!parse_is(p, i == 0 ? '=' : STAR_AND_ASSIGN + signs[i]))
			continue;
		star_lex(&p->lex);
		n->op = OP_ASSIGN;
		n->sign = signs[i];
		n->b = star_parse_tests(p);
		break;
	}
	return n;
}

static struct star_node *
parse_simple(struct star_parser *p)
{
	static const struct {
		const char *word;
		enum star_op op;
	} words[] = {{"pass", OP_PASS}, {"break", OP_BREAK},
	    {"continue", OP_CONTINUE}, {"return", OP_RETURN}};
	struct star_node *n;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!parse_word(p, words[i].word))
			continue;
		n = parse_node(p, words[i].op);
		star_lex(&p->lex);
		if (n->op == OP_RETURN && !parse_is(p, STAR_NEWLINE) &&
		    !parse_is(p, ';'))
			n->a = star_parse_tests(p);
		return n;
	}
	return parse_expression(p);
}

/* Statements of a line, or one that has a block. */
static struct star_node **
parse_statement(struct star_parser *p, struct star_node **end)
{
	if (parse_accept_word(p, "def")) {
		*end = parse_def(p);
		return &(*end)->next;
	}
	if (parse_accept_word(p, "if")) {
		*end = parse_if(p);
		return &(*end)->next;
	}
	if (parse_accept_word(p, "for")) {
		*end = parse_for(p);
		return &(*end)->next;
	}
	do {
		*end = parse_simple(p);
		end = &(*end)->next;
	} while (parse_accept(p, ';') && !parse_is(p, STAR_NEWLINE));
	parse_expect(p, STAR_NEWLINE, "the end of the line");
	return end;
}

static struct star_node *
parse_block(struct star_parser *p)
{
	struct star_node *first = NULL, **end = &first;

	parse_expect(p, ':', "\":\"");
	if (!parse_accept(p, STAR_NEWLINE)) {
		parse_statement(p, &first);
		return first;
	}
	parse_expect(p, STAR_INDENT, "a block");
	if (++p->depth > STAR_DEPTH_MAX)
		parse_fail(p, "less depth");
	while (!parse_accept(p, STAR_DEDENT))
		end = parse_statement(p, end);
	p->depth--;
	return first;
}

struct star_node *
star_parse(struct star *s, const struct star_module *m, const char *text,
    size_t n)
{
	struct star_parser p = {.s = s,
	    .lex = {.s = s, .module = m, .p = text, .end = text + n,
	        .line = 1, .begin = true}};
	struct star_node *first = NULL, **end = &first;

	star_lex(&p.lex);
	while (!parse_is(&p, STAR_END))
		end = parse_statement(&p, end);
	return first;
}
