/*
 * What lost records of memory stand for: in the probe, which has no
 * exponential, as where one is told of; and where there is no room for them in
 * the engine, of the service and of all.
 */
#include <math.h>

#include "collector/engine/allocs.h"
#include "collector/objects/objects.h"
#include "tests/unit/collector/engine/engine_bench.h"

#define BYTES 4096
#define TIMES 32

TEST(a_lost_object_weighs_what_a_told_one_does)
{
	static uint32_t more[WEIGH_STEPS + 1];
	double worst = 0, objects = 0;

	allocs_fill_more(more);
	for (uint64_t n = 1, i = 0; n < UINT64_C(1) << 46;
	     n += 1 + n / 61, i++) {
		uint64_t size = alloc_size(n, i % (ALLOC_DOUBLINGS_MAX + 1));
		struct objects_weight w = objects_weigh(size, 1);
		uint64_t is = weigh_size(more, size);
		double off = fabs((double)is / (double)w.bytes - 1);

		worst = off > worst ? off : worst;
		off = fabs((double)weigh_objects(is, size) /
		    (double)w.objects - 1);
		objects = off > objects ? off : objects;
	}
	printf("# off by %g of the bytes, %g of the objects\n", worst,
	    objects);
	CHECK(worst < 1e-5);
	CHECK(objects < 1.0 / WEIGH_OBJECT);
	CHECK_INT(weigh_size(more, 0), 0);
	CHECK_INT(weigh_objects(0, 0), 0);
	CHECK_INT(weigh_size(more, UINT64_C(1) << 47), 0);
	CHECK_INT(weigh_size(more, alloc_size(8, ALLOC_DOUBLINGS_MAX + 1)), 0);
	CHECK_INT(OBJECTS_UNIT, WEIGH_OBJECT);
}

static struct bench *
memory_bench(void)
{
	struct bench *t = bench_new();

	t->s.n_profiles = 3;
	t->s.profiles[1] = (struct engine_profile){.row =
	    &profile_alloc_space, .type = types_find("alloc_space"),
	    .state = SOURCE_ATTACHED,
	    .faults = service_faults_new("alloc_space")};
	t->s.profiles[2] = (struct engine_profile){.row =
	    &profile_inuse_space, .type = types_find("inuse_space"),
	    .state = SOURCE_ATTACHED,
	    .faults = service_faults_new("inuse_space")};
	t->s.allocs.types[ALLOCS_SPACE] = 1;
	t->s.allocs.types[ALLOCS_IN_USE] = 2;
	t->s.allocs.objects = objects_new(services_table(t->services));
	return t;
}

static void
memory_free(struct bench *t)
{
	objects_free(t->s.allocs.objects);
	observed_fini(&t->s.allocs.observed);
	service_faults_free(t->s.profiles[1].faults);
	service_faults_free(t->s.profiles[2].faults);
	bench_free(t);
}

static struct sample_event
took(const struct bench *t, uint64_t address)
{
	struct sample_event e = own_event(t);

	e.type = 1;
	e.of_object = OBJECT_TOOK;
	e.value = TIMES;
	e.object.address = address;
	e.object.size = BYTES;
	return e;
}

/* The increase of a reason's counter of all services, -1: none. */
static int64_t
told(const struct bench *t, size_t type, const char *name, const char *reason)
{
	struct batch *b = batch_new((uint64_t)t->s.border.slot_ns);
	struct label labels[4];
	struct series_desc d;
	int64_t sum = -1;

	service_faults_put(t->s.profiles[type].faults, b, SLOT, 1);
	for (size_t i = 0; i < b->n_blocks; i++) {
		const char *is;

		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		is = label_find(d.labels, d.n_labels, "reason");
		if (is != NULL && strcmp(d.name, name) == 0 &&
		    strcmp(is, reason) == 0)
			sum = b->blocks[i].increase;
	}
	batch_free(b);
	return sum;
}

TEST(what_has_no_room_among_stacks)
{
	static const struct aggregate_limits one = {16, 1, 64};
	struct objects_weight w = objects_weigh(BYTES, TIMES);
	struct bench *t = memory_bench();
	struct sample_event e = took(t, 4096);
	const struct account_profile *now = &t->s.profiles[1].now;

	aggregate_free(t->s.aggregate);
	t->s.aggregate = aggregate_new(&one);
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(now->aggregate_full, 0);
	e = took(t, 8192);
	e.n_user = 1; /* another stack */
	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(now->aggregate_full, TIMES);
	CHECK_INT(now->aggregate_full_of.bytes, w.bytes);
	CHECK_INT(now->aggregate_full_of.objects, w.objects);
	CHECK_INT(told(t, 1, "memlens_service_lost_bytes_total",
	    "aggregate full"), w.bytes);
	memory_free(t);
}

/* One for which the library's table had no cell is in use, and not known. */
TEST(what_has_no_room_among_those_in_use)
{
	struct objects_weight w = objects_weigh(BYTES, TIMES);
	struct bench *t = memory_bench();
	struct sample_event e = took(t, 0);

	resolve_event(&t->s, &e, sizeof(e));
	CHECK_INT(t->s.profiles[2].now.aggregate_full, TIMES);
	CHECK_INT(t->s.profiles[2].now.aggregate_full_of.bytes, w.bytes);
	CHECK_INT(t->s.profiles[1].now.aggregate_full_of.bytes, 0);
	CHECK_INT(told(t, 2, "memlens_service_lost_bytes_total",
	    "aggregate full"), w.bytes);
	memory_free(t);
}

/* The table may have been read while it waited in the ring: those that it
 * stands for are there, and would count twice. */
TEST(what_stands_for_others_is_looked_for)
{
	struct bench *t = memory_bench();
	struct sample_event e = took(t, 4096);

	e.value = 1;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK(!t->s.allocs.lacks);
	e.value = TIMES;
	resolve_event(&t->s, &e, sizeof(e));
	CHECK(t->s.allocs.lacks);
	memory_free(t);
}

/* Of the next slot, which is not open yet. */
TEST(what_cannot_be_held_until_its_slot_is_open)
{
	struct objects_weight w = objects_weigh(BYTES, TIMES);
	struct bench *t = memory_bench();
	const struct account_profile *now = &t->s.profiles[1].now;
	struct sample_event e = took(t, 4096);
	int64_t n;

	t->s.border.open_slot = SLOT;
	e.time_ns = (uint64_t)((int64_t)(SLOT + 1) * t->s.border.slot_ns -
	    t->s.border.wall_offset_ns);
	while (now->held_full == 0)
		engine_event(&t->s, &e, offsetof(struct sample_event, frames)
		    + 2 * sizeof(e.frames[0]));
	CHECK(t->s.allocs.lacks); /* so that it is looked for */
	engine_event(&t->s, &e, offsetof(struct sample_event, frames) +
	    2 * sizeof(e.frames[0]));
	CHECK_INT(now->held_full, 2 * TIMES);
	CHECK_INT(now->held_full_of.bytes, 2 * w.bytes);
	CHECK_INT(now->held_full_of.objects, 2 * w.objects);
	n = told(t, 1, "memlens_service_lost_objects_total", "held full");
	CHECK_INT(n, objects_whole(2 * w.objects));
	/* what is given back weighs nothing here */
	e.of_object = OBJECT_GAVE;
	e.type = 2;
	engine_event(&t->s, &e, offsetof(struct sample_event, frames));
	CHECK_INT(t->s.profiles[2].now.held_full, TIMES);
	CHECK_INT(t->s.profiles[2].now.held_full_of.bytes, 0);
	border_fini(&t->s.border);
	memory_free(t);
}

int
main(void)
{
	RUN(a_lost_object_weighs_what_a_told_one_does);
	RUN(what_has_no_room_among_stacks);
	RUN(what_has_no_room_among_those_in_use);
	RUN(what_stands_for_others_is_looked_for);
	RUN(what_cannot_be_held_until_its_slot_is_open);
	return test_done();
}
