/*
 * An allocator that handlers of signals may ask, to stand behind the library:
 * slots of one size that are taken and given back by one instruction.  It has
 * neither aligned_alloc() nor valloc(), as some have not.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS 4096
#define SLOT (1 << 19)

static _Atomic(char *) room;
static atomic_uchar busy[SLOTS];
static atomic_uint last;

static char *
slots(void)
{
	char *p = room, *none = NULL;

	if (p != NULL)
		return p;
	p = mmap(NULL, (size_t)SLOTS * SLOT, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return atomic_compare_exchange_strong(&room, &none, p) ? p : none;
}

static void *
take(size_t n)
{
	unsigned i, tried;

	for (tried = 0; n <= SLOT && tried < SLOTS; tried++) {
		i = atomic_fetch_add(&last, 1) % SLOTS;
		if (atomic_exchange(&busy[i], 1) == 0)
			return slots() + (size_t)i * SLOT;
	}
	errno = ENOMEM;
	return NULL;
}

static void
give(void *p)
{
	if (p != NULL)
		busy[((char *)p - slots()) / SLOT] = 0;
}

void *
malloc(size_t n)
{
	return take(n);
}

void
free(void *p)
{
	give(p);
}

void *
calloc(size_t n, size_t size)
{
	void *p = size == 0 || n <= SLOT / size ? take(n * size) : NULL;

	return p != NULL ? memset(p, 0, n * size) : NULL;
}

void *
realloc(void *p, size_t n)
{
	void *q = take(n);

	if (p != NULL && q != NULL) {
		memcpy(q, p, n < 4096 ? n : 4096);
		give(p);
	}
	return q;
}

void *
memalign(size_t align, size_t n)
{
	return align <= SLOT ? take(n) : NULL;
}

size_t
malloc_usable_size(void *p)
{
	return p != NULL ? SLOT : 0;
}
