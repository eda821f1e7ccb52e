/*
 * What the files of the interpreter share: the tree of a file, and what is
 * made of values.
 */
#ifndef FCGI_STARLARK_STAR_PRIVATE_H
#define FCGI_STARLARK_STAR_PRIVATE_H

#include "fcgi/starlark/star.h"

enum star_op {
	/* expressions */
	OP_NAME,   /* text */
	OP_VALUE,  /* value */
	OP_LIST,   /* a: items */
	OP_TUPLE,  /* a: items */
	OP_DICT,   /* a: pairs */
	OP_PAIR,   /* a: key, b: value */
	OP_EACH,   /* comprehension; a: item or pair, b: clauses */
	OP_CALL,   /* a: function, b: arguments */
	OP_ARG,    /* a: value, text: name or NULL; sign: stars */
	OP_DOT,    /* a, text */
	OP_INDEX,  /* a, b */
	OP_SLICE,  /* a, b: first, c: end, d: step, each may be NULL */
	OP_UNARY,  /* sign, a */
	OP_BINARY, /* sign, a, b */
	OP_AND, OP_OR, OP_NOT,
	OP_CHOOSE, /* a if b else c */
	OP_LAMBDA, /* a: parameters, b: expression */
	/* statements, and clauses of comprehensions */
	OP_ASSIGN, /* sign: '=' or what is done with it; a: target, b */
	OP_DO,     /* a: expression */
	OP_IF,     /* a: condition, b: then, c: else */
	OP_FOR,    /* a: target, b: of, c: body */
	OP_DEF,    /* text; a: parameters, b: body */
	OP_RETURN, /* a or NULL */
	OP_BREAK, OP_CONTINUE, OP_PASS,
	OP_LOAD    /* text: label; a: OP_ARG, text: ours, a: value theirs */
};

/* Signs of more than one character. */
enum { SIGN_POWER = 256, SIGN_DIVIDE, SIGN_EQUAL, SIGN_UNEQUAL, SIGN_LESS,
	SIGN_MORE, SIGN_LEFT, SIGN_RIGHT, SIGN_IN, SIGN_NOT_IN };

struct star_node {
	enum star_op op;
	int line, sign;
	const struct star_text *text;
	struct star_value value;
	struct star_node *a, *b, *c, *d, *next; /* next: of a list */
};

struct star_scope {
	struct star_dict *names;
	struct star_scope *up; /* NULL: of a file */
	struct star_module *module;
};

struct star_function {
	const struct star_node *node; /* OP_DEF or OP_LAMBDA */
	struct star_scope *scope;     /* that it was defined in */
	struct star_dict defaults;    /* by parameter */
};

/* Ends the file, or all of them when s->over is set. */
__attribute__((noreturn)) void star_end(struct star *s);

/* Statements of a file; what it cannot read ends it. */
struct star_node *star_parse(struct star *s, const struct star_module *m,
    const char *p, size_t n);

struct star_value star_apply(struct star *s, struct star_value f,
    struct star_call *c);

/* The value of an expression. */
struct star_value star_eval(struct star *s, struct star_scope *scope,
    const struct star_node *n);
/* To a name, an item, or several of them at once. */
void star_assign(struct star *s, struct star_scope *scope,
    const struct star_node *target, struct star_value v);
/* The function that a "def" or a lambda is. */
struct star_value star_define(struct star *s, struct star_scope *scope,
    const struct star_node *n);
/* A name as the key of a dictionary. */
struct star_value star_key(const struct star_text *text);
/* Statements, to the value of the "return" that ends them; else None. */
struct star_value star_exec(struct star *s, struct star_scope *scope,
    const struct star_node *n);

bool star_is_true(struct star_value v);
bool star_is_equal(struct star *s, struct star_value a, struct star_value b);
/* Of two texts, numbers or lists; others are as they come. */
int star_order(struct star_value a, struct star_value b);
/* Appends it as str(), or as repr(), to s->scratch. */
void star_print(struct star *s, struct star_value v, bool quoted);
/* What was appended to s->scratch since it was `at`. */
struct star_value star_taken(struct star *s, size_t at);
/* Items of a list, tuple or dictionary; false for anything else. */
bool star_items(struct star *s, struct star_value v, struct star_list *out);

struct star_value star_binary(struct star *s, const struct star_module *m,
    int line, int sign, struct star_value a, struct star_value b);
/* "a {} {b}" % and format(). */
struct star_value star_percent(struct star *s, struct star_value format,
    struct star_value v);
/* A method that is bound to its value; NONE when there is none such. */
struct star_value star_method(struct star *s, struct star_value v,
    const char *name);

#endif
