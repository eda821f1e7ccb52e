/*
 * What is counted of each service: against plain sums, by more services than
 * there is room for.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "collector/engine/service_faults.h"
#include "store/base/buf.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define SLOT_NS INT64_C(10000000000)

/* The increase of a counter of a slot; -1: it was not told. */
static int64_t
increase(const struct batch *b, const char *name, const char *service,
    const char *reason)
{
	struct label labels[4];
	struct series_desc d;
	const char *text;
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		text = label_find(d.labels, d.n_labels, "reason");
		if (strcmp(d.name, name) == 0 && strcmp(service,
		    label_find(d.labels, d.n_labels, "service")) == 0 &&
		    strcmp(text != NULL ? text : "", reason) == 0)
			return b->blocks[i].increase;
	}
	return -1;
}

#define SAMPLES "memlens_service_samples_total"
#define BROKEN "memlens_service_stacks_broken_total"

static struct batch *
slot_of(struct service_faults *f, uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)SLOT_NS);

	service_faults_put(f, b, slot, (int64_t)slot * SLOT_NS);
	return b;
}

TEST(each_service_has_its_own)
{
	struct service_faults *f = service_faults_new("cpu");
	struct batch *b;

	service_faults_of(f, "a")->samples += 100;
	service_faults_of(f, "a")->broken[BROKEN_NO_TABLES] += 7;
	service_faults_of(f, "b")->samples += 5;
	service_faults_of(f, "b")->lost[LOST_AGGREGATE_FULL] += 2;
	b = slot_of(f, 1);
	CHECK_INT(increase(b, SAMPLES, "a", ""), 100);
	CHECK_INT(increase(b, BROKEN, "a", "no tables yet"), 7);
	CHECK_INT(increase(b, BROKEN, "a", "no row"), -1);
	CHECK_INT(increase(b, SAMPLES, "b", ""), 5);
	CHECK_INT(increase(b, BROKEN, "b", "no tables yet"), -1);
	CHECK_INT(increase(b, "memlens_service_samples_lost_total", "b",
	    "aggregate full"), 2);
	batch_free(b);
	/* It tells of what was added, of a reason that it had again too. */
	service_faults_of(f, "a")->samples += 1;
	b = slot_of(f, 2);
	CHECK_INT(increase(b, SAMPLES, "a", ""), 1);
	CHECK_INT(increase(b, BROKEN, "a", "no tables yet"), 0);
	CHECK_INT(increase(b, SAMPLES, "b", ""), -1);
	batch_free(b);
	service_faults_free(f);
}

/* Services come and go for good; the sum of all increases stays exact. */
TEST(more_services_than_there_is_room_for)
{
	struct service_faults *f = service_faults_new("cpu");
	int64_t told = 0, n;
	struct batch *b;
	char name[32];
	int slot, i;

	for (slot = 1; slot < 20; slot++) {
		for (i = 0; i < 256; i++) {
			snprintf(name, sizeof(name), "s%d", slot * 100 + i);
			service_faults_of(f, name)->samples++;
		}
		b = slot_of(f, (uint64_t)slot);
		for (i = 0; i < 256; i++) {
			snprintf(name, sizeof(name), "s%d", slot * 100 + i);
			n = increase(b, SAMPLES, name, "");
			told += n;
			CHECK_INT(n, 1);
		}
		batch_free(b);
	}
	CHECK_INT(told, 19 * 256);
	service_faults_free(f);
}

int
main(void)
{
	RUN(each_service_has_its_own);
	RUN(more_services_than_there_is_room_for);
	return test_done();
}
