/*
 * What the parts of libmemlens-alloc.so have of each other.  All of it is
 * hidden from the programs that it is loaded into.
 */
#ifndef COLLECTOR_ALLOC_OWN_H
#define COLLECTOR_ALLOC_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/alloc/alloc.h"

#define PUBLIC __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
#define LOCAL __attribute__((tls_model("initial-exec")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define FILTER_SIZE 32768 /* its index is the upper half of 32 bits, >> 1 */

/* glibc's oldest, which all later ones have, too: since 2.34 in libc, before
 * it in libdl, which a program need not have, so they may be NULL. */
void *old_dlsym(void *, const char *) __attribute__((weak));
void *old_dlopen(const char *, int) __attribute__((weak));
int old_dladdr(const void *, void *) __attribute__((weak));
int old_dladdr1(const void *, void *, void **, int) __attribute__((weak));
#define OLD(f, version)                                                        \
	__asm__(".symver old_" #f "," #f "@GLIBC_" #version)

#pragma GCC visibility push(hidden)

/* ---- alloc_next.so.c: the allocator behind us ---- */

/* Each function is found by its name when the first of them is called. */
struct allocator {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
};
extern struct allocator next;

/* Finds all of them, unless this thread is just doing so. */
void next_find(void);

/* What goes before ours of that name: the program's own, or that of another
 * library that is preloaded; NULL: ours is what is called. */
void *next_before_us(const char *name, const void *ours);

/* Is it of the room that serves while the allocator is being found?  Such
 * objects are never given back. */
bool boot_has(const void *p);
bool boot_was_used(void);

/* A new object of n bytes with what one of that room has. */
void *boot_move(const void *p, size_t n);

/* ---- alloc_new.so.c: C++'s operators ---- */

/* After the allocator is found: whose they are. */
void news_find(void);

/* ---- alloc_table.so.c: what is sampled and lives ---- */

/* How many objects of the table an address may be one of. */
extern uint8_t filter[FILTER_SIZE];

/* Neighbours in memory are neighbours here, as a program's objects are in the
 * cache; what lies 512 KiB apart is not all in one place.  The product of 32
 * bits is bits 4 to 18 and 17 to 31 of the address, added up. */
static inline uint8_t *
filter_of(const void *p)
{
	uint32_t product;

	__asm__("imull $8193, %k1, %0" : "=r"(product) : "r"(p) : "cc");
	return &filter[product >> 17];
}

void filter_add(const void *p, int by);

/* False: there is no cell; it is counted. */
bool table_add(void *p, uint64_t size);

/* False: it is not there.  *size, unless NULL: what it had. */
bool table_remove(const void *p, uint64_t *size);

void table_begin(void);

/* Has the kernel empty it in children. */
void table_keep_from_children(void);

/* What the daemon sees. */
void tell_took(void *object, uint64_t size, enum alloc_call call);
void tell_gave(void *object, enum alloc_end end);

/* ---- alloc_pace.so.c: how far it is to the next sample ---- */

/* Bytes up to the next sample. */
extern __thread uint64_t countdown LOCAL;

/* Has this thread drawn a count?  If not, it does. */
bool pace_has_begun(void);

/* A sample is taken: draws the next count.  How many times the mean was doubled
 * of the one that has run out. */
unsigned pace_next(void);

/* In a child of a fork: not at the same bytes as its parent, and not by its
 * mean. */
void pace_begin_anew(void);

/* So many bytes are asked for: is an object of them to be sampled?  If so, the
 * count has gone below 0, which is far away, until pace_next(). */
static inline bool
counts_out(size_t n)
{
	bool out;

	__asm__("subq %2, %0" : "+m"(countdown), "=@ccc"(out) : "r"(n));
	return UNLIKELY(out);
}

/* ---- alloc.so.c: who is sampled ---- */

/* What programs call, by names that no other object's go before. */
void *own_malloc(size_t n);
void *own_calloc(size_t count, size_t size);
void *own_realloc(void *p, size_t n);
void own_free(void *p);
int own_posix_memalign(void **out, size_t align, size_t n);
void *own_aligned_alloc(size_t align, size_t n);
void *own_memalign(size_t align, size_t n);
void *own_valloc(size_t n);
void *own_pvalloc(size_t n);

/* What the allocator gave for n bytes, NULL for none. */
void *sample(void *p, size_t n, enum alloc_call call);

/* Before it is given back: the daemon hears of it, if it is sampled. */
void unsample(void *p);

#pragma GCC visibility pop

#endif
