/*
 * Samples that wait for rows: events about this very process, made here, with
 * a copy of a made stack; the walker's maps are plain memory.
 */
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/engine/engine.h"
#include "collector/engine/service_faults.h"
#include "collector/process/services.h"
#include "collector/profile/profiles.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

#define SP 0x7000000000u
#define WORDS 3

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

static struct {
	uint64_t cells[1u << UNWIND_CHUNK_SHIFT];
	struct unwind_table tables[UNWIND_TABLES];
	struct unwind_region regions[UNWIND_REGIONS];
	uint32_t table, offset; /* asked for */
	uint32_t before;        /* table that was asked for before it */
	unsigned questions, released, reads;
} k;

static void *
place(enum unwind_array which, uint32_t first, size_t *size)
{
	*size = which == UNWIND_ARRAY_CELLS ? 8 :
	    which == UNWIND_ARRAY_REGIONS ? sizeof(k.regions[0]) :
	    sizeof(k.tables[0]);
	return which == UNWIND_ARRAY_CELLS ? (void *)&k.cells[first] :
	    which == UNWIND_ARRAY_REGIONS ? (void *)&k.regions[first] :
	    (void *)&k.tables[first];
}

static bool
fake_write(void *arg, enum unwind_array which, uint32_t first, const void *p,
    size_t n)
{
	size_t size;
	void *to = place(which, first, &size);

	(void)arg;
	memcpy(to, p, n * size);
	return true;
}

static bool
fake_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	size_t size;
	const void *from = place(which, first, &size);

	(void)arg;
	k.reads++;
	memcpy(p, from, n * size);
	return true;
}

static const uint64_t *
fake_cell(void *arg, uint32_t i)
{
	(void)arg;
	return i < sizeof(k.cells) / sizeof(k.cells[0]) ? k.cells + i : NULL;
}

static bool
fake_add(void *arg)
{
	(void)arg;
	return true;
}

static void
fake_tick(void *arg, uint32_t tick)
{
	(void)arg;
	(void)tick;
}

static void
fake_release(void *arg)
{
	(void)arg;
	k.released++;
}

static const struct unwind_kernel fake = {.chunks = 1, .write = fake_write,
    .read = fake_read, .cell = fake_cell, .add_chunk = fake_add,
    .set_tick = fake_tick, .release = fake_release};

static bool
fake_ask(void *arg, uint32_t table, int fd, uint64_t size, uint32_t offset)
{
	(void)arg;
	CHECK(fd >= 0 && size > 0);
	k.before = k.table;
	k.table = table;
	k.offset = offset;
	k.questions++;
	return true;
}

struct bench {
	struct config config;
	struct engine s;
	uint64_t start_ns;
};

static const struct aggregate_limits wide = {64, 64, 1u << 16};

static struct bench *
bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));
	const struct process *p;

	memset(&k, 0, sizeof(k));
	CHECK_OK(config_load(&t->config, NULL));
	t->config.every_process = true;
	CHECK_OK(services_new(&t->s.services, &t->config));
	CHECK_OK(services_sweep(t->s.services, clock_wall_ns()));
	p = services_process(t->s.services, getpid(), 0);
	CHECK(p != NULL);
	t->start_ns = p != NULL ? p->start_ns : 0;
	t->s.config = &t->config;
	t->s.n_profiles = 1;
	t->s.profiles[0] = (struct engine_profile){.row = &profile_cpu,
	    .type = types_find("cpu"), .state = SOURCE_ATTACHED};
	t->s.now_ns = clock_mono_ns();
	t->s.aggregate = aggregate_new(&wide);
	t->s.profiles[0].faults = service_faults_new("cpu");
	CHECK_OK(maps_new(&t->s.maps, services_table(t->s.services),
	    "/proc"));
	CHECK_OK(symbols_new(&t->s.symbols, NULL, NULL));
	t->s.kernel = &fake;
	CHECK_OK(unwind_tables_new(&t->s.tables, &fake, NS_PER_S,
	    fake_ask, NULL));
	return t;
}

static void
bench_free(struct bench *t)
{
	second_fini(&t->s.second);
	unwind_tables_free(t->s.tables);
	symbols_free(t->s.symbols);
	maps_free(t->s.maps);
	aggregate_free(t->s.aggregate);
	service_faults_free(t->s.profiles[0].faults);
	services_free(t->s.services);
	config_free(&t->config);
	free(t);
}

/* In leaf_function(), whose rows were not there; root_function() is where its
 * return address leads to. */
static struct sample_event *
own_event(const struct bench *t, size_t *size)
{
	static struct sample_event e;
	struct event_copy *c;

	e = (struct sample_event){.time_ns = (uint64_t)t->s.now_ns,
	    .pid = (__u32)getpid(), .tid = (__u32)getpid(),
	    .start_ns = t->start_ns, .value = 1, .exec_id = 1, .n_user = 1,
	    .depth = 1, .flags = EVENT_EH_FRAME | EVENT_PENDING | EVENT_COPY,
	    .table = UNWIND_NO_TABLE, .comm = "test"};
	e.frames[0] = (uintptr_t)leaf_function;
	c = (void *)&e.frames[1];
	c->sp = SP;
	c->words[0] = (uintptr_t)root_function + 1;
	*size = offsetof(struct sample_event, frames) + (1 + WORDS) * 8 +
	    EVENT_COPY_HEAD;
	return &e;
}

/* The child's answer: these rows are all of the file's. */
static void
answer_rows(struct bench *t, uint32_t table, const struct unwind_row *rows,
    size_t n)
{
	struct symbols_rows r = {.base = 0, .regions = 1, .shift = 31,
	    .n = (uint32_t)n, .fd = memfd_create("rows", MFD_ALLOW_SEALING)};

	CHECK(write(r.fd, rows, n * sizeof(rows[0])) ==
	    (ssize_t)(n * sizeof(rows[0])));
	CHECK(fcntl(r.fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK |
	    F_SEAL_GROW | F_SEAL_WRITE) == 0);
	unwind_tables_answer(t->s.tables, table, &r, t->s.now_ns);
	close(r.fd);
}

/* All of the file's code is of frames of a word, up to the row of
 * root_function(), where threads begin. */
static void
answer(struct bench *t)
{
	uint32_t root = (uint32_t)(k.offset +
	    ((uintptr_t)root_function - (uintptr_t)leaf_function));
	struct unwind_row rows[] = {{0, 1, UNWIND_SP, 0},
	    {root, 0, UNWIND_STOP, 0}, {root + 2, 1, UNWIND_SP, 0}};

	answer_rows(t, k.table, rows, 3);
}

static uint64_t
stored(const struct bench *t)
{
	return t->s.profiles[0].now.samples;
}

static uint64_t
marked(const struct bench *t)
{
	return t->s.profiles[0].now.broken[BROKEN_NO_TABLES] +
	    t->s.profiles[0].now.broken[BROKEN_NEW_CODE];
}

/* The depth of the only stack. */
static size_t
depth(const struct bench *t)
{
	size_t n = aggregate_stacks(t->s.aggregate);

	CHECK_INT(n, 1);
	return n == 1 ? aggregate_get_stack(t->s.aggregate, 0).n : 0;
}

/* Taken, and its file asked for. */
static void
take(struct bench *t)
{
	size_t size;
	struct sample_event *e = own_event(t, &size);

	CHECK(second_take(&t->s, e, size));
	unwind_tables_pump(t->s.tables, t->s.now_ns);
}

TEST(a_sample_waits_for_its_rows)
{
	struct bench *t = bench_new();

	take(t);
	CHECK_INT(k.questions, 1);
	CHECK_INT(stored(t), 0);
	second_try(&t->s, false); /* nothing has come */
	CHECK_INT(stored(t), 0);
	CHECK(t->s.second.held.len > 0);
	answer(t);
	second_try(&t->s, false);
	CHECK_INT(stored(t), 1);
	CHECK_INT(marked(t), 0);
	CHECK_INT(depth(t), 2);
	CHECK_INT(t->s.second.held.len, 0);
	CHECK(k.released > 0);
	take(t); /* those that come later go at once */
	CHECK_INT(stored(t), 2);
	CHECK_INT(t->s.second.held.len, 0);
	bench_free(t);
}

/* Code without rows that keeps frame pointers was called from another file,
 * which no walk has met before. */
TEST(behind_a_guess_another_file_is_met)
{
	static const struct unwind_row none[] = {{0, 0, UNWIND_NONE, 0}},
	    stop[] = {{0, 0, UNWIND_STOP, 0}};
	struct bench *t = bench_new();
	size_t size;
	struct sample_event *e = own_event(t, &size);
	struct event_copy *c = (void *)&e->frames[1];

	c->bp = SP + 8;
	c->words[1] = 0;
	c->words[2] = (uintptr_t)getpid + 1;
	CHECK(second_take(&t->s, e, size));
	unwind_tables_pump(t->s.tables, t->s.now_ns);
	CHECK_INT(k.questions, 2); /* the other one ahead */
	answer_rows(t, k.before, none, 1);
	answer_rows(t, k.table, stop, 1);
	second_try(&t->s, false);
	CHECK_INT(stored(t), 1);
	CHECK_INT(t->s.profiles[0].now.broken[BROKEN_NO_ROW], 0);
	CHECK_INT(depth(t), 2);
	bench_free(t);
}

/* Two seconds are long enough: it is shown, with a mark. */
TEST(a_sample_does_not_wait_for_ever)
{
	struct bench *t = bench_new();

	take(t);
	t->s.now_ns += 1999 * NS_PER_MS;
	second_try(&t->s, false);
	CHECK_INT(stored(t), 0);
	t->s.now_ns += 2 * NS_PER_MS;
	second_try(&t->s, false);
	CHECK_INT(stored(t), 1);
	CHECK_INT(marked(t), 1);
	CHECK_INT(depth(t), 2); /* the mark and the leaf */
	CHECK_INT(t->s.second.held.len, 0);
	bench_free(t);
}

/* Nothing has changed: its stack is not walked for that, nor is its room given
 * back that the next one needs. */
TEST(what_lacks_rows_is_asked_for_without_a_walk)
{
	struct bench *t = bench_new();
	unsigned reads;
	int i;

	take(t);
	reads = k.reads;
	for (i = 0; i < 8; i++) {
		t->s.now_ns += 240 * NS_PER_MS;
		second_try(&t->s, false);
	}
	CHECK(t->s.second.held.len > 0);
	CHECK_INT(k.reads, reads);
	t->s.now_ns += 100 * NS_PER_MS;
	second_try(&t->s, false);
	CHECK_INT(stored(t), 1);
	CHECK(k.reads > reads);
	CHECK(t->s.second.held.cap > 0);
	second_try(&t->s, true);
	CHECK_INT(t->s.second.held.cap, 0);
	bench_free(t);
}

TEST(none_is_left_behind_in_a_slot_that_is_over)
{
	struct bench *t = bench_new();

	take(t);
	take(t);
	second_try(&t->s, true);
	CHECK_INT(stored(t), 2);
	CHECK_INT(marked(t), 2);
	CHECK_INT(t->s.second.held.len, 0);
	bench_free(t);
}

/* What has no copy, or lacks what the event does not hold, is not for here. */
TEST(others_are_shown_as_they_are)
{
	struct bench *t = bench_new();
	struct sample_event *e;
	size_t size;

	e = own_event(t, &size);
	e->flags &= (__u8)~EVENT_COPY;
	CHECK(!second_take(&t->s, e, size));
	e = own_event(t, &size);
	e->lacks = 1;
	CHECK(!second_take(&t->s, e, size));
	CHECK_INT(stored(t), 0);
	CHECK_INT(t->s.second.held.len, 0);
	bench_free(t);
}

/* The configuration may want frame pointers alone. */
TEST(without_tables_nothing_waits)
{
	struct bench *t = bench_new();
	struct sample_event *e;
	size_t size;

	unwind_tables_free(t->s.tables);
	t->s.tables = NULL;
	t->s.kernel = NULL;
	e = own_event(t, &size);
	CHECK(!second_take(&t->s, e, size));
	second_try(&t->s, true);
	CHECK_INT(stored(t), 0);
	bench_free(t);
}

/* There is room for so many, and each is stored once. */
TEST(a_full_buffer_loses_nothing)
{
	struct bench *t = bench_new();
	struct sample_event *e;
	uint64_t held = 0, refused = 0;
	size_t size;

	while (refused < 10) {
		e = own_event(t, &size);
		if (second_take(&t->s, e, size))
			held++;
		else
			refused++;
		if (held > 1000000)
			break;
	}
	CHECK(held > 1000 && held < 100000);
	CHECK_INT(stored(t), 0);
	second_try(&t->s, true);
	CHECK_INT(stored(t), held);
	bench_free(t);
}

int
main(void)
{
	RUN(a_sample_waits_for_its_rows);
	RUN(behind_a_guess_another_file_is_met);
	RUN(a_sample_does_not_wait_for_ever);
	RUN(what_lacks_rows_is_asked_for_without_a_walk);
	RUN(none_is_left_behind_in_a_slot_that_is_over);
	RUN(others_are_shown_as_they_are);
	RUN(without_tables_nothing_waits);
	RUN(a_full_buffer_loses_nothing);
	return test_done();
}
