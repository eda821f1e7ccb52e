/*
 * Programs that ask for memory all the time, and how much CPU time an
 * operation took, in ns.
 *
 *	alloc_work WORK N
 *
 *	pair	malloc() and free() of 64 bytes
 *	new	C++'s operators, the same
 *	mixed	4 threads that replace one of 1,000 objects each, of 16 to
 *		2,000 bytes, smaller ones more often, and write to them; now
 *		and then one exchanges all that it has for another's
 *	tree	a binary tree of keys is filled and given back
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 4
#define SLOTS 1000

void *_Znwm(size_t n);
void _ZdlPvm(void *p, size_t n);

/* What the compiler must not see through. */
static inline void
uses(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void
run_pair(long n)
{
	while (n-- > 0) {
		void *p = malloc(64);

		uses(p);
		free(p);
	}
}

static void
run_new(long n)
{
	while (n-- > 0) {
		void *p = _Znwm(64);

		uses(p);
		_ZdlPvm(p, 64);
	}
}

static void **spare; /* a set that no thread has */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long each;

static void *
mixes(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	void **set = calloc(SLOTS, sizeof(*set)), **mine;

	for (long i = 0; i < each; i++) {
		unsigned r = seed = seed * 1664525u + 1013904223u;
		size_t n = (16u << (r >> 8) % 7) + (r >> 16) % 976;
		char *p = malloc(r >> 28 == 0 ? n : n / 8 + 16);

		free(set[r % SLOTS]);
		set[r % SLOTS] = memset(p, 1, 16);
		if (i % 20000 != 0)
			continue;
		pthread_mutex_lock(&lock);
		mine = set;
		set = spare;
		spare = mine;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void
run_mixed(long n)
{
	pthread_t threads[THREADS];

	each = n / THREADS;
	spare = calloc(SLOTS, sizeof(*spare));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, mixes, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

struct node {
	struct node *side[2];
	char *key;
};

static struct node *
tree_fill(long n)
{
	struct node *root = NULL, **at;
	char key[32];
	unsigned seed = 1;

	while (n-- > 0) {
		seed = seed * 1664525u + 1013904223u;
		snprintf(key, sizeof(key), "key %u", seed);
		for (at = &root; *at != NULL;
		     at = &(*at)->side[strcmp(key, (*at)->key) > 0])
			continue;
		*at = calloc(1, sizeof(**at));
		(*at)->key = strdup(key);
	}
	return root;
}

static void
tree_free(struct node *t)
{
	if (t == NULL)
		return;
	tree_free(t->side[0]);
	tree_free(t->side[1]);
	free(t->key);
	free(t);
}

static void
run_tree(long n)
{
	tree_free(tree_fill(n));
}

static const struct {
	const char *name;
	void (*run)(long n);
} works[] = {{"pair", run_pair}, {"new", run_new}, {"mixed", run_mixed},
    {"tree", run_tree}};

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int
main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	double began;

	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		if (argc < 3 || strcmp(argv[1], works[i].name) != 0)
			continue;
		began = cpu_ns();
		works[i].run(n);
		printf("%.3f\n", (cpu_ns() - began) / (double)n);
		return 0;
	}
	return 2;
}
