/*
 * What the threads of a process are told apart by: the name that each carries.
 * Where one but the first carries the first one's, since nobody named it, it is
 * the function that it began with: the first frame of the program's own code
 * above what the C and C++ libraries begin every thread with.  So the pool of a
 * thread is its own matter: it stays, whatever others are there or are named.
 */
#ifndef COLLECTOR_THREAD_POOL_H
#define COLLECTOR_THREAD_POOL_H

#include "store/model/series.h"

#define THREAD_POOL_NAME_MAX 128 /* with NUL */

/* What a frame near the root of a stack is. */
enum thread_pool_frame {
	THREAD_POOL_RUNTIME, /* look at the next one */
	THREAD_POOL_ENTRY,   /* this is it: `out` has its name */
	THREAD_POOL_NONE /* there is none: not code of a thread's beginning */
};

/* Judges a frame, root first.  `out` has THREAD_POOL_NAME_MAX bytes. */
enum thread_pool_frame thread_pool_judge(const struct frame *f, char *out);

#endif
