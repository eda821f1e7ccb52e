/*
 * What the threads of a process are told apart by.  Where they carry names,
 * the name is it.  Where all carry the same one, since the program never
 * named them, it is the function that a thread began with: the first frame
 * of the program's own code above what the C and C++ libraries begin every
 * thread with.
 */
#ifndef COLLECTOR_THREAD_POOL_H
#define COLLECTOR_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

#define THREAD_POOL_MAX 64 /* whose names are compared */
#define THREAD_POOL_NAME_MAX 128   /* with NUL */

/* Has the process two threads or more, and all of one name?  `proc` is
 * "/proc", or another directory in tests. */
bool thread_pool_alike(const char *proc, int32_t pid);

/* What a frame near the root of a stack is. */
enum thread_pool_frame {
	THREAD_POOL_RUNTIME, /* look at the next one */
	THREAD_POOL_ENTRY,   /* this is it: `out` has its name */
	THREAD_POOL_NONE /* there is none: not code of a thread's beginning */
};

/* Judges a frame, root first.  `out` has THREAD_POOL_NAME_MAX bytes. */
enum thread_pool_frame thread_pool_judge(const struct frame *f, char *out);

#endif
