/*
 * Sealing a journal of many different stacks in a process that may have only
 * so much memory: what one slot of a large service brings.
 */
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/store.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define START UINT64_C(4096)
#define PUSH 5000u
#define NAMES 4000u

struct shape {
	uint32_t stacks;
	unsigned shared, own; /* calls that other stacks have too, or not */
	rlim_t memory;        /* in which it is sealed */
};

/* It needs 20 to 24 MiB; 36 to 40 before. */
static const struct shape service = {100000, 10, 5, 30u << 20};

/* Of each node of the call tree: parent and edge 8, first child and next
 * sibling 8, of all in the order of their edges or as bytes 4, marks 2.  Some
 * 40 before. */
#define DEEP 50000u
#define CALLS 14u
#define NODE_BYTES 24u
static const struct shape deep = {DEEP, 0, CALLS,
    DEEP * CALLS * NODE_BYTES + (4u << 20)};

/* Five names of its own each: it needs 38 to 42 MiB, and 64 to 84 as one
 * piece. */
static const struct shape named = {75000, 0, 0, 42u << 20};

static uint32_t
name(struct batch *b, uint64_t i)
{
	char text[64];
	struct frame f = {FRAME_NATIVE, text, "service", "", 0};

	snprintf(text, sizeof(text), "name_of_a_function_%" PRIu64, i);
	return batch_frame(b, &f);
}

/* Calls that a thousand stacks share, then those by the stack's number. */
static void
add_stack(struct batch *b, const struct shape *s, uint32_t series,
    uint32_t top, uint64_t stack)
{
	uint32_t node = top;

	for (unsigned k = 0; k < s->shared; k++)
		node = batch_node(b, node, name(b, k + stack % 100 * 10));
	for (unsigned k = 0; k < s->own; k++)
		node = batch_node(b, node,
		    name(b, (stack / (k == 0 ? 1 : 25) + k) % NAMES));
	for (unsigned k = 0; k < 5 && s->shared + s->own == 0; k++)
		node = batch_node(b, node, name(b, NAMES + 5 * stack + k));
	batch_add_profile(b, series, START, node, 1 + (int64_t)(stack % 3));
}

static void
fill(const char *dir, const struct shape *s)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct label big = {"service", "big"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10000000,
	    0, &big, 1};
	struct store_writer *w;

	if (store_writer_open(&w, dir, &o) != NULL)
		_Exit(1);
	for (uint64_t i = 0; i < s->stacks;) {
		struct batch *b = batch_new((uint64_t)SLOT);
		uint32_t series = batch_series(b, &d);
		uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));

		do
			add_stack(b, s, series, top, i++);
		while (i % PUSH != 0);
		if (store_append(w, b) != NULL)
			_Exit(1);
		batch_free(b);
	}
	_Exit(0);
}

/* Memory of its own that the process has already. */
static rlim_t
data_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmData: %lu", &kb);
	if (f != NULL)
		fclose(f);
	return (rlim_t)kb << 10;
}

static void
seal(const char *dir, const struct shape *s)
{
	struct store_options o = {.slot_ns = SLOT, .no_thread = true};
	struct rlimit limit;
	struct store_writer *w;
	struct store_writer_stats stats = {.state = STORE_OK};
	const struct err *e;

	mallopt(M_ARENA_MAX, 1); /* as the daemon */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
	malloc_trim(0); /* nothing that the process has freed is room */
	limit.rlim_cur = limit.rlim_max = data_bytes() + s->memory;
	if (setrlimit(RLIMIT_DATA, &limit) != 0)
		_Exit(2);
	e = store_writer_open(&w, dir, &o);
	if (e == NULL)
		e = store_tick(w, (int64_t)(START + 3 * 64) * SLOT);
	if (e == NULL)
		store_writer_stats(w, &stats);
	if (e != NULL || stats.state != STORE_OK)
		printf("# %s\n", e != NULL ? e->text : stats.why);
	fflush(stdout);
	_Exit(e != NULL || stats.state != STORE_OK);
}

/* Each in a process of its own, which holds nothing of the other. */
static int
apart(void (*what)(const char *, const struct shape *), const char *dir,
    const struct shape *s)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		what(dir, s);
	return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static uint64_t
stacks_of(const char *dir)
{
	struct selector *selector = NULL;
	struct profile_query q = {.from_ns = (int64_t)START * SLOT,
	    .until_ns = (int64_t)(START + 64) * SLOT};
	struct profile *p = NULL;
	struct store *s = NULL;
	uint64_t n = 0;

	CHECK_OK(selector_parse("cpu", &selector));
	q.selector = selector;
	CHECK_OK(store_open(&s, dir, 0));
	CHECK_OK(store_query_profile(s, &q, &p));
	n = p != NULL ? p->stacks : 0;
	profile_free(p);
	store_close(s);
	selector_free(selector);
	return n;
}

static void
check_shape(const struct shape *s)
{
	char dir[] = "/tmp/test-seal-memory-XXXXXX", command[128];

	CHECK(mkdtemp(dir) != NULL);
	CHECK_INT(apart(fill, dir, s), 0);
	CHECK_INT(apart(seal, dir, s), 0);
	CHECK_INT(stacks_of(dir), s->stacks);
	snprintf(command, sizeof(command),
	    "ls %s | grep -q '^span-' && rm -rf %s", dir, dir);
	CHECK_INT(system(command), 0);
}

TEST(many_stacks_are_sealed_in_30_mib)
{
	check_shape(&service);
}

TEST(a_node_of_its_own_takes_24_bytes_at_a_seal)
{
	check_shape(&deep);
}

TEST(names_of_their_own_are_sealed_in_pieces)
{
	check_shape(&named);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MEMORY true /* of the sanitizer, beside ours */
#else
#define OWN_MEMORY false
#endif

int
main(void)
{
	if (OWN_MEMORY) {
		printf("skip - seal_memory: sanitizers take memory, too\n");
		return 0;
	}
	RUN(many_stacks_are_sealed_in_30_mib);
	RUN(a_node_of_its_own_takes_24_bytes_at_a_seal);
	RUN(names_of_their_own_are_sealed_in_pieces);
	return test_done();
}
