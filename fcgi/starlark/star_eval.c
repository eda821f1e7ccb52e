/*
 * Runs the tree: statements one after the other, expressions to values.
 */
#include <string.h>

#include "fcgi/starlark/star_private.h"

enum star_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };

struct star_frame {
	struct star_scope *scope;
	struct star_value result; /* of FLOW_RETURN */
};

static struct star_value eval(struct star *s, struct star_scope *scope,
    const struct star_node *n);
static void eval_nest(struct star *s);
static enum star_flow exec(struct star *s, struct star_frame *f,
    const struct star_node *n);

/* ---- names ---- */

static struct star_value
eval_key(const struct star_text *text)
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
static void
eval_assign(struct star *s, struct star_scope *scope,
    const struct star_node *target, struct star_value v)
{
	struct star_list items;
	struct star_value of;
	size_t i = 0;

	if (target->op == OP_NAME) {
		star_set(s, scope->names, eval_key(target->text), v);
	} else if (target->op == OP_TUPLE || target->op == OP_LIST) {
		if (!star_items(s, v, &items) && v.kind != STAR_UNKNOWN)
			star_say(s, scope->module, target->line,
			    "this is no list");
		for (const struct star_node *n = target->a; n != NULL;
		     n = n->next, i++)
			eval_assign(s, scope, n, i < items.n ? items.items[i]
							     : star_unknown());
	} else if (target->op == OP_INDEX) {
		of = eval(s, scope, target->a);
		if (of.kind == STAR_DICT)
			star_set(s, of.dict, eval(s, scope, target->b), v);
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
	v = eval(s, scope, n);
	if (v.kind != STAR_INT)
		return absent;
	v.i += v.i < 0 ? size : 0;
	return v.i < 0 ? 0 : v.i > size ? size : v.i;
}

static struct star_value
eval_slice(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value of = eval(s, scope, n->a), out;
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
		star_add(s, out.list, eval(s, scope, i));
	return out;
}

static struct star_value
eval_dict(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value out = star_dict(s, STAR_DICT), key;

	for (const struct star_node *i = n->a; i != NULL; i = i->next) {
		key = eval(s, scope, i->a);
		star_set(s, out.dict, key, eval(s, scope, i->b));
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
			key = eval(s, scope, item->a);
			star_set(s, out.dict, key, eval(s, scope, item->b));
		} else {
			star_add(s, out.list, eval(s, scope, item));
		}
		return;
	}
	eval_nest(s);
	v = eval(s, scope, clause->b);
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
		eval_assign(s, scope, clause->a, items.items[i]);
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
	struct star_value v = eval(s, scope, n->a);
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
	struct star_value f = eval(s, scope, n->a);

	for (const struct star_node *i = n->b; i != NULL; i = i->next) {
		if (i->sign != 0)
			eval_spread(s, scope, &c, i);
		else if (i->text != NULL)
			star_set(s, &c.named, eval_key(i->text),
			    eval(s, scope, i->a));
		else
			star_add(s, &c.args, eval(s, scope, i->a));
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
		star_set(s, names, eval_key(p->text),
		    v != NULL ? *v : star_unknown());
	}
	for (; at < c->args.n; at++)
		star_add(s, rest.list, c->args.items[at]);
	for (size_t i = 0; i < c->named.n; i++)
		if (star_get(s, names, c->named.pairs[i].key) == NULL)
			star_set(s, others.dict, c->named.pairs[i].key,
			    c->named.pairs[i].value);
	if (args != NULL && args->text != NULL)
		star_set(s, names, eval_key(args->text), rest);
	if (named != NULL)
		star_set(s, names, eval_key(named->text), others);
}

static struct star_value
eval_apply(struct star *s, const struct star_function *f,
    const struct star_call *c)
{
	struct star_scope *scope = star_alloc(s, sizeof(*scope));
	struct star_frame frame = {scope, star_none()};

	*scope = (struct star_scope){star_alloc(s, sizeof(*scope->names)),
	    f->scope, f->scope->module};
	eval_bind(s, f, c, scope->names);
	if (f->node->op == OP_LAMBDA)
		return eval(s, scope, f->node->b);
	exec(s, &frame, f->node->b);
	return frame.result;
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

static struct star_value
eval_function(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_function *f = star_alloc(s, sizeof(*f));

	f->node = n;
	f->scope = scope;
	for (const struct star_node *p = n->a; p != NULL; p = p->next)
		if (p->a != NULL)
			star_set(s, &f->defaults, eval_key(p->text),
			    eval(s, scope, p->a));
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
	struct star_value v = eval(s, scope, n->op == OP_CHOOSE ? n->b : n->a);

	if (v.kind == STAR_UNKNOWN)
		return v;
	if (n->op == OP_NOT)
		return star_bool(!star_is_true(v));
	if (n->op == OP_CHOOSE)
		return eval(s, scope, star_is_true(v) ? n->a : n->c);
	return star_is_true(v) == (n->op == OP_AND) ? eval(s, scope, n->b)
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
		return eval_dot(s, scope, n, eval(s, scope, n->a));
	case OP_INDEX:
		a = eval(s, scope, n->a);
		return eval_index(s, scope, n, a, eval(s, scope, n->b));
	case OP_SLICE:
		return eval_slice(s, scope, n);
	case OP_UNARY:
		return eval_unary(s, scope, n, eval(s, scope, n->a));
	case OP_BINARY:
		a = eval(s, scope, n->a);
		return star_binary(s, scope->module, n->line, n->sign, a,
		    eval(s, scope, n->b));
	case OP_AND: case OP_OR: case OP_NOT: case OP_CHOOSE:
		return eval_logic(s, scope, n);
	case OP_LAMBDA:
		return eval_function(s, scope, n);
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

static struct star_value
eval(struct star *s, struct star_scope *scope, const struct star_node *n)
{
	struct star_value v;

	s->path = scope->module->path;
	s->line = n->line;
	eval_nest(s);
	v = eval_one(s, scope, n);
	s->nesting--;
	return v;
}

/* ---- statements ---- */

static void
exec_assign(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value v = eval(s, scope, n->b), old;
	struct star_list items;

	if (n->sign != '=') {
		old = eval(s, scope, n->a);
		/* what is added to a list is added to all that have it */
		if (n->sign == '+' && old.kind == STAR_LIST &&
		    star_items(s, v, &items)) {
			for (size_t i = 0; i < items.n; i++)
				star_add(s, old.list, items.items[i]);
			return;
		}
		v = star_binary(s, scope->module, n->line, n->sign, old, v);
	}
	eval_assign(s, scope, n->a, v);
}

static enum star_flow
exec_for(struct star *s, struct star_frame *f, const struct star_node *n)
{
	struct star_list items;
	enum star_flow flow;

	if (!star_items(s, eval(s, f->scope, n->b), &items))
		star_say(s, f->scope->module, n->line,
		    "what this goes through is not known");
	for (size_t i = 0; i < items.n; i++) {
		eval_assign(s, f->scope, n->a, items.items[i]);
		flow = exec(s, f, n->c);
		if (flow == FLOW_BREAK)
			break;
		if (flow == FLOW_RETURN)
			return flow;
	}
	return FLOW_ON;
}

static enum star_flow
exec_if(struct star *s, struct star_frame *f, const struct star_node *n)
{
	struct star_value v = eval(s, f->scope, n->a);

	if (v.kind == STAR_UNKNOWN) {
		star_say(s, f->scope->module, n->line,
		    "a condition is not known");
		return FLOW_ON;
	}
	return exec(s, f, star_is_true(v) ? n->b : n->c);
}

static void
exec_load(struct star *s, const struct star_scope *scope,
    const struct star_node *n)
{
	struct star_module *from = s->ops->load(s, scope->module, n->line,
	    n->text->p);
	const char *theirs;
	struct star_value *v, name, got;

	for (const struct star_node *i = n->a; i != NULL; i = i->next) {
		if (i->a->op != OP_VALUE || i->a->value.kind != STAR_TEXT)
			continue;
		theirs = i->a->value.text->p;
		name = i->text != NULL ? eval_key(i->text) : i->a->value;
		v = from != NULL ? star_field(s, &from->names, theirs) : NULL;
		got = v != NULL ? *v : from == NULL
		    ? s->ops->missing(s, n->text->p, theirs)
		    : star_say(s, scope->module, i->line,
		        "%s does not define \"%s\"", n->text->p, theirs);
		star_set(s, scope->names, name, got);
	}
}

static enum star_flow
exec_one(struct star *s, struct star_frame *f, const struct star_node *n)
{
	switch (n->op) {
	case OP_ASSIGN:
		exec_assign(s, f->scope, n);
		break;
	case OP_DO:
		eval(s, f->scope, n->a);
		break;
	case OP_IF:
		return exec_if(s, f, n);
	case OP_FOR:
		return exec_for(s, f, n);
	case OP_DEF:
		star_set(s, f->scope->names, eval_key(n->text),
		    eval_function(s, f->scope, n));
		break;
	case OP_RETURN:
		f->result = n->a != NULL ? eval(s, f->scope, n->a)
					 : star_none();
		return FLOW_RETURN;
	case OP_BREAK:
		return FLOW_BREAK;
	case OP_CONTINUE:
		return FLOW_CONTINUE;
	case OP_LOAD:
		exec_load(s, f->scope, n);
		break;
	default:
		break;
	}
	return FLOW_ON;
}

static enum star_flow
exec(struct star *s, struct star_frame *f, const struct star_node *n)
{
	enum star_flow flow = FLOW_ON;

	for (; n != NULL && flow == FLOW_ON; n = n->next) {
		s->path = f->scope->module->path;
		s->line = n->line;
		star_step(s, 1);
		flow = exec_one(s, f, n);
	}
	return flow;
}

bool
star_try(struct star *s, void (*fn)(void *arg), void *arg)
{
	jmp_buf *before = s->out, here;
	unsigned depth = s->depth, nesting = s->nesting;
	volatile bool fine = false;

	if (setjmp(here) == 0) {
		s->out = &here;
		fn(arg);
		fine = true;
	}
	s->out = before;
	s->depth = depth;
	s->nesting = nesting;
	return fine;
}

struct star_file {
	struct star *s;
	struct star_module *module;
	const char *p;
	size_t n;
};

static void
exec_file(void *arg)
{
	const struct star_file *f = arg;
	struct star_scope *scope = star_alloc(f->s, sizeof(*scope));

	*scope = (struct star_scope){&f->module->names, NULL, f->module};
	exec(f->s, &(struct star_frame){scope, star_none()},
	    star_parse(f->s, f->module, f->p, f->n));
}

bool
star_run(struct star *s, struct star_module *m, const char *p, size_t n)
{
	struct star_file f = {s, m, p, n};
	bool fine = star_try(s, exec_file, &f);

	/* what is over is over for who asked for this file, too */
	if (!fine && s->over != NULL && s->out != NULL)
		star_end(s);
	return fine;
}

const char *
star_run_apart(struct star *s, struct star_module *m, const char *p, size_t n)
{
	struct star_file f = {s, m, p, n};
	const char *why;
	bool fine;

	s->path = m->path;
	s->line = 1;
	if (s->arena.used + STAR_MEMORY_APART < STAR_MEMORY_MAX)
		s->arena.limit = s->arena.used + STAR_MEMORY_APART;
	if (s->steps + STAR_STEPS_APART < STAR_STEPS_MAX)
		s->steps_max = s->steps + STAR_STEPS_APART;
	fine = star_try(s, exec_file, &f);
	s->arena.limit = STAR_MEMORY_MAX;
	s->steps_max = STAR_STEPS_MAX;
	if (fine)
		return NULL;
	why = s->over != NULL ? s->over : "";
	s->over = NULL;
	buf_clear(&s->scratch);
	return why;
}
