/*
 * How far it is to the next sample: exponential intervals, whose mean is
 * 512 KiB.  A sample takes some microseconds, though, so that a CPU on which a
 * process would be sampled more than some 500 times a second has means of 1, 2,
 * 4 MiB and so on, up to 2 GiB, and goes back as it asks for less:
 *
 *	  64 samples in less than 0.1 s ──► twice the mean
 *	less than 16 of them in 0.1 s   ──► half of it
 *
 * The mean changes between intervals alone, by what was before, so that no
 * object is more or less likely to be picked than its size says.
 */
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "collector/alloc/alloc_own.h"

#define PACE_CPUS 64                     /* others share one */
#define PACE_NS UINT64_C(100000000)
#define PACE_SAMPLES 64
#define PACE_LESS 4

__thread uint64_t countdown LOCAL;
static __thread uint64_t random_state LOCAL; /* 0: not begun */
static __thread unsigned doublings LOCAL;    /* of the count's mean */

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

/* In steps of some milliseconds, which takes no cycle counter: a process may
 * have forbidden itself to read that. */
static uint64_t
coarse_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Threads that come one after the other have one place. */
static void
random_begin(void)
{
	static uint64_t begun;
	const void *kernels = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (kernels != NULL)
		memcpy(&seed, kernels, sizeof(seed));
	random_state = seed ^ (uintptr_t)&random_state ^
	    (coarse_ns() + (__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED) <<
	    40)) * UINT64_C(0xd6e8feb86659fd93);
	random_state += random_state == 0;
}

/*
 * Exponential with the mean 2^shift, after von Neumann: of uniform numbers, the
 * first of a falling row that is odd in length is the fraction, and rows of
 * even length before it count the whole part.  Comparisons are all it takes.
 */
static uint64_t
random_interval(unsigned shift)
{
	uint64_t head, last, u, whole;
	unsigned n;

	for (whole = 0;; whole++) {
		last = head = random_next();
		for (n = 1; (u = random_next()) < last; n++)
			last = u;
		if (n % 2 == 1)
			return (whole << shift) + (head >> (64 - shift));
	}
}

/* ---- the mean ---- */

/* Of a CPU: when it began to count samples, and how many there were. */
static struct pace {
	uint64_t began;
	uint32_t samples;
	uint32_t doublings;
	uint8_t zero[48]; /* a line of the cache each */
} paces[PACE_CPUS] __attribute__((aligned(64)));

/* glibc and musl have it since they have the vDSO's. */
extern int sched_getcpu(void) __attribute__((weak));

static struct pace *
pace_here(void)
{
	int cpu = sched_getcpu != NULL ? sched_getcpu() : 0;

	return &paces[cpu < 0 ? 0 : cpu % PACE_CPUS];
}

/* After so many samples in so many nanoseconds. */
static uint32_t
pace_after(uint32_t old, uint64_t samples, uint64_t ns)
{
	if (samples >= PACE_SAMPLES && ns < PACE_NS)
		return old < ALLOC_DOUBLINGS_MAX ? old + 1 : old;
	for (; old > 0 && samples * PACE_LESS * (PACE_NS >> 8) <
	     PACE_SAMPLES * (ns >> 8); old--)
		samples *= 2;
	return old;
}

/* One more sample: how many times the mean is doubled now. */
static uint32_t
pace_count(struct pace *c)
{
	uint64_t now = coarse_ns();
	uint64_t began = __atomic_load_n(&c->began, __ATOMIC_RELAXED);
	uint32_t samples = __atomic_add_fetch(&c->samples, 1,
	    __ATOMIC_RELAXED);
	uint32_t is = __atomic_load_n(&c->doublings, __ATOMIC_RELAXED);

	if ((samples < PACE_SAMPLES && now - began < PACE_NS) ||
	    !__atomic_compare_exchange_n(&c->began, &began, now, false,
	    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return is;
	is = pace_after(is, samples, now - began);
	__atomic_store_n(&c->samples, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->doublings, is, __ATOMIC_RELAXED);
	return is;
}

/* ---- counts ---- */

static void
pace_draw(unsigned times)
{
	doublings = times;
	countdown = random_interval(ALLOC_MEAN_SHIFT + times);
}

bool
pace_has_begun(void)
{
	if (random_state != 0)
		return true;
	random_begin();
	pace_draw(__atomic_load_n(&pace_here()->doublings,
	    __ATOMIC_RELAXED));
	return false;
}

unsigned
pace_next(void)
{
	unsigned was = doublings;

	pace_draw(pace_count(pace_here()));
	return was;
}

void
pace_begin_anew(void)
{
	random_begin();
	random_state ^= (uint64_t)getpid() << 32;
	random_state += random_state == 0;
	for (size_t i = 0; i < PACE_CPUS; i++)
		if (paces[i].doublings != 0)
			paces[i].doublings = 0;
	pace_draw(0);
}
