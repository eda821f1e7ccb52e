/*
 * Allocates in a few ways from several threads, and dumps its own heap
 * profile twice where gperftools' library is preloaded: what `memlens heap` is
 * compared with google-pprof on.
 *
 *	heap_gperftools FIRST SECOND [PREFIX]
 *
 * The files get samples of what is in use, as /pprof/heap serves them; with a
 * prefix all that is allocated is counted, as HEAPPROFILE makes it.
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define THREADS 4
#define EACH 2000

static void *kept[THREADS + 1][3 * EACH];

/* Not tail calls: the callers must be on the stack. */
extern "C" {
NOINLINE void *
take_small(size_t i)
{
	void *p = malloc(16 + i % 300);

	__asm__ volatile("");
	return p;
}

NOINLINE void *
take_big(size_t i)
{
	void *p = new char[70000 + i * 97];

	__asm__ volatile("");
	return p;
}

NOINLINE void *
take_deep(unsigned depth, size_t i)
{
	void *p = depth > 0 ? take_deep(depth - 1, i) : calloc(7, 33 + i);

	__asm__ volatile("");
	return p;
}

NOINLINE void
churn(size_t i)
{
	void *volatile p = malloc(512 + i % 64);

	free(p);
	__asm__ volatile("");
}

NOINLINE void *
work(void *arg)
{
	void **to = static_cast<void **>(arg);

	for (size_t i = 0; i < EACH; i++) {
		*to++ = take_small(i);
		*to++ = i % 10 == 0 ? take_big(i) : nullptr;
		*to++ = take_deep(i % 9, i);
		churn(i);
	}
	return nullptr;
}
}

template <class T> static T
symbol(const char *name)
{
	T f = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));

	if (f == nullptr)
		exit(77);
	return f;
}

/* MallocExtension::instance()->GetHeapSample() */
static std::string
sample()
{
	std::string text;

	symbol<void (*)(void *, std::string *)>("_ZN15MallocExtension13"
	    "GetHeapSampleEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIc"
	    "EEE")(symbol<void *(*)()>("_ZN15MallocExtension8instanceEv")(),
	    &text);
	return text;
}

static void
dump(const char *path, bool all)
{
	char *profile = all ? symbol<char *(*)()>("GetHeapProfile")()
	    : nullptr;
	std::string text = all ? profile : sample();
	FILE *f = fopen(path, "w");

	free(profile);
	if (f == nullptr || fwrite(text.data(), 1, text.size(), f) !=
	    text.size() || fclose(f) != 0)
		exit(1);
}

static void
run_threads()
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], nullptr, work, kept[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], nullptr);
}

int
main(int argc, char **argv)
{
	bool all = argc > 3;

	if (argc < 3)
		return 2;
	if (all)
		symbol<void (*)(const char *)>("HeapProfilerStart")(argv[3]);
	run_threads();
	dump(argv[1], all);
	for (size_t i = 0; i < 3 * EACH; i += 2)
		free(kept[0][i]);
	work(kept[THREADS]);
	dump(argv[2], all);
	_exit(0);
}
