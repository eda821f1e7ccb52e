/*
 * A storm of waits: threads that want one mutex as often as they can.
 *
 *	offcpu_storm THREADS MILLISECONDS [NAP_US]
 *
 * With NAP_US they sleep for so long each time: then no machine makes more
 * waits of it than the clock allows.
 *
 * All begin and end together.  Prints what its threads have lived, in ns,
 * between these two:
 *
 *	lived LEAST MOST
 *	switches NUMBER
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int over;
static atomic_llong least_ns, begun;
static struct timespec nap;

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *
wants(void *arg)
{
	int64_t began = now();

	atomic_fetch_add(&begun, 1);
	while (!over) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if (nap.tv_nsec != 0)
			nanosleep(&nap, NULL);
		else
			sched_yield(); /* to one that was woken */
	}
	atomic_fetch_add(&least_ns, now() - began);
	return arg;
}

int
main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, i;
	int64_t first = now(), most = 0;
	pthread_t threads[1024];
	struct timespec span;
	struct rusage used;

	if (n < 1 || n > 1024)
		return 2;
	nap.tv_nsec = argc > 3 ? atol(argv[3]) * 1000 : 0;
	for (i = 0; i < n; i++) {
		most -= now() - first;
		if (pthread_create(&threads[i], NULL, wants, NULL) != 0)
			return 1;
	}
	while (begun < n)
		sched_yield();
	span.tv_sec = atol(argv[2]) / 1000;
	span.tv_nsec = atol(argv[2]) % 1000 * 1000000;
	nanosleep(&span, NULL);
	over = 1;
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	/* The first thread has lived before main(), and until it ends. */
	most += (n + 1) * (now() - first);
	getrusage(RUSAGE_SELF, &used);
	printf("lived %lld %lld\n", (long long)least_ns + (now() - first),
	    (long long)most);
	printf("switches %ld\n", used.ru_nvcsw + used.ru_nivcsw);
	return 0;
}
