/*
 * Cells of histograms are given back, also where slots have room for few polls:
 * none is lost for want of room that what is over has.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/probe/sums.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)
#define SLOT_NS (400 * MS)
#define VALUES 100 /* of a quarter of a slot, each in a cell of its own */
#define SLOTS 8

static struct sums_cell cells[2 * SUMS_CELLS];
static __u32 used[2], large;
static __u64 border;
static uint64_t added, taken;

/* As the programs do, if with other places. */
static void
add_some(void)
{
	uint32_t side = sums_side(border, (uint64_t)clock_mono_ns()), i = 0, n;

	for (n = 0; n < VALUES; i++) {
		struct sums_cell *c = &cells[side * SUMS_CELLS + i];

		if (c->state != SUMS_CELL_FREE)
			continue;
		c->state = SUMS_CELL_USED;
		c->key.bucket = (__u16)n++;
		c->sum = SUMS_ONE;
		used[side]++;
	}
	added += n;
}

static void
take(void *arg, const struct sums_key *key, uint64_t count, uint64_t above)
{
	(void)arg;
	(void)key;
	(void)above;
	taken += count;
}

static void
until(int64_t ns)
{
	while (clock_mono_ns() < ns)
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
}

static void
live(int64_t poll_ns)
{
	struct sums s = {cells, used, &large, &border, 0, false, 0};
	int64_t began_ns = clock_mono_ns(), end_ns, at_ns;
	__u32 most = 0;
	int i, k;

	memset(cells, 0, sizeof(cells));
	memset(used, 0, sizeof(used));
	border = (__u64)(began_ns + SLOT_NS) & ~1ULL;
	added = taken = 0;
	for (i = 1; i <= SLOTS; i++) {
		end_ns = began_ns + i * SLOT_NS;
		at_ns = end_ns - SLOT_NS + poll_ns / 2;
		for (k = 0; at_ns < end_ns; at_ns += poll_ns, k++) {
			until(at_ns);
			add_some();
			sums_poll(&s, take, NULL);
			most = used[0] > most ? used[0] : most;
			most = used[1] > most ? used[1] : most;
		}
		until(end_ns + 20 * MS);
		sums_take(&s, end_ns + SLOT_NS, take, NULL);
	}
	s.stopped = true;
	sums_take(&s, end_ns + 2 * SLOT_NS, take, NULL);
	CHECK_INT(taken, added);
	/* A slot's, and one that is over. */
	CHECK(most <= 2 * (__u32)(SLOT_NS / poll_ns) * VALUES);
}

TEST(cells_are_given_back)
{
	live(SLOT_NS / 2);
	live(SLOT_NS * 5 / 8);
}

int
main(void)
{
	RUN(cells_are_given_back);
	return test_done();
}
