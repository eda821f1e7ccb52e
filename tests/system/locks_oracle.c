/*
 * Threads that wait for locks which others hold for 2, 20 and 200 ms, and
 * measure it themselves.
 *
 *	locks_oracle MS
 *
 * Works for so long, after a while of the same by threads named "warm", whose
 * code is known to everybody then; and says in the end, in ns:
 *
 *	waited;POOL;REASON;FUNCTION;LEAF;HOLDER;NS;CALLS
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/system/thread_clock.h"

struct waiter {
	const char *pool, *reason, *function, *leaf, *holder;
	void (*hold)(int64_t us);
	void (*want)(struct waiter *w);
	int64_t waited_ns, calls;
	int schedstat;
	pthread_t id;
};

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char before[40];
	pthread_mutex_t lock;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t *heap_lock, inherits, robust;
static sem_t slots;
static pthread_mutex_t beside = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t aside = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t again = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t early = PTHREAD_COND_INITIALIZER;
static int64_t end_ns;
static int warm, latch, latch_poll, note;

static int
goes_on(void)
{
	return clock_ns(CLOCK_MONOTONIC) < end_ns;
}

/* As a backend of PostgreSQL waits for a row, and another lets it go on. */
__attribute__((noinline)) static void
ProcSleep(void)
{
	struct signalfd_siginfo info;
	struct epoll_event e;

	if (epoll_wait(latch_poll, &e, 1, -1) == 1)
		(void)!read(latch, &info, sizeof(info));
}

__attribute__((noinline)) static void
ProcLockWakeup(void)
{
	kill(getpid(), SIGURG);
	__asm__ volatile("");
}

/* As an idle thread of Go waits for work, and another one has some. */
void go_notesleep(void) __asm__("runtime.notesleep");
__attribute__((noinline)) void
go_notesleep(void)
{
	while (goes_on() && !__atomic_exchange_n(&note, 0, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &note, FUTEX_WAIT_PRIVATE, 0, NULL, NULL,
		    0);
	__asm__ volatile("");
}

static void
give_work(void)
{
	__atomic_store_n(&note, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &note, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int
make_mutexes(void)
{
	pthread_mutexattr_t a, b;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_init(&b);
	return pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT) == 0 &&
	    pthread_mutexattr_setrobust(&b, PTHREAD_MUTEX_ROBUST) == 0 &&
	    pthread_mutex_init(&inherits, &a) == 0 &&
	    pthread_mutex_init(&robust, &b) == 0 &&
	    pthread_mutex_init(heap_lock, NULL) == 0;
}

static int
make_latch(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	sigset_t urgent;

	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	latch = signalfd(-1, &urgent, 0);
	latch_poll = epoll_create1(0);
	return epoll_ctl(latch_poll, EPOLL_CTL_ADD, latch, &e);
}

#define WANT(name, take, give) \
	__attribute__((noinline)) static void \
	name(struct waiter *w) \
	{ \
		int64_t before = thread_blocked_ns(w->schedstat); \
 \
		take; \
		w->waited_ns += thread_blocked_ns(w->schedstat) - before; \
		w->calls++; \
		give; \
		__asm__ volatile(""); \
	}

#define HOLD(name, take, give) \
	__attribute__((noinline)) static void \
	name(int64_t us) \
	{ \
		take; \
		nap(us); \
		give; \
		__asm__ volatile(""); /* not the last call */ \
	}

WANT(wants_accounts, pthread_mutex_lock(&accounts),
    pthread_mutex_unlock(&accounts))
HOLD(holds_accounts, pthread_mutex_lock(&accounts),
    pthread_mutex_unlock(&accounts))
WANT(wants_journal, pthread_mutex_lock(&journal.lock),
    pthread_mutex_unlock(&journal.lock))
HOLD(holds_journal, pthread_mutex_lock(&journal.lock),
    pthread_mutex_unlock(&journal.lock))
WANT(wants_heap, pthread_mutex_lock(heap_lock),
    pthread_mutex_unlock(heap_lock))
HOLD(holds_heap, pthread_mutex_lock(heap_lock),
    pthread_mutex_unlock(heap_lock))
WANT(wants_inherits, pthread_mutex_lock(&inherits),
    pthread_mutex_unlock(&inherits))
HOLD(holds_inherits, pthread_mutex_lock(&inherits),
    pthread_mutex_unlock(&inherits))
WANT(wants_robust, pthread_mutex_lock(&robust),
    pthread_mutex_unlock(&robust))
HOLD(holds_robust, pthread_mutex_lock(&robust),
    pthread_mutex_unlock(&robust))
WANT(reads_index, pthread_rwlock_rdlock(&index_lock),
    pthread_rwlock_unlock(&index_lock))
HOLD(holds_index, pthread_rwlock_wrlock(&index_lock),
    pthread_rwlock_unlock(&index_lock))
WANT(writes_table, pthread_rwlock_wrlock(&table_lock),
    pthread_rwlock_unlock(&table_lock))
HOLD(holds_table, pthread_rwlock_rdlock(&table_lock),
    pthread_rwlock_unlock(&table_lock))
WANT(wants_slot, while (sem_wait(&slots) != 0) ;, sem_post(&slots))
HOLD(holds_slot, while (sem_wait(&slots) != 0) ;, sem_post(&slots))
WANT(awaits_turn,
    pthread_mutex_lock(&beside); pthread_cond_wait(&condition, &beside);
    pthread_mutex_unlock(&beside),)
HOLD(signals_turn,, pthread_cond_broadcast(&condition))
/* As a worker does for work. */
WANT(awaits_job,
    pthread_mutex_lock(&aside);
    pthread_cond_timedwait(&job, &aside, &(struct timespec){1L << 40, 0});
    pthread_mutex_unlock(&aside),)
HOLD(signals_job,, pthread_cond_broadcast(&job))
/* Who is woken waits on: for the mutex of the condition, twice in all. */
WANT(wants_again,
    pthread_mutex_lock(&again); pthread_cond_wait(&early, &again);
    w->calls++, pthread_mutex_unlock(&again))
HOLD(holds_again,
    pthread_mutex_lock(&again); pthread_cond_broadcast(&early),
    pthread_mutex_unlock(&again))
WANT(wants_row, ProcSleep(),)
HOLD(holds_row,, ProcLockWakeup())
WANT(awaits_work, go_notesleep(),)
HOLD(gives_work,, give_work())

#define WAITER(p, r, want_, leaf_, hold_) \
	{.pool = p, .reason = r, .function = #want_, .leaf = leaf_, \
	    .holder = #hold_, .hold = hold_, .want = want_}
static struct waiter waiters[] = {
    WAITER("wmutex", "mutex", wants_accounts, "mutex accounts",
        holds_accounts),
    WAITER("wjournal", "mutex", wants_journal, "mutex journal+0x28",
        holds_journal),
    WAITER("wheap", "mutex", wants_heap, "mutex #", holds_heap),
    WAITER("winherits", "mutex", wants_inherits, "mutex inherits",
        holds_inherits),
    WAITER("wrobust", "mutex", wants_robust, "mutex robust", holds_robust),
    WAITER("wagain", "mutex", wants_again, "mutex again", holds_again),
    WAITER("wreader", "reader", reads_index, "rwlock index_lock",
        holds_index),
    WAITER("wwriter", "writer", writes_table, "rwlock table_lock",
        holds_table),
    WAITER("wsem", "semaphore", wants_slot, "semaphore slots", holds_slot),
    WAITER("wrow", "database", wants_row, "database lock", holds_row),
    WAITER("wcond", "condition", awaits_turn, "condition condition",
        signals_turn),
    WAITER("wtimed", "timed condition", awaits_job, "condition job",
        signals_job),
    WAITER("wwork", "work", awaits_work, "-", gives_work),
};
#define WAITERS (sizeof(waiters) / sizeof(waiters[0]))

/* Goes on until the waiter has ended, so that nobody waits for ever. */
static void *
hold(void *p)
{
	static const int64_t us[] = {2000, 20000, 200000};
	struct waiter *w = p;

	prctl(PR_SET_NAME, warm ? "warm" : "holder");
	for (int i = 0; clock_ns(CLOCK_MONOTONIC) < end_ns + 500000000; i++) {
		w->hold(us[i % 3]);
		nap(300);
	}
	return NULL;
}

static void *
want(void *p)
{
	struct waiter *w = p;

	prctl(PR_SET_NAME, warm ? "warm" : w->pool);
	w->waited_ns = w->calls = 0;
	w->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	while (goes_on()) {
		w->want(w);
		nap(500);
	}
	close(w->schedstat);
	return NULL;
}

/* False when there is no thread to be had. */
static int
work(int64_t ms)
{
	pthread_t holders[WAITERS];
	size_t i;

	end_ns = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
	for (i = 0; i < WAITERS; i++)
		if (pthread_create(&holders[i], NULL, hold, &waiters[i]) !=
		    0 || pthread_create(&waiters[i].id, NULL, want,
		    &waiters[i]) != 0)
			return 0;
	for (i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].id, NULL);
		pthread_join(holders[i], NULL);
	}
	return 1;
}

int
main(int argc, char **argv)
{
	size_t i;

	heap_lock = calloc(1, sizeof(*heap_lock));
	if (argc != 2 || heap_lock == NULL || sem_init(&slots, 0, 1) != 0 ||
	    !make_mutexes() || make_latch() != 0)
		return 2;
	warm = 1;
	if (!work(1500))
		return 1;
	warm = 0;
	if (!work(atol(argv[1])))
		return 1;
	for (i = 0; i < WAITERS; i++) {
		const struct waiter *w = &waiters[i];

		printf("waited;%s;%s;%s;%s;%s;%lld;%lld\n", w->pool, w->reason,
		    w->function, w->leaf, w->holder,
		    (long long)w->waited_ns, (long long)w->calls);
	}
	return 0;
}
