/*
 * From expressions of the tree to values; functions are called.
 */
#include <string.h>

#include "fcgi/starlark/star_private.h"

static void eval_nest(struct star *s);

/* ---- names ---- */

struct star_value
star_key(const struct star_text *text)
{
	return (struct star_value){.kind = STAR_TEXT, .text = text};
}

static struct star_value
eval_name(struct star *s, const struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value *v, made;

	for (; scope->up != NULL; scope = scope->up)
		if ((v = star_field(s, scope->names, n->text->p)) != NULL)
			return *v;
	if ((v = star_field(s, scope->names, n->text->p)) != NULL ||
	    (v = star_field(s, &s->universe, n->text->p)) != NULL)
		return *v;
	made = s->ops->name(s, scope->module, n->text->p);
	return made.kind != STAR_UNKNOWN ? made : star_say(s, scope->module,
	    n->line, "\"%s\" is not known", n->text->p);
}

/* To a name, to names from a list, or to an item. */
void
star_assign(struct star *s, struct star_scope *scope,
    const struct star_node *target, struct star_value v)
{
	struct star_list items;
	struct star_value of;
	size_t i = 0;

	if (target->op == OP_NAME) {
		star_set(s, scope->names, star_key(target->text), v);
	} else if (target->op == OP_TUPLE || target->op == OP_LIST) {
		if (!star_items(s, v, &items) && v.kind != STAR_UNKNOWN)
			star_say(s, scope->module, target->line,
			    "this is no list");
		for (const struct star_node *n = target->a; n != NULL;
		     n = n->next, i++)
			star_assign(s, scope, n, i < items.n ? items.items[i]
							     : star_unknown());
	} else if (target->op == OP_INDEX) {
		of = star_eval(s, scope, target->a);
		if (of.kind == STAR_DICT)
			star_set(s, of.dict, star_eval(s, scope, target->b), v);
		else
			star_say(s, scope->module, target->line,
			    "what this changes is not known");
	}
}

/* ---- parts of values ---- */

static struct star_value
eval_dot(struct star *s, const struct star_scope *scope,
    const struct star_node *n, struct star_value of)
{
	struct star_value *field, v;

	if (of.kind == STAR_UNKNOWN)
		return of;
	if (of.kind == STAR_STRUCT &&
	    (field = star_field(s, of.dict, n->text->p)) != NULL)
		return *field;
	v = of.kind == STAR_NATIVE
	    ? s->ops->name(s, scope->module, n->text->p)
	    : star_method(s, of, n->text->p);
	return v.kind == STAR_NONE || v.kind == STAR_UNKNOWN
	    ? star_say(s, scope->module, n->line, "\".%s\" is not known",
	        n->text->p) : v;
}

static struct star_value
eval_index(struct star *s, const struct star_scope *scope,
    const struct star_node *n, struct star_value of, struct star_value at)
{
	struct star_value *v = NULL;
	int64_t i = at.i, size = 0;

	if (of.kind == STAR_UNKNOWN || at.kind == STAR_UNKNOWN)
		return star_unknown();
	if (of.kind == STAR_DICT)
		v = star_get(s, of.dict, at);
	else if (of.kind == STAR_LIST || of.kind == STAR_TUPLE)
		size = (int64_t)of.list->n;
	else if (of.kind == STAR_TEXT)
		size = (int64_t)of.text->n;
	i += i < 0 ? size : 0;
	if (at.kind == STAR_INT && i >= 0 && i < size) {
		if (of.kind == STAR_TEXT)
			return star_text(s, of.text->p + i, 1);
		v = &of.list->items[i];
	}
	return v != NULL ? *v : star_say(s, scope->module, n->line,
	    "there is no such item");
}

/* A bound of a slice, within 0 to n. */
static int64_t
eval_bound(struct star *s, struct star_scope *scope,
    const struct star_node *n, int64_t size, int64_t absent)
{
	struct star_value v;

	if (n == NULL)
		return absent;
	v = star_eval(s, scope, n);
	if (v.kind != STAR_INT)
		return absent;
	v.i += v.i < 0 ? size : 0;
	return v.i < 0 ? 0 : v.i > size ? size : v.i;
}

static struct star_value
eval_slice(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value of = star_eval(s, scope, n->a), out;
	int64_t size, from, to;

	if (of.kind != STAR_TEXT && of.kind != STAR_LIST &&
	    of.kind != STAR_TUPLE)
		return of.kind == STAR_UNKNOWN ? of : star_say(s,
		    scope->module, n->line, "this has no parts");
	if (n->d != NULL)
		return star_say(s, scope->module, n->line,
		    "parts by steps are not known");
	size = of.kind == STAR_TEXT ? (int64_t)of.text->n
				    : (int64_t)of.list->n;
	from = eval_bound(s, scope, n->b, size, 0);
	to = eval_bound(s, scope, n->c, size, size);
	if (of.kind == STAR_TEXT)
		return star_text(s, of.text->p + from,
		    to > from ? (size_t)(to - from) : 0);
	out = star_list(s, of.kind);
	for (; from < to; from++)
		star_add(s, out.list, of.list->items[from]);
	return out;
}

/* ---- collections ---- */

static struct star_value
eval_list(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value out = star_list(s, n->op == OP_LIST ? STAR_LIST
							      : STAR_TUPLE);

	for (const struct star_node *i = n->a; i != NULL; i = i->next)
		star_add(s, out.list, star_eval(s, scope, i));
	return out;
}

static struct star_value
eval_dict(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value out = star_dict(s, STAR_DICT), key;

	for (const struct star_node *i = n->a; i != NULL; i = i->next) {
		key = star_eval(s, scope, i->a);
		star_set(s, out.dict, key, star_eval(s, scope, i->b));
	}
	return out;
}

/* The rest of a comprehension's clauses, then its item. */
static void
eval_clause(struct star *s, struct star_scope *scope,
    const struct star_node *clause, const struct star_node *item,
    struct star_value out)
{
	struct star_value v, key;
	struct star_list items;

	if (clause == NULL) {
		if (item->op == OP_PAIR) {
			key = star_eval(s, scope, item->a);
			star_set(s, out.dict, key,
			    star_eval(s, scope, item->b));
		} else {
			star_add(s, out.list, star_eval(s, scope, item));
		}
		return;
	}
	eval_nest(s);
	v = star_eval(s, scope, clause->b);
	if (clause->op == OP_IF) {
		if (v.kind == STAR_UNKNOWN)
			star_say(s, scope->module, clause->line,
			    "a condition is not known");
		else if (star_is_true(v))
			eval_clause(s, scope, clause->next, item, out);
		s->nesting--;
		return;
	}
	if (!star_items(s, v, &items))
		star_say(s, scope->module, clause->line,
		    "what this goes through is not known");
	for (size_t i = 0; i < items.n; i++) {
		star_assign(s, scope, clause->a, items.items[i]);
		eval_clause(s, scope, clause->next, item, out);
	}
	s->nesting--;
}

static struct star_value
eval_each(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_scope *own = star_alloc(s, sizeof(*own));
	struct star_value out = n->a->op == OP_PAIR ? star_dict(s, STAR_DICT)
	    : star_list(s, STAR_LIST);

	*own = (struct star_scope){star_alloc(s, sizeof(*own->names)), scope,
	    scope->module};
	eval_clause(s, own, n->b, n->a, out);
	return out;
}

/* ---- calls ---- */

/* "*a" and "**a" of a call. */
static void
eval_spread(struct star *s, struct star_scope *scope, struct star_call *c,
    const struct star_node *n)
{
	struct star_value v = star_eval(s, scope, n->a);
	struct star_list items;

	if (n->sign == 2 && v.kind == STAR_DICT) {
		for (size_t i = 0; i < v.dict->n; i++)
			star_set(s, &c->named, v.dict->pairs[i].key,
			    v.dict->pairs[i].value);
	} else if (n->sign == 1 && star_items(s, v, &items)) {
		for (size_t i = 0; i < items.n; i++)
			star_add(s, &c->args, items.items[i]);
	} else {
		star_say(s, scope->module, n->line,
		    "these arguments are not known");
	}
}

static struct star_value
eval_call(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_call c = {.module = scope->module, .line = n->line};
	struct star_value f = star_eval(s, scope, n->a);

	for (const struct star_node *i = n->b; i != NULL; i = i->next) {
		if (i->sign != 0)
			eval_spread(s, scope, &c, i);
		else if (i->text != NULL)
			star_set(s, &c.named, star_key(i->text),
			    star_eval(s, scope, i->a));
		else
			star_add(s, &c.args, star_eval(s, scope, i->a));
	}
	return star_apply(s, f, &c);
}

/* Parameters get what the call has for them. */
static void
eval_bind(struct star *s, const struct star_function *f,
    const struct star_call *c, struct star_dict *names)
{
	struct star_value rest = star_list(s, STAR_TUPLE),
	    others = star_dict(s, STAR_DICT), *v;
	const struct star_node *args = NULL, *named = NULL;
	size_t at = 0;

	for (const struct star_node *p = f->node->a; p != NULL; p = p->next) {
		if (p->sign == 1)
			args = p;
		else if (p->sign == 2)
			named = p;
		if (p->sign != 0)
			continue;
		v = args == NULL && at < c->args.n ? &c->args.items[at++]
		    : star_field(s, &c->named, p->text->p);
		if (v == NULL)
			v = star_field(s, &f->defaults, p->text->p);
		star_set(s, names, star_key(p->text),
		    v != NULL ? *v : star_unknown());
	}
	for (; at < c->args.n; at++)
		star_add(s, rest.list, c->args.items[at]);
	for (size_t i = 0; i < c->named.n; i++)
		if (star_get(s, names, c->named.pairs[i].key) == NULL)
			star_set(s, others.dict, c->named.pairs[i].key,
			    c->named.pairs[i].value);
	if (args != NULL && args->text != NULL)
		star_set(s, names, star_key(args->text), rest);
	if (named != NULL)
		star_set(s, names, star_key(named->text), others);
}

static struct star_value
eval_apply(struct star *s, const struct star_function *f,
    const struct star_call *c)
{
	struct star_scope *scope = star_alloc(s, sizeof(*scope));

	*scope = (struct star_scope){star_alloc(s, sizeof(*scope->names)),
	    f->scope, f->scope->module};
	eval_bind(s, f, c, scope->names);
	if (f->node->op == OP_LAMBDA)
		return star_eval(s, scope, f->node->b);
	return star_exec(s, scope, f->node->b);
}

struct star_value
star_apply(struct star *s, struct star_value f, struct star_call *c)
{
	struct star_value v = star_unknown();

	if (++s->depth > STAR_DEPTH_MAX) {
		s->over = "calls are too deep";
		star_end(s);
	}
	if (f.kind == STAR_FUNCTION) {
		v = eval_apply(s, f.function, c);
	} else if (f.kind == STAR_HOST) {
		c->host = f.host;
		v = f.host->fn(s, c);
	} else if (f.kind != STAR_UNKNOWN) {
		star_say(s, c->module, c->line, "this is no function");
	}
	s->depth--;
	return v;
}

struct star_value
star_define(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_function *f = star_alloc(s, sizeof(*f));

	f->node = n;
	f->scope = scope;
	for (const struct star_node *p = n->a; p != NULL; p = p->next)
		if (p->a != NULL)
			star_set(s, &f->defaults, star_key(p->text),
			    star_eval(s, scope, p->a));
	return (struct star_value){.kind = STAR_FUNCTION, .function = f};
}

/* ---- operators ---- */

static struct star_value
eval_unary(struct star *s, const struct star_scope *scope,
    const struct star_node *n, struct star_value v)
{
	if (v.kind == STAR_INT)
		return star_int(n->sign == '-' ? -(v.i + (v.i == INT64_MIN))
		    : n->sign == '~' ? ~v.i : v.i);
	return v.kind == STAR_UNKNOWN ? v : star_say(s, scope->module,
	    n->line, "this is no number");
}

static struct star_value
eval_logic(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value v = star_eval(s, scope,
	    n->op == OP_CHOOSE ? n->b : n->a);

	if (v.kind == STAR_UNKNOWN)
		return v;
	if (n->op == OP_NOT)
		return star_bool(!star_is_true(v));
	if (n->op == OP_CHOOSE)
		return star_eval(s, scope, star_is_true(v) ? n->a : n->c);
	return star_is_true(v) == (n->op == OP_AND) ? star_eval(s, scope, n->b)
						    : v;
}

static struct star_value
eval_one(struct star *s, struct star_scope *scope, const struct star_node *n)
{
	struct star_value a;

	switch (n->op) {
	case OP_NAME:
		return eval_name(s, scope, n);
	case OP_VALUE:
		return n->value;
	case OP_LIST:
	case OP_TUPLE:
		return eval_list(s, scope, n);
	case OP_DICT:
		return eval_dict(s, scope, n);
	case OP_EACH:
		return eval_each(s, scope, n);
	case OP_CALL:
		return eval_call(s, scope, n);
	case OP_DOT:
		return eval_dot(s, scope, n, star_eval(s, scope, n->a));
	case OP_INDEX:
		a = star_eval(s, scope, n->a);
		return eval_index(s, scope, n, a, star_eval(s, scope, n->b));
	case OP_SLICE:
		return eval_slice(s, scope, n);
	case OP_UNARY:
		return eval_unary(s, scope, n, star_eval(s, scope, n->a));
	case OP_BINARY:
		a = star_eval(s, scope, n->a);
		return star_binary(s, scope->module, n->line, n->sign, a,
		    star_eval(s, scope, n->b));
	case OP_AND: case OP_OR: case OP_NOT: case OP_CHOOSE:
		return eval_logic(s, scope, n);
	case OP_LAMBDA:
		return star_define(s, scope, n);
	default:
		return star_say(s, scope->module, n->line,
		    "this is no value");
	}
}

/* "a + b + c ..." is as deep as it is long. */
static void
eval_nest(struct star *s)
{
	star_step(s, 1);
	if (++s->nesting <= STAR_NESTING_MAX)
		return;
	s->over = "an expression is too long";
	star_end(s);
}

struct star_value
star_eval(struct star *s, struct star_scope *scope, const struct star_node *n)
{
	struct star_value v;

	s->path = scope->module->path;
	s->line = n->line;
	eval_nest(s);
	v = eval_one(s, scope, n);
	s->nesting--;
	return v;
}
