/*
 * Whose memory is observed: processes with and without the library, by service
 * and instance, against plain sums.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/objects/objects.h"
#include "collector/objects/observed.h"
#include "collector/process/process.h"
#include "tests/unit/test.h"

static struct process_read reads[8];

static struct process *
begin(struct processes *table, int i, const char *service,
    const char *instance, uint64_t pages)
{
	struct process *p = process_add(table, 100 + i, 1000);

	CHECK(p != NULL);
	reads[i] = (struct process_read){.stat = {.resident_pages = pages}};
	snprintf(reads[i].service, sizeof(reads[i].service), "%s", service);
	snprintf(reads[i].instance, sizeof(reads[i].instance), "%s",
	    instance);
	p->read = &reads[i];
	return p;
}

TEST(those_that_have_it_and_those_that_do_not)
{
	struct processes *table = processes_new();
	struct objects *o = objects_new(table);
	int64_t page = sysconf(_SC_PAGESIZE);
	struct observed of = {.n = 0};
	struct process *p[8];

	p[0] = begin(table, 0, "db", "one", 10);
	p[1] = begin(table, 1, "db", "one", 5);
	p[2] = begin(table, 2, "db", "two", 30);
	p[3] = begin(table, 3, "web", "", 70);
	p[4] = begin(table, 4, "alone", "", 3);
	p[5] = begin(table, 5, "db", "two", 0);
	reads[5].zombie = true;
	CHECK(objects_holds(o, p[0]));
	CHECK(objects_holds(o, p[4]));
	for (int again = 0; again < 2; again++) {
		/* until it is asked: then it begins anew */
		objects_sampled(o, p[0], alloc_size(100, again == 0 ? 3 : 0));
		observed_clear(&of);
		observed_hold(&of, p[0]);
		observed_hold(&of, p[4]);
		observed_hold(&of, p[4]);
		for (int i = 0; i < 6; i++)
			observed_count(&of, p[i]);
		CHECK_INT(of.n, 3); /* nobody of "web" has it */
		CHECK_STR(of.parts[0].service, "db");
		CHECK_STR(of.parts[0].instance, "one");
		CHECK_INT(of.parts[0].processes[1], 1);
		CHECK_INT(of.parts[0].processes[0], 1);
		CHECK_INT(of.parts[0].bytes[1], 10 * page);
		CHECK_INT(of.parts[0].bytes[0], 5 * page);
		CHECK_STR(of.parts[1].instance, "two");
		CHECK_INT(of.parts[1].processes[1], 0);
		CHECK_INT(of.parts[1].processes[0], 1);
		CHECK_INT(of.parts[1].bytes[0], 30 * page);
		CHECK_INT(of.parts[1].mean, 0);
		CHECK_INT(observed_mean(&of, "db"), again == 0 ? 4 << 20 :
		    1 << 19);
		CHECK_INT(observed_mean(&of, "web"), 0);
		CHECK_STR(of.parts[2].service, "alone");
		CHECK_INT(of.parts[2].processes[1], 1);
		CHECK_INT(of.parts[2].processes[0], 0);
	}
	CHECK(observed_has(&of, p[2]));
	CHECK(!observed_has(&of, p[3]));
	observed_fini(&of);
	for (int i = 0; i < 6; i++)
		p[i]->read = NULL; /* ours */
	objects_free(o);
	processes_free(table);
}

int
main(void)
{
	RUN(those_that_have_it_and_those_that_do_not);
	return test_done();
}
