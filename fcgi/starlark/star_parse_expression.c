/*
 * Expressions, by recursive descent.
 */
#include "fcgi/starlark/star_parser.h"

static struct star_node *parse_postfix(struct star_parser *p);

struct star_node *
star_parse_targets(struct star_parser *p)
{
	struct star_node *first = parse_postfix(p), *tuple, **end;

	if (!parse_is(p, ','))
		return first;
	tuple = parse_node(p, OP_TUPLE);
	tuple->a = first;
	end = &first->next;
	while (parse_accept(p, ',') && !parse_word(p, "in")) {
		*end = parse_postfix(p);
		end = &(*end)->next;
	}
	return tuple;
}

/* "for a in b if c" and so on, up to the closing bracket. */
static struct star_node *
parse_clauses(struct star_parser *p)
{
	struct star_node *first = NULL, **end = &first, *n;

	while (parse_word(p, "for") || parse_word(p, "if")) {
		n = parse_node(p, parse_word(p, "for") ? OP_FOR : OP_IF);
		star_lex(&p->lex);
		if (n->op == OP_FOR) {
			n->a = star_parse_targets(p);
			if (!parse_accept_word(p, "in"))
				parse_fail(p, "\"in\"");
		}
		p->lex.plain = true; /* "x if y" is not one choice here */
		n->b = star_parse_test(p);
		p->lex.plain = false;
		*end = n;
		end = &n->next;
	}
	return first;
}

/* Items up to a bracket, or a comprehension; `pairs` of a dictionary. */
static struct star_node *
parse_items(struct star_parser *p, enum star_op op, int bracket, bool pairs)
{
	struct star_node *list = parse_node(p, op), **end = &list->a, *n, *v;
	bool plain = p->lex.plain;

	p->lex.plain = false;
	while (!parse_is(p, bracket)) {
		n = star_parse_test(p);
		if (pairs) {
			v = parse_node(p, OP_PAIR);
			v->a = n;
			parse_expect(p, ':', "\":\"");
			v->b = star_parse_test(p);
			n = v;
		}
		*end = n;
		end = &n->next;
		if (n == list->a && parse_word(p, "for")) {
			list->op = OP_EACH;
			list->b = parse_clauses(p);
			break;
		}
		if (!parse_accept(p, ','))
			break;
		list->sign = 1; /* "(a,)" is a tuple, "(a)" is not */
	}
	p->lex.plain = plain;
	parse_expect(p, bracket, "a closing bracket");
	return list;
}

static struct star_node *
parse_parens(struct star_parser *p)
{
	struct star_node *list = parse_items(p, OP_TUPLE, ')', false);

	return list->op == OP_TUPLE && list->a != NULL &&
	    list->a->next == NULL && list->sign == 0 ? list->a : list;
}

static struct star_node *
parse_texts(struct star_parser *p)
{
	struct star_node *n = parse_node(p, OP_VALUE);
	size_t at = p->s->scratch.len;

	while (parse_is(p, STAR_STRING)) {
		buf_put(&p->s->scratch, p->lex.text->p, p->lex.text->n);
		star_lex(&p->lex);
	}
	n->value = star_taken(p->s, at);
	return n;
}

static struct star_node *
parse_atom(struct star_parser *p)
{
	struct star_node *n;

	if (parse_is(p, STAR_STRING))
		return parse_texts(p);
	if (parse_accept(p, '('))
		return parse_parens(p);
	if (parse_accept(p, '['))
		return parse_items(p, OP_LIST, ']', false);
	if (parse_accept(p, '{'))
		return parse_items(p, OP_DICT, '}', true);
	if (parse_is(p, STAR_NUMBER)) {
		n = parse_node(p, OP_VALUE);
		n->value = star_int(p->lex.number);
		star_lex(&p->lex);
		return n;
	}
	if (parse_accept_word(p, "lambda")) {
		n = parse_node(p, OP_LAMBDA);
		n->a = star_parse_parameters(p, ':');
		n->b = star_parse_test(p);
		return n;
	}
	n = parse_node(p, OP_NAME);
	n->text = parse_name(p);
	return n;
}

/* "a", "name = a", "*a", "**a"; of a call, a definition or a load. */
static struct star_node *
parse_argument(struct star_parser *p)
{
	struct star_node *n = parse_node(p, OP_ARG);

	if (parse_accept(p, '*'))
		n->sign = 1;
	else if (parse_accept(p, SIGN_POWER))
		n->sign = 2;
	n->a = star_parse_test(p);
	if (n->sign == 0 && n->a->op == OP_NAME && parse_accept(p, '=')) {
		n->text = n->a->text;
		n->a = star_parse_test(p);
	}
	return n;
}

static struct star_node *
parse_arguments(struct star_parser *p)
{
	struct star_node *first = NULL, **end = &first, *each;
	bool plain = p->lex.plain;

	p->lex.plain = false;
	while (!parse_is(p, ')')) {
		*end = parse_argument(p);
		if (*end == first && parse_word(p, "for")) {
			each = parse_node(p, OP_EACH);
			each->a = first->a;
			each->b = parse_clauses(p);
			first->a = each;
		}
		end = &(*end)->next;
		if (!parse_accept(p, ','))
			break;
	}
	p->lex.plain = plain;
	parse_expect(p, ')', "\")\"");
	return first;
}

/* "[a]" or "[a:b:c]", after the bracket. */
static struct star_node *
parse_index(struct star_parser *p, struct star_node *of)
{
	struct star_node *n = parse_node(p, OP_INDEX);
	struct star_node **part[] = {&n->c, &n->d};

	n->a = of;
	if (!parse_is(p, ':'))
		n->b = star_parse_test(p);
	for (size_t i = 0; i < 2 && parse_accept(p, ':'); i++) {
		n->op = OP_SLICE;
		if (!parse_is(p, ':') && !parse_is(p, ']'))
			*part[i] = star_parse_test(p);
	}
	parse_expect(p, ']', "\"]\"");
	return n;
}

static struct star_node *
parse_postfix(struct star_parser *p)
{
	struct star_node *n = parse_atom(p), *of;

	for (;;) {
		of = n;
		if (parse_accept(p, '.')) {
			n = parse_node(p, OP_DOT);
			n->a = of;
			n->text = parse_name(p);
		} else if (parse_accept(p, '(')) {
			n = parse_node(p, OP_CALL);
			n->line = of->line;
			n->a = of;
			n->b = parse_arguments(p);
		} else if (parse_accept(p, '[')) {
			n = parse_index(p, of);
		} else {
			return n;
		}
	}
}

static struct star_node *
parse_unary(struct star_parser *p)
{
	struct star_node *n;

	if (!parse_is(p, '-') && !parse_is(p, '+') && !parse_is(p, '~'))
		return parse_postfix(p);
	n = parse_node(p, OP_UNARY);
	n->sign = p->lex.token;
	star_lex(&p->lex);
	if (++p->depth > STAR_DEPTH_MAX)
		parse_fail(p, "less depth");
	n->a = parse_unary(p);
	p->depth--;
	return n;
}

/* Which of both binds more tightly; 0: no operator of two. */
static int
parse_rank(const struct star_parser *p)
{
	switch (p->lex.token) {
	case SIGN_EQUAL: case SIGN_UNEQUAL: case '<': case '>':
	case SIGN_LESS: case SIGN_MORE:
		return 1;
	case '|':
		return 2;
	case '^':
		return 3;
	case '&':
		return 4;
	case SIGN_LEFT: case SIGN_RIGHT:
		return 5;
	case '+': case '-':
		return 6;
	case '*': case '/': case '%': case SIGN_DIVIDE:
		return 7;
	default:
		return parse_word(p, "in") || parse_word(p, "not");
	}
}

static struct star_node *
parse_binary(struct star_parser *p, int rank)
{
	struct star_node *left = parse_unary(p), *n;
	int own;

	while ((own = parse_rank(p)) >= rank && own > 0) {
		n = parse_node(p, OP_BINARY);
		n->sign = p->lex.token;
		if (parse_accept_word(p, "not")) {
			n->sign = SIGN_NOT_IN;
			if (!parse_word(p, "in"))
				parse_fail(p, "\"in\"");
		} else if (parse_word(p, "in")) {
			n->sign = SIGN_IN;
		}
		star_lex(&p->lex);
		n->a = left;
		n->b = parse_binary(p, own + 1);
		left = n;
	}
	return left;
}

static struct star_node *
parse_not(struct star_parser *p)
{
	struct star_node *n;

	if (!parse_word(p, "not"))
		return parse_binary(p, 1);
	n = parse_node(p, OP_NOT);
	star_lex(&p->lex);
	if (++p->depth > STAR_DEPTH_MAX)
		parse_fail(p, "less depth");
	n->a = parse_not(p);
	p->depth--;
	return n;
}

static struct star_node *
parse_logic(struct star_parser *p, enum star_op op)
{
	struct star_node *left = op == OP_OR ? parse_logic(p, OP_AND)
					     : parse_not(p), *n;

	while (parse_word(p, op == OP_OR ? "or" : "and")) {
		n = parse_node(p, op);
		star_lex(&p->lex);
		n->a = left;
		n->b = op == OP_OR ? parse_logic(p, OP_AND) : parse_not(p);
		left = n;
	}
	return left;
}

/* "a", "a if b else c". */
struct star_node *
star_parse_test(struct star_parser *p)
{
	struct star_node *n, *choose;

	if (++p->depth > STAR_DEPTH_MAX)
		parse_fail(p, "less depth");
	n = parse_logic(p, OP_OR);
	if (!p->lex.plain && parse_word(p, "if")) {
		choose = parse_node(p, OP_CHOOSE);
		star_lex(&p->lex);
		choose->a = n;
		choose->b = parse_logic(p, OP_OR);
		if (!parse_accept_word(p, "else"))
			parse_fail(p, "\"else\"");
		choose->c = star_parse_test(p);
		n = choose;
	}
	p->depth--;
	return n;
}

struct star_node *
star_parse_tests(struct star_parser *p)
{
	struct star_node *first = star_parse_test(p), *tuple, **end;

	if (!parse_is(p, ','))
		return first;
	tuple = parse_node(p, OP_TUPLE);
	tuple->a = first;
	end = &first->next;
	while (parse_accept(p, ',') && !parse_is(p, STAR_NEWLINE) &&
	    !parse_is(p, '=')) {
		*end = star_parse_test(p);
		end = &(*end)->next;
	}
	return tuple;
}
