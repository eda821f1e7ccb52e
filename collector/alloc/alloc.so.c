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
 * and what is left of one is as good as a new one.
 *
 * A child of a fork begins with an empty table: what it has from its parent is
 * its parent's.
 */
#include "collector/alloc/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#define SLOW __attribute__((noinline, cold))
#define LOCAL __attribute__((tls_model("initial-exec")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PAGE 4096

#define FILTER_SIZE 32768 /* a power of two; in the first cache */
#define FILTER_MANY 255   /* stays: so many that it was not counted on */

#define BOOT_SIZE 8192
#define BOOT_ALIGN 16

/* The allocator that is asked; each function is found by its name when the
 * first of them is called. */
static struct allocator {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
} next;
static const struct allocator first;

/* In pages of its own, which a child of a fork gets empty. */
PUBLIC union kept {
	struct alloc_table table;
	uint8_t pages[(sizeof(struct alloc_table) + PAGE - 1) / PAGE * PAGE];
} memlens_alloc1_table __attribute__((aligned(PAGE)));
extern union kept kept __attribute__((alias("memlens_alloc1_table"),
    visibility("hidden")));

/* How many objects of the table an address may be one of. */
static uint8_t filter[FILTER_SIZE];

/* What dlsym() asks for while we ask it; never given back. */
static struct {
	uint64_t used;
	char room[BOOT_SIZE] __attribute__((aligned(BOOT_ALIGN)));
} boot;

/* Bytes up to the next sample; the random numbers' state, 0: not begun. */
static __thread uint64_t countdown LOCAL;
static __thread uint64_t random_state LOCAL;
static __thread bool finding LOCAL;

/* ---- random intervals ---- */

/* splitmix64, by Sebastiano Vigna. */
static uint64_t
random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void
random_begin(void)
{
	const void *kernels = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (kernels != NULL)
		memcpy(&seed, kernels, sizeof(seed));
	random_state = seed ^ (uintptr_t)&random_state ^
	    __builtin_ia32_rdtsc() * UINT64_C(0xd6e8feb86659fd93);
	random_state += random_state == 0;
}

/*
 * Exponential with the mean 2^19, after von Neumann: of uniform numbers, the
 * first of a falling row that is odd in length is the fraction, and rows of
 * even length before it count the whole part.  Comparisons are all it takes.
 */
static uint64_t
random_interval(void)
{
	uint64_t head, last, u, whole;
	unsigned n;

	if (random_state == 0)
		random_begin();
	for (whole = 0;; whole++) {
		last = head = random_next();
		for (n = 1; (u = random_next()) < last; n++)
			last = u;
		if (n % 2 == 1)
			return (whole << ALLOC_MEAN_SHIFT) +
			    (head >> (64 - ALLOC_MEAN_SHIFT));
	}
}

/* ---- what the daemon sees ---- */

/* Registers as in alloc.h; names of the places for the daemon's probes. */
static SLOW void
tell_took(void *object, size_t bytes, enum alloc_call call)
{
	__asm__ volatile(".globl memlens_alloc1_took\n"
	                 ".type memlens_alloc1_took, @function\n"
	                 "memlens_alloc1_took: nop"
	                 :
	                 : "D"(object), "S"(bytes), "d"((long)call)
	                 : "memory");
}

static SLOW void
tell_gave(void *object)
{
	__asm__ volatile(".globl memlens_alloc1_gave\n"
	                 ".type memlens_alloc1_gave, @function\n"
	                 "memlens_alloc1_gave: nop"
	                 :
	                 : "D"(object)
	                 : "memory");
}

/* ---- the table, and the filter before it ---- */

/* Neighbours in memory are neighbours here: a program that gives back what
 * lies together stays in the cache. */
static inline uint8_t *
filter_of(const void *p)
{
	uintptr_t a = (uintptr_t)p;

	return &filter[(a >> 4 ^ a >> 19) & (FILTER_SIZE - 1)];
}

static void
filter_add(const void *p, int by)
{
	uint8_t *at = filter_of(p), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != FILTER_MANY && !__atomic_compare_exchange_n(at, &n,
	    (uint8_t)(n + by), true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		continue;
}

/* The bucket of an address in a level. */
static struct alloc_cell *
table_bucket(unsigned level, uint64_t address)
{
	static const struct {
		uint32_t first, buckets;
	} levels[ALLOC_LEVELS] = {{0, ALLOC_BUCKETS_0},
	    {ALLOC_BUCKETS_0, ALLOC_BUCKETS_1},
	    {ALLOC_BUCKETS_0 + ALLOC_BUCKETS_1, ALLOC_BUCKETS_2}};
	uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t bucket = levels[level].first +
	    (hash & (levels[level].buckets - 1));

	return &kept.table.cell[bucket * ALLOC_BUCKET];
}

static bool
cell_take(struct alloc_cell *c, uint64_t is, uint64_t becomes)
{
	return __atomic_compare_exchange_n(&c->address, &is, becomes, false,
	    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool
table_add(void *p, uint64_t bytes)
{
	uint64_t address = (uintptr_t)p;

	for (unsigned i = 0; i < ALLOC_LEVELS * ALLOC_BUCKET; i++) {
		struct alloc_cell *c = table_bucket(i / ALLOC_BUCKET,
		    address) + i % ALLOC_BUCKET;

		if (!cell_take(c, 0, ALLOC_CELL_BUSY))
			continue;
		c->bytes = bytes;
		__atomic_store_n(&c->address, address, __ATOMIC_RELEASE);
		__atomic_store_n(&kept.table.used[i / ALLOC_BUCKET], 1,
		    __ATOMIC_RELAXED);
		filter_add(p, 1);
		return true;
	}
	__atomic_add_fetch(&kept.table.full, 1, __ATOMIC_RELAXED);
	return false;
}

/* False: it is not there.  *bytes, unless NULL: what it had. */
static bool
table_remove(const void *p, uint64_t *bytes)
{
	uint64_t address = (uintptr_t)p;

	for (unsigned i = 0; i < ALLOC_LEVELS * ALLOC_BUCKET; i++) {
		struct alloc_cell *c = table_bucket(i / ALLOC_BUCKET,
		    address) + i % ALLOC_BUCKET;

		if (__atomic_load_n(&c->address, __ATOMIC_RELAXED) != address)
			continue;
		if (bytes != NULL)
			*bytes = c->bytes;
		if (cell_take(c, address, 0)) {
			filter_add(p, -1);
			return true;
		}
	}
	return false;
}

/* ---- the allocator behind us ---- */

static bool
boot_has(const void *p)
{
	const char *at = p;

	return at >= boot.room && at < boot.room + sizeof(boot.room);
}

/* Zeros, while the allocator is not found yet.  The filter knows these, too,
 * so that free() need not ask. */
static void *
boot_alloc(size_t n)
{
	size_t all = (n + 2 * BOOT_ALIGN - 1) & ~(size_t)(BOOT_ALIGN - 1);
	uint64_t at;
	char *p;

	if (n > BOOT_SIZE / 2)
		return NULL;
	at = __atomic_fetch_add(&boot.used, all, __ATOMIC_RELAXED);
	if (at > BOOT_SIZE - all)
		return NULL;
	p = boot.room + at;
	filter_add(p, 1);
	return p;
}

/* All of them; a name that is not there leaves what it is now. */
static void
next_find(void)
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
	    {"malloc", offsetof(struct allocator, malloc)},
	    {"calloc", offsetof(struct allocator, calloc)},
	    {"realloc", offsetof(struct allocator, realloc)},
	    {"free", offsetof(struct allocator, free)},
	    {"posix_memalign", offsetof(struct allocator, posix_memalign)},
	    {"aligned_alloc", offsetof(struct allocator, aligned_alloc)},
	    {"memalign", offsetof(struct allocator, memalign)},
	    {"valloc", offsetof(struct allocator, valloc)},
	    {"pvalloc", offsetof(struct allocator, pvalloc)},
	};
	void *f;

	finding = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		f = dlsym(RTLD_NEXT, names[i].name);
		if (f != NULL)
			__atomic_store_n((void **)((char *)&next +
			    names[i].at), f, __ATOMIC_RELEASE);
	}
	finding = false;
}

/*
 * The first calls, of the dynamic linker, come before any constructor.  Each
 * finds the allocator and calls it; while it is being found, memory comes from
 * a room of our own.
 */
static bool
first_ready(bool found)
{
	if (!found && !finding)
		next_find();
	return !finding;
}
#define FIRST_READY(name)                                                      \
	(first_ready(next.name != first.name) && next.name != first.name)

static void *
first_malloc(size_t n)
{
	if (FIRST_READY(malloc))
		return next.malloc(n);
	return finding ? boot_alloc(n) : NULL;
}

static void *
first_calloc(size_t count, size_t size)
{
	if (FIRST_READY(calloc))
		return next.calloc(count, size);
	return finding ? boot_alloc(count * size) : NULL;
}

static void *
first_realloc(void *p, size_t n)
{
	if (FIRST_READY(realloc))
		return next.realloc(p, n);
	return finding && p == NULL ? boot_alloc(n) : NULL;
}

static void
first_free(void *p)
{
	if (FIRST_READY(free))
		next.free(p);
}

static int
first_posix_memalign(void **out, size_t align, size_t n)
{
	return FIRST_READY(posix_memalign) ?
	    next.posix_memalign(out, align, n) : ENOMEM;
}

static void *
first_memalign(size_t align, size_t n)
{
	return FIRST_READY(memalign) ? next.memalign(align, n) : NULL;
}

static void *
first_aligned_alloc(size_t align, size_t n)
{
	return FIRST_READY(aligned_alloc) ? next.aligned_alloc(align, n) :
	    next.memalign(align, n);
}

static void *
first_valloc(size_t n)
{
	return FIRST_READY(valloc) ? next.valloc(n) : next.memalign(PAGE, n);
}

static void *
first_pvalloc(size_t n)
{
	return FIRST_READY(pvalloc) ? next.pvalloc(n) :
	    next.memalign(PAGE, (n + PAGE - 1) & ~(size_t)(PAGE - 1));
}

#define ALLOCATOR                                                              \
	{first_malloc, first_calloc, first_realloc, first_free,                \
	    first_posix_memalign, first_aligned_alloc, first_memalign,         \
	    first_valloc, first_pvalloc}
static const struct allocator first = ALLOCATOR;
static struct allocator next = ALLOCATOR;

/* ---- the slow paths ---- */

/* So many bytes are asked for: is an object of them to be sampled? */
static inline bool
counts_out(size_t n)
{
	uint64_t left = countdown;

	if (UNLIKELY(n > left))
		return true;
	countdown = left - n;
	return false;
}

/* The first count of a thread is still to be drawn. */
static bool
is_sampled(size_t n)
{
	if (random_state != 0)
		return true;
	countdown = random_interval();
	return counts_out(n);
}

/* A new interval first: a signal's handler may allocate in the middle. */
static SLOW void *
sample(void *p, size_t n, enum alloc_call call)
{
	int saved = errno;

	if (!is_sampled(n))
		return p;
	countdown = random_interval();
	if (p != NULL)
		tell_took(table_add(p, n) ? p : NULL, n, call);
	errno = saved;
	return p;
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
	int saved = errno;

	if (boot_has(p))
		return;
	if (table_remove(p, NULL))
		tell_gave(p);
	errno = saved;
	next.free(p);
}

static void *
boot_move(const void *p, size_t n)
{
	size_t rest = (size_t)(boot.room + sizeof(boot.room) -
	    (const char *)p);
	void *to = next.malloc(n);

	if (to != NULL)
		memcpy(to, p, n < rest ? n : rest);
	return to;
}

/*
 * The old object leaves the table, and the daemon hears of it, before another
 * thread can be given its address.  One that could not grow is there again,
 * as one that is taken here.
 */
static SLOW void *
slow_realloc(void *p, size_t n, bool out)
{
	bool was_sampled;
	uint64_t bytes;
	int saved;
	void *q;

	if (boot_has(p))
		return boot_move(p, n);
	saved = errno;
	was_sampled = table_remove(p, &bytes);
	if (was_sampled)
		tell_gave(p);
	errno = saved;
	q = next.realloc(p, n);
	if (was_sampled && q == NULL && n != 0) {
		saved = errno;
		tell_took(table_add(p, bytes) ? p : NULL, bytes,
		    ALLOC_REALLOC);
		errno = saved;
	}
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

/* ---- the beginning of a process ---- */

static void
table_begin(void)
{
	kept.table.version = ALLOC_VERSION;
	kept.table.cells = ALLOC_CELLS;
	kept.table.magic = ALLOC_MAGIC;
}

/* Children of one parent must not sample at the same bytes all. */
static void
after_fork(void)
{
	random_begin();
	random_state ^= (uint64_t)getpid() << 32;
	random_state += random_state == 0;
	countdown = random_interval();
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
	*(void **)&musls = dlsym(RTLD_DEFAULT, "pthread_atfork");
	if (musls != NULL)
		musls(NULL, NULL, after_fork);
}

/* Where the kernel cannot empty it, a child gives back objects that the daemon
 * does not know of it. */
static __attribute__((constructor)) void
begin(void)
{
	table_begin();
	madvise(&kept, sizeof(kept), MADV_WIPEONFORK);
	begin_in_children();
}
