/*
 * Starlark, the language of BUILD files, as much of it as they use: run
 * without side effects, bounded in memory, steps and depth.  What cannot be
 * known here, such as a repository that is not there, is a value of its own
 * (STAR_UNKNOWN); whatever is made of it is unknown too, and where it came up
 * is reported by file and line.  Rules, glob() and load() are the caller's.
 *
 * All values live in one arena as long as the interpreter.  A syntax error
 * ends its file; running out of memory or steps ends every file (star.over).
 */
#ifndef FCGI_STARLARK_STAR_H
#define FCGI_STARLARK_STAR_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/arena.h"
#include "store/base/buf.h"

#define STAR_MEMORY_MAX (256u << 20)
/* Of a file that is run apart, with what it loads; and of all. */
#define STAR_MEMORY_APART (64u << 20)
#define STAR_STEPS_APART 50000000 /* nodes, and what is compared */
#define STAR_STEPS_MAX 300000000
#define STAR_DEPTH_MAX 100      /* of calls; and of brackets in a file */
#define STAR_NESTING_MAX 2500   /* of expressions, in all that is called */

enum star_kind {
	STAR_NONE,
	STAR_UNKNOWN,
	STAR_BOOL,
	STAR_INT,
	STAR_TEXT,
	STAR_LIST,
	STAR_TUPLE,
	STAR_DICT,
	STAR_CHOICE, /* select(): a dictionary by condition */
	STAR_SUM,    /* a list of what is added up where one is a choice */
	STAR_STRUCT, /* a dictionary of fields */
	STAR_NATIVE, /* its fields are the caller's names */
	STAR_FUNCTION,
	STAR_HOST    /* a function that is written in C */
};

struct star_text {
	size_t n;
	char p[]; /* and a NUL */
};

struct star_value {
	enum star_kind kind;
	union {
		int64_t i;
		const struct star_text *text;
		struct star_list *list; /* LIST, TUPLE, SUM */
		struct star_dict *dict; /* DICT, CHOICE, STRUCT */
		const struct star_function *function;
		const struct star_host *host;
	};
};

struct star_list {
	struct star_value *items;
	size_t n, cap;
};

struct star_pair {
	struct star_value key, value;
};

struct star_dict { /* in the order of insertion */
	struct star_pair *pairs;
	size_t n, cap;
	uint32_t *index; /* of a long one: position + 1 by hash, or NULL */
	size_t n_index;  /* a power of two */
};

/* A file: what it defines, and who it is to the caller. */
struct star_module {
	const char *path; /* for reports */
	void *owner;
	struct star_dict names;
};

struct star;

/* A call, and where it stands. */
struct star_call {
	const struct star_host *host;
	struct star_list args;
	struct star_dict named;
	struct star_module *module;
	int line;
};

typedef struct star_value star_fn(struct star *s, const struct star_call *c);

struct star_host {
	const char *name;
	star_fn *fn;
	struct star_value self; /* what a method is of */
};

struct star_ops {
	/* Something is not known. */
	void (*report)(struct star *s, const char *path, int line,
	    const char *text);
	/* A name that nobody has defined, or a field of `native`; UNKNOWN is
	 * reported. */
	struct star_value (*name)(struct star *s,
	    const struct star_module *m, const char *name);
	/* A file to load from; NULL when it is not there. */
	struct star_module *(*load)(struct star *s,
	    const struct star_module *m, int line, const char *label);
	/* What is loaded from one that is not there. */
	struct star_value (*missing)(struct star *s, const char *label,
	    const char *name);
};

struct star {
	const struct star_ops *ops;
	void *owner;
	struct arena arena;
	struct buf scratch; /* private: texts in the making */
	struct star_dict universe; /* what every file knows */
	int64_t steps, steps_max;
	unsigned depth, nesting;
	const char *over;  /* why nothing goes on, or NULL */
	const char *path;  /* what runs, or ran last */
	int line;
	jmp_buf *out;      /* private: end of the file that runs */
};

void star_init(struct star *s, const struct star_ops *ops, void *owner);
void star_fini(struct star *s);

/* Runs a file of n bytes; what it defines is in m->names.  False when it
 * ended early, which is reported. */
bool star_run(struct star *s, struct star_module *m, const char *p, size_t n);

/* The same, bounded by itself: what is over is over for this file and those
 * that it loads, not for who asked for it.  NULL, or why it ended early, at
 * s->path and s->line; "" where that was reported. */
const char *star_run_apart(struct star *s, struct star_module *m,
    const char *p, size_t n);

/* Calls fn, whose calls of the below may end it; false when they did, and
 * s->over says why. */
bool star_try(struct star *s, void (*fn)(void *arg), void *arg);

/* Counts n steps; ends all when there are too many. */
void star_step(struct star *s, size_t n);

/* ---- values: within star_run() or star_try() ---- */

struct star_value star_unknown(void);
struct star_value star_none(void);
struct star_value star_bool(bool yes);
struct star_value star_int(int64_t i);
struct star_value star_text(struct star *s, const char *p, size_t n);
struct star_value star_str(struct star *s, const char *text);
struct star_value star_list(struct star *s, enum star_kind kind);
struct star_value star_dict(struct star *s, enum star_kind kind);
/* `name` and `self` have to live as long as the interpreter. */
struct star_value star_host(struct star *s, const char *name, star_fn *fn,
    struct star_value self);

void star_add(struct star *s, struct star_list *list, struct star_value v);
void star_set(struct star *s, struct star_dict *d, struct star_value key,
    struct star_value v);
/* NULL when it is not there; a C string as the key. */
struct star_value *star_get(struct star *s, const struct star_dict *d,
    struct star_value key);
struct star_value *star_field(struct star *s, const struct star_dict *d,
    const char *key);

/* Memory of the arena, zeroed. */
void *star_alloc(struct star *s, size_t n);

/* Argument i, or the one of that name; NULL when it is not given. */
struct star_value *star_arg(struct star *s, const struct star_call *c,
    size_t i, const char *name);
/* The bytes of a text, else NULL. */
const char *star_cstr(const struct star_value *v);

/* Says so, and is unknown. */
struct star_value star_say(struct star *s, const struct star_module *m,
    int line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
