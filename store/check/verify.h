/*
 * Checking a store from the outside, as memlens verify does: everything is
 * read, nothing is changed.  Works beside a running writer.
 */
#ifndef STORE_VERIFY_H
#define STORE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct verify_report {
	uint64_t files, journals, blocks, batches; /* read */
	uint64_t problems;
};

/* Called for each problem (`what` names the file and the cause), and with
 * what = NULL now and then with the progress, 0 to 1. */
typedef void verify_fn(void *arg, const char *what, double progress);

/*
 * Checks every page's checksum and the order of keys (Berkeley DB's own
 * verification), the dictionaries, that each block's entries name stacks
 * that exist, that each block of a higher level is the fold of its children,
 * that the summary's blocks are those of the full spans, each journal's
 * records, that spans and sizes are what the manifest says and no two spans
 * overlap, and that, unless a writer runs, the directory holds what the
 * manifest names and nothing else.  Returns an error only when the store
 * cannot be read at all.
 */
const struct err *store_verify(const char *dir, verify_fn *fn, void *arg,
    struct verify_report *report);

#endif
