/*
 * A program that replaces a part of what allocates: the others are built upon
 * it by the language's library, whatever is preloaded.
 *
 *	-DOPERATORS	operator new and delete of one object, which know theirs
 *	otherwise	malloc() and all with it (alloc_behind.c is linked)
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <string>

static int failures;

static void
check(bool right, const char *what)
{
	if (!right)
		printf("%s\n", what);
	failures += !right;
}

#ifdef OPERATORS
#define MAGIC 0x6d656d6c656e7321ul

struct head {
	unsigned long magic, pad;
};

void *
operator new(size_t n)
{
	head *h = static_cast<head *>(malloc(sizeof(*h) + n));

	h->magic = MAGIC;
	return h + 1;
}

void
operator delete(void *p) noexcept
{
	head *h = static_cast<head *>(p) - 1;

	if (p == nullptr)
		return;
	check(h->magic == MAGIC, "delete of what is not ours");
	h->magic = 0;
	free(h);
}

static bool
is_ours(const void *p)
{
	return (static_cast<const head *>(p) - 1)->magic == MAGIC;
}
#else
extern "C" size_t malloc_usable_size(void *) noexcept;

static bool
is_ours(const void *p)
{
	const char *at = static_cast<const char *>(p);
	char *slot = static_cast<char *>(malloc(1));
	ptrdiff_t off = at - slot;

	free(slot);
	return off % (1 << 19) == 0 && labs(off) < 4096l * (1 << 19);
}
#endif

struct with_size {
	char room[300];
	virtual ~with_size() {}
};

int
main()
{
	for (int i = 0; i < 5000; i++) {
		char *array = new char[5000];
		with_size *one = new with_size;
		void *nothrow = operator new(700, std::nothrow);

		check(is_ours(array), "new[] is not the program's");
		check(is_ours(one), "new is not the program's");
		check(is_ours(nothrow), "new (nothrow) is not the program's");
		std::string text(1000, 'x');
		delete[] array;
		delete one;
		operator delete(nothrow, std::nothrow);
		if (failures > 0)
			return 1;
	}
	return 0;
}
