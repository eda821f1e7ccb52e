/*
 * Files of the store that lie in its directory and that the manifest does not
 * name: left by a crash, or what an older manifest, put back, knows nothing
 * of.  Numbers of names rise from file to file, so that a manifest knows of
 * all up to the highest that it names: what it does not name of these it has
 * given up.  What comes after that a crash has left only where all that it was
 * made of is still named and there.
 */
#ifndef STORE_REMAINS_H
#define STORE_REMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/file/manifest.h"

struct err;

enum remains {
	REMAINS_LEFT,   /* nothing is lost with it */
	REMAINS_SPARE,  /* made of files that are named; keep it aside */
	REMAINS_BEYOND  /* it holds what no file that is named does */
};

struct remains_of {
	const char *path;
	int dir; /* of the path */
	const struct manifest *manifest;
};

/* Calls fn for each file of a store that lies in the directory and that the
 * manifest does not name, until an error. */
typedef const struct err *remains_fn(void *arg, const char *name,
    enum manifest_kind kind, uint64_t number);
const struct err *remains_each(const struct remains_of *r, remains_fn *fn,
    void *arg);

/* Is this NAME.old, where NAME is that of a file of a store? */
bool remains_is_aside(const char *name);

/* Names of some of them, for people. */
struct remains_list {
	char text[160]; /* the first three, then "..." */
	size_t n;
};
void remains_list_add(struct remains_list *l, const char *name);

/* What is an unnamed file of this name, kind and number? */
enum remains remains_judge(const struct remains_of *r, const char *name,
    enum manifest_kind kind, uint64_t number);
/* ERR_FORMAT, naming the files, when there are some beyond the manifest. */
const struct err *remains_check(const struct remains_of *r);
/* Are these two journals, the first of which begins as the other one does,
 * and is not longer?  Headers, which have numbers, are not compared. */
bool remains_is_copy(int dir, const char *journal, const char *longer);

#endif
