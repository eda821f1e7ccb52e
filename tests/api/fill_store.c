/*
 * Makes a store whose content is known, for the tests of the HTTP interface:
 *
 *	fill_store DIR [END [SLOTS [FINE]]]
 *
 * END: end of the newest slot in Unix seconds (default: now, rounded down);
 * SLOTS of 10 s each (default 720), of which retention leaves about FINE
 * (default: all) and spans of the others.  Each slot has
 *
 *	cpu{service="kv"} at 99 Hz   main;read 3 (pool a), main;write 2 (pool
 *	                             b), main;idle;futex_wait (kernel) 1
 *	cpu{service="odd"}           one sample below strange names
 *	cpu{service="quiet"}         looked at, nothing seen
 *	wall{service="kv"}           main 4; slots at 10 ms and at 20 ms a
 *	                             sample, 100 of each
 *	test_gauge_bytes{service="kv"}     1000 + slot % 10
 *	node_cpu_seconds_total{cpu="0",mode="user"}   2.5 s more
 *	namedprocess_namegroup_cpu_seconds_total{service="kv",...}  0.08 s more
 *	node_schedstat_running_seconds_total{cpu="0"} 0.1 s more
 *	two_bytes{instance="a",service="kv"}          100, and 101 at once
 *	two_bytes{instance="b",service="kv"}          1, not in each fourth slot
 *	two_ops_total{instance="a" and "b",...}       10 and 5 more, likewise
 *	x_seconds_bucket{le="0.5",...}, _sum, _count  5 more
 *	lag_seconds{quantile="0.99",service="kv"}     slot % 10
 *	lag_seconds_sum, lag_seconds_count, alone_sum 5 more
 *	test_latency_seconds{service="kv"}   1 ms to 1 s, each millisecond once
 *	test_size_bytes                      4096, once
 *	with WAITS in the environment: cpu and, in the newer half, offcpu and
 *	thread_seconds_total of the service "mix" (fill_waits()), and lock,
 *	looked at, nothing seen; where WAITS is "lost", lock_holder, too, of
 *	which some was lost (fill_holders()); where it is "restart", for how
 *	long threads were watched (fill_watched()); where it is "idle", "sql",
 *	some of whose waits are for work (fill_idle()), "pg", "within"
 *	with MEMORY in the environment: memory of "kept", which has our
 *	library in one of two instances, of "pulled" and of "unseen", of
 *	which some was lost (fill_memory())
 *	a sample lost of 100, what memlensd says of itself, facts
 *
 * The slots 41 to 50 before the end are missing, and so in each hundred.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/store.h"

#define SLOT_NS (10 * NS_PER_S)
#define PERIOD_NS 10101010

static void
must(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "fill_store: %s\n", e->text);
	exit(1);
}

static uint32_t
series(struct batch *b, enum series_kind kind, const char *name,
    const char *unit, uint8_t scale, const struct label *labels, size_t n)
{
	struct series_desc d = {kind, name, unit,
	    kind == SERIES_FLOW ? PERIOD_NS : 0, scale, labels, n};

	return batch_series(b, &d);
}

static uint32_t
cpu(struct batch *b, const char *service)
{
	struct label l = {"service", service};

	return series(b, SERIES_FLOW, "cpu", "nanoseconds", 0, &l, 1);
}

/* "a;b;c" below a label set; a frame that begins with "k:" is kernel's. */
static uint32_t
stack_of(struct batch *b, const char *label, const char *value,
    const char *text)
{
	struct label l = {label, value};
	char copy[256], *next = copy, *name;
	uint32_t node;

	snprintf(copy, sizeof(copy), "%s", text);
	node = batch_node(b, 0, batch_labels(b, &l, 1));
	while ((name = strsep(&next, ";")) != NULL) {
		bool kernel = strncmp(name, "k:", 2) == 0;
		struct frame f = {kernel ? FRAME_KERNEL : FRAME_NATIVE,
		    kernel ? name + 2 : name, kernel ? "[kernel]" : "prog",
		    "", 0};

		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
stack(struct batch *b, const char *pool, const char *text)
{
	return stack_of(b, "pool", pool, text);
}

static void
fill_profiles(struct batch *b, uint64_t slot)
{
	uint32_t kv = cpu(b, "kv"), odd = cpu(b, "odd"),
		 quiet = cpu(b, "quiet");

	batch_observe(b, kv, slot, 1);
	batch_observe(b, odd, slot, 1);
	batch_observe(b, quiet, slot, 1);
	batch_add_profile(b, kv, slot, stack(b, "a", "main;read"), 3);
	batch_add_profile(b, kv, slot, stack(b, "b", "main;write"), 2);
	batch_add_profile(b, kv, slot, stack(b, "b", "main;idle;k:futex_wait"),
	    1);
	batch_add_profile(b, odd, slot,
	    stack(b, "a", "<b>&\"'\x01\xff]]></script>"), 1);
}

/* A profile whose period changes. */
static void
fill_wall(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "wall", "nanoseconds",
	    (int64_t)(1 + slot / 100 % 2) * 10 * NS_PER_MS, 0, &service, 1};
	uint32_t wall = batch_series(b, &d);

	batch_observe(b, wall, slot, 1);
	batch_add_profile(b, wall, slot, stack(b, "a", "main"), 4);
}

static void
fill_counter(struct batch *b, uint64_t slot, const char *name,
    const char *unit, uint8_t scale, const struct label *labels, size_t n,
    int64_t increase)
{
	batch_add_counter(b, series(b, SERIES_COUNTER, name, unit, scale,
	    labels, n), slot, (int64_t)slot * SLOT_NS + 9 * NS_PER_S, increase,
	    increase * (int64_t)(slot % 1000000));
}

static void
fill_gauge(struct batch *b, uint64_t slot, const char *name,
    const struct label *label, int64_t value)
{
	batch_add_gauge(b, series(b, SERIES_GAUGE, name, "bytes", 0, label, 1),
	    slot, (int64_t)slot * SLOT_NS + 5 * NS_PER_S, value);
}

/* Stacks that are not whole: the host's, most of which are another service's,
 * and kv's own. */
static void
fill_broken(struct batch *b, uint64_t slot)
{
	static const struct label host[] = {{"reason", "no tables yet"},
	    {"source", "cpu"}}, kv[] = {{"reason", "no tables yet"},
	    {"service", "kv"}, {"source", "cpu"}}, natural[] = {{"reason",
	    "no memory"}, {"service", "kv"}, {"source", "cpu"}},
	    other[] = {{"reason", "no row"}, {"service", "other"},
	    {"source", "cpu"}};

	fill_counter(b, slot, "memlens_profile_stacks_broken_total", "", 0,
	    host, 2, 500);
	fill_counter(b, slot, "memlens_service_samples_total", "", 0, kv + 1,
	    2, 60);
	fill_counter(b, slot, "memlens_service_samples_total", "", 0,
	    other + 1, 2, 940);
	fill_counter(b, slot, "memlens_service_stacks_broken_total", "", 0,
	    kv, 3, 3);
	fill_counter(b, slot, "memlens_service_stacks_broken_total", "", 0,
	    natural, 3, 7);
	fill_counter(b, slot, "memlens_service_stacks_broken_total", "", 0,
	    other, 3, 470);
}

/* CPU time that the kernel has counted. */
static void
fill_cpu_time(struct batch *b, uint64_t slot)
{
	static const struct label cpu = {"cpu", "0"},
	    user[] = {{"groupname", "kv"}, {"mode", "user"}, {"service", "kv"}},
	    in_kernel[] = {{"groupname", "kv"}, {"mode", "system"},
	    {"service", "kv"}};

	fill_counter(b, slot, "namedprocess_namegroup_cpu_seconds_total",
	    "seconds", 2, user, 3, 6);
	fill_counter(b, slot, "namedprocess_namegroup_cpu_seconds_total",
	    "seconds", 2, in_kernel, 3, 2);
	fill_counter(b, slot, "node_schedstat_running_seconds_total",
	    "seconds", 9, &cpu, 1, 100000000);
}

static void
fill_metrics(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "kv"},
	    mode[] = {{"cpu", "0"}, {"mode", "user"}}, source = {"source",
	    "cpu"}, lost[] = {{"reason", "ring_full"}, {"source", "cpu"}},
	    process = {"process", "memlensd"};

	fill_gauge(b, slot, "test_gauge_bytes", &service,
	    1000 + (int64_t)(slot % 10));
	fill_counter(b, slot, "node_cpu_seconds_total", "seconds", 6, mode, 2,
	    2500000);
	fill_counter(b, slot, "memlens_profile_samples_total", "", 0, &source,
	    1, 1000);
	fill_counter(b, slot, "memlens_profile_samples_lost_total", "", 0,
	    lost, 2, 1);
	fill_broken(b, slot);
	fill_cpu_time(b, slot);
	fill_counter(b, slot, "memlens_self_cpu_seconds_total", "seconds", 6,
	    &process, 1, 50000);
	fill_gauge(b, slot, "memlens_self_private_bytes", &process,
	    15000000);
	fill_gauge(b, slot, "memlens_self_resident_bytes", &process,
	    20000000);
}

/* Two instances of a service, one of which is away at times. */
static void
fill_instances(struct batch *b, uint64_t slot)
{
	static const struct label labels[2][2] = {
	    {{"instance", "a"}, {"service", "kv"}},
	    {{"instance", "b"}, {"service", "kv"}}},
	    service = {"service", "kv"},
	    quantile[] = {{"quantile", "0.99"}, {"service", "kv"}};
	static const char *const bounds[] = {"+Inf", "0.5", "10", "2", "1e-3"};
	uint32_t bytes[2], lag;

	for (int i = 0; i < 2; i++)
		bytes[i] = series(b, SERIES_GAUGE, "two_bytes", "bytes", 0,
		    labels[i], 2);
	batch_add_gauge(b, bytes[0], slot, (int64_t)slot * SLOT_NS, 100);
	batch_add_gauge(b, bytes[0], slot, (int64_t)slot * SLOT_NS + 1, 101);
	fill_counter(b, slot, "two_ops_total", "", 0, labels[0], 2, 10);
	for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		struct label le[] = {{"le", bounds[i]}, {"service", "kv"}};

		fill_counter(b, slot, "x_seconds_bucket", "", 0, le, 2, 5);
	}
	fill_counter(b, slot, "x_seconds_sum", "seconds", 0, labels[0], 2, 5);
	fill_counter(b, slot, "x_seconds_count", "", 0, labels[0], 2, 5);
	fill_counter(b, slot, "lag_seconds_sum", "seconds", 0, &service, 1, 5);
	fill_counter(b, slot, "lag_seconds_count", "", 0, &service, 1, 5);
	fill_counter(b, slot, "alone_sum", "", 0, &service, 1, 5);
	lag = series(b, SERIES_GAUGE, "lag_seconds", "seconds", 0, quantile,
	    2);
	batch_add_gauge(b, lag, slot, (int64_t)slot * SLOT_NS,
	    (int64_t)(slot % 10));
	if (slot % 4 == 3)
		return;
	batch_add_gauge(b, bytes[1], slot, (int64_t)slot * SLOT_NS, 1);
	fill_counter(b, slot, "two_ops_total", "", 0, labels[1], 2, 5);
}

static void
fill_latency(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "kv"};
	uint32_t latency = series(b, SERIES_HISTOGRAM, "test_latency_seconds",
	    "seconds", 9, &service, 1);

	for (int64_t ms = 1; ms <= 1000; ms++)
		batch_add_histogram(b, latency, slot, ms * NS_PER_MS, 1);
	batch_add_histogram(b, series(b, SERIES_HISTOGRAM, "test_size_bytes",
	    "bytes", 0, NULL, 0), slot, 4096, 1);
}

static void
fill_threshold(struct batch *b, uint64_t slot, const char *name, int64_t ns)
{
	struct label source = {"source", name};

	batch_add_gauge(b, series(b, SERIES_GAUGE,
	    "memlens_profile_threshold_seconds", "seconds", 9, &source, 1),
	    slot, (int64_t)slot * SLOT_NS, ns);
}

/* Three samples; 10 s of two threads that wait, none of them for a lock of
 * its program's, if that is recorded. */
static void
fill_waits(struct batch *b, uint64_t slot, bool recorded)
{
	static const struct label service = {"service", "mix"}, states[][2] = {
	    {{"service", "mix"}, {"state", "on cpu"}},
	    {{"service", "mix"}, {"state", "lock"}}};
	struct series_desc d = {SERIES_FLOW, "offcpu", "nanoseconds", 1, 0,
	    &service, 1}, lock = {SERIES_FLOW, "lock", "nanoseconds", 1, 0,
	    &service, 1};
	uint32_t on = cpu(b, "mix"), off;

	batch_observe(b, on, slot, 1);
	batch_add_profile(b, on, slot, stack(b, "a", "main;work"), 3);
	fill_gauge(b, slot, "namedprocess_namegroup_num_threads", &service, 2);
	if (!recorded)
		return;
	off = batch_series(b, &d);
	batch_observe(b, off, slot, 1);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "lock",
	    "main;work;k:futex_wait"), 4000000123);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "main;epoll_wait"), 5999999999);
	fill_counter(b, slot, "thread_seconds_total", "seconds", 9, states[0],
	    2, 5 * NS_PER_S);
	if (slot % 2 == 0)
		fill_counter(b, slot, "thread_seconds_total", "seconds", 9,
		    states[1], 2, 15 * NS_PER_S);
	fill_counter(b, slot, "thread_births_total", "threads", 0, &service, 1,
	    slot % 2 == 0);
	fill_counter(b, slot, "thread_deaths_total", "threads", 0, &service, 1,
	    0);
	batch_observe(b, batch_series(b, &lock), slot, 1);
	fill_threshold(b, slot, "offcpu", slot % 2 == 0 ? 1000000 : 2000000);
	fill_threshold(b, slot, "lock", 3000000);
}

/* The daemon began anew in the slot 20 before the end. */
static void
fill_watched(struct batch *b, uint64_t slot, uint64_t age)
{
	static const struct label sources[] = {{"source", "offcpu"},
	    {"source", "cpu"}};

	fill_counter(b, slot, "memlens_profile_watched_seconds_total",
	    "seconds", 9, &sources[0], 1, (age == 20 ? 4 : 10) * NS_PER_S);
	fill_counter(b, slot, "memlens_profile_watched_seconds_total",
	    "seconds", 9, &sources[1], 1, (age == 20 ? 3 : 10) * NS_PER_S);
}

/* Workers of a database wait in each slot 4 s for statements and 3 s for work
 * or a time; in statements 2 s for a row, a quarter for the log; and as long
 * nobody knows in what. */
static void
fill_idle(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "sql"};
	static const struct {
		const char *reason, *stack;
		int64_t ns;
	} waits[] = {
	    {"poll", "main;poll", 4 * NS_PER_S},
	    {"condition", "main;pool_wait;pthread_cond_timedwait",
	        3 * NS_PER_S},
	    {"lock", "main;dispatch_command(THD*);lock_wait(que_thr_t*);"
	             "pthread_cond_timedwait", 2 * NS_PER_S},
	    {"condition", "main;dispatch_command(THD*);log_write_up_to;"
	                  "pthread_cond_clockwait", NS_PER_S / 4},
	    {"condition", "[truncated];do_wait;pthread_cond_timedwait",
	        NS_PER_S / 4},
	    {"run queue", "main;pool_wait;pthread_cond_timedwait",
	        NS_PER_S / 8}};
	struct series_desc d = {SERIES_FLOW, "offcpu", "nanoseconds", 1, 0,
	    &service, 1};
	uint32_t off = batch_series(b, &d);

	uint32_t on = cpu(b, "sql");

	batch_observe(b, on, slot, 1);
	batch_add_profile(b, on, slot, stack(b, "a",
	    "main;pool_wait;pthread_cond_timedwait;k:futex_wait"), 5);
	batch_observe(b, off, slot, 1);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		batch_add_profile(b, off, slot, stack_of(b, "reason",
		    waits[i].reason, waits[i].stack), waits[i].ns);
}

/* Backends wait 4 s for statements, and within some 1 s for a replica, as long
 * for a client that takes no result, a quarter in nobody knows what. */
static void
fill_idle_statements(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "pg"};
	struct series_desc d = {SERIES_FLOW, "offcpu", "nanoseconds", 1, 0,
	    &service, 1};
	uint32_t off = batch_series(b, &d);

	batch_observe(b, off, slot, 1);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "main;PostgresMain;pq_getbyte;poll"), 4 * NS_PER_S);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "[below threshold]"), NS_PER_S / 2);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "main;PostgresMain;CommitTransaction;SyncRepWaitForLSN;poll"),
	    NS_PER_S);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "main;PostgresMain;secure_write;poll"), NS_PER_S);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "poll",
	    "[truncated];plpgsql_exec_function;pg_sleep;poll"), NS_PER_S / 4);
}

#define BACKGROUND                                                             \
	"start_thread;leveldb::(anonymous namespace)::PosixEnv::"              \
	"BackgroundThreadEntryPoint(leveldb::(anonymous namespace)::PosixEnv*)"

/* Programs with a database in them sleep 1 s for the next thing to do, an
 * eighth each because that slows them down, or waits for a lock; 2 s a thread
 * waits for something to compact, and an eighth each somebody for it, and
 * within it. */
static void
fill_idle_calls(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "within"};
	static const char *const calls[] = {
	    "main;leveldb::DBImpl::Write(leveldb::WriteOptions const&);"
	    "leveldb::DBImpl::MakeRoomForWrite(bool);clock_nanosleep",
	    "main;rocksdb::DBImpl::DelayWrite(unsigned long);clock_nanosleep",
	    "main;sqlite3_prepare_v2;clock_nanosleep",
	    "main;libleveldb.so.1d+0x1234;clock_nanosleep",
	    "[below threshold]"};
	struct series_desc d = {SERIES_FLOW, "offcpu", "nanoseconds", 1, 0,
	    &service, 1};
	uint32_t off = batch_series(b, &d);

	batch_observe(b, off, slot, 1);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "timer",
	    "main;sqlite3_sleep;clock_nanosleep"), NS_PER_S);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		batch_add_profile(b, off, slot, stack_of(b, "reason", "timer",
		    calls[i]), NS_PER_S / 8);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "condition",
	    BACKGROUND ";pthread_cond_wait"), 2 * NS_PER_S);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "condition",
	    BACKGROUND ";leveldb::DBImpl::BackgroundCall();pthread_cond_wait"),
	    NS_PER_S / 8);
	batch_add_profile(b, off, slot, stack_of(b, "reason", "condition",
	    "main;stalls;pthread_cond_wait"), NS_PER_S / 8);
}

/* Workers that wait for work with a time limit were signalled, and a writer
 * without one. */
static void
fill_idle_signals(struct batch *b, uint64_t slot)
{
	static const struct label service = {"service", "sql"};
	struct series_desc d = {SERIES_FLOW, "lock_holder", "nanoseconds", 1, 0,
	    &service, 1};
	uint32_t held = batch_series(b, &d);

	batch_observe(b, held, slot, 1);
	batch_add_profile(b, held, slot, stack_of(b, "reason",
	    "timed condition", "main;submit;condition #1 (pool_wait)"),
	    7 * NS_PER_S);
	batch_add_profile(b, held, slot, stack_of(b, "reason", "condition",
	    "main;compacted;condition #2 (write)"), NS_PER_S);
}

/* Nobody of "mix" was seen to hold a lock, and somebody of "held" was.  Lost
 * was, by tens of slots from the newest on: nothing; what of locks of "mix" had
 * no room; records of who held one; records of waits; another source's. */
static void
fill_holders(struct batch *b, uint64_t slot, uint64_t age)
{
	static const struct label mix = {"service", "mix"},
	    held = {"service", "held"}, locks[] = {{"reason", "locks full"},
	    {"service", "mix"}, {"source", "lock_holder"}}, rings[][2] = {
	    {{"reason", "ring full"}, {"source", "lock_holder"}},
	    {{"reason", "ring full"}, {"source", "offcpu"}},
	    {{"reason", "ring full"}, {"source", "faults"}}};
	struct series_desc d = {SERIES_FLOW, "lock_holder", "nanoseconds", 1, 0,
	    &mix, 1};
	uint64_t ten = (age - 1) / 10;

	batch_observe(b, batch_series(b, &d), slot, 1);
	fill_counter(b, slot, "memlens_service_samples_total", "", 0, locks + 1,
	    2, 0);
	d.labels = &held;
	batch_observe(b, batch_series(b, &d), slot, 1);
	batch_add_profile(b, batch_series(b, &d), slot, stack(b, "a",
	    "main;hold;mutex accounts"), 20000000);
	if (ten == 1)
		fill_counter(b, slot, "memlens_service_samples_lost_total", "",
		    0, locks, 3, 5);
	else if (ten == 2 || ten == 3)
		fill_counter(b, slot, "memlens_profile_samples_lost_total", "",
		    0, rings[ten - 2], 2, 7);
	else if (ten == 5)
		fill_counter(b, slot, "memlens_profile_samples_lost_total", "",
		    0, rings[2], 2, 9);
}

/* What the library tells of a service in a slot, or its own heap profile. */
static void
fill_heap(struct batch *b, uint64_t slot, const char *name, bool library,
    bool seen)
{
	static const struct {
		const char *type, *unit;
		enum series_kind kind;
		int64_t n;
	} of[] = {{"alloc_space", "bytes", SERIES_FLOW, 1000},
	    {"alloc_objects", "count", SERIES_FLOW, 10},
	    {"short_space", "bytes", SERIES_FLOW, 400},
	    {"inuse_space", "bytes", SERIES_STOCK, 600},
	    {"inuse_objects", "count", SERIES_STOCK, 6}};
	struct label service = {"service", name};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct series_desc d = {of[i].kind, of[i].type, of[i].unit, 1,
		    0, &service, 1};
		uint32_t s = batch_series(b, &d);

		if (!library && strcmp(of[i].type, "short_space") == 0)
			continue;
		batch_observe(b, s, slot, 1);
		if (seen)
			batch_add_profile(b, s, slot, stack_of(b, library
			    ? "process" : "pool", name, "main;take"), of[i].n);
	}
}

static void
fill_library(struct batch *b, uint64_t slot, const char *instance,
    const char *library, int64_t n)
{
	const struct label labels[] = {{"instance", instance},
	    {"library", library}, {"service", "kept"}};

	batch_add_gauge(b, series(b, SERIES_GAUGE, "memlens_heap_processes",
	    "", 0, labels, 3), slot, (int64_t)slot * SLOT_NS, n);
	batch_add_gauge(b, series(b, SERIES_GAUGE,
	    "memlens_heap_resident_bytes", "bytes", 0, labels, 3), slot,
	    (int64_t)slot * SLOT_NS, n * 100 * (instance[0] == 't' ? 3 : 1));
}

/* So many records, 1,000 bytes and 10 objects each; service NULL: the host's,
 * of which those that are known to be a service's are a part. */
static void
fill_lost(struct batch *b, uint64_t slot, const char *service,
    const char *source, const char *reason, int64_t n)
{
	static const char *const names[][3] = {
	    {"memlens_profile_samples_lost_total",
	    "memlens_profile_lost_bytes_total",
	    "memlens_profile_lost_objects_total"},
	    {"memlens_service_samples_lost_total",
	    "memlens_service_lost_bytes_total",
	    "memlens_service_lost_objects_total"}};
	const struct label of[] = {{"reason", reason}, {"service", service},
	    {"source", source}}, host[] = {{"reason", reason},
	    {"source", source}};
	int64_t each[] = {1, 1000, 10};

	for (int i = 0; i < 3; i++)
		fill_counter(b, slot, names[service != NULL][i],
		    i == 1 ? "bytes" : "", 0, service != NULL ? of : host,
		    2 + (service != NULL), n * each[i]);
	if (service != NULL)
		fill_lost(b, slot, NULL, source, reason, n);
}

/* Lost was, by tens of slots from the newest on: nothing; records of the ring;
 * those of "kept" that had no room; objects in use, and a table that could not
 * be read.  Of "unseen" nothing was seen. */
static void
fill_memory(struct batch *b, uint64_t slot, uint64_t age)
{
	static const struct label samples[] = {{"service", "kept"},
	    {"source", "alloc_space"}}, unread[] = {{"reason",
	    "table unread"}, {"service", "kept"}, {"source",
	    "inuse_space"}};
	uint64_t ten = (age - 1) / 10;

	fill_heap(b, slot, "kept", true, true);
	fill_heap(b, slot, "pulled", false, true);
	fill_heap(b, slot, "unseen", true, false);
	fill_counter(b, slot, "memlens_service_samples_total", "", 0, samples,
	    2, 10);
	fill_library(b, slot, "one", "yes", 1);
	fill_library(b, slot, "one", "no", 0);
	fill_library(b, slot, "two", "yes", 0);
	fill_library(b, slot, "two", "no", 1);
	if (ten == 1)
		fill_lost(b, slot, NULL, "alloc_space", "ring full", 7);
	if (ten == 2)
		fill_lost(b, slot, "kept", "alloc_space", "held full", 5);
	if (ten == 3)
		fill_lost(b, slot, "kept", "inuse_space", "aggregate full", 3);
	if (ten == 3)
		fill_counter(b, slot, "memlens_service_samples_lost_total", "",
		    0, unread, 3, 1);
}

static void
fill_fact(struct batch *b, uint64_t slot, enum fact_kind kind,
    const char *subject, const char *text)
{
	batch_add_fact(b, (int64_t)slot * SLOT_NS, kind, subject, text,
	    strlen(text));
}

static void
fill_facts(struct batch *b, uint64_t slot)
{
	fill_fact(b, slot, FACT_SOURCE, "cpu", "attached");
	fill_fact(b, slot, FACT_SOURCE, "procfs", "attached");
	if (getenv("MEMORY") != NULL)
		fill_fact(b, slot, FACT_SOURCE, "alloc_space", "attached");
	fill_fact(b, slot, FACT_SOURCE, "faults", "degraded: 1 of 64 is taken");
	fill_fact(b, slot, FACT_SOURCE, "offcpu",
	    "not attached: the kernel has no such tracepoint");
	fill_fact(b, slot, FACT_SOURCE, "lock", "off");
	fill_fact(b, slot, FACT_PROCESS, "kv",
	    "4242 1700000000500000000 kv server\t/usr/bin/env");
	fill_fact(b, slot, FACT_PROCESS, "quiet", "7 1700000000000000000 q\t");
	fill_fact(b, slot, FACT_PROCESS, "odd",
	    "8 1700000000000000000 odd\t/proc/self/exe");
	fill_fact(b, slot, FACT_RUN, "before",
	    "{\"name\":\"before\",\"from\":1699998600,\"until\":1699998700,"
	    "\"label\":\"</script>\","
	    "\"notes\":\"a\xe2\x80\xae" "b\xe2\x80\xa8\"}");
	fill_fact(b, slot, FACT_PLACE, "read",
	    "/src/a:b.cc:12\tprog\tab12");
	fill_fact(b, slot, FACT_PLACE, "read", "io.c:7\tlibio.so\t");
	fill_fact(b, slot, FACT_PLACE, "write", "neither");
	fill_fact(b, slot, FACT_RUN, "broken", "{\"name\":");
	fill_fact(b, slot, FACT_MARK, "exit", "7 q\tquiet");
	fill_fact(b, slot, FACT_MARK, "rate", "49 Hz");
	fill_fact(b, slot, FACT_MARK, "odd", "\xff");
	fill_fact(b, slot, FACT_RUN, "gone",
	    slot % 64 == 0 ? "{\"removed\":true}" : "{\"from\":1}");
}

int
main(int argc, char **argv)
{
	struct store_options options = {.slot_ns = SLOT_NS, .no_thread = true};
	int64_t end = argc > 2 ? atoll(argv[2]) * NS_PER_S : clock_wall_ns();
	uint64_t last = (uint64_t)(end / SLOT_NS);
	uint64_t slots = argc > 3 ? strtoull(argv[3], NULL, 10) : 720;
	const char *waits = getenv("WAITS");
	struct store_writer *w;

	if (argc < 2 || argc > 5)
		return 2;
	if (argc > 4)
		options.retain_fine_ns = atoll(argv[4]) * SLOT_NS;
	must(store_writer_open(&w, argv[1], &options));
	for (uint64_t slot = last - slots; slot < last; slot++) {
		struct batch *b = batch_new(SLOT_NS);
		uint64_t age = (last - slot) % 100;

		if (age < 41 || age > 50) {
			fill_profiles(b, slot);
			fill_wall(b, slot);
			fill_metrics(b, slot);
			fill_instances(b, slot);
			if (waits != NULL)
				fill_waits(b, slot, slot >= last - slots / 2);
			if (waits != NULL && strcmp(waits, "idle") == 0) {
				fill_idle(b, slot);
				fill_idle_statements(b, slot);
				fill_idle_calls(b, slot);
				fill_idle_signals(b, slot);
			}
			if (waits != NULL && strcmp(waits, "lost") == 0)
				fill_holders(b, slot, last - slot);
			if (waits != NULL && strcmp(waits, "restart") == 0 &&
			    slot >= last - slots / 2)
				fill_watched(b, slot, last - slot);
			if (getenv("MEMORY") != NULL)
				fill_memory(b, slot, last - slot);
			fill_latency(b, slot);
			if (slot == last - slots || slot % 64 == 0)
				fill_facts(b, slot);
		}
		must(store_append(w, b));
		batch_free(b);
		must(store_tick(w, (int64_t)(slot + 1) * SLOT_NS));
	}
	must(store_writer_close(w));
	return 0;
}
