/*
 * Agents that push what is in use beside a naive model: a constant is that
 * constant in each slot that the windows cover, whatever their length, their
 * phase and their jitter.
 */
#include <stdlib.h>
#include <unistd.h>

#include "fcgi/format/in/folded.h"
#include "fcgi/format/stacks.h"
#include "fcgi/push/push.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT (10 * NS_PER_S)
#define BEGIN (INT64_C(102400) * SLOT)
#define SLOTS 8

struct rig {
	char dir[64];
	struct store_writer *w;
};

static void
rig_init(struct rig *r)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};

	*r = (struct rig){.dir = "/tmp/test-agents-XXXXXX"};
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
append(void *arg, struct batch *b)
{
	return store_append(arg, b);
}

/* One push of an agent on a host. */
static void
push(struct rig *r, const char *host, const char *text, int64_t from_ns,
    int64_t until_ns)
{
	static const struct stacks_type inuse = {"inuse_space", "bytes", 1,
	    SERIES_STOCK};
	struct label label = {"host", host};
	struct push_window w = {"app", &label, 1, from_ns, until_ns};
	struct stacks *s = stacks_new(&stacks_limits_push);
	struct push *p = push_new(SLOT, NULL);

	CHECK_OK(folded_parse(s, text, strlen(text), &inuse));
	CHECK_OK(push_add(p, s, &w));
	CHECK_OK(push_send(p, append, r->w));
	push_free(p);
	stacks_free(s);
}

static int64_t
in_use(const struct rig *r, int slot)
{
	struct profile_query q = {.from_ns = BEGIN + slot * SLOT,
	    .until_ns = BEGIN + (slot + 1) * SLOT};
	struct selector *selector;
	struct store *s = NULL;
	struct profile *p;
	int64_t total;

	CHECK_OK(selector_parse("inuse_space", &selector));
	CHECK_OK(store_open(&s, r->dir, 0));
	q.selector = selector;
	CHECK_OK(store_query_profile(s, &q, &p));
	total = (int64_t)p->nodes[0].total;
	profile_free(p);
	store_close(s);
	selector_free(selector);
	return total;
}

/* Windows that follow each other; each is up to `jitter` shorter or longer. */
static void
agent(const char *const *hosts, size_t n, int64_t phase, int64_t length,
    int64_t jitter)
{
	int64_t at = BEGIN + phase, end, off;
	struct rig r;

	rig_init(&r);
	srand(7);
	for (; at < BEGIN + SLOTS * SLOT; at = end) {
		off = jitter == 0 ? 0 : rand() % (2 * jitter) - jitter;
		end = at + length + off;
		for (size_t i = 0; i < n; i++)
			push(&r, hosts[i], "m;a 1000\n", at, end);
	}
	for (int i = phase > 0; i < SLOTS; i++)
		CHECK_INT(in_use(&r, i), 1000 * (int64_t)n);
	rig_fini(&r);
}

TEST(a_constant_in_use_is_that_in_every_slot)
{
	static const char *const hosts[] = {"a", "b"};
	static const int64_t tenths[] = {10, 30, 49, 50, 75, 90, 100, 110,
	    150, 250};

	for (size_t i = 0; i < sizeof(tenths) / sizeof(*tenths); i++) {
		agent(hosts, 1, 0, tenths[i] * NS_PER_S / 10, 0);
		agent(hosts, 1, 7 * NS_PER_S / 10, tenths[i] * NS_PER_S / 10,
		    0);
		agent(hosts, 2, 0, tenths[i] * NS_PER_S / 10, 0);
	}
	agent(hosts, 1, 2 * NS_PER_S, SLOT, 4 * NS_PER_S / 10);
	agent(hosts, 2, 2 * NS_PER_S, SLOT, 4 * NS_PER_S / 10);
}

TEST(parts_of_a_slot_are_averaged)
{
	struct rig r;

	rig_init(&r);
	push(&r, "a", "m;a 3001\n", BEGIN, BEGIN + 3 * NS_PER_S);
	push(&r, "a", "m;a 4001\n", BEGIN + 3 * NS_PER_S, BEGIN + 6 * NS_PER_S);
	push(&r, "a", "m;a 5001\n", BEGIN + 6 * NS_PER_S, BEGIN + SLOT);
	CHECK_INT(in_use(&r, 0), 4001);
	rig_fini(&r);
}

TEST(two_processes_of_one_name_add)
{
	struct rig r;

	rig_init(&r);
	push(&r, "a", "m;a 100\n", BEGIN, BEGIN + SLOT);
	push(&r, "a", "m;a 30\n", BEGIN, BEGIN + SLOT);
	CHECK_INT(in_use(&r, 0), 130);
	rig_fini(&r);
}

int
main(void)
{
	RUN(a_constant_in_use_is_that_in_every_slot);
	RUN(parts_of_a_slot_are_averaged);
	RUN(two_processes_of_one_name_add);
	return test_done();
}
