/*
 * The allocator behind us: the next one in the program's order, found by the
 * names of its functions when one of ours is called first.  That is the
 * dynamic linker's call, before any constructor.  What stands before us is no
 * such one: who calls us from there, a wrapper, would be called by us.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "collector/alloc/alloc_own.h"

#define PAGE 4096
#define BOOT_SIZE 8192
#define BOOT_ALIGN 16

OLD(dlsym, 2.2.5);
OLD(dladdr1, 2.3.3);

/* glibc's, for a program without libdl. */
void *__libc_malloc(size_t) __attribute__((weak));
void *__libc_calloc(size_t, size_t) __attribute__((weak));
void *__libc_realloc(void *, size_t) __attribute__((weak));
void __libc_free(void *) __attribute__((weak));
void *__libc_memalign(size_t, size_t) __attribute__((weak));
void *__libc_valloc(size_t) __attribute__((weak));
void *__libc_pvalloc(size_t) __attribute__((weak));

/* What dlsym() asks for while we ask it; never given back. */
static struct {
	uint64_t used;
	char room[BOOT_SIZE] __attribute__((aligned(BOOT_ALIGN)));
} boot;

static const struct allocator first;
static __thread bool finding LOCAL;
static bool found; /* all that there are */

/* ---- the room ---- */

bool
boot_has(const void *p)
{
	const char *at = p;

	return at >= boot.room && at < boot.room + sizeof(boot.room);
}

bool
boot_was_used(void)
{
	return boot.used != 0;
}

void *
boot_move(const void *p, size_t n)
{
	size_t rest = (size_t)(boot.room + sizeof(boot.room) -
	    (const char *)p);
	void *to = next.malloc(n);

	if (to != NULL)
		memcpy(to, p, n < rest ? n : rest);
	return to;
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

/* ---- how it is found ---- */

/* Is it a function's place?  A program that is not to be moved has its own
 * entries for those whose addresses it takes, which lead to ours. */
static bool
is_defined(const void *f)
{
	void *entry = NULL;
	const ElfW(Sym) *symbol;
	Dl_info info;

	if (old_dladdr1 == NULL ||
	    old_dladdr1(f, &info, &entry, RTLD_DL_SYMENT) == 0)
		return false;
	symbol = entry;
	return symbol != NULL && symbol->st_shndx != SHN_UNDEF;
}

void *
next_before_us(const char *name, const void *ours)
{
	void *f = old_dlsym != NULL ? old_dlsym(RTLD_DEFAULT, name) : NULL;

	return f != NULL && f != ours && is_defined(f) ? f : NULL;
}

struct next_name {
	const char *name;
	size_t at;
	const void *glibcs;
};

#define NAMED(f, glibcs)                                                       \
	{#f, offsetof(struct allocator, f), (const void *)(glibcs)}
static const struct next_name names[] = {
    NAMED(malloc, __libc_malloc),
    NAMED(calloc, __libc_calloc),
    NAMED(realloc, __libc_realloc),
    NAMED(free, __libc_free),
    NAMED(posix_memalign, 0),
    NAMED(aligned_alloc, __libc_memalign),
    NAMED(memalign, __libc_memalign),
    NAMED(valloc, __libc_valloc),
    NAMED(pvalloc, __libc_pvalloc),
};

/* A name that is not there leaves what it is now. */
void
next_find(void)
{
	const void *f;

	if (finding || __atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return;
	finding = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		f = old_dlsym != NULL ? old_dlsym(RTLD_NEXT, names[i].name) :
		    names[i].glibcs;
		if (f != NULL)
			__atomic_store_n((const void **)((char *)&next +
			    names[i].at), f, __ATOMIC_RELEASE);
	}
	news_find();
	__atomic_store_n(&found, true, __ATOMIC_RELEASE);
	finding = false;
}

/*
 * The first calls, of the dynamic linker, come before any constructor.  Each
 * finds the allocator and calls it; while it is being found, memory comes from
 * a room of our own.
 */
static bool
first_ready(bool known)
{
	if (!known)
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
	if (FIRST_READY(posix_memalign))
		return next.posix_memalign(out, align, n);
	if (align % sizeof(void *) != 0 || (align & (align - 1)) != 0)
		return EINVAL;
	*out = next.memalign(align, n);
	return *out == NULL ? ENOMEM : 0;
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
struct allocator next = ALLOCATOR;
