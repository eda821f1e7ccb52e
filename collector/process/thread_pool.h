/*
 * What the threads of a process are told apart by.  Where one carries a name
 * of its own, the name is it.  Where several carry the process's, since nobody
 * named them, it is for those the function that each began with: the first
 * frame of the program's own code above what the C and C++ libraries begin
 * every thread with.  A library that names its own threads changes nothing for
 * the others.
 */
#ifndef COLLECTOR_THREAD_POOL_H
#define COLLECTOR_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

#define THREAD_POOL_MAX 64 /* whose names are looked at */
#define THREAD_POOL_NAME_MAX 128   /* with NUL */

/* Have two threads or more of the process (of the first THREAD_POOL_MAX) the
 * name of the process?  `proc` is "/proc", or another directory in tests. */
bool thread_pool_shared(const char *proc, int32_t pid, const char *process);

/* What a frame near the root of a stack is. */
enum thread_pool_frame {
	THREAD_POOL_RUNTIME, /* look at the next one */
	THREAD_POOL_ENTRY,   /* this is it: `out` has its name */
	THREAD_POOL_NONE /* there is none: not code of a thread's beginning */
};

/* Judges a frame, root first.  `out` has THREAD_POOL_NAME_MAX bytes. */
enum thread_pool_frame thread_pool_judge(const struct frame *f, char *out);

#endif
