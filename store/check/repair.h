/*
 * A manifest made anew from the files and journals that are there, for a
 * store whose manifest is damaged or gone, as memlens repair does.
 */
#ifndef STORE_REPAIR_H
#define STORE_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct repair_report {
	bool needed;         /* false: the manifest is whole, nothing done */
	uint64_t kept;       /* files and journals that the new one names */
	uint64_t damaged;    /* set aside as NAME.bad */
	uint64_t superseded; /* set aside as NAME.old: others hold the same */
};

/* Told of each file that is set aside and why, and of what is done. */
typedef void repair_fn(void *arg, const char *what);

/*
 * Checks every file (pages, order of keys, dictionary) and names those that
 * are whole in a new manifest.  What is damaged, and what a crash has left
 * beside the file that took its place, is renamed; nothing is deleted, and
 * nothing but names is changed.  ERR_LIMIT when a writer has the store or a
 * newer program made it.
 */
const struct err *store_repair(const char *dir, repair_fn *fn, void *arg,
    struct repair_report *report);

struct aside_report {
	uint64_t files, bytes;
};

/* What lies in the directory as NAME.old: others hold the same.  `clean`
 * deletes it, also beside a daemon, which never reads it. */
const struct err *store_aside(const char *dir, bool clean,
    struct aside_report *report);

#endif
