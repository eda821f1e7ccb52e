/*
 * The table of locks: which make room for others, and what is said where there
 * is none.
 */
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/engine/engine.h"
#include "collector/engine/locks.h"
#include "collector/engine/resolve.h"
#include "collector/engine/service_faults.h"
#include "collector/process/process.h"
#include "collector/process/services.h"
#include "collector/profile/profiles.h"
#include "collector/symbols/jit.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

#define FIRST 4096 /* the first lock's address */
#define NOBODY 0x7ffffff0 /* no process has this pid */

struct bench {
	struct config config;
	struct services *services;
	struct engine s;
	const char *service;
	struct sample_event own, dead; /* waits of processes */
};

static const struct aggregate_limits wide = {4096, 4096, 1u << 20};

static void
bench_profile(struct bench *t, size_t i, const char *name)
{
	t->s.profiles[i] = (struct engine_profile){.row = &profile_offcpu,
	    .type = types_find(name), .state = SOURCE_ATTACHED,
	    .faults = service_faults_new(name)};
	t->s.n_profiles = i + 1;
}

static struct bench *
bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));
	struct engine *s = &t->s;
	const struct process *p;

	CHECK_OK(config_load(&t->config, NULL));
	t->config.every_process = true;
	t->config.short_lived_ns = 0;
	CHECK_OK(services_new(&t->services, &t->config));
	p = services_process(t->services, getpid(), 0);
	CHECK(p != NULL);
	t->service = p->read->service;
	t->own = (struct sample_event){.pid = (__u32)getpid(), .tid = 1,
	    .start_ns = p->start_ns, .exec_id = 1, .period = 1, .value = 1000,
	    .flags = EVENT_WAIT | EVENT_IN_KERNEL, .comm = "x",
	    .wait = {.part = WAIT_WHOLE, .reason = WAIT_LOCK}};
	t->dead = t->own;
	t->dead.pid = NOBODY;
	s->config = &t->config;
	s->services = t->services;
	s->border.slot_ns = 1000000;
	s->now_ns = INT64_MAX / 2;
	s->aggregate = aggregate_new(&wide);
	bench_profile(t, 0, "offcpu");
	bench_profile(t, 1, "lock_holder");
	CHECK_OK(maps_new(&s->maps, services_table(t->services), "/proc"));
	CHECK_OK(symbols_new(&s->symbols, NULL, NULL));
	s->jits = jits_new(s->symbols, "/proc");
	s->locks = locks_new();
	locks_set_type(s->locks, LOCK_HOLDER, 1);
	return t;
}

static void
bench_free(struct bench *t)
{
	locks_free(t->s.locks);
	jits_free(t->s.jits);
	symbols_free(t->s.symbols);
	maps_free(t->s.maps);
	aggregate_free(t->s.aggregate);
	service_faults_free(t->s.profiles[0].faults);
	service_faults_free(t->s.profiles[1].faults);
	services_free(t->services);
	config_free(&t->config);
	free(t);
}

/* Waits once for each of n locks from the i-th on; how many have a number. */
static size_t
wait_for(struct bench *t, const struct sample_event *of, size_t i, size_t n)
{
	struct sample_event e = *of;
	size_t numbers = 0;

	for (n += i; i < n; i++) {
		e.wait.address = FIRST + 8 * i;
		numbers += locks_number(&t->s, &e) != LOCKS_FULL;
	}
	return numbers;
}

TEST(processes_that_ended_give_their_locks_back)
{
	struct bench *t = bench_new();
	size_t i;

	CHECK_INT(wait_for(t, &t->dead, 0, 3 * LOCKS_MAX), 2 * LOCKS_MAX);
	for (i = 0; i < 3; i++)
		locks_begin_slot(&t->s);
	CHECK_INT(wait_for(t, &t->own, 0, 3 * LOCKS_MAX), 2 * LOCKS_MAX);
	bench_free(t);
}

TEST(what_was_waited_for_last_stays)
{
	struct bench *t = bench_new();
	const size_t last = LOCKS_MAX - 1;

	CHECK_INT(wait_for(t, &t->own, 0, LOCKS_MAX), LOCKS_MAX);
	locks_begin_slot(&t->s);
	CHECK_INT(wait_for(t, &t->own, last, 1), 1);
	CHECK_INT(wait_for(t, &t->own, LOCKS_MAX, LOCKS_MAX), LOCKS_MAX);
	locks_begin_slot(&t->s);
	/* It needs no new place. */
	CHECK_INT(wait_for(t, &t->own, last, 1), 1);
	CHECK_INT(wait_for(t, &t->own, 5 * LOCKS_MAX, 2 * LOCKS_MAX),
	    LOCKS_MAX);
	bench_free(t);
}

/* However many there are in each slot, the next one has room. */
TEST(living_processes_make_room)
{
	struct bench *t = bench_new();
	size_t i;

	for (i = 0; i < 8; i++) {
		CHECK(wait_for(t, &t->own, i * 3 * LOCKS_MAX, 3 * LOCKS_MAX)
		    >= LOCKS_MAX);
		locks_begin_slot(&t->s);
	}
	bench_free(t);
}

TEST(who_ended_a_wait_for_one_lock_too_many_is_lost)
{
	struct bench *t = bench_new();
	struct sample_event e = t->own;
	const struct account_profile *now = &t->s.profiles[1].now;

	e.wait.part = WAIT_WOKEN;
	e.wait.pid = e.pid;
	e.wait.queued_ns = e.start_ns;
	e.wait.address = FIRST;
	resolve_event(&t->s, &e, offsetof(struct sample_event, frames));
	CHECK_INT(now->samples, 1);
	CHECK_INT(now->locks_full, 0);
	wait_for(t, &t->own, 0, 2 * LOCKS_MAX);
	e.wait.address = 8;
	resolve_event(&t->s, &e, offsetof(struct sample_event, frames));
	CHECK_INT(now->samples, 1);
	CHECK_INT(now->locks_full, 1);
	CHECK_INT(service_faults_of(t->s.profiles[1].faults,
	    t->service)->lost[LOST_LOCKS_FULL], 1);
	bench_free(t);
}

int
main(void)
{
	RUN(processes_that_ended_give_their_locks_back);
	RUN(what_was_waited_for_last_stays);
	RUN(living_processes_make_room);
	RUN(who_ended_a_wait_for_one_lock_too_many_is_lost);
	return test_done();
}
