/*
 * BUILD files read without bazel: packages of a workspace, the targets that
 * they declare, and what those need.  Foreign files: in a child, bounded by
 * the interpreter (fcgi/starlark/star.h), whose arena holds everything here.
 */
#ifndef FCGI_BUILD_PRIVATE_H
#define FCGI_BUILD_PRIVATE_H

#include "fcgi/starlark/star.h"

#define BUILD_FILE_MAX (1u << 20)
#define BUILD_PATH_MAX 4096u
#define BUILD_SAID_MAX 8 /* reports that are told one by one */

/* "@repo//package:name"; repo "" is the workspace itself. */
struct build_label {
	const char *repo, *package, *name;
};

/* Where a file stands: what its labels are relative to. */
struct build_place {
	const char *repo, *package;
	bool rules; /* a BUILD file: names of rules are known */
};

struct build_package {
	struct build_place place;
	struct star_module module;
	const char *folder;       /* NULL: the repository is not here */
	bool found;               /* it has a BUILD file */
	bool partly;              /* which was not read to its end */
	struct star_dict targets; /* by name: dictionary of needed labels,
	                           * each with its conditions, a list; empty
	                           * when it is always needed */
	struct star_value files;  /* for glob(); NONE: not read yet */
	struct star_dict stops;   /* what it does not go through -> why */
	struct star_list tests;   /* names, but of those tagged "manual" */
	struct star_list suites;  /* that name no tests: they have those */
	struct star_dict visible; /* default_visibility: as one target's */
	struct star_list made;    /* names of files that go by it */
};

struct build {
	struct star star;
	const char *root, *workspace; /* its folder and its own name, or "" */
	struct star_dict packages, modules; /* by label; as numbers */
	struct star_dict repositories; /* name -> folder, or text of BUILD */
	struct star_dict bound;        /* //external:name -> label */
	struct star_dict ignored;      /* folders, as .bazelignore says */
	struct build_package *now;     /* whose BUILD file runs */
	int64_t time_ns;               /* the newest file's */
	size_t said;                   /* places that were reported */
	struct star_dict places;       /* of them */
	struct buf reports;
};

/* A label as it is written at a place; false when it is none. */
bool build_label_read(struct build *b, const struct build_place *at,
    const char *text, struct build_label *out);
struct star_value build_label_text(struct star *s,
    const struct build_label *l);

/* Says what is not known, of no line of a file. */
void build_note(struct build *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Does the folder begin a package of its own? */
bool build_is_package(struct star *s, const char *folder);

/* A path pattern with "*" and "**"; star.h bounds its steps. */
bool build_glob_match(struct star *s, const char *pattern, const char *path);
star_fn build_glob;

/* Those who may see a target of the package that runs, as needed; groups
 * NULL or NONE: nobody is named. */
void build_visible_to(struct star *s, const struct star_call *c,
    const struct star_value *groups, struct star_dict *needs);
/* The same for a file of that name that the rule of the call makes. */
void build_visible_made(struct star *s, const struct star_call *c,
    struct star_value name, struct star_dict *needs);
/* What goes by default_visibility, when that is known. */
void build_visible_end(struct star *s, struct build_package *p);
star_fn build_package_says, build_exports; /* package(), exports_files() */

/* Is it a rule that comes with bazel? */
bool build_native_is(const char *name);
/* Does the attribute of such a rule hold what only builds? */
bool build_native_is_tool(const char *name);
/* What an attribute holds: "label", "label values" where it is a dictionary
 * that has them behind its keys, "output", "groups" of those who see it, ""
 * when it is none of these, or what the rule says where it is its own. */
const char *build_native_attribute(bool own, const char *kind,
    const char *name);

/* What BUILD files and macros know: rules, package(), rule(), attr. */
void build_rules(struct build *b);
/* What is known at the end of a BUILD file. */
void build_rules_end(struct build *b, struct build_package *p);
struct star_value build_name(struct star *s, const struct star_module *m,
    const char *name);
struct star_value build_missing(struct star *s, const char *label,
    const char *name);

/* Reads a file of at most BUILD_FILE_MAX bytes; false when there is none. */
bool build_read_file(struct build *b, const char *path, const char **p,
    size_t *n);
/* "a/b" in the arena. */
const char *build_join(struct star *s, const char *a, const char *b);

/* The package, its BUILD file run when it is new. */
struct build_package *build_package(struct build *b, const char *repo,
    const char *package);
/* `root` is kept. */
void build_init(struct build *b, const char *root);
/* What rules there are, and what the workspace's file says.  This and all
 * above are to be called within star_try(). */
void build_begin(struct build *b);
void build_fini(struct build *b);

#endif
