/*
 * A program that knows what it asks its allocator for: by 8 threads, from
 * functions of known names, in C and by C++'s operators.
 *
 *	alloc_oracle ROUNDS FIFO
 *
 * It goes on with each line that it reads from the fifo, and says of each
 * function after each step:
 *
 *	STEP FUNCTION BYTES OBJECTS ERROR_BYTES IN_USE OBJECTS ERROR_IN_USE
 *
 * The errors are those of one standard deviation where an object of n bytes is
 * seen with the probability 1 - exp(-n / mean) and counts as 1 / that.
 *
 *	warm	each function has been called, which counts nowhere
 *	taken	all threads have allocated, and kept a part
 *	forked	a child has given back what it has from us, and taken its own;
 *		another one has executed a program
 *	given	most is given back
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 8
#define MEAN 524288.0
#define KEPT_MAX 65536
#define NOINLINE __attribute__((noinline, noclone))

void *_Znwm(size_t n);  /* operator new */
void _ZdlPv(void *p);   /* operator delete */
void *_Znam(size_t n);  /* operator new[] */
void _ZdaPv(void *p);

struct kept {
	void *p;
	size_t bytes;
};

struct sums {
	double bytes, objects, variance;
};

/* Of one function in one thread. */
struct account {
	struct sums all, kept;
	struct kept *keeps;
	size_t n;
};

static double
variance_of(size_t bytes)
{
	double n = (double)bytes, p = -expm1(-n / MEAN);

	return n * n * (1 - p) / p;
}

static void
count(struct sums *s, size_t bytes, int by)
{
	s->bytes += by * (double)bytes;
	s->objects += by;
	s->variance += by * variance_of(bytes);
}

/* ---- the functions that allocate ---- */

typedef void *take_fn(size_t i, size_t *bytes);
typedef void give_fn(void *p);

static NOINLINE void *
takes_small(size_t i, size_t *bytes)
{
	void *p = malloc(*bytes = 16 + i % 97);

	*(volatile char *)p = 1;
	return p;
}

static NOINLINE void *
takes_medium(size_t i, size_t *bytes)
{
	void *p = malloc(*bytes = 1000 + i % 3000);

	*(volatile char *)p = 1;
	return p;
}

static NOINLINE void *
takes_zeros(size_t i, size_t *bytes)
{
	char *p;

	*bytes = 100 * (300 + i % 500);
	p = calloc(100, *bytes / 100);
	if (p[*bytes - 1] != 0)
		abort();
	return p;
}

static NOINLINE void *
takes_large(size_t i, size_t *bytes)
{
	void *p = malloc(*bytes = (i % 4 + 1) << 20);

	*(volatile char *)p = 1;
	return p;
}

static NOINLINE void *
takes_aligned(size_t i, size_t *bytes)
{
	void *p = NULL;

	(void)i;
	if (posix_memalign(&p, 4096, *bytes = 8192) != 0 ||
	    ((uintptr_t)p & 4095) != 0)
		abort();
	return p;
}

static NOINLINE void *
takes_new(size_t i, size_t *bytes)
{
	void *p = _Znwm(*bytes = 200 + i % 50);

	*(volatile char *)p = 1;
	return p;
}

static NOINLINE void *
takes_array(size_t i, size_t *bytes)
{
	void *p = _Znam(*bytes = 5000 + i % 50);

	*(volatile char *)p = 1;
	return p;
}

/* From other sizes, which another function asks for. */
static NOINLINE void *
takes_grown(size_t i, size_t *bytes)
{
	size_t small;
	char *p = takes_small(i, &small);

	p[0] = 'x';
	p = realloc(p, *bytes = 20000 + i % 1000);
	if (p[0] != 'x')
		abort();
	return p;
}

static const struct function {
	const char *name;
	take_fn *take;
	give_fn *give;
	size_t rounds, keep; /* how many of them, and one of so many kept */
} functions[] = {
    {"takes_small", takes_small, free, 400000, 100},
    {"takes_medium", takes_medium, free, 20000, 10},
    {"takes_zeros", takes_zeros, free, 2000, 20},
    {"takes_large", takes_large, free, 100, 10},
    {"takes_aligned", takes_aligned, free, 8000, 10},
    {"takes_new", takes_new, _ZdlPv, 100000, 50},
    {"takes_array", takes_array, _ZdaPv, 10000, 10},
    {"takes_grown", takes_grown, free, 4000, 10},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static struct account accounts[THREADS][FUNCTIONS];
static size_t rounds;

static void
run_function(struct account *a, const struct function *f, size_t n)
{
	size_t bytes, i;
	void *p;

	for (i = 0; i < n; i++) {
		p = f->take(i, &bytes);
		count(&a->all, bytes, 1);
		if (i % f->keep == 0 && a->n < KEPT_MAX) {
			a->keeps[a->n++] = (struct kept){p, bytes};
			count(&a->kept, bytes, 1);
		} else {
			f->give(p);
		}
	}
}

/* The profiler learns the code before it counts. */
static void *
warmer(void *arg)
{
	struct account *a = arg;
	size_t bytes, i, k;

	for (i = 0; i < FUNCTIONS; i++)
		a[i].keeps = calloc(KEPT_MAX, sizeof(*a[i].keeps));
	for (i = 0; i < FUNCTIONS; i++)
		for (k = 0; k < functions[i].rounds / 20; k++)
			functions[i].give(functions[i].take(k, &bytes));
	return NULL;
}

static void *
worker(void *arg)
{
	struct account *a = arg;
	size_t i, k;

	for (k = 0; k < rounds; k++) {
		for (i = 0; i < FUNCTIONS; i++)
			run_function(&a[i], &functions[i],
			    functions[i].rounds / 10);
		usleep(500000); /* not all into the ring at once */
	}
	return NULL;
}

/* Another thread's: what is taken by one is given back by another. */
static void *
giver(void *arg)
{
	struct account *a = arg;
	size_t i, k;

	for (i = 0; i < FUNCTIONS; i++) {
		for (k = 0; k < a[i].n; k++) {
			if (k % 16 == 0)
				continue;
			functions[i].give(a[i].keeps[k].p);
			count(&a[i].kept, a[i].keeps[k].bytes, -1);
		}
		a[i].n = 0;
	}
	return NULL;
}

static void
all_threads(void *(*fn)(void *))
{
	pthread_t threads[THREADS];
	size_t i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fn, accounts[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- children ---- */

static NOINLINE void
child_takes(void)
{
	void *p[1000];
	int i;

	for (i = 0; i < 1000; i++)
		p[i] = malloc(50000);
	for (i = 0; i < 1000; i++)
		if (i % 2 == 0)
			free(p[i]);
	/* In use: 500 objects. */
}

/* Gives back what is its parent's, and takes its own; lives until we end. */
static void
begin_child(void)
{
	size_t i;

	if (fork() != 0)
		return;
	for (i = 0; i < accounts[0][1].n; i++)
		free(accounts[0][1].keeps[i].p);
	child_takes();
	pause();
	_exit(0);
}

/* What it had goes with the program. */
static NOINLINE void
begin_another(void)
{
	void *p;
	int i;

	if (fork() != 0)
		return;
	for (i = 0; i < 1000; i++) {
		p = malloc(50000);
		*(volatile char *)p = 1;
	}
	usleep(4500000); /* longer than some slots */
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void
say(const char *step)
{
	size_t i, t;

	for (i = 0; i < FUNCTIONS; i++) {
		struct sums all = {0}, kept = {0};

		for (t = 0; t < THREADS; t++) {
			const struct account *a = &accounts[t][i];

			all.bytes += a->all.bytes;
			all.objects += a->all.objects;
			all.variance += a->all.variance;
			kept.bytes += a->kept.bytes;
			kept.objects += a->kept.objects;
			kept.variance += a->kept.variance;
		}
		printf("%s %s %.0f %.0f %.0f %.0f %.0f %.0f\n", step,
		    functions[i].name, all.bytes, all.objects,
		    sqrt(all.variance), kept.bytes, kept.objects,
		    sqrt(kept.variance));
	}
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	char line[16];
	FILE *fifo;

	rounds = argc > 1 ? (size_t)atol(argv[1]) : 10;
	fifo = fopen(argc > 2 ? argv[2] : "/dev/null", "r");
	if (fifo == NULL)
		return 1;
	all_threads(warmer);
	say("warm");
	if (fgets(line, sizeof(line), fifo) == NULL)
		return 0;
	all_threads(worker);
	say("taken");
	if (fgets(line, sizeof(line), fifo) == NULL)
		return 0;
	begin_child();
	begin_another();
	say("forked");
	if (fgets(line, sizeof(line), fifo) != NULL) {
		all_threads(giver);
		say("given");
	}
	if (fgets(line, sizeof(line), fifo) == NULL)
		line[0] = '\0';
	kill(0, SIGTERM);
	return 0;
}
