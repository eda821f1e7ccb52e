/*
 * C++'s operators new and delete.  Who is behind them:
 *
 *	the allocator (jemalloc,   own_*: it is asked, and counted here unless
 *	tcmalloc)                  it has asked our malloc() meanwhile
 *	the language's library,    direct_*: do what it does without the way
 *	or none in the program's   through it; where there is no memory, it is
 *	order (the library was     called, since it knows the handler and can
 *	opened later)              throw
 *	the program, another       they themselves: what they ask malloc() for
 *	library                    is counted there
 *
 * All operators are of one shape here: their two to three arguments are in
 * registers, which are handed on.
 */
#include <dlfcn.h>

#include "collector/alloc/alloc_own.h"

OLD(dlsym, 2.2.5);
OLD(dlopen, 2.2.5);
OLD(dladdr, 2.2.5);

typedef void *new_fn(size_t n, uintptr_t a, uintptr_t b);
typedef void delete_fn(void *p, uintptr_t a, uintptr_t b);

/* number, symbol, what does it without the library */
#define NEWS(OF)                                                               \
	OF(0, _Znwm, new)                                                      \
	OF(1, _Znam, new)                                                      \
	OF(2, _ZnwmRKSt9nothrow_t, nothrow)                                    \
	OF(3, _ZnamRKSt9nothrow_t, nothrow)                                    \
	OF(4, _ZnwmSt11align_val_t, aligned)                                   \
	OF(5, _ZnamSt11align_val_t, aligned)                                   \
	OF(6, _ZnwmSt11align_val_tRKSt9nothrow_t, aligned_nothrow)             \
	OF(7, _ZnamSt11align_val_tRKSt9nothrow_t, aligned_nothrow)
#define DELETES(OF)                                                            \
	OF(0, _ZdlPv)                                                          \
	OF(1, _ZdaPv)                                                          \
	OF(2, _ZdlPvm)                                                         \
	OF(3, _ZdaPvm)                                                         \
	OF(4, _ZdlPvRKSt9nothrow_t)                                            \
	OF(5, _ZdaPvRKSt9nothrow_t)                                            \
	OF(6, _ZdlPvSt11align_val_t)                                           \
	OF(7, _ZdaPvSt11align_val_t)                                           \
	OF(8, _ZdlPvmSt11align_val_t)                                          \
	OF(9, _ZdaPvmSt11align_val_t)                                          \
	OF(10, _ZdlPvSt11align_val_tRKSt9nothrow_t)                            \
	OF(11, _ZdaPvSt11align_val_tRKSt9nothrow_t)
#define N_NEWS 8
#define N_DELETES 12

#define SYMBOL(i, symbol, ...) [i] = #symbol,
static const char *const new_names[N_NEWS] = {NEWS(SYMBOL)};
static const char *const delete_names[N_DELETES] = {DELETES(SYMBOL)};

/* Whom they are of, NULL where there is none; and what is called now. */
static new_fn *real_news[N_NEWS];
static delete_fn *real_deletes[N_DELETES];
static new_fn *news[N_NEWS];
static delete_fn *deletes[N_DELETES];

/* ---- without the language's library ---- */

/* That of the object which has called us and is not in the program's order. */
static new_fn *
callers_new(unsigned i, const void *from)
{
	new_fn *f = NULL;
	void *object;
	Dl_info info;

	if (old_dladdr == NULL || old_dlopen == NULL ||
	    old_dladdr(from, &info) == 0)
		return NULL;
	object = old_dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (object != NULL)
		*(void **)&f = old_dlsym(object, new_names[i]);
	return f;
}

/* std::__throw_bad_alloc() of libstdc++, where that is in the program's order
 * and there is no dlsym() to find its operators. */
void _ZSt17__throw_bad_allocv(void) __attribute__((weak));

static SLOW void *
new_failed(unsigned i, size_t n, uintptr_t a, uintptr_t b, const void *from)
{
	static const bool may_be_null[N_NEWS] = {[2] = true, [3] = true,
	    [6] = true, [7] = true};
	new_fn *f = real_news[i] != NULL ? real_news[i] : callers_new(i, from);

	if (f != NULL)
		return f(n, a, b);
	if (may_be_null[i])
		return NULL;
	if (_ZSt17__throw_bad_allocv != NULL)
		_ZSt17__throw_bad_allocv();
	__builtin_trap(); /* nobody can throw */
}

/* What the program itself calls: what stands before us, if it has these. */
static struct {
	void *(*malloc)(size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void (*free)(void *);
} program;

static SLOW void *
new_counted(size_t n)
{
	return sample(program.malloc(n), n, ALLOC_NEW);
}

/* Both are parts of those below: who has called them has called these. */
#define PART static inline __attribute__((always_inline)) void *
#define FROM __builtin_return_address(0)

PART
new_plain(unsigned i, size_t n)
{
	void *p;

	n += n == 0;
	p = counts_out(n) ? new_counted(n) : program.malloc(n);
	return UNLIKELY(p == NULL) ? new_failed(i, n, 0, 0, FROM) : p;
}

PART
new_aligned(unsigned i, size_t n, uintptr_t align)
{
	size_t all = (n + (n == 0) + align - 1) & ~(align - 1);
	void *p = NULL;

	if ((align & (align - 1)) == 0 && all >= n)
		p = program.aligned_alloc(align < sizeof(void *) ?
		    sizeof(void *) : align, all);
	if (p == NULL)
		return new_failed(i, n, align, 0, FROM);
	return counts_out(n) ? sample(p, n, ALLOC_NEW) : p;
}

static void *
direct_new(size_t n, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	return new_plain(0, n);
}

static void *
direct_nothrow(size_t n, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	return new_plain(2, n);
}

static void *
direct_aligned(size_t n, uintptr_t a, uintptr_t b)
{
	(void)b;
	return new_aligned(4, n, a);
}

static void *
direct_aligned_nothrow(size_t n, uintptr_t a, uintptr_t b)
{
	(void)b;
	return new_aligned(6, n, a);
}

static SLOW void
delete_sampled(void *p)
{
	unsample(p);
	program.free(p);
}

static void
direct_delete(void *p, uintptr_t a, uintptr_t b)
{
	(void)a;
	(void)b;
	if (UNLIKELY(*filter_of(p) != 0))
		delete_sampled(p);
	else
		program.free(p);
}

/* ---- the allocator's own ---- */

static inline void *
own_new(new_fn *f, size_t n, uintptr_t a, uintptr_t b)
{
	uint64_t was = countdown;
	void *p = f(n, a, b);

	if (countdown == was && counts_out(n))
		return sample(p, n, ALLOC_NEW);
	return p;
}

static inline void
own_delete(delete_fn *f, void *p, uintptr_t a, uintptr_t b)
{
	if (UNLIKELY(*filter_of(p) != 0))
		unsample(p);
	f(p, a, b);
}

#define OWN_NEW(i, ...)                                                        \
	static void *own_new_##i(size_t n, uintptr_t a, uintptr_t b)           \
	{                                                                      \
		return own_new(real_news[i], n, a, b);                         \
	}
#define OWN_DELETE(i, ...)                                                     \
	static void own_delete_##i(void *p, uintptr_t a, uintptr_t b)          \
	{                                                                      \
		own_delete(real_deletes[i], p, a, b);                          \
	}
NEWS(OWN_NEW)
DELETES(OWN_DELETE)

/* ---- what programs call ---- */

#define PUBLIC_NEW(i, symbol, ...)                                             \
	PUBLIC new_fn symbol;                                                  \
	PUBLIC void *symbol(size_t n, uintptr_t a, uintptr_t b)                \
	{                                                                      \
		return news[i](n, a, b);                                       \
	}
#define PUBLIC_DELETE(i, symbol, ...)                                          \
	PUBLIC delete_fn symbol;                                               \
	PUBLIC void symbol(void *p, uintptr_t a, uintptr_t b)                  \
	{                                                                      \
		deletes[i](p, a, b);                                           \
	}
NEWS(PUBLIC_NEW)
DELETES(PUBLIC_DELETE)

/* Which of those are ours, whoever else has some of these names. */
#define OURS(symbol) __attribute__((alias(#symbol), visibility("hidden")))
#define OUR_NEW(i, symbol, ...) extern new_fn our_new_##i OURS(symbol);
#define OUR_DELETE(i, symbol, ...)                                             \
	extern delete_fn our_delete_##i OURS(symbol);
NEWS(OUR_NEW)
DELETES(OUR_DELETE)
#define OUR_NEW_ROW(i, ...) [i] = our_new_##i,
#define OUR_DELETE_ROW(i, ...) [i] = our_delete_##i,
static new_fn *const our_news[N_NEWS] = {NEWS(OUR_NEW_ROW)};
static delete_fn *const our_deletes[N_DELETES] = {DELETES(OUR_DELETE_ROW)};

/* The first calls, where nothing has asked for memory before. */
#define FIRST_NEW(i, ...)                                                      \
	static void *first_new_##i(size_t n, uintptr_t a, uintptr_t b)         \
	{                                                                      \
		next_find();                                                   \
		return news[i] != first_new_##i ? news[i](n, a, b) : NULL;     \
	}
#define FIRST_DELETE(i, ...)                                                   \
	static void first_delete_##i(void *p, uintptr_t a, uintptr_t b)        \
	{                                                                      \
		next_find();                                                   \
		if (deletes[i] != first_delete_##i)                            \
			deletes[i](p, a, b);                                   \
	}
NEWS(FIRST_NEW)
DELETES(FIRST_DELETE)

#define FIRST_NEW_ROW(i, ...) [i] = first_new_##i,
#define FIRST_DELETE_ROW(i, ...) [i] = first_delete_##i,
static new_fn *news[N_NEWS] = {NEWS(FIRST_NEW_ROW)};
static delete_fn *deletes[N_DELETES] = {DELETES(FIRST_DELETE_ROW)};

/* ---- who is behind them ---- */

#define OWN_NEW_ROW(i, ...) [i] = own_new_##i,
#define OWN_DELETE_ROW(i, ...) [i] = own_delete_##i,
#define DIRECT_NEW_ROW(i, symbol, how) [i] = direct_##how,
#define DIRECT_DELETE_ROW(i, ...) [i] = direct_delete,

/* The object that has a function; NULL: not known. */
static const void *
object_of(const void *f)
{
	Dl_info info;

	return f != NULL && old_dladdr != NULL && old_dladdr(f, &info) != 0 ?
	    info.dli_fbase : NULL;
}

/* Does the program, or what stands before us, replace one of the operators?
 * The language's library does the others by way of that. */
static bool
news_are_before(void)
{
	unsigned i;

	for (i = 0; i < N_NEWS; i++)
		if (next_before_us(new_names[i], *(const void *const *)
		    &our_news[i]) != NULL)
			return true;
	for (i = 0; i < N_DELETES; i++)
		if (next_before_us(delete_names[i], *(const void *const *)
		    &our_deletes[i]) != NULL)
			return true;
	return next_before_us("malloc", (const void *)own_malloc) != NULL ||
	    next_before_us("free", (const void *)own_free) != NULL;
}

/* Where an object is: by the way of glibc since 2.35, which costs a tenth of
 * dladdr(). */
struct object_place {
	unsigned long long flags;
	const char *from, *until;
	void *more[16];
};

static bool
object_find(const void *f, struct object_place *out)
{
	int (*find)(const void *, struct object_place *) = NULL;

	*(void **)&find = old_dlsym(RTLD_DEFAULT, "_dl_find_object");
	return find != NULL && find(f, out) == 0;
}

static bool
object_has(const struct object_place *place, bool known, const void *object,
    const void *f)
{
	return f == NULL || (known ? (const char *)f >= place->from &&
	    (const char *)f < place->until : object_of(f) == object);
}

/* Are all those behind us of the object that throws, the language's library?
 * Another one may replace some. */
static bool
news_are_of(const void *throw)
{
	struct object_place place;
	bool known = object_find(throw, &place);
	const void *object = known ? NULL : object_of(throw);
	unsigned i;

	for (i = 0; i < N_NEWS; i++)
		if (!object_has(&place, known, object,
		    *(const void **)&real_news[i]))
			return false;
	for (i = 0; i < N_DELETES; i++)
		if (!object_has(&place, known, object,
		    *(const void **)&real_deletes[i]))
			return false;
	return throw != NULL;
}

/* Each once, since others may be calling them; what is found nowhere is done
 * here. */
static void
news_set(new_fn *const n[N_NEWS], delete_fn *const d[N_DELETES])
{
	static new_fn *const direct_news[N_NEWS] = {NEWS(DIRECT_NEW_ROW)};
	static delete_fn *const direct_deletes[N_DELETES] = {
	    DELETES(DIRECT_DELETE_ROW)};
	unsigned i;

	for (i = 0; i < N_DELETES; i++)
		__atomic_store_n(&deletes[i], d != NULL &&
		    real_deletes[i] != NULL ? d[i] : direct_deletes[i],
		    __ATOMIC_RELEASE);
	for (i = 0; i < N_NEWS; i++)
		__atomic_store_n(&news[i], n != NULL && real_news[i] != NULL ?
		    n[i] : direct_news[i], __ATOMIC_RELEASE);
}

/* What stands before us has all three, or what it has is not for these.  Each
 * is written once, since another thread may find the same. */
static void
program_find(void)
{
	void *m = next_before_us("malloc", (const void *)own_malloc);
	void *a = next_before_us("aligned_alloc",
	    (const void *)own_aligned_alloc);
	void *f = next_before_us("free", (const void *)own_free);
	bool all = m != NULL && a != NULL && f != NULL;

	*(void **)&program.malloc = all ? m : *(void **)&next.malloc;
	*(void **)&program.aligned_alloc = all ? a :
	    *(void **)&next.aligned_alloc;
	*(void **)&program.free = all ? f : *(void **)&next.free;
}

void
news_find(void)
{
	static new_fn *const own_news[N_NEWS] = {NEWS(OWN_NEW_ROW)};
	static delete_fn *const own_deletes[N_DELETES] = {
	    DELETES(OWN_DELETE_ROW)};
	unsigned i;

	for (i = 0; i < N_NEWS && old_dlsym != NULL; i++)
		*(void **)&real_news[i] = old_dlsym(RTLD_NEXT, new_names[i]);
	for (i = 0; i < N_DELETES && old_dlsym != NULL; i++)
		*(void **)&real_deletes[i] = old_dlsym(RTLD_NEXT,
		    delete_names[i]);
	program_find();
	if (real_news[0] == NULL) {
		news_set(NULL, NULL);
		return;
	}
	if (object_of(*(void **)&real_news[0]) ==
	    object_of(*(void **)&next.malloc))
		news_set(own_news, own_deletes);
	else if (!news_are_of(old_dlsym(RTLD_NEXT, "__cxa_throw")) ||
	    news_are_before())
		news_set(real_news, real_deletes);
	else
		news_set(NULL, NULL);
}
