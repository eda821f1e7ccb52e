/*
 * Marks of programs that end, over a /proc that the test makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/process/process_count.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/test.h"

#define PID 42
#define MANY 20
#define SLOT_NS (10 * NS_PER_S)

static char proc[] = "/tmp/memlens-test-proc-XXXXXX";
static char text[200]; /* of the last mark of a slot */
static int64_t time_ns; /* its own */

static void
begin_process(int pid)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	CHECK(mkdir(path, 0755) == 0);
	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	f = fopen(path, "w");
	fprintf(f, "%d (kept) S 1 1 1 0 -1 0 11 0 3 0 70 30 0 0 20 0 5 0 100 "
	    "4096000 250 18446744073709551615 1 2 3 0 0 0 0 0\n", pid);
	fclose(f);
}

static void
end_process(int pid)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	CHECK(rmdir(path) == 0);
}

/* The marks of a slot that closes now, each as KIND and a blank. */
static const char *
marks_of(struct process_count *c)
{
	static char said[200];
	struct batch *b = batch_new(SLOT_NS);
	int64_t now_ns = clock_wall_ns();

	said[0] = text[0] = '\0';
	process_count_close_slot(c, (uint64_t)(now_ns / SLOT_NS), b,
	    now_ns, 0);
	for (size_t i = 0; i < b->n_facts; i++) {
		snprintf(said + strlen(said), sizeof(said) - strlen(said),
		    "%s ", batch_str(b, b->facts[i].subject));
		time_ns = b->facts[i].time_ns;
		snprintf(text, sizeof(text), "%.*s", (int)b->facts[i].n,
		    (const char *)b->fact_bytes.data + b->facts[i].first);
	}
	batch_free(b);
	return said;
}

/* Ends `n` processes of a service that a rule names between two sweeps, and
 * says their marks. */
static const char *
ends_of(int n)
{
	struct process_count *count;
	struct services *s = NULL;
	struct config c;
	const char *said;

	CHECK_OK(config_load(&c, NULL));
	c.services[c.n_services++] = (struct config_service){strdup("kept"),
	    strdup("^kept$"), NULL, NULL};
	for (int i = 0; i < n; i++)
		begin_process(PID + i);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, clock_wall_ns()));
	count = process_count_new(s);
	CHECK_STR(marks_of(count), "");
	for (int i = 0; i < n; i++)
		end_process(PID + i);
	CHECK_OK(services_sweep(s, clock_wall_ns()));
	CHECK(services_known(s, PID) == NULL);
	for (int i = 0; i < n; i++)
		process_count_event(count, &(struct process_event){
		    .kind = PROCESS_EXIT, .pid = PID + i, .tid = PID + i,
		    .time_ns = clock_mono_ns()});
	said = marks_of(count);
	process_count_free(count);
	services_free(s);
	config_free(&c);
	return said;
}

/* The end of a program was not told when a sweep of /proc had missed it
 * before the kernel's word of it was read. */
TEST(end_that_a_sweep_saw_first)
{
	CHECK_STR(ends_of(1), "ended ");
}

/* Of twelve replicas that died within a slot eight were told. */
TEST(each_watched_end_of_a_slot)
{
	CHECK_INT(strlen(ends_of(MANY)), MANY * strlen("ended "));
}

/* Sets what of a process /proc would say by its sockets. */
static void
listen_at(void *arg, struct process *p)
{
	p->read->port = *(uint16_t *)arg;
	p->read->number = 3;
}

/* A replica that listens after its first seconds says so: by that alone can
 * it be told from others that died. */
TEST(one_that_listens_late)
{
	struct process_count *count;
	struct services *s = NULL;
	struct config c;
	uint16_t port = 0;

	CHECK_OK(config_load(&c, NULL));
	c.services[c.n_services++] = (struct config_service){strdup("kept"),
	    strdup("^kept$"), NULL, NULL};
	begin_process(PID);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, clock_wall_ns()));
	count = process_count_new(s);
	CHECK_STR(marks_of(count), "");
	services_each(s, listen_at, &port);
	CHECK_STR(marks_of(count), "");
	port = 2003;
	services_each(s, listen_at, &port);
	CHECK_STR(marks_of(count), "listens ");
	CHECK_STR(text, "42 kept :2003 #3\tkept");
	CHECK_STR(marks_of(count), "");
	end_process(PID);
	process_count_event(count, &(struct process_event){
	    .kind = PROCESS_EXIT, .pid = PID, .tid = PID,
	    .time_ns = clock_mono_ns() - 30 * SLOT_NS});
	CHECK_STR(marks_of(count), "ended ");
	CHECK(time_ns < clock_wall_ns() - 29 * SLOT_NS); /* when that was */
	CHECK_STR(text, "42 kept :2003\tkept");
	process_count_free(count);
	services_free(s);
	config_free(&c);
}

int
main(void)
{
	if (mkdtemp(proc) == NULL)
		return 1;
	RUN(end_that_a_sweep_saw_first);
	RUN(each_watched_end_of_a_slot);
	RUN(one_that_listens_late);
	rmdir(proc);
	return test_done();
}
