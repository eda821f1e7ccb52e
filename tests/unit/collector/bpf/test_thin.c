/*
 * A ring that is read too slowly for the objects that two services take and
 * give back: all that were taken are told of, or lost, but for the chance, and
 * each service has its share.
 */
#include <stdlib.h>

#include "collector/bpf/stride.h"
#include "tests/unit/test.h"

#define RING (8u << 20)
#define FULL (RING / 4 * 3)
#define TOOK_BYTES 500u
#define GAVE_BYTES 170u

struct world {
	uint64_t used, lost, sent;
	uint64_t took[2], told[2]; /* of each service */
	uint64_t chance;
};

static uint32_t
world_chance(struct world *w)
{
	w->chance = w->chance * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->chance >> 32);
}

static uint64_t
world_eighths(const struct world *w)
{
	return w->used * 8 / (RING / 2);
}

/* One object is taken and given back at once. */
static void
world_object(struct world *w, unsigned service)
{
	uint64_t times;

	w->took[service]++;
	times = thin_take(world_eighths(w), world_chance(w));
	if (times > 0 && w->used > FULL) {
		w->lost += times;
	} else if (times > 0) {
		w->told[service] += times;
		w->used += TOOK_BYTES;
		w->sent++;
	}
	if (world_eighths(w) < THIN_GAVE_EIGHTHS)
		w->used += GAVE_BYTES;
}

/* So many ms with so many objects in each, one of 20 of the second service. */
static void
world_run(struct world *w, unsigned ms, unsigned objects, uint64_t drained)
{
	for (unsigned i = 0; i < ms; i++) {
		for (unsigned k = 0; k < objects; k++)
			world_object(w, world_chance(w) % 20 == 0);
		w->used -= w->used < drained ? w->used : drained;
	}
}

static void
check_sums(const struct world *w)
{
	double took = (double)(w->took[0] + w->took[1]),
	       said = (double)(w->told[0] + w->told[1] + w->lost);

	CHECK(said > 0.95 * took && said < 1.05 * took);
}

static void
check_shares(const struct world *w)
{
	for (unsigned i = 0; i < 2; i++) {
		double part = (double)w->told[i] / (double)w->took[i];

		CHECK(part > 0.9 && part < 1.1);
	}
}

/* Five times as many as are read, for 10 s, and what came before and after. */
TEST(a_burst_is_told_of_in_full)
{
	struct world w = {.chance = 1};

	world_run(&w, 2000, 10, 20000);
	CHECK_INT((int64_t)w.sent, (int64_t)w.took[0] + (int64_t)w.took[1]);
	world_run(&w, 10000, 170, 20000);
	world_run(&w, 2000, 10, 20000);
	CHECK_INT((int64_t)w.lost, 0);
	CHECK(w.sent < (w.took[0] + w.took[1]) / 4);
	check_sums(&w);
	check_shares(&w);
}

/* Nobody reads for so long that even the last part is full: what is lost is
 * counted with all that it stands for. */
TEST(what_is_lost_is_lost_with_all_it_stands_for)
{
	struct world w = {.chance = 2};

	world_run(&w, 10000, 170, 20000);
	world_run(&w, 10000, 170, 0);
	CHECK(w.lost > 0);
	check_sums(&w);
	world_run(&w, 5000, 10, 20000);
	check_sums(&w);
}

int
main(void)
{
	RUN(a_burst_is_told_of_in_full);
	RUN(what_is_lost_is_lost_with_all_it_stands_for);
	return test_done();
}
