/*
 * Which allocator a process has, by its mappings: the names of files, nothing
 * in them is read, and where Go's heap lies.  Of one that is linked into the
 * program is told that alone, where it has no library at all.
 */
#ifndef COLLECTOR_PROCFS_ALLOCATOR_H
#define COLLECTOR_PROCFS_ALLOCATOR_H

#include <stdint.h>
#include <stdio.h>

struct group_reading;
struct process;

/* In the order of precedence: what is preloaded lies over the C library's, and
 * Java and Go have a heap of their own beside it. */
enum allocator {
	ALLOCATOR_UNKNOWN,
	ALLOCATOR_STATIC,
	ALLOCATOR_GLIBC,
	ALLOCATOR_MUSL,
	ALLOCATOR_MIMALLOC,
	ALLOCATOR_TCMALLOC,
	ALLOCATOR_JEMALLOC,
	ALLOCATOR_JAVA,
	ALLOCATOR_GO,
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
