/*
 * A small LSM store under a fixed open-loop load, in two builds, which says
 * how it went by its own clocks and histograms:
 *
 *	builds_lsm BUILD SECONDS PORT FILE
 *
 *	build 1  flushes in the thread of the request, with the table locked,
 *	         and makes a backtrace of each key that is not there
 *	build 2  flushes in a thread of its own, and makes none
 *
 * Prometheus metrics are on PORT; the load begins when its threads have wanted
 * the lock for a while, so that their names are known, and the metrics were
 * asked for; the program ends when they were so again after it.  Says then
 *
 *	began SECONDS            of the epoch
 *	requests N SECONDS BYTES
 *	p99.9 SECONDS            of all, from when a request was due
 *	p99put SECONDS
 *	backtrace NS OF_NS       CPU time in it, of the process's
 *	locks N                  waits for the table's lock of 100 us and more
 *	flusher NAME
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "tests/system/thread_clock.h"

#define THREADS 4
#define GAP_US 4000 /* between two requests of a thread */
#define TABLE 256   /* values, then it is flushed */
#define VALUE 4096
#define BUCKETS 190
#define FIRST_S 1e-5
#define FACTOR 1.1
#define LONG_NS 100000
#define MOST (1 << 20)

enum op { PUT, GET, OPS };

static const char *const op_names[OPS] = {"put", "get"};

static int build, file;
static int64_t run_ns, begin_ns;
static char table[TABLE][VALUE], flushed[TABLE][VALUE];
static int n_table, is_full;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t flush_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER;
static atomic_llong bucket[OPS][BUCKETS + 1], n_of[OPS], ns_of[OPS];
static atomic_llong bytes, lock_n, backtrace_ns, asked;
static _Thread_local int schedstat;
static double latency[OPS][MOST];
static char flusher[16];
static atomic_int over;
volatile unsigned sink;

static void
burn(int64_t ns)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 2000; i++)
			sink = sink * 1664525 + 1;
}

__attribute__((noinline)) static void
build_error_backtrace(void)
{
	int64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	burn(500000);
	backtrace_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

__attribute__((noinline)) static void
flush_table(void)
{
	prctl(PR_GET_NAME, flusher);
	burn(3000000);
	if (pwrite(file, flushed, sizeof(flushed), 0) < 0)
		abort();
	fdatasync(file);
	nap(20000); /* a slower disk's */
}

static void
lock_table(void)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC), ns;
	int64_t blocked = thread_blocked_ns(schedstat);

	pthread_mutex_lock(&table_lock);
	ns = clock_ns(CLOCK_MONOTONIC) - before;
	/* Who was only preempted in it has not waited for it. */
	lock_n += ns >= LONG_NS &&
	    thread_blocked_ns(schedstat) - blocked > LONG_NS / 5;
}

static void *
flushes(void *p)
{
	prctl(PR_SET_NAME, "flush-1");
	pthread_mutex_lock(&flush_lock);
	while (!over) {
		while (!is_full && !over)
			pthread_cond_wait(&full, &flush_lock);
		if (is_full)
			flush_table();
		is_full = 0;
	}
	pthread_mutex_unlock(&flush_lock);
	return p;
}

static void
put(void)
{
	lock_table();
	memset(table[n_table], n_table, VALUE);
	n_table++;
	bytes += VALUE;
	if (n_table == TABLE) {
		memcpy(flushed, table, sizeof(flushed));
		n_table = 0;
		if (build == 1) {
			flush_table();
		} else if (pthread_mutex_trylock(&flush_lock) == 0) {
			is_full = 1;
			pthread_cond_signal(&full);
			pthread_mutex_unlock(&flush_lock);
		}
	}
	burn(20000);
	pthread_mutex_unlock(&table_lock);
}

static void
get(int there)
{
	lock_table();
	burn(20000);
	pthread_mutex_unlock(&table_lock);
	burn(250000);
	if (!there && build == 1)
		build_error_backtrace();
}

static void
count(enum op op, int64_t ns)
{
	double s = (double)ns / 1e9, edge = FIRST_S;
	long long at = n_of[op]++;
	int i = 0;

	if (at < MOST)
		latency[op][at] = s;
	ns_of[op] += ns;
	for (; i < BUCKETS && s > edge; i++)
		edge *= FACTOR;
	bucket[op][i]++;
}

static void *
requests(void *p)
{
	int k = (int)(intptr_t)p;
	int64_t due = begin_ns + k * GAP_US * INT64_C(1000) / THREADS, now;
	char name[16];

	snprintf(name, sizeof(name), "request-%d", k);
	prctl(PR_SET_NAME, name);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	for (int i = k; due < begin_ns + run_ns; i++) {
		enum op op = i % 5 < 2 ? PUT : GET;

		now = clock_ns(CLOCK_MONOTONIC);
		if (now < due)
			nap((due - now) / 1000);
		if (op == PUT)
			put();
		else
			get(i % 5 == 2);
		count(op, clock_ns(CLOCK_MONOTONIC) - due);
		due += GAP_US * INT64_C(1000);
	}
	return NULL;
}

static void *
warms(void *p)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + 4000000000;

	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		lock_table();
		nap(2000);
		burn(100000);
		pthread_mutex_unlock(&table_lock);
		nap(500);
	}
	return p;
}

/* The slot that it ends in is not the load's. */
static void
warm_up(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, warms, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	nap(4500000);
	lock_n = 0;
	printf("began %lld\n", (long long)(clock_ns(CLOCK_REALTIME) /
	    1000000000));
}

/* ---- metrics ---- */

static void
put_metrics(FILE *f)
{
	fprintf(f, "# TYPE lsm_request_seconds histogram\n");
	for (int op = 0; op < OPS; op++) {
		double edge = FIRST_S;
		long long sum = 0;

		for (int i = 0; i < BUCKETS; i++, edge *= FACTOR) {
			sum += bucket[op][i];
			fprintf(f, "lsm_request_seconds_bucket{op=\"%s\","
			    "le=\"%.9g\"} %lld\n", op_names[op], edge, sum);
		}
		fprintf(f, "lsm_request_seconds_bucket{op=\"%s\","
		    "le=\"+Inf\"} %lld\n", op_names[op],
		    sum + bucket[op][BUCKETS]);
		fprintf(f, "lsm_request_seconds_count{op=\"%s\"} %lld\n"
		    "lsm_request_seconds_sum{op=\"%s\"} %.6f\n", op_names[op],
		    sum + bucket[op][BUCKETS], op_names[op],
		    (double)ns_of[op] / 1e9);
	}
	fprintf(f, "# TYPE lsm_bytes_total counter\nlsm_bytes_total %lld\n",
	    (long long)bytes);
}

static void *
serves(void *p)
{
	int s = (int)(intptr_t)p, c;
	char request[4096];
	FILE *f;

	prctl(PR_SET_NAME, "metrics");
	while ((c = accept(s, NULL, NULL)) >= 0) {
		if (read(c, request, sizeof(request)) > 0 &&
		    (f = fdopen(c, "w")) != NULL) {
			fprintf(f, "HTTP/1.0 200 OK\r\nContent-Type: "
			    "text/plain\r\n\r\n");
			put_metrics(f);
			fclose(f);
			asked++;
		} else {
			close(c);
		}
	}
	return NULL;
}

static int
listens(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(s, 20) != 0)
		exit(2);
	return s;
}

static void
await_asked(void)
{
	long long until = asked + 3;

	while (asked < until)
		nap(20000);
}

/* ---- what it says ---- */

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
quantile(double *v, size_t n, double q)
{
	size_t i = (size_t)ceil(q * (double)n);

	qsort(v, n, sizeof(*v), compare);
	return n == 0 ? 0 : v[i > 0 ? i - 1 : 0];
}

static void
say(int64_t cpu_ns, int64_t took_ns)
{
	static double all[OPS * MOST];
	size_t n = 0;

	for (int op = 0; op < OPS; op++) {
		memcpy(all + n, latency[op], (size_t)n_of[op] *
		    sizeof(all[0]));
		n += (size_t)n_of[op];
	}
	printf("requests %zu %.3f %lld\n", n, (double)took_ns / 1e9,
	    (long long)bytes);
	printf("p99.9 %.6f\n", quantile(all, n, 0.999));
	printf("p99put %.6f\n", quantile(latency[PUT], (size_t)n_of[PUT],
	    0.99));
	printf("backtrace %lld %lld\n", (long long)backtrace_ns,
	    (long long)cpu_ns);
	printf("locks %lld\n", (long long)lock_n);
	printf("flusher %s\n", flusher);
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS], flush, server;
	int64_t cpu_ns, took_ns;

	if (argc != 5)
		return 2;
	build = atoi(argv[1]);
	run_ns = atol(argv[2]) * INT64_C(1000000000);
	file = open(argv[4], O_CREAT | O_TRUNC | O_WRONLY, 0600);
	pthread_create(&server, NULL, serves,
	    (void *)(intptr_t)listens(atoi(argv[3])));
	if (build == 2)
		pthread_create(&flush, NULL, flushes, NULL);
	warm_up();
	await_asked();
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, requests, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	took_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	await_asked();
	over = 1;
	say(cpu_ns, took_ns);
	return 0;
}
