/*
 * The store under everything at once: batches on time, late and early, twice
 * the same; sealing, merging, retention, purges; restarts; faults of memory,
 * disk and descriptors; kill -9 at any call that reaches the disk, in the
 * middle of writes too.  After each, answers of a new reader and of one that
 * stays must be those of a plain list of what was acknowledged.
 *
 *	SEED=n SECONDS_LONG=600 test_store_random
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "store/check/verify.h"
#include "tests/unit/faults.h"
#include "tests/unit/store/random_model.h"

/* Of this process. */
struct run {
	struct model *m;
	struct store_writer *w;
	struct store *reader;
	struct batch *batch; /* refused, to be given again */
};

static unsigned
roll(struct model *m, unsigned n)
{
	return (unsigned)rand_r(&m->seed) % n;
}

static void
run_open(struct run *r)
{
	r->m->options.no_thread = roll(r->m, 3) != 0;
	/* as wholes, or in pieces of which not all can be merged */
	r->m->options.seal_bytes = roll(r->m, 2) != 0 ? 0 : 20000;
	r->m->options.merge_bytes = roll(r->m, 2) != 0 ? 0 : 3000;
	/* and are of 16 slots where there is so much in them */
	r->m->options.short_bytes = roll(r->m, 2) != 0 ? 0 : 2000;
	note_add(r->m, r->m->options.no_thread ? "opened" :
	    "opened with a thread", -1, 0, 0);
	CHECK_OK(store_writer_open(&r->w, r->m->dir, &r->m->options));
	if (r->w == NULL) {
		printf("# the store cannot be opened any more\n");
		exit(1);
	}
}

/* ---- writing ---- */

static uint64_t
random_slot(struct model *m)
{
	uint64_t slot = m->now;

	if (roll(m, 30) == 0)
		slot -= roll(m, 300);
	else if (roll(m, 200) == 0)
		slot += roll(m, 100);
	return slot < FIRST ? FIRST : slot;
}

static struct batch *
random_batch(struct model *m)
{
	char name[16], function[32];
	struct label l = {"service", name}, pool = {"pool", "p"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &l, 1};
	struct batch *b = batch_new((uint64_t)SLOT);
	uint32_t series;

	m->service = (int)roll(m, SERVICES);
	m->slot = random_slot(m);
	memset(m->given, 0, sizeof(m->given));
	snprintf(name, sizeof(name), "s%d", m->service);
	series = batch_series(b, &d);
	for (int i = 0, n = 1 + (int)roll(m, 12); i < n; i++) {
		unsigned which = roll(m, FUNCTIONS);
		int value = 1 + (int)roll(m, 30);
		struct frame f = {FRAME_NATIVE, function, "kv", "b1", 16};
		uint32_t node = batch_node(b, 0, batch_labels(b, &pool, 1));

		snprintf(function, sizeof(function), "%02u", which);
		node = batch_node(b, node, batch_frame(b, &f));
		batch_add_profile(b, series, m->slot, node, value);
		m->given[which] += value;
	}
	return b;
}

static void
model_count(struct model *m)
{
	for (int i = 0; i < FUNCTIONS; i++)
		m->want[m->service][m->slot - FIRST][i] += m->given[i];
	m->unsure = false;
}

/* Gives the batch that was refused, or a new one. */
static bool
run_give(struct run *r)
{
	struct model *m = r->m;
	int kinds = fault_kinds;
	bool fresh = r->batch == NULL;

	if (fresh) {
		fault_kinds = 0; /* the caller's memory is not the point */
		r->batch = random_batch(m);
		fault_kinds = kinds;
		m->unsure = true;
	}
	m->operations++;
	if (store_append(r->w, r->batch) != NULL) {
		m->refused++;
		if (fresh)
			note_batch(m, "refused");
		return false;
	}
	model_count(m);
	note_batch(m, "taken");
	if (roll(m, 40) == 0) { /* again: counts once */
		(void)store_append(r->w, r->batch);
		note_batch(m, "given again");
	}
	batch_free(r->batch);
	r->batch = NULL;
	return true;
}

static const struct err *
run_tick(struct run *r)
{
	r->m->operations++;
	return store_tick(r->w, (int64_t)r->m->now * SLOT + SLOT / 2);
}

/* The fault is over: what was refused is taken, once. */
static void
run_recover(struct run *r)
{
	for (int i = 0; i < 30000 && r->batch != NULL; i++) {
		(void)run_tick(r);
		if (!run_give(r))
			usleep(2000);
	}
	CHECK(r->batch == NULL);
}

static void
run_step(struct run *r)
{
	struct model *m = r->m;

	if (roll(m, 4) == 0) {
		fault_count = 0;
		fault_begin((int)roll(m, FAULT_CUT * 2),
		    (int)roll(m, 1u << roll(m, 12)),
		    roll(m, 3) ? 1 : 1 + (int)roll(m, 20));
	}
	(void)run_tick(r);
	if (roll(m, 20) != 0)
		(void)run_give(r);
	if (fault_kinds != 0 || fault_count != 0)
		m->faults += (unsigned)fault_count;
	fault_end();
	fault_count = 0;
	run_recover(r);
	m->now++;
	if (roll(m, 500) == 0)
		m->now += roll(m, 200); /* an outage */
}

/* ---- answers ---- */

/* Is it the list's sum over what it says it covers? */
static void
check_profile(struct model *m, struct store *s, int service,
    const struct profile *p)
{
	int64_t wrong[FUNCTIONS];
	bool right = !model_wrong(m, service, p, wrong);

	CHECK(right);
	if (right)
		return;
	model_say(m, service, p, wrong);
	model_explain(m, s, service, (uint64_t)(p->from_ns / SLOT),
	    (uint64_t)(p->until_ns / SLOT));
}

static void
check_store(struct model *m, struct store *s, unsigned times)
{
	for (unsigned i = 0; i < times && test_bad < 10; i++) {
		unsigned n = (unsigned)(m->now - FIRST) + 1;
		uint64_t from = i == 0 ? 0 : FIRST + roll(m, n);
		uint64_t until = i == 0 ? m->now + 1000
		                        : from + roll(m, n) + 1;
		int service = (int)roll(m, SERVICES);
		struct profile *p;

		m->operations++;
		CHECK_OK(ask(s, service, from, until, &p));
		if (p != NULL)
			check_profile(m, s, service, p);
		profile_free(p);
	}
}

static void
run_check(struct run *r, unsigned times)
{
	struct store *s = NULL;

	CHECK_OK(store_open(&s, r->m->dir, 0));
	if (s != NULL)
		check_store(r->m, s, times);
	store_close(s);
	if (r->reader == NULL)
		CHECK_OK(store_open(&r->reader, r->m->dir, 200000));
	else
		CHECK_OK(store_refresh(r->reader));
	if (r->reader != NULL)
		check_store(r->m, r->reader, times);
}

/* ---- a writer that dies ---- */

/* Did the last batch get through?  All of it, or nothing. */
static void
run_settle(struct run *r)
{
	struct model *m = r->m;
	int64_t rest = 0, given = 0;
	struct store *s = NULL;
	struct profile *p = NULL;

	if (!m->unsure)
		return;
	CHECK_OK(store_open(&s, m->dir, 0));
	CHECK_OK(ask(s, m->service, m->slot, m->slot + 1, &p));
	if (p != NULL)
		rest = (int64_t)counts_of(p, 0).total;
	for (int i = 0; i < FUNCTIONS; i++) {
		rest -= m->want[m->service][m->slot - FIRST][i];
		given += m->given[i];
	}
	CHECK(rest == 0 || rest == given);
	note_batch(m, rest == 0 ? "not in the store after the death"
	                        : "in the store after the death");
	if (rest != 0)
		model_count(m);
	m->unsure = false;
	profile_free(p);
	store_close(s);
}

static void
run_crash(struct run *r)
{
	struct model *m = r->m;
	int status = 0;
	pid_t pid;

	CHECK_OK(store_writer_close(r->w));
	r->w = NULL;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int bad = test_bad;

		fault_death = (int)roll(m, 1u << (2 + roll(m, 8)));
		run_open(r);
		for (int i = 0; i < 300 && test_bad == bad; i++)
			run_step(r);
		fflush(stdout);
		_exit(test_bad != bad);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == 0));
	m->crashes++;
	note_add(m, WIFSIGNALED(status) ? "killed" : "gone", -1, 0, 0);
	run_open(r);
	run_settle(r);
	run_check(r, 4);
}

/* ---- purges ---- */

struct purging {
	atomic_bool over;
	bool failed;
};

static void
purge_done(void *arg, const struct err *e, const struct purge_report *report)
{
	struct purging *p = arg;

	(void)report;
	p->failed = e != NULL;
	p->over = true;
}

/* Beside the writer's thread, or instead of it. */
static bool
run_purge_query(struct run *r, struct purge_query *q)
{
	struct purge_report report;
	struct purging p = {.over = false};

	if (r->m->options.no_thread)
		return store_purge(r->w, q, &report) == NULL;
	q->done = purge_done;
	q->arg = &p;
	if (store_purge_begin(r->w, q) != NULL)
		return false;
	while (!p.over)
		usleep(500);
	return !p.failed;
}

static void
run_purge(struct run *r)
{
	struct model *m = r->m;
	unsigned n = (unsigned)(m->now - FIRST) + 1;
	unsigned ago = roll(m, n < 1500 ? n : 1500);
	uint64_t from = m->now - ago, until = from + 1 + roll(m, ago + 1);
	int service = (int)roll(m, SERVICES);
	struct selector *selector = NULL;
	char text[48];

	m->operations++;
	note_add(m, "purge", service, from, until);
	snprintf(text, sizeof(text), "cpu{service=\"s%d\"}", service);
	CHECK_OK(selector_parse(text, &selector));
	CHECK(run_purge_query(r, &(struct purge_query){selector,
	    (int64_t)from * SLOT, (int64_t)until * SLOT, NULL, NULL, NULL}));
	selector_free(selector);
	for (uint64_t i = from; i < until && i < FIRST + SLOTS; i++)
		memset(m->want[service][i - FIRST], 0,
		    sizeof(m->want[service][0]));
}

/* ---- all of it ---- */

static void
verify_say(void *arg, const char *what, double progress)
{
	bool torn;

	(void)arg;
	(void)progress;
	if (what == NULL)
		return;
	/* A record that kill -9 has torn stays at its journal's end, and is
	 * said of its slots when that is sealed. */
	torn = strstr(what, "damaged records") != NULL ||
	    strstr(what, "was cut off") != NULL;
	CHECK(torn);
	if (!torn)
		printf("# verify: %s\n", what);
}

static struct run *
run_new(unsigned seed)
{
	struct run *r = calloc(1, sizeof(*r));
	struct model *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == NULL || m == MAP_FAILED)
		abort();
	r->m = m;
	m->seed = seed;
	m->now = FIRST;
	snprintf(m->dir, sizeof(m->dir), "%s/test-random-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(m->dir) == NULL)
		abort();
	m->options.slot_ns = SLOT;
	m->options.retain_fine_ns = roll(m, 2) ? 3000 * SLOT : 0;
	run_open(r);
	return r;
}

static void
run_free(struct run *r)
{
	char command[128];

	store_close(r->reader);
	batch_free(r->batch);
	snprintf(command, sizeof(command), "rm -rf %s", r->m->dir);
	CHECK(system(command) == 0);
	munmap(r->m, sizeof(*r->m));
	free(r);
}

/* One store from its beginning to an end of its time. */
static void
run_life(struct run *r, double until)
{
	struct verify_report report;
	struct model *m = r->m;

	while (m->now < FIRST + SLOTS - 1000 && test_bad < 10 &&
	    (double)time(NULL) < until) {
		unsigned what = roll(m, 12);

		if (what == 0)
			run_crash(r);
		else if (what == 1)
			run_purge(r);
		else if (what == 2) {
			CHECK_OK(store_writer_close(r->w));
			run_open(r);
		} else if (what == 3)
			m->now += roll(m, 600);
		for (unsigned i = 0; i < 60 && test_bad < 10; i++)
			run_step(r);
		run_check(r, 3);
	}
	CHECK_OK(store_writer_close(r->w));
	run_open(r); /* sweeps what faults have left lying about */
	CHECK_OK(store_writer_close(r->w));
	r->w = NULL;
	run_check(r, 20);
	CHECK_OK(store_verify(m->dir, verify_say, NULL, &report));
}

TEST(random_operations_with_faults)
{
	const char *seed_text = getenv("SEED");
	const char *text = getenv("SECONDS_LONG");
	/* The smoke is the same each time; long runs look for something new. */
	unsigned seed = seed_text ? (unsigned)atoi(seed_text) :
	    text ? (unsigned)time(NULL) % 1000000 : 1;
	double until = (double)time(NULL) + (text ? atoi(text) : 6);
	uint64_t operations = 0, faults = 0, crashes = 0, refused = 0;
	unsigned stores = 0;

	printf("# seed %u\n", seed);
	fflush(stdout);
	while (test_bad == 0 && (stores == 0 || (double)time(NULL) < until)) {
		struct run *r = run_new(seed + stores++);

		run_life(r, until);
		operations += r->m->operations;
		faults += r->m->faults;
		crashes += r->m->crashes;
		refused += r->m->refused;
		if (test_bad > 0)
			printf("# failed with SEED=%u\n", seed + stores - 1);
		run_free(r);
	}
	printf("# operations %lu, refused %lu\n# faults %lu\n"
	       "# crashes %lu\n# stores %u\n",
	    (unsigned long)operations, (unsigned long)refused,
	    (unsigned long)faults, (unsigned long)crashes, stores);
}

int
main(void)
{
	fault_init();
	if (getenv("LOUD") == NULL && freopen("/dev/null", "w", stderr) == NULL)
		return 1; /* the store's warnings, which are many here */
	RUN(random_operations_with_faults);
	return test_done();
}
