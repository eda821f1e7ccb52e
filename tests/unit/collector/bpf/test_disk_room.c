/*
 * The cells of histograms, as the disk's program fills them: however many
 * threads wait for a CPU, requests have room.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/unit/test.h"

#define barrier() __asm__ volatile("" :: \
				       : "memory")
#define barrier_var(v) __asm__ volatile("" \
					: "+r"(v))

#include "collector/bpf/disk.h"
#include "collector/bpf/sums.bpf.h"

#define PROCESSES 200
#define VALUES 500 /* of each, each in a bucket of its own */

/* As the program does. */
static bool
add(__u32 tgid, __u8 what, __u64 value)
{
	struct sums_key key = {.tgid = tgid, .what = what};

	return sums_add(&key, disk_leaves_room(what), 0, value);
}

/* How many of so many different values found room. */
static unsigned
add_many(__u32 tgid, __u8 what, unsigned n)
{
	unsigned added = 0, i;
	__u64 value = 256;

	for (i = 0; i < n; i++, value += value / 128)
		added += add(tgid, what, value);
	return added;
}

static void
empty(void)
{
	memset(sums_cells, 0, sizeof(sums_cells));
	memset(sums_used, 0, sizeof(sums_used));
}

TEST(the_run_queue_leaves_room)
{
	unsigned queued = 0, i;

	empty();
	for (i = 1; i <= PROCESSES; i++)
		queued += add_many(i, DISK_RUN_QUEUE, VALUES);
	CHECK(queued > SUMS_CELLS / 2); /* most of the table is for it, */
	CHECK(queued < PROCESSES * VALUES);
	CHECK(queued <= SUMS_CELLS / 4 * 3);
	/* and all of these are there. */
	CHECK_INT(add_many(1, DISK_QUEUE, 600), 600);
	CHECK_INT(add_many(1, DISK_DEVICE, 600), 600);
	CHECK_INT(add_many(2, DISK_SYNC, 600), 600);
	CHECK_INT(sums_used[0], queued + 1800);
}

TEST(who_is_alone_has_all_of_it)
{
	unsigned added = 0, i;

	empty();
	for (i = 1; i <= PROCESSES; i++) {
		added += add_many(i, DISK_DEVICE, VALUES);
		if (i == 25) /* and none is lost before it is nearly full */
			CHECK_INT(added, 25 * VALUES);
	}
	CHECK(added > SUMS_CELLS - SUMS_CELLS / 64);
	CHECK_INT(sums_used[0], added);
	CHECK_INT(sums_used[1], 0);
	/* What has a cell finds it again, and sums there. */
	CHECK(add(1, DISK_DEVICE, 256));
	CHECK_INT(sums_used[0], added);
}

int
main(void)
{
	RUN(the_run_queue_leaves_room);
	RUN(who_is_alone_has_all_of_it);
	return test_done();
}
