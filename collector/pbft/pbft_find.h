/*
 * Where the functions of PBFT are in a program: a child without rights reads
 * its symbols, as the symbols child does (symbols_child.h), answers once, and
 * ends.
 */
#ifndef COLLECTOR_PBFT_FIND_H
#define COLLECTOR_PBFT_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/probe/pbft_probe.h"

struct err;

/* All zero: nobody looks. */
struct pbft_find {
	pid_t pid;
	int socket;
	int64_t until_ns; /* when its patience ends, CLOCK_MONOTONIC */
	uint64_t size;
};

struct pbft_found {
	uint64_t offsets[PBFT_FUNCTIONS]; /* in the file, unless: */
	char why[128]; /* it has none of them; "": it has both */
};

/* Begins to look into an open file, which stays the caller's. */
const struct err *pbft_find_begin(struct pbft_find *f, int fd);
/* False: not yet.  Never blocks. */
bool pbft_find_end(struct pbft_find *f, struct pbft_found *out);
/* Gives it up. */
void pbft_find_drop(struct pbft_find *f);

/* What the child does, for tests: looks into `fd`, of `size` bytes. */
void pbft_find_in(int fd, uint64_t size, struct pbft_found *out);

#endif
