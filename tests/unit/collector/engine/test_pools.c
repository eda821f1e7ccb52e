/*
 * Of which pool the time of threads is that has no stack of its own: of the one
 * that the stacks of the same thread are of, and of the name that it had then.
 */
#include "collector/bpf/wait_sweep.h"
#include "collector/process/thread_entry.h"
#include "tests/unit/collector/engine/engine_bench.h"

#define LENGTH 1000000
#define FIRST 1000
#define BEGIN ((int64_t)FIRST * LENGTH)
#define END (BEGIN + LENGTH)
#define HEAD offsetof(struct sample_event, frames)

static struct bench *
pools_new(void)
{
	struct bench *t = bench_new();
	struct engine *s = &t->s;

	s->border.slot_ns = LENGTH;
	s->border.open_slot = FIRST;
	s->n_profiles = 2;
	s->profiles[1] = (struct engine_profile){.row = &profile_offcpu,
	    .type = types_find("offcpu"), .state = SOURCE_ATTACHED};
	s->profiles[1].faults = service_faults_new("offcpu");
	s->profiles[1].waits.threshold_ns = LENGTH;
	s->profiles[1].waits.idle_ns = LENGTH;
	s->entries = thread_entries_new();
	s->waits = waits_new(LENGTH);
	waits_begin(s->waits, END, BEGIN);
	return t;
}

static void
pools_free(struct bench *t)
{
	service_faults_free(t->s.profiles[1].faults);
	thread_entries_free(t->s.entries);
	waits_free(t->s.waits);
	border_fini(&t->s.border);
	bench_free(t);
}

/* A thread of this process, which has its name where it has none. */
static struct sample_event
event_of(const struct bench *t, uint32_t tid, const char *name)
{
	struct sample_event e = own_event(t);

	e.tid = tid;
	snprintf(e.comm, sizeof(e.comm), "%s", name != NULL ? name :
	    "test_pools");
	return e;
}

/* It was sampled on a CPU, with a stack that begins where it began. */
static void
runs(struct bench *t, uint32_t tid)
{
	struct sample_event e = event_of(t, tid, NULL);

	e.flags = EVENT_EH_FRAME;
	resolve_event(&t->s, &e, sizeof(e));
}

static struct wait_sums
sums_of(int64_t cpu_ns, int64_t lock_ns)
{
	return (struct wait_sums){.at_ns = BEGIN,
	    .sum = {[WAIT_ON_CPU] = (uint64_t)cpu_ns,
	        [WAIT_LOCK] = (uint64_t)lock_ns}};
}

/* The sweep at the end of a slot finds it so. */
static void
is_swept(struct bench *t, uint32_t tid, const char *name, int64_t end_ns,
    const struct wait_sums *sums)
{
	static struct wait_swept r;

	r.size = offsetof(struct wait_swept, event) + HEAD;
	r.now_ns = (uint64_t)end_ns + 1000;
	r.event = event_of(t, tid, name);
	r.event.type = 1;
	r.event.flags = EVENT_WAIT;
	r.event.time_ns = r.now_ns;
	r.event.wait = (struct wait_event){.part = WAIT_GOING, .thread = tid};
	r.thread = (struct wait_thread){.number = tid, .state = WAIT_ON_CPU,
	    .since_ns = (uint64_t)end_ns, .border_ns = (uint64_t)end_ns,
	    .sums = *sums};
	waits_swept(&t->s, &r);
}

static void
says(struct bench *t, uint32_t tid, const char *name, enum wait_part part,
    int64_t at_ns, const struct wait_sums *sums)
{
	struct sample_event e = event_of(t, tid, name);

	e.type = 1;
	e.flags = EVENT_WAIT;
	e.n_user = 0;
	e.time_ns = (uint64_t)at_ns;
	e.wait = (struct wait_event){.part = (__u8)part, .thread = tid};
	memcpy(e.frames, sums, sizeof(*sums));
	waits_event(&t->s, &e, HEAD + sizeof(*sums));
}

static void
event_of_ring(void *arg, const struct sample_event *e, size_t size)
{
	waits_event(arg, e, size);
}

static void
close_slot(struct bench *t)
{
	struct batch *b = batch_new(LENGTH);

	symbols_settle(t->s.symbols, 30 * NS_PER_S);
	emit_entries(&t->s);
	waits_close_slot(&t->s, t->s.border.open_slot, b);
	batch_free(b);
}

static void
begin_next(struct bench *t)
{
	int64_t end_ns = waits_end_ns(t->s.waits);

	aggregate_clear(t->s.aggregate);
	t->s.border.open_slot++;
	waits_begin(t->s.waits, end_ns + LENGTH, end_ns + 2000);
	border_release(&t->s.border, event_of_ring, &t->s);
}

/* What a pool has waited for locks in the open slot. */
static int64_t
lock_ns(const struct bench *t, const char *pool)
{
	const struct aggregate *a = t->s.aggregate;
	int64_t sum = 0;

	for (size_t i = 0; i < aggregate_stacks(a); i++) {
		struct aggregate_stack k = aggregate_get_stack(a, i);
		struct aggregate_group g = aggregate_get_group(a, k.group);

		if (strcmp(g.pool, pool) == 0 && strcmp(g.reason, "lock") == 0)
			sum += k.value;
	}
	return sum;
}

/* ---- threads that nobody named ---- */

TEST(short_waits_are_of_the_pool_of_what_their_thread_began_with)
{
	struct bench *t = pools_new();
	struct wait_sums sums = sums_of(100000, 50000);

	runs(t, 2);
	is_swept(t, 2, NULL, END, &sums);
	is_swept(t, 3, NULL, END, &sums); /* that nobody has seen run */
	is_swept(t, 4, "worker-4", END, &sums);
	close_slot(t);
	CHECK_INT(lock_ns(t, "root_function"), 50000);
	CHECK_INT(lock_ns(t, "test_pools"), 50000);
	CHECK_INT(lock_ns(t, "worker-*"), 50000);
	begin_next(t);
	sums = sums_of(200000, 120000);
	is_swept(t, 2, NULL, END + LENGTH, &sums); /* it need not run again */
	close_slot(t);
	CHECK_INT(lock_ns(t, "root_function"), 70000);
	CHECK_INT(lock_ns(t, "test_pools"), 0);
	pools_free(t);
}

TEST(so_are_those_of_one_that_ends_in_the_slot)
{
	struct bench *t = pools_new();
	struct wait_sums sums = sums_of(100000, 50000);

	runs(t, 2);
	says(t, 2, NULL, WAIT_DIED, BEGIN + 500000, &sums);
	says(t, 3, NULL, WAIT_DIED, BEGIN + 500000, &sums);
	close_slot(t);
	CHECK_INT(lock_ns(t, "root_function"), 50000);
	CHECK_INT(lock_ns(t, "test_pools"), 50000);
	CHECK_INT(waits_threads(t->s.waits), 0);
	pools_free(t);
}

/* What a thread has waited for locks in a slot, as its pool has it, besides a
 * sample of it. */
static void
check_slot(struct bench *t, uint32_t tid, int slot, const char *pool)
{
	int64_t end_ns = END + slot * LENGTH;
	struct wait_sums sums = sums_of(100000 * (slot + 1),
	    50000 * (slot + 1));

	runs(t, tid);
	is_swept(t, tid, NULL, end_ns, &sums);
	close_slot(t);
	CHECK_INT(lock_ns(t, pool), 50000);
	begin_next(t);
}

/* As redis: it begins alone, and its libraries' threads have its name for
 * good, or until they have given themselves another one. */
TEST(the_first_thread_is_its_name_in_every_slot)
{
	struct bench *t = pools_new();
	uint32_t first = (uint32_t)getpid();

	check_slot(t, first, 0, "test_pools");
	services_process(t->services, getpid(), 0)->read->stat.threads = 2;
	runs(t, 2);
	check_slot(t, first, 1, "test_pools");
	check_slot(t, first, 2, "test_pools");
	pools_free(t);
}

TEST(another_one_is_told_by_its_function_in_every_slot)
{
	struct bench *t = pools_new();

	for (int slot = 0; slot < 3; slot++)
		check_slot(t, 2, slot, "root_function");
	pools_free(t);
}

/* Of what is no text the process's name has none. */
TEST(names_are_compared_as_they_are_shown)
{
	struct bench *t = pools_new();
	struct process *p = services_process(t->services, getpid(), 0);
	struct sample_event e = event_of(t, 2, "odd\xff");

	snprintf(p->read->comm, sizeof(p->read->comm), "odd?");
	e.flags = EVENT_EH_FRAME;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK(aggregate_get_group(t->s.aggregate, 0).by_entry);
	pools_free(t);
}

TEST(of_a_process_that_nobody_looked_at_names_tell_nothing)
{
	struct bench *t = pools_new();
	struct sample_event e = event_of(t, 2, "worker-1");

	e.pid = 0x7ffffff0; /* there is none */
	e.flags = EVENT_EH_FRAME;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(aggregate_groups(t->s.aggregate), 1);
	CHECK(!aggregate_get_group(t->s.aggregate, 0).by_entry);
	CHECK_STR(aggregate_get_group(t->s.aggregate, 0).pool, "worker-*");
	pools_free(t);
}

/* ---- threads that change their names ---- */

static void
check_renamed(bool swept_first)
{
	struct bench *t = pools_new();
	struct wait_sums then = sums_of(300000, 100000);
	struct wait_sums end = sums_of(600000, 400000);

	if (!swept_first)
		says(t, 2, "old-1", WAIT_NAMED, BEGIN + 400000, &then);
	is_swept(t, 2, "new-1", END, &end);
	if (swept_first)
		says(t, 2, "old-1", WAIT_NAMED, BEGIN + 400000, &then);
	close_slot(t);
	CHECK_INT(lock_ns(t, "old-*"), 100000);
	CHECK_INT(lock_ns(t, "new-*"), 300000);
	pools_free(t);
}

TEST(a_wait_is_of_the_name_that_its_thread_had)
{
	check_renamed(false);
	check_renamed(true);
}

/* Between the slot's end and its sweep. */
TEST(a_name_that_is_given_behind_the_slot_is_none_of_it)
{
	struct bench *t = pools_new();
	struct wait_sums end = sums_of(600000, 400000);
	struct wait_sums then = sums_of(700000, 450000);

	is_swept(t, 2, "new-1", END, &end);
	says(t, 2, "old-1", WAIT_NAMED, END + 150000, &then);
	close_slot(t);
	CHECK_INT(lock_ns(t, "old-*"), 400000);
	CHECK_INT(lock_ns(t, "new-*"), 0);
	begin_next(t);
	end = sums_of(1000000, 1000000);
	is_swept(t, 2, "new-1", END + LENGTH, &end);
	close_slot(t);
	CHECK_INT(lock_ns(t, "old-*"), 50000);
	CHECK_INT(lock_ns(t, "new-*"), 550000);
	pools_free(t);
}

/* What waited in the ring while the sweep saw the new one. */
TEST(an_older_event_brings_no_older_name)
{
	struct bench *t = pools_new();
	struct wait_sums end = sums_of(600000, 400000);
	struct sample_event e = event_of(t, 2, "old-1");

	is_swept(t, 2, "new-1", END, &end);
	e.type = 1;
	e.flags = EVENT_WAIT;
	e.n_user = 0;
	e.value = 1;
	e.time_ns = (uint64_t)BEGIN + 1000;
	e.wait = (struct wait_event){.part = WAIT_BEGUN, .thread = 2};
	waits_event(&t->s, &e, HEAD);
	close_slot(t);
	CHECK_INT(lock_ns(t, "new-*"), 400000);
	pools_free(t);
}

/* ---- the table itself ---- */

static bool
named_by_number(void *arg, uint32_t stack, char *out)
{
	(void)arg;
	snprintf(out, 16, "f%u", (unsigned)stack);
	return stack != 0;
}

TEST(a_thread_is_known_as_long_as_it_is_the_same)
{
	struct thread_entries *t = thread_entries_new();
	struct thread_key key = {10, 11, 1, 5}, other = key;

	thread_entry_met(t, &key, 0);
	CHECK(thread_entry_waits(t, &key));
	thread_entries_settle(t, named_by_number, NULL);
	CHECK_STR(thread_entry_of(t, &key), ""); /* its stack had no names */
	CHECK(!thread_entry_waits(t, &key));
	thread_entry_met(t, &key, 7);
	thread_entries_settle(t, named_by_number, NULL);
	CHECK_STR(thread_entry_of(t, &key), "f7");
	other.exec_id = 2;
	CHECK_STR(thread_entry_of(t, &other), "");
	for (int i = 0; i < 20; i++)
		thread_entries_settle(t, named_by_number, NULL);
	CHECK_STR(thread_entry_of(t, &key), ""); /* nobody asked for it */
	thread_entries_free(t);
	CHECK_STR(thread_entry_of(NULL, &key), "");
}

/* As those of a program that runs coroutines. */
TEST(a_thread_that_begins_with_this_and_that_is_not_known)
{
	struct thread_entries *t = thread_entries_new();
	struct thread_key key = {10, 11, 1, 5}, other = {10, 12, 1, 5};

	thread_entry_met(t, &key, 7);
	thread_entry_met(t, &key, 8);
	thread_entry_met(t, &other, 7);
	thread_entries_settle(t, named_by_number, NULL);
	CHECK_STR(thread_entry_of(t, &key), "");
	CHECK_STR(thread_entry_of(t, &other), "f7");
	thread_entry_met(t, &key, 7);
	thread_entry_met(t, &other, 8);
	CHECK(!thread_entry_waits(t, &key));
	thread_entries_settle(t, named_by_number, NULL);
	CHECK_STR(thread_entry_of(t, &key), "");
	CHECK_STR(thread_entry_of(t, &other), "");
	thread_entries_free(t);
}

int
main(void)
{
	log_init("test_pools", LOG_L_ERR);
	RUN(short_waits_are_of_the_pool_of_what_their_thread_began_with);
	RUN(so_are_those_of_one_that_ends_in_the_slot);
	RUN(the_first_thread_is_its_name_in_every_slot);
	RUN(another_one_is_told_by_its_function_in_every_slot);
	RUN(names_are_compared_as_they_are_shown);
	RUN(of_a_process_that_nobody_looked_at_names_tell_nothing);
	RUN(a_wait_is_of_the_name_that_its_thread_had);
	RUN(a_name_that_is_given_behind_the_slot_is_none_of_it);
	RUN(an_older_event_brings_no_older_name);
	RUN(a_thread_is_known_as_long_as_it_is_the_same);
	RUN(a_thread_that_begins_with_this_and_that_is_not_known);
	return test_done();
}
