/*
 * Sampled objects against a naive model: what lives, by stack, over slots,
 * with processes that end and execute other programs.
 */
#include <stdlib.h>

#include "collector/objects/objects.h"
#include "collector/process/process.h"
#include "store/base/err.h"
#include "store/model/series.h"
#include "tests/unit/test.h"

#define PROCESSES 5
#define ADDRESSES 200
#define STACKS 30
#define SLOTS 400
#define STEPS 200

static uint32_t seed = 1;

static struct objects_weight
weigh(uint64_t bytes)
{
	return objects_weigh(bytes, 1);
}

/* There is room for all. */
static void
loses(void *arg, const struct process *p, struct objects_weight w)
{
	(void)arg;
	CHECK(p == NULL);
	CHECK_INT(w.bytes, 0);
}

static uint32_t
draw(uint32_t n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* What the model has at an address. */
struct thing {
	uint64_t bytes;
	uint32_t stack;
	uint32_t slot; /* in which it was taken */
	bool lives;
};

struct model {
	struct processes *table;
	struct process *p[PROCESSES];
	int32_t next_pid;
	struct thing things[PROCESSES][ADDRESSES];
	int64_t brief[STACKS]; /* in this slot */
	struct objects *o;
	uint64_t time_ns;
};

static void
begin_process(struct model *m, size_t i)
{
	m->p[i] = process_add(m->table, m->next_pid++, 1000);
	CHECK(m->p[i] != NULL);
	process_executes(m->p[i], 7);
}

static void
drop(struct model *m, size_t i, uint32_t slot)
{
	size_t k;

	for (k = 0; k < ADDRESSES; k++) {
		struct thing *t = &m->things[i][k];

		if (t->lives && t->slot == slot)
			m->brief[t->stack] += weigh(t->bytes).bytes;
		t->lives = false;
	}
}

static void
give(struct model *m, size_t i, size_t k, uint32_t slot)
{
	struct thing *t = &m->things[i][k];

	CHECK_INT(objects_give(m->o, m->p[i], m->p[i]->exec_id, k + 16),
	    t->lives);
	if (t->lives && t->slot == slot)
		m->brief[t->stack] += weigh(t->bytes).bytes;
	t->lives = false;
}

static void
take(struct model *m, size_t i, size_t k, uint32_t slot)
{
	struct thing *t = &m->things[i][k], old = *t;

	*t = (struct thing){1 + draw(1u << draw(20)), draw(STACKS), slot,
	    true};
	m->time_ns++;
	CHECK(objects_take(m->o, m->p[i], m->p[i]->exec_id, k + 16,
	    weigh(t->bytes), m->time_ns));
	if (old.lives && old.slot == slot)
		m->brief[old.stack] += weigh(old.bytes).bytes;
	/* Sometimes it is given back before its stack is known. */
	if (draw(20) == 0) {
		CHECK(objects_give(m->o, m->p[i], m->p[i]->exec_id, k + 16));
		m->brief[t->stack] += weigh(t->bytes).bytes;
		t->lives = false;
	}
	CHECK(objects_placed(m->o, m->p[i], k + 16, weigh(t->bytes), m->time_ns,
	    t->stack));
}

static void
step(struct model *m, uint32_t slot)
{
	size_t i = draw(PROCESSES), k = draw(ADDRESSES);
	uint32_t what = draw(1000);

	if (what == 0) { /* it ends */
		process_end(m->table, m->p[i], 1);
		drop(m, i, slot);
		begin_process(m, i);
	} else if (what == 1) { /* it executes a program */
		process_executes(m->p[i], m->p[i]->exec_id + 1);
		drop(m, i, slot);
	} else if (what < 500) {
		give(m, i, k, slot);
	} else {
		take(m, i, k, slot);
	}
}

/* Names each stack by its number, in two frames. */
static void
keep(struct model *m, uint32_t stack)
{
	char name[16];
	struct frame f = {.kind = FRAME_NATIVE, .name = name,
	    .module = "module", .build_id = ""};

	objects_keep(m->o, stack, stack % 2 == 0 ? "even" : "odd");
	snprintf(name, sizeof(name), "root");
	objects_keep_frame(m->o, stack, &f);
	snprintf(name, sizeof(name), "f%u", stack);
	objects_keep_frame(m->o, stack, &f);
}

/* What is kept, of a process and a stack. */
static struct objects_weight
kept(struct model *m, size_t i, uint32_t stack)
{
	struct objects_weight sum = {0};
	char name[16];
	size_t k;

	snprintf(name, sizeof(name), "f%u", stack);
	for (k = 0; k < objects_kept_count(m->o); k++) {
		struct objects_kept is = objects_kept_get(m->o, k);

		if (is.p != m->p[i] || is.n != 2 ||
		    strcmp(objects_kept_frame(m->o, k, 1).name, name) != 0)
			continue;
		CHECK_STR(is.pool, stack % 2 == 0 ? "even" : "odd");
		sum.bytes += is.sum.bytes;
		sum.objects += is.sum.objects;
	}
	return sum;
}

static void
compare(struct model *m)
{
	size_t i, k;
	uint32_t stack;

	for (i = 0; i < PROCESSES; i++) {
		struct objects_weight want[STACKS] = {{0}};

		for (k = 0; k < ADDRESSES; k++) {
			const struct thing *t = &m->things[i][k];
			struct objects_weight w = weigh(t->bytes);

			want[t->stack].bytes += t->lives ? w.bytes : 0;
			want[t->stack].objects += t->lives ? w.objects : 0;
		}
		for (stack = 0; stack < STACKS; stack++) {
			struct objects_weight got = kept(m, i, stack);

			CHECK_INT(got.bytes, want[stack].bytes);
			CHECK_INT(got.objects, want[stack].objects);
		}
	}
}

TEST(objects_are_those_of_the_model)
{
	struct model m = {.table = processes_new(), .next_pid = 100};
	struct objects_stats stats;
	uint32_t slot, i;

	m.o = objects_new(m.table);
	CHECK(m.o != NULL);
	for (i = 0; i < PROCESSES; i++)
		begin_process(&m, i);
	for (slot = 0; slot < SLOTS; slot++) {
		for (i = 0; i < STEPS; i++)
			step(&m, slot);
		objects_sweep(m.o);
		for (i = 0; i < STACKS; i++) {
			struct objects_slot s = objects_slot(m.o, i);

			CHECK_INT(s.short_bytes, m.brief[i]);
			m.brief[i] = 0;
			if (s.live > 0)
				keep(&m, i);
		}
		objects_settle(m.o, loses, NULL);
		compare(&m);
	}
	objects_stats(m.o, &stats);
	CHECK(stats.live > 0 && stats.holders <= PROCESSES);
	objects_free(m.o);
	processes_free(m.table);
}

/* Others are named than those that were: the tables do not grow for ever. */
TEST(stacks_without_objects_are_dropped)
{
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	struct process *p = process_add(table, 1, 1000);
	char name[16];
	uint32_t i;

	for (i = 0; i < 5000; i++) {
		struct frame f = {.kind = FRAME_NATIVE, .name = name,
		    .module = "", .build_id = ""};

		snprintf(name, sizeof(name), "f%u", i);
		CHECK(objects_take(o, p, 0, 16, weigh(100), i));
		CHECK(objects_placed(o, p, 16, weigh(100), i, 0));
		objects_keep(o, 0, "");
		objects_keep_frame(o, 0, &f);
		objects_settle(o, loses, NULL);
		CHECK(objects_kept_count(o) < 1100);
	}
	CHECK(objects_give(o, p, 0, 16));
	objects_free(o);
	processes_free(table);
}

/* What lived before has a stack of its own; an object that is known stays. */
TEST(objects_that_are_found)
{
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	struct process *p = process_add(table, 1, 1000);
	struct objects_kept k;

	CHECK(objects_found(o, p, 32, 1 << 20, false));
	CHECK(objects_found(o, p, 32, 1 << 20, false));
	objects_settle(o, loses, NULL);
	k = objects_kept_get(o, 0);
	CHECK_INT(objects_kept_count(o), 1);
	CHECK(k.p == p && k.n == 1);
	CHECK_STR(objects_kept_frame(o, 0, 0).name,
	    "[before MemLens started]");
	CHECK_INT(k.sum.bytes, weigh(1 << 20).bytes);
	CHECK(objects_give(o, p, 0, 32));
	CHECK(!objects_give(o, p, 0, 32));
	objects_free(o);
	processes_free(table);
}

/* What nobody was told of is found in full: a thing that stood for two, too,
 * is one of them; what had no stack when its slot ended has lost it. */
TEST(objects_that_were_lost)
{
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	struct process *p = process_add(table, 1, 1000);
	struct frame f = {.kind = FRAME_NATIVE, .name = "f", .module = "",
	    .build_id = ""};

	CHECK(objects_take(o, p, 0, 16, objects_weigh(100, 2), 1));
	CHECK(objects_placed(o, p, 16, objects_weigh(100, 2), 1, 0));
	objects_keep(o, 0, "");
	objects_keep_frame(o, 0, &f);
	objects_settle(o, loses, NULL);
	CHECK_INT(objects_kept_get(o, 0).sum.bytes,
	    objects_weigh(100, 2).bytes);
	CHECK(objects_take(o, p, 0, 48, weigh(300), 2));
	CHECK(objects_found(o, p, 16, 100, true));
	CHECK(objects_found(o, p, 32, 200, true));
	objects_settle(o, loses, NULL);
	CHECK_INT(objects_kept_count(o), 2);
	CHECK_STR(objects_kept_frame(o, 0, 0).name, "f");
	CHECK_INT(objects_kept_get(o, 0).sum.bytes, weigh(100).bytes);
	CHECK_INT(objects_kept_get(o, 0).sum.objects, weigh(100).objects);
	CHECK_STR(objects_kept_frame(o, 1, 0).name,
	    "[its stack was not taken]");
	CHECK_INT(objects_kept_get(o, 1).sum.bytes,
	    weigh(200).bytes + weigh(300).bytes);
	CHECK(objects_give(o, p, 0, 16));
	CHECK(objects_give(o, p, 0, 32));
	CHECK(objects_give(o, p, 0, 48));
	CHECK_INT(objects_kept_get(o, 1).sum.bytes, 0);
	objects_free(o);
	processes_free(table);
}

static size_t
live(const struct objects *o)
{
	struct objects_stats stats;

	objects_stats(o, &stats);
	return stats.live;
}

/* What waited, and what lacked something, is told late: the process executes
 * its program all the same. */
TEST(a_late_sample_of_the_program_before_ends_nothing)
{
	static const bool renewed[] = {false, true};
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	struct process *p;
	size_t i;

	for (i = 0; i < 2; i++) {
		p = process_add(table, 1 + (int32_t)i, 1000);
		process_executes(p, 13);
		CHECK(objects_take(o, p, 13, 16, weigh(100), 1));
		process_executes(p, 15);
		if (renewed[i])
			process_renew(p);
		CHECK(objects_take(o, p, 15, 32, weigh(100), 2));
		CHECK_INT(live(o), 1); /* the first one ended */
		process_executes(p, 13);
		CHECK(objects_take(o, p, 13, 48, weigh(100), 3));
		CHECK(!objects_give(o, p, 13, 32));
		objects_sweep(o);
		process_executes(p, 15);
		CHECK(objects_take(o, p, 15, 64, weigh(100), 4));
		objects_sweep(o);
		CHECK_INT(live(o), 2);
		process_executes(p, 16);
		objects_sweep(o);
		CHECK_INT(live(o), 0);
	}
	objects_free(o);
	processes_free(table);
}

/* realloc(3) says so before it is tried: what could not grow is there as it
 * was, and what another thread took in its place is not what has moved. */
TEST(objects_that_may_move)
{
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	struct process *p = process_add(table, 7, 1000);

	CHECK(objects_take(o, p, 0, 4096, weigh(100), 1));
	CHECK(objects_take(o, p, 0, 8192, weigh(100), 2));
	objects_move(o, p, 0, 4096, ALLOC_MOVES);
	CHECK_INT(live(o), 2);
	objects_move(o, p, 0, 4096, ALLOC_STAYS);
	objects_move(o, p, 0, 4096, ALLOC_MOVED); /* of one before */
	CHECK_INT(live(o), 2);
	objects_move(o, p, 0, 4096, ALLOC_MOVES);
	objects_move(o, p, 0, 4096, ALLOC_MOVED);
	CHECK_INT(live(o), 1);
	objects_move(o, p, 0, 8192, ALLOC_MOVES);
	CHECK(objects_take(o, p, 0, 8192, weigh(50), 3));
	objects_move(o, p, 0, 8192, ALLOC_MOVED);
	CHECK_INT(live(o), 1);
	CHECK(objects_give(o, p, 0, 8192));
	objects_move(o, p, 0, 12288, ALLOC_MOVES); /* unknown */
	CHECK_INT(live(o), 0);
	objects_free(o);
	processes_free(table);
}

/* Golden: n / (1 - exp(-n / 2^19)), by bc. */
TEST(weights)
{
	int64_t many[3] = {0};

	CHECK_INT(weigh(0).bytes, 0);
	CHECK_INT(weigh(1).bytes, 524289);
	CHECK_INT(weigh(524288).bytes, 829411);
	CHECK_INT(weigh(524288).objects, 1620);
	CHECK_INT(weigh(64 << 20).bytes, 64 << 20);
	CHECK_INT(weigh(64 << 20).objects, OBJECTS_UNIT);
	CHECK_INT(weigh(UINT64_MAX).bytes, 0);
	/* of intervals of 1 MiB and 2 GiB */
	CHECK_INT(weigh(alloc_size(1 << 20, 1)).bytes, 1658823);
	CHECK_INT(weigh(alloc_size(1, 12)).bytes, (INT64_C(1) << 31) + 1);
	CHECK_INT(weigh(alloc_size(1, 13)).bytes, 0);
	CHECK_INT(objects_whole(1535), 1);
	CHECK_INT(objects_whole(1536), 2);
	/* of many stacks: 10,000 times 1.49, 0.4 and 3 */
	for (uint64_t i = 0; i < 10000; i++) {
		many[0] += objects_drawn(1526, i);
		many[1] += objects_drawn(410, i << 32 | 7);
		many[2] += objects_drawn(3072, i);
	}
	CHECK(many[0] > 14900 - 150 && many[0] < 14900 + 150);
	CHECK(many[1] > 4000 - 150 && many[1] < 4000 + 150);
	CHECK_INT(many[2], 30000);
}

int
main(void)
{
	RUN(objects_are_those_of_the_model);
	RUN(stacks_without_objects_are_dropped);
	RUN(objects_that_are_found);
	RUN(objects_that_were_lost);
	RUN(a_late_sample_of_the_program_before_ends_nothing);
	RUN(objects_that_may_move);
	RUN(weights);
	return test_done();
}
