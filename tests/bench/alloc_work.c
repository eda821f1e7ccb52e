/*
 * Programs that ask for memory all the time, and how much CPU time an
 * operation took, in ns.
 *
 *	alloc_work WORK N [turns]
 *
 *	pair	malloc() and free() of 64 bytes
 *	new	C++'s operators, the same
 *	mixed	4 threads that replace one of 1,000 objects each, of 16 to
 *		2,000 bytes, smaller ones more often, and write to them; now
 *		and then one exchanges all that it has for another's
 *	tree	a binary tree of keys is filled and given back
 *
 * With `turns`, all but new change every millisecond or so between what the
 * program has been given for malloc() and the C library's own, and both are
 * printed, without the tenth of the turns at either end: what the machine does
 * meanwhile is alike in both.  Where jemalloc samples, all is its own, and
 * turns are with and without its sampling.
 */
#include <pthread.h>
#include <stdbool.h>
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

struct calls {
	void *(*take)(size_t n);
	void (*give)(void *p);
};

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void __libc_free(void *p);
int mallctl(const char *name, void *was, size_t *n_was, void *is, size_t n)
    __attribute__((weak)); /* jemalloc's */

static const struct calls given = {malloc, free};
static const struct calls libc = {__libc_malloc, __libc_free};

static void
pairs(const struct calls *c, long n)
{
	while (n-- > 0) {
		void *p = c->take(64);

		uses(p);
		c->give(p);
	}
}

static void
run_pair(long n)
{
	pairs(&given, n);
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

#define EXCHANGE 20000 /* operations of a thread between two exchanges */
static void **spare[2]; /* sets that no thread has */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long each;

struct mix {
	unsigned seed;
	long done;
	void **set;
};

static void
mixes(struct mix *m, const struct calls *c, void ***other, long n)
{
	void **mine;

	while (n-- > 0) {
		unsigned r = m->seed = m->seed * 1664525u + 1013904223u;
		size_t size = (16u << (r >> 8) % 7) + (r >> 16) % 976;
		char *p = c->take(r >> 28 == 0 ? size : size / 8 + 16);

		c->give(m->set[r % SLOTS]);
		m->set[r % SLOTS] = memset(p, 1, 16);
		if (m->done++ % EXCHANGE != 0)
			continue;
		pthread_mutex_lock(&lock);
		mine = m->set;
		m->set = *other;
		*other = mine;
		pthread_mutex_unlock(&lock);
	}
}

static void *
mix_alone(void *arg)
{
	struct mix m = {(unsigned)(uintptr_t)arg, 0, calloc(SLOTS,
	    sizeof(void *))};

	mixes(&m, &given, &spare[0], each);
	return NULL;
}

static void
run_threads(void *(*f)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, f, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void
run_mixed(long n)
{
	each = n / THREADS;
	spare[0] = calloc(SLOTS, sizeof(void *));
	run_threads(mix_alone);
}

/* ---- in turn ---- */

#define TURN 50000 /* operations */
#define TURNS_MAX 65536
#define WARM 4 /* turns */
#define TREE 1000 /* keys, in turn */
static struct {
	double ns[2][TURNS_MAX]; /* of an operation, without and with */
	long n[2];
} turns;

static double
thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Turns of `all` operations in all: 0 1 1 0 0 1 1 0 ... */
static void
in_turn(void (*f)(void *arg, bool with), void *arg, long all)
{
	for (long i = 0; i < all / TURN; i++) {
		bool with = ((i + 1) / 2) % 2;
		double began;
		long at;

		if (mallctl != NULL)
			mallctl("thread.prof.active", NULL, NULL, &with,
			    sizeof(with));
		began = thread_ns();
		f(arg, with);
		began = (thread_ns() - began) / TURN;
		at = i < WARM ? TURNS_MAX : __atomic_fetch_add(&turns.n[with],
		    1, __ATOMIC_RELAXED);
		if (at < TURNS_MAX)
			turns.ns[with][at] = began;
	}
}

static const struct calls *
calls_of(bool with)
{
	return with || mallctl != NULL ? &given : &libc;
}

static void
turn_pair(void *arg, bool with)
{
	(void)arg;
	pairs(calls_of(with), TURN);
}

static void
turns_pair(long n)
{
	in_turn(turn_pair, NULL, n);
}

static void
turn_mixed(void *arg, bool with)
{
	mixes((struct mix *)arg + with, calls_of(with), &spare[with], TURN);
}

static void *
mix_in_turn(void *arg)
{
	struct mix m[2];

	for (int i = 0; i < 2; i++)
		m[i] = (struct mix){(unsigned)(uintptr_t)arg, 0,
		    __libc_calloc(SLOTS, sizeof(void *))};
	in_turn(turn_mixed, m, each);
	return NULL;
}

static void
turns_mixed(long n)
{
	each = n / THREADS;
	for (int i = 0; i < 2; i++)
		spare[i] = __libc_calloc(SLOTS, sizeof(void *));
	run_threads(mix_in_turn);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
turns_mean(bool with)
{
	long n = turns.n[with] < TURNS_MAX ? turns.n[with] : TURNS_MAX;
	double sum = 0;

	qsort(turns.ns[with], (size_t)n, sizeof(double), by_size);
	for (long i = n / 10; i < n - n / 10; i++)
		sum += turns.ns[with][i];
	return sum / (double)(n - 2 * (n / 10));
}

/* ---- a tree ---- */

struct node {
	struct node *side[2];
	char *key;
};

static void *
tree_take(const struct calls *c, const void *what, size_t n)
{
	return memcpy(c->take(n), what, n);
}

static struct node *
tree_fill(const struct calls *c, long n)
{
	static const struct node empty;
	struct node *root = NULL, **at;
	char key[32];
	unsigned seed = 1;

	while (n-- > 0) {
		seed = seed * 1664525u + 1013904223u;
		snprintf(key, sizeof(key), "key %u", seed);
		for (at = &root; *at != NULL;
		     at = &(*at)->side[strcmp(key, (*at)->key) > 0])
			continue;
		*at = tree_take(c, &empty, sizeof(empty));
		(*at)->key = tree_take(c, key, strlen(key) + 1);
	}
	return root;
}

static void
tree_free(const struct calls *c, struct node *t)
{
	if (t == NULL)
		return;
	tree_free(c, t->side[0]);
	tree_free(c, t->side[1]);
	c->give(t->key);
	c->give(t);
}

static void
run_tree(long n)
{
	tree_free(&given, tree_fill(&given, n));
}

static void
turn_tree(void *arg, bool with)
{
	const struct calls *c = calls_of(with);

	(void)arg;
	for (int i = 0; i < TURN / TREE; i++)
		tree_free(c, tree_fill(c, TREE));
}

static void
turns_tree(long n)
{
	in_turn(turn_tree, NULL, n);
}

static const struct {
	const char *name;
	void (*run)(long n);
	void (*turns)(long n);
} works[] = {{"pair", run_pair, turns_pair}, {"new", run_new, NULL},
    {"mixed", run_mixed, turns_mixed}, {"tree", run_tree, turns_tree}};

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
		if (argc > 3 && works[i].turns != NULL) {
			works[i].turns(n);
			printf("%.4f %.4f\n", turns_mean(true),
			    turns_mean(false));
			return 0;
		}
		began = cpu_ns();
		works[i].run(n);
		printf("%.3f\n", (cpu_ns() - began) / (double)n);
		return 0;
	}
	return 2;
}
