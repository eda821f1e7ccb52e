/*
 * Threads whose system call alone does not say what they wait for, each
 * measuring its waits itself.
 *
 *	reasons_oracle MS DIR
 *
 * Works for so long, after a second in which the same threads are called
 * "warm", with a FIFO in DIR; a child is stopped for a part of that.  Says
 * then, in ns:
 *
 *	waited POOL REASON NS CALLS
 *	born THREADS            in all, the child's too
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/system/thread_clock.h"

#define MS 1000 /* in us */

struct thread {
	const char *pool, *reason;
	void (*wait)(struct thread *t);
	int64_t waited_ns, calls;
	pthread_t id;
};

static int64_t end_ns;
static int warm, born = 1;
static char fifo[4096];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted;
static struct timespec *low; /* at an address of 32 bits */
static sigjmp_buf refused;

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static struct timespec
in_us(int64_t us)
{
	int64_t ns = clock_ns(CLOCK_REALTIME) + us * 1000;

	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static void
wait_timedlock(struct thread *t)
{
	struct timespec until = in_us(10000 * MS);

	(void)t;
	if (pthread_mutex_timedlock(&held, &until) == 0)
		pthread_mutex_unlock(&held);
}

static void
wait_semaphore(struct thread *t)
{
	(void)t;
	sem_wait(&posted);
}

static void
wait_fifo(struct thread *t)
{
	int fd = open(fifo, O_RDONLY);

	(void)t;
	close(fd);
}

static void
on_refusal(int sig)
{
	(void)sig;
	siglongjmp(refused, 1);
}

/* nanosleep as 32-bit code calls it; its number is sync's here. */
static void
wait_old_call(struct thread *t)
{
	long r = 162;

	low[0] = (struct timespec){0};
	((int *)low)[1] = 40 * MS * 1000;
	if (sigsetjmp(refused, 1) != 0) {
		t->reason = "-";
		nap(20 * MS);
		return;
	}
	__asm__ volatile("int $0x80" : "+a"(r) : "b"(low), "c"(0L) :
	    "memory", "r8", "r9", "r10", "r11");
	if (r != 0)
		t->reason = "-";
}

/* A child that has its memory and its stack. */
static __attribute__((noinline)) void
wait_child(struct thread *t)
{
	pid_t pid = vfork();

	if (pid == 0) {
		nap(40 * MS);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	(void)t;
}

/* Holds, posts and opens for the others. */
static void
serve(struct thread *t)
{
	int fd;

	pthread_mutex_lock(&held);
	nap(40 * MS);
	pthread_mutex_unlock(&held);
	sem_post(&posted);
	fd = open(fifo, O_WRONLY | O_NONBLOCK);
	if (fd >= 0)
		close(fd);
	nap(2 * MS);
	(void)t;
}

static struct thread threads[] = {
    {.pool = "timed-lock", .reason = "lock", .wait = wait_timedlock},
    {.pool = "semaphore", .reason = "lock", .wait = wait_semaphore},
    {.pool = "opener", .reason = "pipe", .wait = wait_fifo},
    {.pool = "old-caller", .reason = "other", .wait = wait_old_call},
    {.pool = "parent", .reason = "other", .wait = wait_child},
    {.pool = "server", .reason = "-", .wait = serve},
};
#define THREADS (sizeof(threads) / sizeof(threads[0]))

static void *
begin(void *p)
{
	struct thread *t = p;
	int64_t before;
	int schedstat;

	prctl(PR_SET_NAME, warm ? "warm" : t->pool);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	t->waited_ns = t->calls = 0;
	while (goes_on()) {
		before = thread_blocked_ns(schedstat);
		t->wait(t);
		t->waited_ns += thread_blocked_ns(schedstat) - before;
		t->calls++;
		if (t->wait == wait_timedlock)
			nap(MS);
	}
	close(schedstat);
	return NULL;
}

/* What others still wait for as the server has ended. */
static void
release(void)
{
	int fd;

	for (int i = 0; i < 20; i++) {
		sem_post(&posted);
		fd = open(fifo, O_WRONLY | O_NONBLOCK);
		if (fd >= 0)
			close(fd);
		nap(2 * MS);
	}
}

static void
work(int64_t ms)
{
	end_ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
	for (size_t i = 0; i < THREADS; i++, born++)
		if (pthread_create(&threads[i].id, NULL, begin,
		    &threads[i]) != 0)
			abort();
	pthread_join(threads[THREADS - 1].id, NULL);
	release();
	for (size_t i = 0; i + 1 < THREADS; i++)
		pthread_join(threads[i].id, NULL);
}

static int64_t sleep_us;
static int told[2]; /* a pipe */

/* Says how long it was blocked, and how long it waited for a CPU. */
static void *
sleeps(void *p)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	int64_t said[2], began_ns, cpu_ns;

	prctl(PR_SET_NAME, "stopped");
	said[0] = -thread_blocked_ns(schedstat);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	nap(sleep_us);
	said[0] += thread_blocked_ns(schedstat);
	said[1] = clock_ns(CLOCK_MONOTONIC) - began_ns - said[0] -
	    (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
	if (write(told[1], said, sizeof(said)) != sizeof(said))
		abort();
	close(schedstat);
	return p;
}

/* A child with a thread that sleeps all the time; for a third of it, both are
 * stopped.  It may have to wait for a CPU to stop: of that time nobody knows
 * here what it was before, which is said as so many calls more. */
static void
stop_sleeper(int64_t ms)
{
	int64_t stopped_ns, said[2], may;
	pthread_t id;
	int status;
	pid_t pid;

	sleep_us = ms * MS;
	if (pipe(told) != 0 || (pid = fork()) < 0)
		abort();
	if (pid == 0) {
		if (pthread_create(&id, NULL, sleeps, NULL) == 0)
			pthread_join(id, NULL);
		_exit(0);
	}
	born += 2;
	nap(ms * MS / 4);
	stopped_ns = clock_ns(CLOCK_MONOTONIC);
	kill(pid, SIGSTOP);
	nap(ms * MS / 3);
	stopped_ns = clock_ns(CLOCK_MONOTONIC) - stopped_ns;
	kill(pid, SIGCONT);
	if (read(told[0], said, sizeof(said)) != sizeof(said))
		abort();
	waitpid(pid, &status, 0);
	may = 1 + said[1] / 20000;
	printf("waited stopped timer %lld %lld\n",
	    (long long)(said[0] - stopped_ns), (long long)may);
	printf("waited stopped other %lld %lld\n", (long long)stopped_ns,
	    (long long)may);
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_refusal};

	if (argc != 3 || sem_init(&posted, 0, 0) != 0)
		return 2;
	snprintf(fifo, sizeof(fifo), "%s/reasons_oracle.fifo", argv[2]);
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (mkfifo(fifo, 0600) != 0 || low == MAP_FAILED)
		return 2;
	sigaction(SIGSEGV, &action, NULL);
	warm = 1;
	work(1200);
	warm = 0;
	work(atol(argv[1]));
	stop_sleeper(atol(argv[1]));
	for (size_t i = 0; i < THREADS; i++)
		printf("waited %s %s %lld %lld\n", threads[i].pool,
		    threads[i].reason, (long long)threads[i].waited_ns,
		    (long long)threads[i].calls);
	printf("born %d\n", born);
	return 0;
}
