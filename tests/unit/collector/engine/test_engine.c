/*
 * From events to blocks, without BPF and without root: the events are made
 * here, about this very process.
 */
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/slots.h"
#include "collector/engine/emit.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/engine/service_faults.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "collector/profile/profiles.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_kernel.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/model/types.h"
#include "tests/unit/collector/engine/engine_bench.h"
#include "tests/unit/test.h"

TEST(stack_root_first)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	char want[256];
	struct batch *b;

	/* Before the child has answered, and after. */
	resolve_event(&t->s, &e, sizeof(e));
	symbols_settle(t->s.symbols, 30 * NS_PER_S);
	e.value = 2;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(t->s.profiles[0].now.samples, 3);
	b = bench_slot(t);
	snprintf(want, sizeof(want),
	    "{pool=pool-*,process=%.15s,};root_function;leaf_function",
	    "test_engine");
	check_stack(b, t->service, want, 3);
	CHECK_INT(t->s.profiles[0].now.frames, 6);
	CHECK_INT(t->s.profiles[0].now.unsymbolised, 0);
	CHECK_INT(b->series[0].period, 10101010);
	batch_free(b);
	bench_free(t);
}

TEST(kernel_on_top)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	char want[256];
	struct batch *b;

	e.flags = EVENT_IN_KERNEL;
	e.n_kernel = 2;
	e.frames[3] = e.frames[1];
	e.frames[2] = e.frames[0];
	e.frames[0] = 0xffffffff81000010;
	e.frames[1] = 0xffffffff81000020;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	/* No kallsyms here: hidden kernel frames are one. */
	snprintf(want, sizeof(want), "{pool=pool-*,process=test_engine,}"
	    ";root_function;leaf_function;[kernel]");
	check_stack(b, t->service, want, 1);
	CHECK_INT(t->s.profiles[0].now.unsymbolised, 1);
	batch_free(b);
	bench_free(t);
}

TEST(kernel_thread)
{
	struct bench *t = bench_new();
	struct sample_event e = {.pid = 4000000, .start_ns = 1, .value = 1,
	    .flags = EVENT_KTHREAD | EVENT_IN_KERNEL, .n_kernel = 1,
	    .comm = "kworker/3:1-ev", .frames = {0xffffffff81000010}};
	struct batch *b;

	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, RESOLVE_EXITED, "{process=kworker/*:*-ev,};"
	    "[kernel]", 1);
	CHECK_INT(t->s.profiles[0].now.broken[BROKEN_NO_PROCESS], 0);
	batch_free(b);
	bench_free(t);
}

TEST(process_that_has_ended)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	struct batch *b;

	e.pid = 4000000;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, RESOLVE_EXITED,
	    "{pool=pool-*,process=pool-12,};[no process]", 1);
	CHECK_INT(t->s.profiles[0].now.broken[BROKEN_NO_PROCESS], 1);
	batch_free(b);
	bench_free(t);
}

/* Seen by the services, and gone when its mappings were to be read: the
 * kernel has told them.  (Files are not found here: names are the file's.) */
TEST(process_that_ended_before_its_mappings_were_read)
{
	struct bench *t = bench_new();
	struct process_watch_parts parts = {.services = t->services};
	struct sample_event e = own_event(t);
	struct process_event exec = {.kind = PROCESS_EXEC, .pid = getpid(),
	    .tid = getpid(), .time_ns = t->s.now_ns - 1000};
	const struct batch_block *k;
	char got[300] = "";
	struct batch *b;

	maps_free(t->s.maps);
	CHECK_OK(maps_new(&t->s.maps, services_table(t->services),
	    "/nowhere"));
	parts.maps = t->s.maps;
	CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
	tell_own_code(t, getpid(), &exec);
	e.time_ns = (uint64_t)t->s.now_ns;
	e.flags = EVENT_EH_FRAME;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	k = block_of(b, t->service);
	CHECK(k != NULL && k->n == 1);
	if (k != NULL && k->n == 1)
		path_of(b, b->entries[k->first].key, got, sizeof(got));
	CHECK(strstr(got, ";test_engine+0x") != NULL);
	CHECK(strstr(got, "[") == NULL);
	batch_free(b);
	process_watch_free(t->s.watch);
	t->s.watch = NULL;
	bench_free(t);
}

/* One whose origin the kernel has told: it has its parent's code and service,
 * or, from an exec on, the name of what it executed. */
TEST(short_lived_child_is_its_parents)
{
	struct bench *t = bench_new();
	const struct process_watch_parts parts = {.services = t->services,
	    .maps = t->s.maps};
	struct sample_event e = own_event(t);
	struct process_event fork = {.kind = PROCESS_FORK, .pid = 4000000,
	    .tid = 4000000, .parent = getpid()}, exec = {.kind = PROCESS_EXEC,
	    .pid = 4000000, .tid = 4000000, .comm = "grep"};
	struct batch *b;

	CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
	fork.time_ns = t->s.now_ns - 2000;
	exec.time_ns = t->s.now_ns - 1000;
	e.pid = e.tid = 4000000;
	e.time_ns = (uint64_t)fork.time_ns + 1;
	snprintf(e.comm, sizeof(e.comm), "%.15s", t->service);
	process_watch_event(t->s.watch, &fork, t->s.now_ns);
	process_watch_event(t->s.watch, &exec, t->s.now_ns);
	e.flags = EVENT_EH_FRAME;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, t->service, "{pool=test_engine,"
	    "process=test_engine,};root_function;leaf_function", 1);
	batch_free(b);
	aggregate_clear(t->s.aggregate);
	e.time_ns = (uint64_t)exec.time_ns + 1;
	snprintf(e.comm, sizeof(e.comm), "grep");
	e.n_user = 1;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, "grep",
	    "{pool=grep,process=grep,};[no mapping];[unknown]", 1);
	batch_free(b);
	aggregate_clear(t->s.aggregate);
	tell_own_code(t, 4000001, &exec);
	e.pid = e.tid = 4000001;
	e.n_user = 2;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, "by its file",
	    "{pool=grep,process=grep,};root_function;leaf_function", 1);
	batch_free(b);
	CHECK_INT(t->s.profiles[0].now.broken[BROKEN_NO_PROCESS], 0);
	process_watch_free(t->s.watch);
	t->s.watch = NULL;
	bench_free(t);
}

/* The frames of the only stack, behind its labels. */
static void
check_frames(struct bench *t, const struct sample_event *e, const char *want)
{
	struct batch *b;
	char stack[300];

	aggregate_clear(t->s.aggregate);
	resolve_event(&t->s, e, sizeof(struct sample_event));
	b = bench_slot(t);
	snprintf(stack, sizeof(stack), "{pool=pool-*,process=%.15s,}%s",
	    "test_engine", want);
	check_stack(b, t->service, stack, 1);
	batch_free(b);
}

/* For the host, and for the service. */
static void
check_broken(struct bench *t, enum broken why, int64_t want)
{
	CHECK_INT(t->s.profiles[0].now.broken[why], want);
	CHECK_INT(service_faults_of(t->s.profiles[0].faults, t->service)->
	    broken[why], want);
}

TEST(kernel_leaf_without_callers)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	char path[] = "/tmp/test_engine.XXXXXX";
	int fd = mkstemp(path);

	CHECK(dprintf(fd, "f0 T __x86_indirect_thunk_array\n") > 0);
	symbols_free(t->s.symbols);
	CHECK_OK(symbols_new(&t->s.symbols, path, NULL));
	close(fd);
	unlink(path);
	e.n_kernel = 1;
	e.kernel_cut = 1;
	memmove(e.frames + 1, e.frames, 2 * sizeof(e.frames[0]));
	e.frames[0] = 0xf8;
	check_frames(t, &e, ";root_function;leaf_function;"
	    "[no kernel callers];__x86_indirect_thunk_array");
	check_broken(t, BROKEN_KERNEL, 1);
	e.flags = EVENT_EH_FRAME; /* it lacks others, too: counted once */
	e.error = BROKEN_NO_ROW;
	check_frames(t, &e, ";[no unwind row];root_function;leaf_function;"
	    "[no kernel callers];__x86_indirect_thunk_array");
	check_broken(t, BROKEN_NO_ROW, 1);
	check_broken(t, BROKEN_KERNEL, 1);
	bench_free(t);
}

/* Whatever a stack was cut by stands at its root. */
TEST(a_stack_that_is_not_whole_says_so)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	char want[200];
	int why;

	for (why = BROKEN_NOT + 1; why <= BROKEN_TRAMPOLINE; why++) {
		if (why == BROKEN_NO_MAPPING)
			continue; /* it led to code of a mapping */
		e.flags = EVENT_EH_FRAME;
		e.error = (__u8)why;
		snprintf(want, sizeof(want), ";%s;root_function;leaf_function",
		    broken_reasons[why].mark);
		check_frames(t, &e, want);
		CHECK_INT(t->s.profiles[0].now.broken[why], 1);
	}
	e.error = BROKEN_NOT; /* frame pointers stood in */
	e.flags = EVENT_EH_FRAME | EVENT_PENDING;
	check_frames(t, &e,
	    ";[no unwind table yet];root_function;leaf_function");
	e.flags = 0;
	e.n_user = 1;
	check_frames(t, &e, ";[no frame pointer];leaf_function");
	e.error = BROKEN_NO_MEMORY;
	e.n_user = 0;
	check_frames(t, &e, ";[no user memory]");
	CHECK_INT(
	    service_faults_of(t->s.profiles[0].faults, t->service)->samples,
	    BROKEN_TRAMPOLINE + 2);
	CHECK_INT(service_faults_of(t->s.profiles[0].faults, t->service)->
	    broken[BROKEN_NO_TABLES], 2);
	bench_free(t);
}

/* In the first seconds that is how things are: health does not judge it. */
TEST(tables_have_time_to_come)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);

	e.flags = EVENT_EH_FRAME | EVENT_PENDING;
	e.table = UNWIND_NO_TABLE;
	t->s.began_ns = t->s.now_ns - 9 * NS_PER_S;
	check_frames(t, &e, ";[new code];root_function;leaf_function");
	t->s.began_ns = t->s.now_ns - 11 * NS_PER_S;
	check_frames(t, &e,
	    ";[no unwind table yet];root_function;leaf_function");
	CHECK(broken_reasons[BROKEN_NEW_CODE].natural);
	CHECK(!broken_reasons[BROKEN_NO_TABLES].natural);
	bench_free(t);
}

/* The walker did not know a mapping that is known by now: not the address is
 * strange, its tables came late. */
TEST(a_mark_says_why_a_walk_ended)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);

	e.flags = EVENT_EH_FRAME;
	e.error = BROKEN_NO_MAPPING;
	check_frames(t, &e, ";[new code];root_function;leaf_function");
	t->s.now_ns += 11 * NS_PER_S;
	check_frames(t, &e,
	    ";[no unwind table yet];root_function;leaf_function");
	e.n_user = 3;
	e.frames[2] = 0x123000;
	check_frames(t, &e, ";[no mapping];root_function;leaf_function");
	e.error = BROKEN_NO_ROW; /* a guess in code without rows led there */
	check_frames(t, &e, ";[no unwind row];root_function;leaf_function");
	bench_free(t);
}

/* A leaf in a library that has gone since: its callers are still known. */
TEST(an_unknown_leaf_keeps_its_callers)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);

	e.flags = EVENT_EH_FRAME;
	e.frames[0] = 0x123000;
	check_frames(t, &e, ";root_function;[unknown]");
	CHECK_INT(t->s.profiles[0].now.broken[BROKEN_NO_MAPPING], 0);
	e.n_user = 3; /* a caller that tables led through */
	e.frames[2] = e.frames[1];
	e.frames[1] = 0x123000;
	check_frames(t, &e, ";root_function;[unknown];[unknown]");
	e.flags = 0; /* by frame pointers it is nonsense */
	check_frames(t, &e, ";[no mapping];[unknown]");
	bench_free(t);
}

/* Every reason has a name, a mark and an explanation, all different. */
TEST(reasons)
{
	int i, j;

	for (i = BROKEN_NOT + 1; i < BROKEN_REASONS; i++) {
		const struct broken_reason *r = &broken_reasons[i];

		CHECK(broken_find(r->reason) == r);
		CHECK(r->mark[0] == '[' && r->why[0] != '\0');
		for (j = BROKEN_NOT + 1; j < i; j++)
			CHECK(strcmp(broken_reasons[j].mark, r->mark) != 0);
	}
	CHECK(broken_find("of another version") == NULL);
}

/* Each kind of broken stack is counted as what it is. */
TEST(broken_stacks)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	uint64_t *broken = t->s.profiles[0].now.broken;

	e.frames[1] = 0x123; /* no code there: the walk was nonsense */
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(broken[BROKEN_NO_MAPPING], 1);
	e.n_user = 1;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(broken[BROKEN_ONE_FRAME], 1);
	e.n_user = 0;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(broken[BROKEN_NO_STACK], 1);
	e.error = BROKEN_32BIT;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(broken[BROKEN_32BIT], 1);
	e = own_event(t);
	e.flags = EVENT_TRUNCATED;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(broken[BROKEN_TRUNCATED], 1);
	CHECK_INT(t->s.profiles[0].now.samples, 5);
	bench_free(t);
}

static int64_t
sum_of(const struct batch *b, const struct batch_block *k)
{
	int64_t sum = 0;
	uint32_t i;

	for (i = 0; k != NULL && i < k->n; i++)
		sum += b->entries[k->first + i].value;
	return sum;
}

TEST(many_services)
{
	struct bench *t = bench_new();
	struct aggregate_group g = {.process = "p", .pool = "", .cgroup = ""};
	char service[32];
	struct batch *b;
	int64_t sum = 0, other;
	size_t i;

	g.service = service;
	for (i = 0; i < 300; i++) {
		snprintf(service, sizeof(service), "service-%zu", i);
		CHECK(aggregate_add(t->s.aggregate,
		    &(struct aggregate_stack){.value = (int64_t)i + 1,
		    .samples = i + 1,
		    .group = aggregate_group(t->s.aggregate, &g)}));
	}
	b = bench_slot(t);
	CHECK(b->n_blocks <= SERVICES_MAX + 1);
	for (i = 0; i < b->n_blocks; i++)
		sum += sum_of(b, &b->blocks[i]);
	CHECK_INT(sum, 300 * 301 / 2); /* nothing is lost */
	other = sum_of(b, block_of(b, SERVICES_OTHER));
	CHECK(other >= 257 + 258);
	CHECK_INT(t->s.profiles[0].now.other_services, other);
	batch_free(b);
	bench_free(t);
}

/* When the rate changes within a slot, each sample counts in its own unit:
 * another rate is another series. */
TEST(two_rates_are_two_series)
{
	struct bench *t = bench_new();
	struct sample_event e = own_event(t);
	const struct batch_block *k;
	int64_t seen[2] = {0};
	struct batch *b;
	size_t i;

	e.period = 10101010;
	resolve_event(&t->s, &e, sizeof(e));
	resolve_event(&t->s, &e, sizeof(e));
	t->s.governor.level = 1;
	e.period = 20408163;
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	for (i = 0; i < b->n_blocks; i++) {
		k = &b->blocks[i];
		CHECK_INT(k->count, 1);
		if (b->series[k->series].period == 10101010)
			seen[0] += sum_of(b, k);
		else if (b->series[k->series].period == 20408163)
			seen[1] += sum_of(b, k);
		else
			CHECK(!"a period that was not set");
	}
	CHECK_INT(seen[0], 2);
	CHECK_INT(seen[1], 1);
	batch_free(b);
	bench_free(t);
}

/* One ring and one aggregate carry several types: each has series and counts
 * of its own, and what is not attached has none. */
TEST(two_types_are_two_profiles)
{
	static const struct profile locks = {.name = "lock_count"};
	struct bench *t = bench_new();
	struct engine_profile *p = &t->s.profiles[1];
	struct sample_event e = own_event(t);
	const struct batch_block *k;
	struct batch *b;
	int64_t sum = 0;
	size_t i, n = 0;

	t->s.n_profiles = 3;
	*p = (struct engine_profile){.row = &locks,
	    .type = types_find("lock_count"), .clock = {.period = 100},
	    .state = SOURCE_ATTACHED,
	    .faults = service_faults_new("lock_count")};
	t->s.profiles[2] = (struct engine_profile){.row = &locks,
	    .type = types_find("block_count"), .state = SOURCE_NOT_ATTACHED};
	resolve_event(&t->s, &e, sizeof(e));
	e.type = 1;
	e.period = 100;
	e.value = 3;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(t->s.profiles[0].now.samples, 1);
	CHECK_INT(p->now.samples, 3);
	b = bench_slot(t);
	for (i = 0; i < b->n_blocks; i++) {
		k = &b->blocks[i];
		CHECK(strcmp(batch_str(b, b->series[k->series].name),
		    "block_count") != 0);
		if (strcmp(batch_str(b, b->series[k->series].name),
		    "lock_count") != 0)
			continue;
		CHECK_STR(batch_str(b, b->series[k->series].unit), "count");
		CHECK_INT(b->series[k->series].period, 100);
		sum += sum_of(b, k);
		n++;
	}
	CHECK(n > 1); /* each service that lives is observed */
	CHECK_INT(sum, 3);
	CHECK_INT(service_faults_of(p->faults, t->service)->samples, 3);
	batch_free(b);
	service_faults_free(p->faults);
	bench_free(t);
}

/* The clock is set, forward and back, and the machine sleeps: each sample is
 * in one slot, and a slot that never was open is not there. */
struct jumps {
	struct bench *t;
	struct slots slots;
	int64_t wall_ns, mono_ns;
	uint64_t fed, stored, closed, last;
	int back; /* how often an earlier slot may be closed next */
};

static void
jumps_close(struct jumps *j, uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)j->t->s.border.slot_ns);

	if (j->closed > 0 && slot <= j->last) {
		CHECK(j->back > 0);
		j->back--;
	}
	emit_profiles(&j->t->s, slot, b);
	CHECK(!b->failed);
	for (size_t i = 0; i < aggregate_stacks(j->t->s.aggregate); i++)
		j->stored += (uint64_t)aggregate_get_stack(
		    j->t->s.aggregate, i).value;
	batch_free(b);
	aggregate_clear(j->t->s.aggregate);
	j->t->s.border.open_slot = j->slots.open;
	border_release(&j->t->s.border, engine_event, &j->t->s);
	j->last = slot;
	j->closed++;
}

/* As the daemon does: what was sampled before a jump is drained with the
 * clock that was, then the slots that are over are closed. */
static void
jumps_step(struct jumps *j, int64_t jump_ns)
{
	struct sample_event e = own_event(j->t);
	int64_t step_ns = random() % (4 * NS_PER_S);
	uint64_t slot;

	j->wall_ns += step_ns;
	j->mono_ns += step_ns;
	e.time_ns = (__u64)(j->mono_ns - random() % (step_ns + 1));
	engine_event(&j->t->s, &e, sizeof(e));
	j->fed++;
	j->wall_ns += jump_ns;
	j->t->s.border.wall_offset_ns = j->wall_ns - j->mono_ns;
	j->back += slots_update(&j->slots, j->wall_ns, j->mono_ns) ==
	    SLOTS_RESET;
	while (slots_next(&j->slots, &slot))
		jumps_close(j, slot);
}

TEST(a_jump_of_the_clock_loses_no_sample)
{
	struct jumps j = {.t = bench_new(),
	    .wall_ns = INT64_C(1795000000) * NS_PER_S, .mono_ns = NS_PER_S};
	struct engine *s = &j.t->s;
	uint64_t spans = 0;

	srandom(5);
	s->border.wall_offset_ns = j.wall_ns - j.mono_ns;
	slots_init(&j.slots, s->border.slot_ns, j.wall_ns, j.mono_ns);
	s->border.open_slot = j.slots.open;
	for (int i = 0; i < 3000; i++) {
		int64_t jump_ns = 0, length = random() % 1000 * NS_PER_S;

		if (random() % 40 == 0)
			jump_ns = random() % 2 == 0 ? length : -length;
		jumps_step(&j, jump_ns);
		spans += jump_ns > NS_PER_MS;
	}
	CHECK_INT(j.slots.open, s->border.open_slot);
	CHECK(j.closed > 100 && spans > 10 && j.slots.skipped > 100);
	/* The rest: the clock runs on, and nothing more is sampled. */
	for (int i = 0; i < 2000 && j.stored < j.fed; i++) {
		uint64_t slot;

		j.wall_ns += NS_PER_S;
		j.mono_ns += NS_PER_S;
		slots_update(&j.slots, j.wall_ns, j.mono_ns);
		while (slots_next(&j.slots, &slot))
			jumps_close(&j, slot);
	}
	CHECK_INT(j.stored, j.fed);
	CHECK_INT(s->profiles[0].now.samples, j.fed);
	CHECK_INT(s->profiles[0].now.held_full +
	    s->profiles[0].now.aggregate_full, 0);
	bench_free(j.t);
}

/* Every living process's service is observed, samples or not. */
TEST(nothing_ran)
{
	struct bench *t = bench_new();
	struct batch *b = bench_slot(t);
	const struct batch_block *k = block_of(b, t->service);

	CHECK(k != NULL && k->n == 0 && k->count == 1);
	batch_free(b);
	bench_free(t);
}

int
main(void)
{
	log_init("test_engine", LOG_L_ERR);
	RUN(stack_root_first);
	RUN(kernel_on_top);
	RUN(kernel_leaf_without_callers);
	RUN(kernel_thread);
	RUN(process_that_has_ended);
	RUN(short_lived_child_is_its_parents);
	RUN(process_that_ended_before_its_mappings_were_read);
	RUN(a_stack_that_is_not_whole_says_so);
	RUN(tables_have_time_to_come);
	RUN(a_mark_says_why_a_walk_ended);
	RUN(an_unknown_leaf_keeps_its_callers);
	RUN(reasons);
	RUN(broken_stacks);
	RUN(many_services);
	RUN(two_rates_are_two_series);
	RUN(two_types_are_two_profiles);
	RUN(nothing_ran);
	RUN(a_jump_of_the_clock_loses_no_sample);
	return test_done();
}
