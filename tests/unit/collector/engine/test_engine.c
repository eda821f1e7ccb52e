/*
 * From events to blocks, without BPF and without root: the events are made
 * here, about this very process.
 */
#include <linux/types.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
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
#include "tests/unit/test.h"

#define SLOT 1000

void leaf_function(void);
void root_function(void);

__attribute__((noinline)) void
leaf_function(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) void
root_function(void)
{
	__asm__ volatile("nop; nop");
}

struct bench {
	struct config config;
	struct services *services;
	struct engine s;
	uint64_t start_ns;
	char service[64];
};

static const struct aggregate_limits wide = {4096, 4096, 1u << 20};

static struct bench *
bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));
	const struct process *p;

	CHECK_OK(config_load(&t->config, NULL));
	t->config.every_process = true;
	t->config.short_lived_ns = 0;
	t->config.n_services = 1;
	t->config.services[0] = (struct config_service){
	    .name = strdup("by its file"), .comm = strdup("grep"),
	    .command = strdup("/test_engine$")};
	CHECK_OK(services_new(&t->services, &t->config));
	CHECK_OK(services_sweep(t->services, clock_wall_ns()));
	p = services_process(t->services, getpid(), 0);
	CHECK(p != NULL);
	if (p != NULL) {
		t->start_ns = p->start_ns;
		snprintf(t->service, sizeof(t->service), "%s",
		    p->read->service);
	}
	t->s.config = &t->config;
	t->s.services = t->services;
	t->s.border.slot_ns = t->config.slot_ns;
	pace_init(&t->s, 0);
	t->s.n_profiles = 1;
	t->s.profiles[0] = (struct engine_profile){.row = &profile_cpu,
	    .type = types_find("cpu"), .state = SOURCE_ATTACHED};
	CHECK(profile_cpu.clock(&t->config, &t->s.profiles[0].clock));
	t->s.now_ns = clock_mono_ns();
	t->s.aggregate = aggregate_new(&wide);
	t->s.profiles[0].faults = service_faults_new("cpu");
	CHECK_OK(maps_new(&t->s.maps, services_table(t->services), "/proc"));
	CHECK_OK(symbols_new(&t->s.symbols, NULL, NULL));
	t->s.jits = jits_new(t->s.symbols, "/proc");
	processes_serve(services_table(t->services), PROCESS_JIT, jits_drop,
	    t->s.jits);
	return t;
}

static void
bench_free(struct bench *t)
{
	processes_serve(services_table(t->services), PROCESS_JIT, NULL, NULL);
	jits_free(t->s.jits);
	symbols_free(t->s.symbols);
	maps_free(t->s.maps);
	aggregate_free(t->s.aggregate);
	service_faults_free(t->s.profiles[0].faults);
	services_free(t->services);
	config_free(&t->config);
	free(t);
}

/* A sample of this process in leaf_function, called by root_function. */
static struct sample_event
own_event(const struct bench *t)
{
	struct sample_event e = {.pid = (__u32)getpid(), .tid = 1,
	    .start_ns = t->start_ns + 1234567, .value = 1, .exec_id = 1,
	    .n_user = 2, .comm = "pool-12"};

	e.frames[0] = (uintptr_t)leaf_function;
	e.frames[1] = (uintptr_t)root_function + 1; /* returns to behind */
	return e;
}

/* The slot as it would be stored: encoded, so folded and sorted. */
static struct batch *
bench_slot(struct bench *t)
{
	struct batch *b = batch_new((uint64_t)t->s.border.slot_ns);
	struct batch *copy = NULL;
	struct buf record = {0};

	symbols_settle(t->s.symbols, 30 * NS_PER_S);
	emit_profiles(&t->s, SLOT, b);
	CHECK_OK(batch_encode(b, &record));
	CHECK_OK(batch_decode(record.data, record.len, &copy));
	batch_free(b);
	buf_fini(&record);
	return copy;
}

static const struct batch_block *
block_of(const struct batch *b, const char *service)
{
	struct series_desc d;
	struct label labels[4];
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		if (strcmp(label_find(d.labels, d.n_labels, "service"),
		    service) == 0)
			return &b->blocks[i];
	}
	return NULL;
}

/* "{process=x};root;leaf" of a node. */
static void
path_of(const struct batch *b, uint32_t node, char *out, size_t size)
{
	const struct batch_node *n = &b->nodes[node];
	size_t used;
	uint32_t i;

	if (n->parent == 0) {
		const struct batch_labels *l = &b->labels[n->edge];

		used = (size_t)snprintf(out, size, "{");
		for (i = 0; i < l->n; i++) {
			const uint32_t *pair = b->pairs + 2 * (l->first + i);

			if (strcmp(batch_str(b, pair[0]), "cgroup") != 0)
				used += (size_t)snprintf(out + used,
				    size - used, "%s=%s,",
				    batch_str(b, pair[0]),
				    batch_str(b, pair[1]));
		}
		snprintf(out + used, size - used, "}");
		return;
	}
	path_of(b, n->parent, out, size);
	used = strlen(out);
	snprintf(out + used, size - used, ";%s",
	    batch_str(b, b->frames[n->edge].name));
}

/* The only stack of a service, and its value. */
static void
check_stack(const struct batch *b, const char *service, const char *want,
    int64_t value)
{
	const struct batch_block *k = block_of(b, service);
	char got[1024];

	CHECK(k != NULL && k->n == 1);
	if (k == NULL || k->n != 1)
		return;
	CHECK_INT(k->count, 1);
	CHECK_INT(k->slot, SLOT);
	CHECK_INT(b->entries[k->first].value, value);
	path_of(b, b->entries[k->first].key, got, sizeof(got));
	CHECK_STR(got, want);
}

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

/* The kernel tells of a process that executes this very program. */
static void
tell_own_code(struct bench *t, int32_t pid, const struct process_event *exec)
{
	struct process_event e = *exec;
	const struct mapping *map;
	struct maps_process *p;
	struct processes *table = processes_new();
	struct maps *maps;

	CHECK_OK(maps_new(&maps, table, "/proc"));
	p = maps_process(maps, process_add(table, getpid(), 1), t->s.now_ns);
	map = maps_find(maps, p, (uintptr_t)leaf_function, t->s.now_ns);
	e.pid = e.tid = pid;
	process_watch_event(t->s.watch, &e, t->s.now_ns);
	CHECK(map != NULL && map->kind == MAPPING_FILE);
	if (map == NULL)
		return;
	e.kind = PROCESS_MAP;
	e.start = map->start;
	e.end = map->end;
	e.offset = map->offset;
	e.ino = map->ino;
	e.dev = map->dev;
	e.path = maps_process_name(p, map);
	process_watch_event(t->s.watch, &e, t->s.now_ns);
	maps_free(maps);
	processes_free(table);
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

/* A child that executes sleep(1) when it is let. */
struct child {
	int32_t pid;
	int go, done;
};

static struct child
child_fork(void)
{
	int go[2], done[2];
	struct child c;
	char byte;

	CHECK(pipe2(go, O_CLOEXEC) == 0 && pipe2(done, O_CLOEXEC) == 0);
	c = (struct child){.pid = fork(), .go = go[1], .done = done[0]};
	if (c.pid == 0) {
		close(go[1]);
		(void)!read(go[0], &byte, 1);
		execlp("sleep", "sleep", "600", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	close(done[1]);
	return c;
}

static void
child_exec(const struct child *c)
{
	char byte = 0;

	CHECK_INT(write(c->go, &byte, 1), 1);
	close(c->go);
	CHECK_INT(read(c->done, &byte, 1), 0);
	close(c->done);
}

static void
child_end(const struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

/* A sample of the child a moment behind time_ns. */
static void
check_child(struct bench *t, const struct child *c, const char *comm,
    int64_t time_ns, const char *service, const char *want)
{
	struct sample_event e = own_event(t);
	const struct process *p;
	struct batch *b;

	aggregate_clear(t->s.aggregate);
	p = services_process(t->services, c->pid, 0);
	CHECK(p != NULL);
	e.start_ns = p != NULL ? p->start_ns : 0;
	e.pid = e.tid = (__u32)c->pid;
	e.time_ns = (uint64_t)time_ns + 1;
	e.flags = EVENT_EH_FRAME;
	snprintf(e.comm, sizeof(e.comm), "%s", comm);
	resolve_event(&t->s, &e, sizeof(e));
	b = bench_slot(t);
	check_stack(b, service, want, 1);
	batch_free(b);
}

static struct bench *
bench_new_watched(void)
{
	struct bench *t = bench_new();
	const struct process_watch_parts parts = {.services = t->services,
	    .maps = t->s.maps};

	CHECK_OK(process_watch_new(&t->s.watch, &parts, -1, false));
	return t;
}

static void
bench_free_watched(struct bench *t)
{
	process_watch_free(t->s.watch);
	t->s.watch = NULL;
	bench_free(t);
}

static void
tell_child(struct bench *t, const struct child *c,
    enum process_event_kind kind, int64_t time_ns)
{
	process_watch_event(t->s.watch, &(struct process_event){.kind = kind,
	    .pid = c->pid, .tid = c->pid, .parent = getpid(),
	    .time_ns = time_ns, .comm = "sleep"}, t->s.now_ns);
}

#define OWN_STACK "{pool=test_engine,process=test_engine,}" \
	";root_function;leaf_function"
#define SLEEP_STACK "{pool=sleep,process=sleep,};[no mapping];[unknown]"

/* What a child does before its exec is its parent's, though it was looked at
 * only behind it; or its names before, and its mappings behind it. */
TEST(before_its_exec_a_child_is_its_parents)
{
	struct bench *t = bench_new_watched();
	int seen; /* before its exec */

	for (seen = 0; seen < 2; seen++) {
		int64_t forked_ns = clock_mono_ns(), executed_ns;
		struct child c = child_fork();

		tell_child(t, &c, PROCESS_FORK, forked_ns);
		if (seen)
			CHECK(services_process(t->services, c.pid, 0) != NULL);
		executed_ns = clock_mono_ns();
		child_exec(&c);
		if (!seen) /* and the kernel's word comes later */
			services_look(t->services, c.pid);
		tell_child(t, &c, PROCESS_EXEC, executed_ns);
		check_child(t, &c, "test_engine", forked_ns, t->service,
		    OWN_STACK);
		check_child(t, &c, "sleep", executed_ns, "sleep", SLEEP_STACK);
		check_child(t, &c, "test_engine", forked_ns, t->service,
		    OWN_STACK);
		child_end(&c);
	}
	bench_free_watched(t);
}

/* Of two programs, the first one has its own name and mappings.  Where it is
 * not known where a process comes from, it has the sample's name. */
TEST(between_two_execs_it_is_the_first_program)
{
	struct bench *t = bench_new_watched();
	int64_t forked_ns = clock_mono_ns(), first_ns, executed_ns;
	struct child c = child_fork(), d = child_fork();
	struct process_event exec = {.kind = PROCESS_EXEC, .comm = "grep"};

	tell_child(t, &c, PROCESS_FORK, forked_ns);
	exec.time_ns = first_ns = clock_mono_ns();
	tell_own_code(t, c.pid, &exec);
	executed_ns = clock_mono_ns();
	child_exec(&c);
	tell_child(t, &c, PROCESS_EXEC, executed_ns);
	check_child(t, &c, "grep", first_ns, "by its file",
	    "{pool=grep,process=grep,};root_function;leaf_function");
	check_child(t, &c, "test_engine", forked_ns, t->service, OWN_STACK);
	child_end(&c);
	executed_ns = clock_mono_ns();
	child_exec(&d);
	tell_child(t, &d, PROCESS_EXEC, executed_ns);
	check_child(t, &d, "stranger", forked_ns, "stranger",
	    "{pool=stranger,process=stranger,};[no process]");
	child_end(&d);
	bench_free_watched(t);
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
	memmove(e.frames + 1, e.frames, 2 * sizeof(e.frames[0]));
	e.frames[0] = 0xf8;
	check_frames(t, &e, ";root_function;leaf_function;"
	    "[no kernel callers];__x86_indirect_thunk_array");
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
	    BROKEN_TRAMPOLINE + 3);
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
	RUN(before_its_exec_a_child_is_its_parents);
	RUN(between_two_execs_it_is_the_first_program);
	RUN(process_that_ended_before_its_mappings_were_read);
	RUN(a_stack_that_is_not_whole_says_so);
	RUN(tables_have_time_to_come);
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
