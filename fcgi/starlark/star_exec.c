/*
 * Runs the tree: statements one after the other, and files.
 */
#include <string.h>

#include "fcgi/starlark/star_private.h"

enum star_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN };

struct star_frame {
	struct star_scope *scope;
	struct star_value result; /* of FLOW_RETURN */
};

static enum star_flow exec(struct star *s, struct star_frame *f,
    const struct star_node *n);

static void
exec_assign(struct star *s, struct star_scope *scope,
    const struct star_node *n)
{
	struct star_value v = star_eval(s, scope, n->b), old;
	struct star_list items;

	if (n->sign != '=') {
		old = star_eval(s, scope, n->a);
		/* what is added to a list is added to all that have it */
		if (n->sign == '+' && old.kind == STAR_LIST &&
		    star_items(s, v, &items)) {
			for (size_t i = 0; i < items.n; i++)
				star_add(s, old.list, items.items[i]);
			return;
		}
		v = star_binary(s, scope->module, n->line, n->sign, old, v);
	}
	star_assign(s, scope, n->a, v);
}

static enum star_flow
exec_for(struct star *s, struct star_frame *f, const struct star_node *n)
{
	struct star_list items;
	enum star_flow flow;

	if (!star_items(s, star_eval(s, f->scope, n->b), &items))
		star_say(s, f->scope->module, n->line,
		    "what this goes through is not known");
	for (size_t i = 0; i < items.n; i++) {
		star_assign(s, f->scope, n->a, items.items[i]);
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
	struct star_value v = star_eval(s, f->scope, n->a);

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
		name = i->text != NULL ? star_key(i->text) : i->a->value;
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
		star_eval(s, f->scope, n->a);
		break;
	case OP_IF:
		return exec_if(s, f, n);
	case OP_FOR:
		return exec_for(s, f, n);
	case OP_DEF:
		star_set(s, f->scope->names, star_key(n->text),
		    star_define(s, f->scope, n));
		break;
	case OP_RETURN:
		f->result = n->a != NULL ? star_eval(s, f->scope, n->a)
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

struct star_value
star_exec(struct star *s, struct star_scope *scope, const struct star_node *n)
{
	struct star_frame f = {scope, star_none()};

	exec(s, &f, n);
	return f.result;
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
	star_exec(f->s, scope, star_parse(f->s, f->module, f->p, f->n));
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
