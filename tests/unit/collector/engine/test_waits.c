/*
 * The waits of simulated threads, of this very process, against what they are
 * made of: no nanosecond is told twice or never, however late slots are closed.
 */
#include <linux/types.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/bpf/wait_sweep.h"
#include "collector/bpf/wait_time.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/engine/service_faults.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "collector/profile/profiles.h"
#include "collector/symbols/jit.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

#define SLOT 1000000
#define FIRST 1000 /* its number */
#define BEGIN ((int64_t)FIRST * SLOT)
#define SLOTS 40
#define THREADS 60
#define THRESHOLD 20000
#define HEAD offsetof(struct sample_event, frames)

struct thread {
	struct wait_thread t;
	int64_t next_ns, born_ns, dies_ns;
	uint64_t run_delay, queued;
};

struct bench {
	struct config config;
	struct services *services;
	struct engine s;
	struct sample_event head; /* of this process */
	struct thread threads[THREADS];
	bool queues;
	int64_t real[WAIT_STATES]; /* what they have lived */
	int64_t told[WAIT_STATES], profile[WAIT_STATES];
	int64_t births, deaths, watched;
	int64_t slots[SLOTS + 8], real_slots[SLOTS + 8];
};

static const struct aggregate_limits wide = {4096, 4096, 1u << 20};

static void
bench_engine(struct bench *t)
{
	struct engine *s = &t->s;

	s->config = &t->config;
	s->services = t->services;
	s->border.slot_ns = SLOT;
	s->border.open_slot = FIRST;
	s->n_profiles = 1;
	s->profiles[0] = (struct engine_profile){.row = &profile_offcpu,
	    .type = types_find("offcpu"), .state = SOURCE_ATTACHED};
	s->profiles[0].waits.threshold_ns = THRESHOLD;
	s->profiles[0].waits.idle_ns = THRESHOLD;
	s->now_ns = INT64_MAX / 2; /* its clock does not go on */
	s->aggregate = aggregate_new(&wide);
	s->profiles[0].faults = service_faults_new("offcpu");
	CHECK_OK(maps_new(&s->maps, services_table(t->services), "/proc"));
	CHECK_OK(symbols_new(&s->symbols, NULL, NULL));
	s->jits = jits_new(s->symbols, "/proc");
	s->waits = waits_new(SLOT);
	waits_begin(s->waits, BEGIN + SLOT, BEGIN);
}

static struct bench *
bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));
	const struct process *p;

	CHECK_OK(config_load(&t->config, NULL));
	t->config.every_process = true;
	t->config.short_lived_ns = 0;
	CHECK_OK(services_new(&t->services, &t->config));
	p = services_process(t->services, getpid(), 0);
	CHECK(p != NULL);
	if (p != NULL)
		p->read->named_ns = 1; /* before all that happens here */
	t->head = (struct sample_event){.pid = (__u32)getpid(), .tid = 1,
	    .start_ns = p != NULL ? p->start_ns : 0, .exec_id = 1,
	    .period = 1, .flags = EVENT_WAIT | EVENT_IN_KERNEL, .comm = "x"};
	bench_engine(t);
	return t;
}

static void
bench_free(struct bench *t)
{
	waits_free(t->s.waits);
	jits_free(t->s.jits);
	symbols_free(t->s.symbols);
	maps_free(t->s.maps);
	aggregate_free(t->s.aggregate);
	service_faults_free(t->s.profiles[0].faults);
	border_fini(&t->s.border);
	services_free(t->services);
	config_free(&t->config);
	free(t);
}

/* ---- threads, and what the probe says of them ---- */

static const struct wait_slots slots = {BEGIN, SLOT};

static void
add_real(struct bench *t, int state, int64_t from, int64_t to)
{
	int64_t at, end;

	t->real[state] += to - from;
	for (; from < to; from = end) {
		at = (from - BEGIN) / SLOT;
		end = BEGIN + (at + 1) * SLOT;
		end = end < to ? end : to;
		t->real_slots[at] += end - from;
	}
}

/* From a few ns to some slots. */
static int64_t
some_ns(void)
{
	return 1 + rand() % (1 << (4 + rand() % 18));
}

static void
thread_comes(struct bench *t, struct thread *x)
{
	int64_t wait_ns = x->next_ns - (int64_t)x->t.since_ns;
	struct sample_event e = t->head;

	add_real(t, x->t.state, (int64_t)x->t.since_ns,
	    x->next_ns - (int64_t)x->queued);
	add_real(t, WAIT_RUN_QUEUE, x->next_ns - (int64_t)x->queued,
	    x->next_ns);
	x->t.reason = x->t.state;
	x->t.left_ns = x->t.since_ns;
	x->t.state = WAIT_ON_CPU;
	x->t.since_ns = (uint64_t)x->next_ns;
	x->run_delay += x->queued;
	if (wait_ns < THRESHOLD)
		return;
	e.time_ns = x->t.since_ns;
	e.value = (uint64_t)wait_ns;
	e.wait = (struct wait_event){.thread = x->t.number,
	    .queued_ns = x->queued, .part = WAIT_WHOLE,
	    .reason = x->t.reason};
	waits_event(&t->s, &e, HEAD);
}

/* It has left: until next_ns, of which the last part is on the run queue. */
static void
thread_waits(const struct bench *t, struct thread *x)
{
	int64_t wait_ns = x->next_ns - (int64_t)x->t.since_ns;

	x->queued = x->t.state == WAIT_RUN_QUEUE ? (uint64_t)wait_ns :
	    t->queues && rand() % 3 == 0 ?
	    (uint64_t)(rand() % wait_ns) : 0;
}

/* How much of that is over. */
static uint64_t
thread_queued(const struct thread *x, int64_t now_ns)
{
	int64_t woken_ns = x->next_ns - (int64_t)x->queued;

	return now_ns > woken_ns ? (uint64_t)(now_ns - woken_ns) : 0;
}

static void
thread_leaves(struct bench *t, struct thread *x)
{
	struct sample_event e = t->head;

	add_real(t, WAIT_ON_CPU, (int64_t)x->t.since_ns, x->next_ns);
	wait_settle(&x->t, x->run_delay, &slots);
	wait_add(&x->t, WAIT_ON_CPU, x->t.since_ns, (uint64_t)x->next_ns,
	    &slots);
	x->t.since_ns = (uint64_t)x->next_ns;
	x->t.run_delay = x->run_delay;
	x->t.state = (__u8)(WAIT_RUN_QUEUE + rand() % (WAIT_STATES - 1));
	if (x->next_ns < x->dies_ns)
		return;
	x->t.state = WAIT_GONE;
	e.time_ns = x->t.since_ns;
	e.wait = (struct wait_event){.thread = x->t.number,
	    .part = WAIT_DIED};
	memcpy(e.frames, &x->t.sums, sizeof(x->t.sums));
	waits_event(&t->s, &e, HEAD + sizeof(x->t.sums));
}

/* All that happens until then is told. */
static void
threads_go_on(struct bench *t, int64_t now_ns)
{
	struct thread *x;

	for (x = t->threads; x < t->threads + THREADS; x++)
		while (x->t.state != WAIT_GONE && x->next_ns <= now_ns) {
			if (x->t.state == WAIT_ON_CPU)
				thread_leaves(t, x);
			else
				thread_comes(t, x);
			x->next_ns += some_ns();
			if (x->t.state != WAIT_ON_CPU)
				thread_waits(t, x);
		}
}

static void
threads_sweep(struct bench *t, int64_t now_ns)
{
	static struct wait_swept r;
	struct thread *x;

	for (x = t->threads; x < t->threads + THREADS; x++) {
		if (x->t.state == WAIT_GONE || x->born_ns > now_ns)
			continue;
		r.size = offsetof(struct wait_swept, event) + HEAD;
		r.now_ns = (uint64_t)now_ns;
		r.run_delay = x->run_delay;
		r.thread = x->t;
		r.event = t->head;
		r.event.time_ns = r.now_ns;
		r.event.wait = (struct wait_event){.part = WAIT_GOING,
		    .thread = x->t.number, .reason = x->t.state};
		if (x->t.state != WAIT_ON_CPU)
			r.event.wait.queued_ns = thread_queued(x, now_ns);
		waits_swept(&t->s, &r);
	}
}

static void
threads_begin(struct bench *t)
{
	size_t i;

	for (i = 0; i < THREADS; i++) {
		struct thread *x = &t->threads[i];

		x->born_ns = BEGIN + rand() % (SLOTS * SLOT / 2);
		x->dies_ns = x->born_ns + rand() % (SLOTS * SLOT / 3);
		x->next_ns = x->born_ns + some_ns();
		x->t.number = i + 1;
		x->t.state = WAIT_RUN_QUEUE;
		x->t.since_ns = (uint64_t)x->born_ns;
		thread_waits(t, x);
		x->t.sums.born_ns = x == t->threads ? 0 :
		    (uint64_t)x->born_ns;
	}
}

/* ---- what is told ---- */

static int
state_of(const char *name)
{
	int i = 0;

	while (i < WAIT_STATES - 1 && strcmp(name,
	    resolve_state_name((enum wait_state)i)) != 0)
		i++;
	return i;
}

static void
take_profile(struct bench *t)
{
	const struct aggregate *a = t->s.aggregate;
	size_t i;

	for (i = 0; i < aggregate_stacks(a); i++) {
		struct aggregate_stack k = aggregate_get_stack(a, i);
		struct aggregate_group g = aggregate_get_group(a, k.group);

		t->profile[state_of(g.reason)] += k.value;
	}
	aggregate_clear(t->s.aggregate);
}

static void
take_times(struct bench *t, const struct batch *b, uint64_t slot)
{
	struct series_desc d;
	struct label labels[4];
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		if (strcmp(d.name, "thread_births_total") == 0) {
			t->births += b->blocks[i].increase;
			continue;
		}
		if (strcmp(d.name, "thread_deaths_total") == 0) {
			t->deaths += b->blocks[i].increase;
			continue;
		}
		if (strcmp(d.name, "memlens_profile_watched_seconds_total") ==
		    0) {
			t->watched += b->blocks[i].increase;
			continue;
		}
		t->told[state_of(label_find(d.labels, d.n_labels, "state"))] +=
		    b->blocks[i].increase;
		t->slots[slot - FIRST] += b->blocks[i].increase;
	}
}

static void
event_of_ring(void *arg, const struct sample_event *e, size_t size)
{
	waits_event(arg, e, size);
}

static void
close_slot(struct bench *t, uint64_t slot, int64_t now_ns)
{
	struct batch *b = batch_new(SLOT);
	int64_t end_ns = (int64_t)(slot + 1) * SLOT;

	threads_go_on(t, now_ns);
	waits_end(t->s.waits, end_ns);
	threads_sweep(t, now_ns);
	waits_close_slot(&t->s, slot, b);
	take_times(t, b, slot);
	take_profile(t);
	batch_free(b);
	t->s.border.open_slot++;
	waits_begin(t->s.waits, end_ns + SLOT, now_ns);
	border_release(&t->s.border, event_of_ring, &t->s);
}

/* Closes each slot at most so many ns after its end. */
static void
live(struct bench *t, unsigned seed, int64_t late_ns, bool queues)
{
	int64_t now_ns = BEGIN, end_ns, i;

	srand(seed);
	t->queues = queues;
	threads_begin(t);
	for (i = 0; i < SLOTS + 8; i++) {
		end_ns = BEGIN + (i + 1) * SLOT + rand() % late_ns;
		if (i > SLOTS)
			end_ns = BEGIN + (i + 1) * SLOT;
		if (now_ns < end_ns)
			now_ns = end_ns;
		threads_go_on(t, now_ns - rand() % SLOT / 2);
		close_slot(t, (uint64_t)(FIRST + i), now_ns);
	}
}

/* exact: of each state. */
static void
check_totals(const struct bench *t, bool exact)
{
	int64_t real = 0, told = 0, profile = 0;
	int i;

	for (i = 0; i < WAIT_STATES; i++) {
		if (exact) {
			CHECK_INT(t->told[i], t->real[i]);
			CHECK_INT(t->profile[i], i == WAIT_ON_CPU ? 0 :
			    t->real[i]);
		}
		real += t->real[i];
		told += t->told[i];
		profile += t->profile[i];
	}
	CHECK(real > 0);
	CHECK_INT(told, real);
	CHECK_INT(t->births, THREADS - 1); /* one was there before */
	CHECK_INT(t->deaths, THREADS);
	CHECK_INT(profile, told - t->told[WAIT_ON_CPU]);
	CHECK_INT(waits_threads(t->s.waits), 0);
}

static void
check(int64_t late_ns, bool queues)
{
	unsigned seed;
	int i;

	for (seed = 1; seed <= 10; seed++) {
		struct bench *t = bench_new();

		live(t, seed, late_ns, queues);
		check_totals(t, late_ns < SLOT || !queues);
		for (i = 0; i < SLOTS + 8 && late_ns < SLOT; i++)
			CHECK_INT(t->slots[i], t->real_slots[i]);
		bench_free(t);
	}
}

TEST(each_slot_has_its_time)
{
	check(SLOT / 4, false);
	check(SLOT * 9 / 10, false);
}

/* Who begins and stops in the midst of slots has not seen what lies before and
 * behind, and says how much it has. */
TEST(what_is_watched_of_slots_is_told)
{
	struct bench *t = bench_new();

	for (size_t i = 0; i < THREADS; i++)
		t->threads[i].t.state = WAIT_GONE; /* there are none */
	waits_watch(t->s.waits, BEGIN + 300000);
	close_slot(t, FIRST, BEGIN + SLOT);
	CHECK_INT(t->watched, SLOT - 300000);
	close_slot(t, FIRST + 1, BEGIN + 2 * SLOT);
	CHECK_INT(t->watched, 2 * SLOT - 300000);
	waits_stop(t->s.waits, BEGIN + 2 * SLOT + 400000);
	close_slot(t, FIRST + 2, BEGIN + 2 * SLOT + 400000);
	CHECK_INT(t->watched, 2 * SLOT + 100000);
	bench_free(t);
}

TEST(each_slot_has_its_time_with_run_queues)
{
	check(SLOT / 4, true);
}

TEST(no_time_is_told_twice_or_lost_when_slots_are_late)
{
	check(SLOT * 27 / 10, false);
	check(SLOT * 6, false);
	check(SLOT * 27 / 10, true);
}

TEST(a_named_thread_is_no_pool_by_its_entry)
{
	struct bench *t = bench_new();
	struct sample_event e = t->head;

	e.flags = EVENT_EH_FRAME;
	e.value = 1;
	e.n_user = 2;
	e.frames[0] = (uintptr_t)check;
	e.frames[1] = (uintptr_t)live + 1;
	resolve_event(&t->s, &e, sizeof(e));
	memcpy(e.comm, "test_waits", 11);
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(aggregate_groups(t->s.aggregate), 2);
	CHECK(!aggregate_get_group(t->s.aggregate, 0).by_entry);
	CHECK(aggregate_get_group(t->s.aggregate, 1).by_entry);
	bench_free(t);
}

/* An event may not say which program its process runs. */
TEST(an_image_that_is_not_known_is_no_new_one)
{
	struct bench *t = bench_new();
	struct process *p = services_process(t->services, getpid(), 0);
	uint32_t image;

	process_executes(p, 3);
	image = p->image;
	process_executes(p, 0);
	process_executes(p, 3);
	CHECK_INT(p->image, image);
	process_executes(p, 4);
	CHECK_INT(p->image, image + 1);
	bench_free(t);
}

/* An older program's number comes late; one that is read is no news, unless it
 * is executed behind that. */
TEST(an_image_that_is_older_is_no_new_one)
{
	struct bench *t = bench_new();
	struct process *p = services_process(t->services, getpid(), 0);
	uint32_t image;

	process_executes(p, UINT32_MAX);
	image = p->image;
	process_executes(p, 2);
	process_executes(p, UINT32_MAX);
	process_executes(p, 2);
	CHECK_INT(p->image, image + 1);
	process_renew(p);
	process_executes(p, 1);
	process_executes(p, 3);
	CHECK_INT(p->image, image + 1);
	process_renew(p);
	process_executed(p, 1);
	process_executes(p, 4);
	CHECK_INT(p->image, image + 2);
	bench_free(t);
}

static void
check_who(struct bench *t, uint64_t time_ns, uint32_t exec_id,
    const char *name)
{
	struct sample_event e = t->head;
	struct aggregate_group g;

	e.flags = EVENT_EH_FRAME;
	e.value = e.n_user = 1;
	e.time_ns = time_ns;
	e.exec_id = exec_id;
	aggregate_clear(t->s.aggregate);
	resolve_event(&t->s, &e, sizeof(e));
	g = aggregate_get_group(t->s.aggregate, 0);
	CHECK_STR(g.process, name);
	CHECK_STR(g.service, name);
}

/* A sample has the name of the program that it is of, in whichever order it,
 * the exec and what /proc says come: a change of its name is an exec here. */
TEST(a_sample_is_of_the_program_of_its_time)
{
	static const bool late[] = {false, true};
	const struct process_event exec = {.kind = PROCESS_EXEC,
	    .pid = getpid(), .tid = getpid(), .time_ns = 1000,
	    .comm = "after"};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct bench *t = bench_new();
		const struct process_watch_parts parts = {
		    .services = t->services, .maps = t->s.maps};

		CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
		prctl(PR_SET_NAME, "after");
		process_watch_event(t->s.watch, &exec, t->s.now_ns);
		if (!late[i])
			check_who(t, 999, 1, "test_waits");
		check_who(t, 1001, 2, "after");
		check_who(t, 999, 1, "test_waits");
		check_who(t, 1002, 2, "after");
		prctl(PR_SET_NAME, "test_waits");
		process_watch_free(t->s.watch);
		bench_free(t);
	}
}

/* ---- a change of the service in a slot ---- */

static int64_t
profile_of(const struct bench *t, const char *service, const char *reason)
{
	const struct aggregate *a = t->s.aggregate;
	int64_t sum = 0;
	size_t i;

	for (i = 0; i < aggregate_stacks(a); i++) {
		struct aggregate_stack k = aggregate_get_stack(a, i);
		struct aggregate_group g = aggregate_get_group(a, k.group);

		if (strcmp(g.service, service) == 0 &&
		    strcmp(g.reason, reason) == 0)
			sum += k.value;
	}
	return sum;
}

static int64_t
time_of(const struct batch *b, const char *service, const char *state)
{
	struct series_desc d;
	struct label l[4];
	int64_t sum = 0;
	const char *in;
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, l, 4);
		in = label_find(d.labels, d.n_labels, "state");
		if (in != NULL && strcmp(in, state) == 0 && strcmp(service,
		    label_find(d.labels, d.n_labels, "service")) == 0)
			sum += b->blocks[i].increase;
	}
	return sum;
}

/* The thread waits for a lock from `from` to `to`, and runs before it. */
static void
waits_from(struct bench *t, struct wait_thread *x, int64_t from, int64_t to)
{
	struct sample_event e = t->head;

	wait_add(x, WAIT_ON_CPU, x->since_ns, (uint64_t)(BEGIN + from),
	    &slots);
	wait_add(x, WAIT_LOCK, (uint64_t)(BEGIN + from),
	    (uint64_t)(BEGIN + to), &slots);
	x->since_ns = (uint64_t)(BEGIN + to);
	e.time_ns = x->since_ns;
	e.value = (uint64_t)(to - from);
	e.wait = (struct wait_event){.thread = x->number, .part = WAIT_WHOLE,
	    .reason = WAIT_LOCK};
	if (to - from >= THRESHOLD)
		waits_event(&t->s, &e, HEAD);
}

static void
sweep_one(struct bench *t, const struct wait_thread *x)
{
	static struct wait_swept r;

	r.size = offsetof(struct wait_swept, event) + HEAD;
	r.now_ns = BEGIN + SLOT + 1000;
	r.thread = *x;
	r.event = t->head;
	r.event.time_ns = r.now_ns;
	r.event.wait = (struct wait_event){.part = WAIT_GOING,
	    .thread = x->number};
	waits_swept(&t->s, &r);
}

/* Of a slot in which a program executes another one: each service has in the
 * profile what it has in the states of its threads. */
TEST(a_wait_is_of_one_service)
{
	struct process_event exec = {.kind = PROCESS_EXEC, .pid = getpid(),
	    .tid = getpid(), .time_ns = BEGIN + 400000, .comm = "after"};
	struct wait_thread x = {.number = 1, .since_ns = BEGIN};
	struct bench *t = bench_new();
	const struct process_watch_parts parts = {.services = t->services,
	    .maps = t->s.maps};
	struct batch *b = batch_new(SLOT);

	CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
	waits_from(t, &x, 100000, 300000);
	prctl(PR_SET_NAME, "after");
	process_watch_event(t->s.watch, &exec, t->s.now_ns);
	waits_from(t, &x, 500000, 550000);
	waits_from(t, &x, 600000, 610000);
	sweep_one(t, &x);
	waits_close_slot(&t->s, FIRST, b);
	CHECK_INT(time_of(b, "test_waits", "lock"), 200000);
	CHECK_INT(profile_of(t, "test_waits", "lock"), 200000);
	CHECK_INT(time_of(b, "after", "lock"), 60000);
	CHECK_INT(profile_of(t, "after", "lock"), 60000);
	CHECK_INT(time_of(b, "after", "on cpu"), SLOT - 260000);
	prctl(PR_SET_NAME, "test_waits");
	process_watch_free(t->s.watch);
	t->s.watch = NULL;
	batch_free(b);
	bench_free(t);
}

/* Of polls that go on as the slot ends, those of a thread that has waited for
 * a latch so may be for a lock. */
TEST(who_waits_for_a_latch_is_not_idle)
{
	struct wait_thread x = {.number = 1, .state = WAIT_POLL,
	    .since_ns = BEGIN + SLOT - 2 * THRESHOLD};
	struct bench *t = bench_new();

	t->s.profiles[0].waits.idle_ns = 4 * THRESHOLD;
	sweep_one(t, &x);
	CHECK_INT(profile_of(t, "test_waits", "poll"), 0);
	x.number = 2;
	x.latches = 1;
	sweep_one(t, &x);
	CHECK_INT(profile_of(t, "test_waits", "poll"), 2 * THRESHOLD);
	bench_free(t);
}

int
main(void)
{
	log_init("test_waits", LOG_L_ERR);
	RUN(each_slot_has_its_time);
	RUN(what_is_watched_of_slots_is_told);
	RUN(each_slot_has_its_time_with_run_queues);
	RUN(no_time_is_told_twice_or_lost_when_slots_are_late);
	RUN(a_named_thread_is_no_pool_by_its_entry);
	RUN(an_image_that_is_not_known_is_no_new_one);
	RUN(an_image_that_is_older_is_no_new_one);
	RUN(a_sample_is_of_the_program_of_its_time);
	RUN(a_wait_is_of_one_service);
	RUN(who_waits_for_a_latch_is_not_idle);
	return test_done();
}
