/*
 * A program under libmemlens-alloc.so that judges it: in the places of the
 * daemon's probes it puts traps of its own, so it knows in which order what was
 * told, and it reads the library's table.
 *
 *	alloc_edges TEST [ARGUMENT]
 *
 * It ends with 0 where all is right, else says what is not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "collector/alloc/alloc.h"

#define EVENTS (1 << 20)
#define THREADS 4

struct event {
	uintptr_t address;
	uint64_t size; /* 0: given back */
	int call;
};

static event *events; /* not of the allocator */
static std::atomic<unsigned> n_events;
static const alloc_table *table;
static uint8_t *took, *gave;

[[noreturn]] static void
fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	puts("");
	fflush(stdout);
	_exit(1);
}

/* ---- what is told ---- */

static void
on_trap(int, siginfo_t *, void *context)
{
	const greg_t *r = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
	unsigned i = n_events++;

	if (i >= EVENTS)
		return;
	events[i].address = static_cast<uintptr_t>(r[REG_RDI]);
	if (r[REG_RIP] == static_cast<greg_t>(
	    reinterpret_cast<uintptr_t>(took) + 1)) {
		events[i].size = static_cast<uint64_t>(r[REG_RSI]);
		events[i].call = static_cast<int>(r[REG_RDX]);
	}
}

static void
trap(uint8_t *at)
{
	uintptr_t page = reinterpret_cast<uintptr_t>(at) & ~4095ul;

	if (*at != 0x90)
		fail("a probe's place is no nop but %02x", *at);
	if (mprotect(reinterpret_cast<void *>(page), 8192,
	    PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		fail("mprotect: %s", strerror(errno));
	*at = 0xcc;
}

static void
begin()
{
	struct sigaction act = {};

	table = static_cast<alloc_table *>(dlsym(RTLD_DEFAULT,
	    "memlens_alloc1_table"));
	took = static_cast<uint8_t *>(dlsym(RTLD_DEFAULT,
	    "memlens_alloc1_took"));
	gave = static_cast<uint8_t *>(dlsym(RTLD_DEFAULT,
	    "memlens_alloc1_gave"));
	if (table == nullptr || table->magic != ALLOC_MAGIC)
		fail("the library is not there");
	events = static_cast<event *>(mmap(nullptr, EVENTS * sizeof(event),
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	act.sa_sigaction = on_trap;
	act.sa_flags = SA_SIGINFO | SA_RESTART;
	sigfillset(&act.sa_mask);
	sigaction(SIGTRAP, &act, nullptr);
	trap(took);
	trap(gave);
}

static bool
in_table(uintptr_t address)
{
	for (unsigned i = 0; i < ALLOC_CELLS; i++)
		if (table->cell[i].address == address)
			return true;
	return false;
}

static unsigned
table_count()
{
	unsigned n = 0;

	for (unsigned i = 0; i < ALLOC_CELLS; i++)
		n += table->cell[i].address > ALLOC_CELL_BUSY;
	return n;
}

/* What lives by what was told, open addressing; an object that is taken lives
 * not, and one that is given back does. */
#define LIVE 65536
static uintptr_t live[LIVE];

static unsigned
live_at(uintptr_t address)
{
	unsigned i = address * 0x9e3779b97f4a7c15ul >> 48;

	while (live[i] != 0 && live[i] != address)
		i = (i + 1) % LIVE;
	return i;
}

static void
live_remove(unsigned i)
{
	unsigned k;

	live[i] = 0;
	for (k = (i + 1) % LIVE; live[k] != 0; k = (k + 1) % LIVE) {
		uintptr_t moved = live[k];

		live[k] = 0;
		live[live_at(moved)] = moved;
	}
}

/* Told in an order that can be: what is in use is known at any time.  The
 * objects of before begin() are in the table alone. */
static void
check_told()
{
	unsigned n = n_events, i, at, count = 0;

	if (n > EVENTS)
		fail("more events than are kept: %u", n);
	for (i = 0; i < n; i++) {
		if (events[i].address == 0 && events[i].size == 0)
			fail("event %u of %u: nothing was given back", i, n);
		at = live_at(events[i].address);
		if (events[i].size == 0 && live[at] != 0) {
			live_remove(at);
			count--;
		} else if (events[i].size != 0 && live[at] != 0) {
			fail("event %u of %u: an object was taken where one "
			    "lives: %#lx", i, n, events[i].address);
		} else if (events[i].size != 0 && events[i].address != 0) {
			live[at] = events[i].address;
			count++;
		}
	}
	for (i = 0; i < LIVE; i++)
		if (live[i] != 0 && !in_table(live[i]))
			fail("told of %#lx, which is not in the table",
			    live[i]);
	if (count > table_count())
		fail("%u live, %u in the table", count, table_count());
}

/* How long intervals have been of late: none may have ended since. */
static double
longest_mean(unsigned from)
{
	uint64_t most = 0;

	for (unsigned i = from > 64 ? from - 64 : 0; i < n_events; i++)
		if (events[i].size != 0 &&
		    alloc_doublings(events[i].size) > most)
			most = alloc_doublings(events[i].size);
	return double(ALLOC_MEAN << most);
}

/* Bytes by what was told, against what was asked for, within four standard
 * errors, of intervals that were as long as the longest of late or as they were
 * told; all of one call, if it is told by ours. */
static void
check_bytes(const char *name, int call, unsigned from, double bytes, double n)
{
	double sum = 0, size = bytes / n;
	double p = -expm1(-size / longest_mean(from));
	double error = sqrt(n * size * size * (1 - p) / p), told = 0;

	for (unsigned i = from; i < n_events; i++) {
		if (events[i].size == 0)
			continue;
		double b = double(alloc_bytes(events[i].size));
		double w = b / -expm1(-b / double(ALLOC_MEAN <<
		    alloc_doublings(events[i].size)));
		sum += w;
		told += w * (w - b);
		if (events[i].call != call && call != ALLOC_NEW)
			fail("%s: told as call %d", name, events[i].call);
	}
	error = fmax(error, sqrt(told));
	if (fabs(sum - bytes) > 4 * error + 1)
		fail("%s: %.0f bytes told of %.0f, one error %.0f", name, sum,
		    bytes, error);
}

/* ---- every way to ask and to give back ---- */

typedef void *take_fn(size_t n);
typedef void give_fn(void *p, size_t n);

static void *take_malloc(size_t n) { return malloc(n); }
static void *take_calloc(size_t n) { return calloc(n / 8, 8); }
static void *take_realloc(size_t n) { return realloc(nullptr, n); }
static void *take_array(size_t n) { return reallocarray(nullptr, n / 8, 8); }
static void *take_memalign(size_t n) { return memalign(256, n); }
static void *take_aligned(size_t n) { return aligned_alloc(4096, n); }
static void *take_valloc(size_t n) { return valloc(n); }
static void *take_posix(size_t n)
{
	void *p;

	return posix_memalign(&p, 64, n) == 0 ? p : nullptr;
}
static void *new_one(size_t n) { return operator new(n); }
static void *new_array(size_t n) { return operator new[](n); }
static void *new_nothrow(size_t n) { return operator new(n, std::nothrow); }
static void *new_aligned(size_t n)
{
	return operator new(n, std::align_val_t(512));
}
static void *new_all(size_t n)
{
	return operator new[](n, std::align_val_t(64), std::nothrow);
}
static void give_free(void *p, size_t) { free(p); }
static void give_zero(void *p, size_t)
{
	free(realloc(p, 0)); /* glibc's is NULL then, others' an object */
}
static void delete_one(void *p, size_t) { operator delete(p); }
static void delete_sized(void *p, size_t n) { operator delete(p, n); }
static void delete_array(void *p, size_t n) { operator delete[](p, n); }
static void delete_nothrow(void *p, size_t)
{
	operator delete(p, std::nothrow);
}
static void delete_aligned(void *p, size_t n)
{
	operator delete(p, n, std::align_val_t(512));
}
static void delete_all(void *p, size_t)
{
	operator delete[](p, std::align_val_t(64), std::nothrow);
}

static const struct way {
	const char *name;
	take_fn *take;
	give_fn *give;
	int call;
	size_t align;
} ways[] = {
    {"malloc", take_malloc, give_free, ALLOC_MALLOC, 16},
    {"calloc", take_calloc, give_free, ALLOC_CALLOC, 16},
    {"realloc", take_realloc, give_zero, ALLOC_REALLOC, 16},
    {"reallocarray", take_array, give_free, ALLOC_REALLOC, 16},
    {"memalign", take_memalign, give_free, ALLOC_ALIGNED, 256},
    {"aligned_alloc", take_aligned, give_free, ALLOC_ALIGNED, 4096},
    {"valloc", take_valloc, give_free, ALLOC_ALIGNED, 4096},
    {"posix_memalign", take_posix, give_free, ALLOC_ALIGNED, 64},
    {"new", new_one, delete_one, ALLOC_NEW, 16},
    {"new, given back with its size", new_one, delete_sized, ALLOC_NEW, 16},
    {"new[]", new_array, delete_array, ALLOC_NEW, 16},
    {"new without throwing", new_nothrow, delete_nothrow, ALLOC_NEW, 16},
    {"new, aligned", new_aligned, delete_aligned, ALLOC_NEW, 512},
    {"new[], aligned, without throwing", new_all, delete_all, ALLOC_NEW, 64},
};

static void
check_way(const struct way *w)
{
	static const size_t size = 16384; /* of all allocators, a class */
	unsigned from = n_events;
	void *p[64];
	unsigned i, k;

	for (i = 0; i < 100; i++) {
		for (k = 0; k < 64; k++) {
			errno = 77;
			p[k] = w->take(size);
			if (p[k] == nullptr || errno != 77 ||
			    (reinterpret_cast<uintptr_t>(p[k]) &
			    (w->align - 1)) != 0)
				fail("%s: %p, errno %d", w->name, p[k], errno);
			if (malloc_usable_size(p[k]) < size)
				fail("%s: %zu bytes usable", w->name,
				    malloc_usable_size(p[k]));
			memset(p[k], 'x', size);
		}
		for (k = 0; k < 64; k++) {
			errno = 78;
			w->give(p[k], size);
			if (errno != 78)
				fail("%s: errno %d", w->name, errno);
			if (k == 0 &&
			    in_table(reinterpret_cast<uintptr_t>(p[k])))
				fail("%s: given back, and in the table",
				    w->name);
		}
	}
	check_bytes(w->name, w->call, from, 100.0 * 64 * size, 100 * 64);
}

static void
test_ways(const char *)
{
	for (const way &w : ways)
		check_way(&w);
	for (unsigned i = 0; i < 1000; i++)
		free(nullptr);
	check_told();
}

/* Events from this one on, and how often the mean of the last was doubled. */
static unsigned
count_taken(unsigned from, uint64_t *doublings)
{
	unsigned i, n = 0;

	for (i = from; i < n_events; i++)
		if (events[i].size != 0) {
			n++;
			*doublings = alloc_doublings(events[i].size);
		}
	return n;
}

/* One that asks for very much is sampled as often as a CPU may be, and its sum
 * is as right; it is sampled more often again when it asks for less. */
static void
test_hot(const char *)
{
	static const size_t size = 65536;
	static const unsigned n = 4000000;
	unsigned from = n_events, i, hot, calm;
	uint64_t most = 0, last = 0;

	for (i = 0; i < n; i++)
		free(malloc(size));
	hot = count_taken(from, &most);
	check_bytes("hot", ALLOC_MALLOC, from, double(n) * size, n);
	from = n_events;
	for (i = 0; i < 400; i++) {
		free(malloc(64 << 20));
		usleep(2000);
	}
	calm = count_taken(from, &last);
	if (hot > 4000 || most < 4)
		fail("%u of %u were taken, the mean was doubled %lu times",
		    hot, n, most);
	if (last + 3 > most || calm == 0)
		fail("the mean is doubled %lu of %lu times", last, most);
	check_told();
}

/* What cannot be had is refused as it was, and nothing is told of it. */
static void
test_refused(const char *)
{
	volatile size_t huge = size_t(1) << 62, half = size_t(1) << 33;
	unsigned before;
	bool thrown = false;
	void *p = malloc(100), *q = p;

	memset(p, 'y', 100);
	before = n_events;
	errno = 0;
	if (malloc(huge) != nullptr || errno != ENOMEM)
		fail("malloc: errno %d", errno);
	if (calloc(half, half) != nullptr) /* tcmalloc leaves errno alone */
		fail("calloc");
	errno = 0;
	if (reallocarray(p, half, half) != nullptr || errno != ENOMEM)
		fail("reallocarray: errno %d", errno);
	errno = 0;
	if (realloc(p, huge) != nullptr || errno != ENOMEM ||
	    static_cast<char *>(p)[99] != 'y')
		fail("realloc: errno %d", errno);
	if (posix_memalign(&q, 64, huge) != ENOMEM ||
	    posix_memalign(&q, 3, 64) != EINVAL)
		fail("posix_memalign");
	try {
		operator delete(operator new(huge));
	} catch (const std::bad_alloc &) {
		thrown = true;
	}
	if (!thrown || operator new(huge, std::nothrow) != nullptr)
		fail("operator new");
	if (n_events != before)
		fail("%u events of what was not given", n_events - before);
	free(p);
	for (unsigned i = 0; i < 100000; i++)
		free(malloc(4096));
	if (n_events - before < 100)
		fail("%u events: it samples no more", n_events - before);
}

/* ---- threads ---- */

/* What one gives back another one has at once: the order counts. */
static void *
reuses(void *arg)
{
	char *mine[8] = {};
	unsigned seed = static_cast<unsigned>(
	    reinterpret_cast<uintptr_t>(arg)), i, k;

	for (i = 0; i < 20000; i++) {
		k = rand_r(&seed) % 8;
		size_t n = (rand_r(&seed) % 64 + 1) * 8192;
		char *p = static_cast<char *>(realloc(mine[k], n));

		if (p == nullptr || (mine[k] != nullptr && p[0] != 'z'))
			fail("realloc lost its bytes");
		p[0] = 'z';
		mine[k] = p;
		if (rand_r(&seed) % 4 == 0) {
			free(mine[k]);
			mine[k] = nullptr;
		}
	}
	for (char *p : mine)
		free(p);
	return nullptr;
}

static void
all_threads(void *(*fn)(void *))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], nullptr, fn,
		    reinterpret_cast<void *>(i + 1));
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
}

static void
test_moved(const char *)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 1 << 25);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	all_threads(reuses);
	check_told();
}

/* Handlers of signals that allocate, with an allocator that may be asked by
 * one (the test's own, behind the library). */
static std::atomic<unsigned> handled;

static void
on_alarm(int)
{
	void *p = malloc(100000), *q = malloc(200000);

	free(p);
	p = realloc(q, 300000);
	free(p);
	handled++;
}

static void
test_signals(const char *)
{
	struct itimerval often = {{0, 200}, {0, 200}};
	struct sigaction act = {};
	unsigned kept, before = table_count();

	act.sa_handler = on_alarm;
	act.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &act, nullptr);
	setitimer(ITIMER_PROF, &often, nullptr);
	for (unsigned i = 0; handled < 200 || i < 200000; i++) {
		void *p = malloc(50000);
		void *q = realloc(p, 60000);

		free(q);
	}
	often = {};
	setitimer(ITIMER_PROF, &often, nullptr);
	kept = table_count();
	if (kept > before)
		fail("%u objects of %u handlers are in the table",
		    kept - before, handled.load());
	check_told();
}

/* ---- children ---- */

static std::atomic<bool> forked;

static void *
takes_on(void *)
{
	while (!forked)
		free(realloc(malloc(70000), 90000));
	return nullptr;
}

static void
child_of_fork(void *const *parents, unsigned n)
{
	unsigned i, from = n_events;
	void *p[64];

	if (table->magic != ALLOC_MAGIC || table_count() != 0)
		_exit(2);
	for (i = 0; i < n; i++)
		free(parents[i]);
	if (n_events != from)
		_exit(3); /* what was its parent's, is */
	for (i = 0; i < 64; i++)
		p[i] = malloc(1 << 20);
	if (table_count() < 8) /* of 55, if the mean is not doubled */
		_exit(4);
	for (i = 0; i < 64; i++)
		free(p[i]);
	_exit(table_count() != 0 ? 5 : 0);
}

static void
test_fork(const char *)
{
	pthread_t threads[THREADS];
	void *p[64];
	unsigned i, had;
	int status;

	for (void *&x : p)
		x = malloc(1 << 20);
	had = table_count();
	for (pthread_t &t : threads)
		pthread_create(&t, nullptr, takes_on, nullptr);
	for (i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (pid == 0)
			child_of_fork(p, 64);
		if (waitpid(pid, &status, 0) != pid || status != 0)
			fail("child %u: status %#x", i, status);
	}
	forked = true;
	for (pthread_t t : threads)
		pthread_join(t, nullptr);
	if (had < 32 || table_count() < had)
		fail("the parent had %u, has %u", had, table_count());
}

/* ---- libraries ---- */

/* One that allocates as it is opened and closed, in C++ if it has it. */
static void
test_open(const char *path)
{
	unsigned i, before = table_count();

	for (i = 0; i < 30; i++) {
		void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		int (*works)(void);

		if (object == nullptr)
			fail("%s", dlerror());
		*reinterpret_cast<void **>(&works) = dlsym(object, "works");
		if (works == nullptr || works() != 0)
			fail("the library fails");
		if (dlclose(object) != 0)
			fail("%s", dlerror());
	}
	if (table_count() > before + 2)
		fail("%u objects of closed libraries", table_count() - before);
	check_told();
}

static const struct {
	const char *name;
	void (*run)(const char *);
} tests[] = {{"ways", test_ways}, {"refused", test_refused},
    {"moved", test_moved}, {"signals", test_signals}, {"fork", test_fork},
    {"open", test_open}, {"hot", test_hot}};

int
main(int argc, char **argv)
{
	for (const auto &t : tests) {
		if (argc < 2 || strcmp(argv[1], t.name) != 0)
			continue;
		begin();
		t.run(argc > 2 ? argv[2] : nullptr);
		return 0;
	}
	fail("usage: alloc_edges TEST");
}
