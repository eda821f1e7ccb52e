/*
 * Which allocator a process has, by the names of the files that it has
 * mapped: nothing in them is read.  One that is linked into the program, as
 * Go's is, is not seen, and not told.
 */
#ifndef COLLECTOR_PROCFS_ALLOCATOR_H
#define COLLECTOR_PROCFS_ALLOCATOR_H

#include <stdint.h>
#include <stdio.h>

struct group_reading;
struct process;

/* In the order of precedence: what is preloaded lies over the C library's. */
enum allocator {
	ALLOCATOR_UNKNOWN,
	ALLOCATOR_GLIBC,
	ALLOCATOR_MUSL,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_JEMALLOC,
	ALLOCATORS
};

/* "glibc", ...; NULL of the unknown. */
const char *allocator_name(enum allocator a);

/* Of lines as /proc/PID/maps has them; at most some thousand are read. */
enum allocator allocator_of_maps(FILE *maps);

struct allocator_pass {
	int left;       /* processes that may still be read */
	int64_t now_ns; /* since boot */
};

#define ALLOCATOR_READS 32 /* a slot: each reading walks all mappings */

/* Adds that of a process to its reading: read once for each program that it
 * executes, when it is two seconds old. */
void procfs_process_allocator(struct allocator_pass *pass, int proc_fd,
    const struct process *p, struct group_reading *r);

#endif
