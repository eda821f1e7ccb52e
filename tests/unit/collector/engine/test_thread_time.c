/*
 * Services that come and go: the table of their threads' time has room for
 * those at work, however many there were.
 */
#include <linux/types.h>
#include <stdio.h>
#include <string.h>

#include "collector/engine/thread_time.h"
#include "collector/process/services.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define AT_ONCE 100
#define SLOTS 60

/* The sum of what a slot tells; *others is that of "(other services)". */
static int64_t
told(const struct batch *b, int64_t *others)
{
	int64_t sum = 0;
	uint32_t i;

	*others = 0;
	for (i = 0; i < b->n_blocks; i++) {
		const struct batch_block *k = &b->blocks[i];
		struct series_desc d;
		struct label labels[8];

		batch_series_desc(b, k->series, &d, labels, 8);
		sum += k->increase;
		if (strcmp(label_find(d.labels, d.n_labels, "service"),
		    SERVICES_OTHER) == 0)
			*others += k->increase;
	}
	return sum;
}

TEST(names_are_given_back)
{
	struct thread_time *t = thread_time_new();
	int64_t ns[WAIT_STATES] = {[WAIT_LOCK] = 5}, others;
	char name[32];
	int slot, i;

	for (slot = 0; slot < SLOTS; slot++) {
		struct batch *b = batch_new(1000000000);

		for (i = 0; i < AT_ONCE; i++) {
			snprintf(name, sizeof(name), "s%d", slot / 2 * AT_ONCE +
			    i);
			thread_time_add(t, name, ns);
		}
		thread_time_add(t, "always", ns);
		thread_time_put(t, b, (uint64_t)slot, slot);
		CHECK_INT(told(b, &others), (AT_ONCE + 1) * 5);
		CHECK_INT(others, 0);
		batch_free(b);
	}
	thread_time_free(t);
}

/* More at once than there is room for: none of their time is lost. */
TEST(too_many_services_are_others)
{
	struct thread_time *t = thread_time_new();
	int64_t ns[WAIT_STATES] = {[WAIT_POLL] = 7}, others;
	struct batch *b = batch_new(1000000000);
	char name[32];
	int i;

	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		thread_time_add(t, name, ns);
	}
	thread_time_put(t, b, 1, 1);
	CHECK_INT(told(b, &others), 3000 * 7);
	CHECK_INT(others, (3000 - 511) * 7);
	batch_free(b);
	thread_time_free(t);
}

int
main(void)
{
	RUN(names_are_given_back);
	RUN(too_many_services_are_others);
	return test_done();
}
