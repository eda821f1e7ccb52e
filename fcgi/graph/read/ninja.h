/*
 * What a build.ninja says is built of what: its build statements, with
 * variables put in, the files that it includes, and what a build has found out
 * (dyndep), where those files are there.  How things are built is not run, and
 * headers, which ninja learns while it builds, are not in it.  Foreign text:
 * bounded by an arena; in a child.
 */
#ifndef FCGI_NINJA_H
#define FCGI_NINJA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fcgi/format/arena.h"
#include "store/base/buf.h"
#include "store/base/hashtable.h"

struct ninja_scope;

struct ninja_build {
	const char *rule;
	char **outputs, **inputs;   /* explicit and implicit */
	size_t n_outputs, n_inputs;
	char **before;              /* that have to be there first, no more */
	size_t n_before;
	struct ninja_scope *scope;
};

/* An output, by its name. */
struct ninja_file {
	const char *name;
	uint32_t build;
};

struct ninja {
	struct arena arena;    /* of everything here */
	const char *folder;    /* that names are relative to */
	struct ninja_build *builds;
	struct ninja_file *files;
	char **defaults;
	size_t n_builds, n_files, n_defaults;
	size_t cap_builds, cap_files, cap_defaults; /* private */
	struct hashtable table;                     /* private */
	struct ninja_scope *top;                    /* private */
	unsigned depth;                             /* private */
	bool finding;          /* private: a dyndep file is read */
	int64_t time_ns;       /* of the newest of its files */
	bool cut;              /* something was not understood, or too much */
	struct buf unknown;    /* "; WHAT" of what was not */
	bool failed;           /* out of memory */
};

/* Reads folder/name; both are kept.  False when there is no such file.
 * ninja_fini() after any outcome. */
bool ninja_read(struct ninja *n, const char *folder, const char *name);
void ninja_fini(struct ninja *n);

/* The output of this name, or NULL. */
const struct ninja_file *ninja_find_file(const struct ninja *n,
    const char *name);
/* The statement that makes a file, or NULL. */
const struct ninja_build *ninja_find(const struct ninja *n,
    const char *output);

/* A variable of a statement, or of what is around it; "" where there is
 * none.  Those of its rule are not looked at. */
const char *ninja_variable(const struct ninja_build *b, const char *name);

#endif
