/*
 * libmemlens-alloc.so: stands before the allocator that a program has, whatever
 * that is, and samples what it is asked for, an object about every 512 KiB.
 *
 *	malloc(n) ──► countdown -= n ──► the program's allocator
 *	                   └─ below 0: sample ──► table, nop of took
 *	free(p)   ──► filter[p] == 0 ──► the program's allocator
 *	                   └─ else: in the table? ──► nop of gave
 *
 * The nops are where the daemon's probes sit while it runs.  There are no
 * system calls, locks, threads, files, environment or allocations here: it is
 * loaded into other people's databases.  All state is in .bss, changed by
 * atomic instructions alone, so that signal handlers, threads and a fork in
 * the middle of anything leave it whole.
 *
 * An object of n bytes is sampled with the probability 1 - exp(-n / mean),
 * whatever was allocated before it: intervals between samples are exponential,
 * and what is left of one is as good as a new one.  The mean may be another one
 * after each sample (alloc_pace.so.c): it is told with the object.
 *
 * A child of a fork begins with an empty table: what it has from its parent is
 * its parent's.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "collector/alloc/alloc_own.h"

OLD(dlsym, 2.2.5);

/* ---- the slow paths ---- */

/* The count first: a signal's handler may allocate in the middle. */
SLOW void *
sample(void *p, size_t n, enum alloc_call call)
{
	int saved = errno;
	uint64_t size;

	if (pace_has_begun() || counts_out(n)) {
		size = alloc_size(n, pace_next());
		if (p != NULL)
			tell_took(table_add(p, size) ? p : NULL, size, call);
	}
	errno = saved;
	return p;
}

SLOW void
unsample(void *p)
{
	if (table_remove(p, NULL))
		tell_gave(p, ALLOC_FREED);
}

static SLOW void *
slow_malloc(size_t n)
{
	return sample(next.malloc(n), n, ALLOC_MALLOC);
}

static SLOW void *
slow_calloc(size_t count, size_t size)
{
	void *p = next.calloc(count, size); /* NULL where n is too much */

	return sample(p, count * size, ALLOC_CALLOC);
}

static SLOW void
slow_free(void *p)
{
	if (boot_has(p))
		return;
	unsample(p);
	next.free(p);
}

/*
 * The old object leaves the table, and the daemon hears of it, before another
 * thread can be given its address.  One that could not grow is there again;
 * where its cell was taken meanwhile, it is told as one without a cell.
 */
static void *
move_sampled(void *p, size_t n)
{
	uint64_t size;
	void *q;

	if (!table_remove(p, &size))
		return next.realloc(p, n);
	tell_gave(p, ALLOC_MOVES);
	q = next.realloc(p, n);
	if (q == NULL && n != 0 && table_add(p, size)) {
		tell_gave(p, ALLOC_STAYS);
		return q;
	}
	tell_gave(p, ALLOC_MOVED);
	if (q == NULL && n != 0)
		tell_took(NULL, size, ALLOC_REALLOC);
	return q;
}

static SLOW void *
slow_realloc(void *p, size_t n, bool out)
{
	void *q = boot_has(p) ? boot_move(p, n) : move_sampled(p, n);

	return out ? sample(q, n, ALLOC_REALLOC) : q;
}

/* ---- what programs call ---- */

PUBLIC void *
malloc(size_t n)
{
	return counts_out(n) ? slow_malloc(n) : next.malloc(n);
}

PUBLIC void *
calloc(size_t count, size_t size)
{
	size_t n;

	if (UNLIKELY(__builtin_mul_overflow(count, size, &n) ||
	    counts_out(n)))
		return slow_calloc(count, size);
	return next.calloc(count, size);
}

PUBLIC void
free(void *p)
{
	if (UNLIKELY(*filter_of(p) != 0))
		slow_free(p);
	else
		next.free(p);
}

PUBLIC void *
realloc(void *p, size_t n)
{
	bool out = counts_out(n);

	if (UNLIKELY(out || *filter_of(p) != 0))
		return slow_realloc(p, n, out);
	return next.realloc(p, n);
}

PUBLIC void *
reallocarray(void *p, size_t count, size_t size)
{
	size_t n;

	if (__builtin_mul_overflow(count, size, &n)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, n);
}

PUBLIC int
posix_memalign(void **out, size_t align, size_t n)
{
	int r = next.posix_memalign(out, align, n);

	if (r == 0 && counts_out(n))
		sample(*out, n, ALLOC_ALIGNED);
	return r;
}

static inline void *
aligned(void *p, size_t n)
{
	return counts_out(n) ? sample(p, n, ALLOC_ALIGNED) : p;
}

PUBLIC void *
aligned_alloc(size_t align, size_t n)
{
	return aligned(next.aligned_alloc(align, n), n);
}

PUBLIC void *
memalign(size_t align, size_t n)
{
	return aligned(next.memalign(align, n), n);
}

PUBLIC void *
valloc(size_t n)
{
	return aligned(next.valloc(n), n);
}

PUBLIC void *
pvalloc(size_t n)
{
	return aligned(next.pvalloc(n), n);
}

#define OWN(f)                                                                 \
	extern __typeof__(own_##f) own_##f \
	    __attribute__((alias(#f), copy(f)))
OWN(malloc);
OWN(calloc);
OWN(realloc);
OWN(free);
OWN(posix_memalign);
OWN(aligned_alloc);
OWN(memalign);
OWN(valloc);
OWN(pvalloc);

/* ---- the beginning of a process ---- */

static void
after_fork(void)
{
	pace_begin_anew();
	table_begin();
}

/* glibc's, which musl lacks: a symbol that is nowhere would keep the program
 * from starting. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void),
    void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void
begin_in_children(void)
{
	int (*musls)(void (*)(void), void (*)(void), void (*)(void));

	if (__register_atfork != NULL) {
		__register_atfork(NULL, NULL, after_fork, __dso_handle);
		return;
	}
	*(void **)&musls = old_dlsym(NULL, "pthread_atfork");
	if (musls != NULL)
		musls(NULL, NULL, after_fork);
}

static __attribute__((constructor)) void
begin(void)
{
	table_begin();
	table_keep_from_children();
	begin_in_children();
}
