/*
 * What is in use, pushed by several processes of a service: their sum, and
 * its mean over the time, beside a naive model.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN 102400 /* slot */
#define SLOTS 300
#define PROCESSES 5

struct rig {
	char dir[64];
	struct store_writer *w;
	uint64_t seed;
	/* what was in use at the end of a slot; 0: no process observed */
	int64_t value[SLOTS][PROCESSES];
};

static void
rig_init(struct rig *r)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	*r = (struct rig){.seed = 20261121};
	snprintf(r->dir, sizeof(r->dir), "%s/test-stock-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(r->dir) == NULL)
		abort();
	CHECK_OK(store_writer_open(&r->w, r->dir, &o));
}

static void
rig_fini(struct rig *r)
{
	char command[128];

	CHECK_OK(store_writer_close(r->w));
	snprintf(command, sizeof(command), "rm -rf %s", r->dir);
	CHECK(system(command) == 0);
}

static const struct err *
rig_take(void *arg, struct batch *b)
{
	struct rig *r = arg;

	return store_append(r->w, b);
}

/* All that a process has is in one function of its own. */
static void
rig_push(struct rig *r, const char *host, const char *function, int64_t value,
    int64_t from_ns, int64_t until_ns)
{
	static const struct stacks_type inuse = {"inuse_space", "bytes", 1,
	    SERIES_STOCK};
	struct label label = {"host", host};
	struct push_window w = {"app", &label, host != NULL, from_ns,
	    until_ns};
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct push *p = push_new(SLOT, NULL);

	stacks_add(s, stacks_child(s, 0, stacks_frame_named(s, FRAME_MANAGED,
	    function, strlen(function))), stacks_type(s, &inuse), value);
	CHECK_OK(push_add(p, s, &w));
	CHECK_OK(push_send(p, rig_take, r));
	push_free(p);
	stacks_free(s);
}

static int64_t
rig_ask(const struct rig *r, const char *query, int64_t from_ns,
    int64_t until_ns)
{
	struct profile_query q = {NULL, from_ns, until_ns, NULL, false};
	struct profile *p = NULL;
	struct selector *sel;
	struct store *s;
	int64_t total;

	CHECK_OK(selector_parse(query, &sel));
	CHECK_OK(store_open(&s, r->dir, 0));
	q.selector = sel;
	CHECK_OK(store_query_profile(s, &q, &p));
	total = (int64_t)p->nodes[0].total;
	profile_free(p);
	store_close(s);
	selector_free(sel);
	return total;
}

/* ---- processes that come and go, with windows of their own ---- */

/* One process from the beginning to the end: a value holds for a window. */
struct process {
	int number;
	int64_t at, until, window; /* ns */
};

static void
process_step(struct rig *r, struct process *p)
{
	int64_t value = 100 + test_roll(&r->seed, 1000);
	int64_t end = p->at + p->window;
	char name[8] = {'p', (char)('a' + p->number)};

	if (end > p->until)
		end = p->until;
	rig_push(r, p->number % 2 ? "even" : NULL, name, value, p->at, end);
	for (int64_t k = p->at / SLOT - BEGIN; k < SLOTS; k++) {
		int64_t last = (k + 1 + BEGIN) * SLOT - 1;

		if (last >= p->at && last < end)
			r->value[k][p->number] = value;
	}
	p->at = end;
}

/* All push in the order in which their windows end, as in life; spans are
 * sealed meanwhile, so that windows arrive late. */
static void
processes_run(struct rig *r, struct process *all)
{
	for (;;) {
		struct process *next = NULL;

		for (int i = 0; i < PROCESSES; i++) {
			struct process *p = &all[i];

			if (p->at < p->until && (next == NULL ||
			    p->at + p->window < next->at + next->window))
				next = p;
		}
		if (next == NULL)
			return;
		CHECK_OK(store_tick(r->w, next->at + next->window));
		process_step(r, next);
	}
}

static int64_t
naive(const struct rig *r, int first, int last)
{
	int64_t sums[PROCESSES] = {0}, slots = 0, total = 0;

	for (int k = first; k < last; k++) {
		bool seen = false;

		for (int p = 0; p < PROCESSES; p++) {
			sums[p] += r->value[k][p];
			seen |= r->value[k][p] != 0;
		}
		slots += seen;
	}
	for (int p = 0; p < PROCESSES; p++)
		total += sums[p];
	/* nothing is lost by there being several stacks */
	return slots > 0 ? (2 * total + slots) / (2 * slots) : 0;
}

TEST(processes_add_and_time_averages)
{
	static const int64_t windows[PROCESSES] = {10, 15, 60, 10, 61};
	struct process all[PROCESSES];
	struct rig *r = malloc(sizeof(*r));

	rig_init(r);
	for (int i = 0; i < PROCESSES; i++) {
		int64_t begin = BEGIN + (i == 3 ? 150 : 10 * i);
		int64_t end = BEGIN + (i == 1 ? 150 : SLOTS - 20 * i);

		all[i] = (struct process){i, begin * SLOT +
		    test_roll(&r->seed, 10) * NS_PER_S, end * SLOT,
		    windows[i] * NS_PER_S};
	}
	processes_run(r, all);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++) {
			int a = (int)test_roll(&r->seed, SLOTS);
			int b = a + 1 + (int)test_roll(&r->seed,
			    i % 2 ? 12 : (uint32_t)(SLOTS - a));

			b = b > SLOTS ? SLOTS : b;
			CHECK_INT(rig_ask(r, "inuse_space", (BEGIN + a) *
			    SLOT, (BEGIN + b) * SLOT), naive(r, a, b));
		}
		/* once more from merged files */
		CHECK_OK(store_tick(r->w, (BEGIN + 9000) * SLOT));
	}
	rig_fini(r);
	free(r);
}

/* A service that was begun anew under another label is not counted twice. */
TEST(one_after_the_other_is_no_sum)
{
	struct rig *r = malloc(sizeof(*r));

	rig_init(r);
	for (int k = 0; k < 20; k++)
		rig_push(r, k < 10 ? "old" : "new", "f", 1000,
		    (BEGIN + k) * SLOT, (BEGIN + k + 1) * SLOT);
	CHECK_INT(rig_ask(r, "inuse_space", BEGIN * SLOT,
	    (BEGIN + 20) * SLOT), 1000);
	rig_fini(r);
	free(r);
}

/* Dumps of a moment: one process may have made several in a slot; who is
 * told apart by labels adds. */
TEST(moments_average_and_label_sets_add)
{
	int64_t at = BEGIN * SLOT;
	struct rig *r = malloc(sizeof(*r));

	rig_init(r);
	rig_push(r, "a", "f", 1000, at, at);
	rig_push(r, "a", "f", 2000, at + NS_PER_S, at + NS_PER_S);
	CHECK_INT(rig_ask(r, "inuse_space", at, at + SLOT), 1500);
	rig_push(r, "b", "g", 300, at, at + NS_PER_S);
	rig_push(r, "b", "g", 500, at, at + NS_PER_S);
	CHECK_INT(rig_ask(r, "inuse_space", at, at + SLOT), 1900);
	CHECK_INT(rig_ask(r, "inuse_space{host=\"b\"}", at, at + SLOT), 400);
	rig_fini(r);
	free(r);
}

int
main(void)
{
	RUN(processes_add_and_time_averages);
	RUN(one_after_the_other_is_no_sum);
	RUN(moments_average_and_label_sets_add);
	return test_done();
}
