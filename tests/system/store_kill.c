/*
 * A writer that can be killed at any moment, readers that must never notice,
 * and a check of what is left.  Slots are 20 ms long and follow the wall
 * clock.
 *
 *	store_kill writer DIR LOG RUN [RESERVE]  until SIGTERM
 *	store_kill reader DIR                    until SIGTERM; says what was
 *	                                         damaged at most
 *	store_kill check DIR LOG [PAUSE_MS]      the store against the log
 *	store_kill verify DIR                    memlens verify's own
 *
 * Each batch has a stack of its own, but for those of run 0, whose 50 stacks
 * stay the same.  The log says "t NUMBER VALUE" before a
 * batch is given and "a NUMBER" when it was acknowledged.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/check/verify.h"
#include "store/read/reader.h"

#define SLOT (20 * INT64_C(1000000))

static volatile sig_atomic_t stopped;

static void
on_signal(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static bool
failed(const struct err *e)
{
	if (e != NULL)
		printf("error: %s\n", e->text);
	fflush(stdout);
	return e != NULL;
}

/* ---- writer ---- */

static void
say(int log, const char *format, ...)
{
	char line[128];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (write(log, line, (size_t)n) != n)
		perror("log");
}

/* A batch of the present slot; its window may cross into the next one, and
 * some is late. */
static struct batch *
make_batch(uint64_t number, int64_t *value)
{
	struct label service = {"service", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct batch *b = batch_new(SLOT);
	uint64_t slot = (uint64_t)(clock_wall_ns() / SLOT);
	char name[32];
	struct frame f = {FRAME_NATIVE, name, "kv", "", 0};
	uint32_t series = batch_series(b, &d), node;
	int part = 1 + rand() % 20;

	if (number < 1000000) /* run 0: always the same stacks */
		number %= 50;
	snprintf(name, sizeof(name), "n%" PRIu64, number);
	node = batch_node(b, 0, batch_labels(b, NULL, 0));
	node = batch_node(b, node, batch_frame(b, &f));
	if (rand() % 20 == 0)
		slot -= (uint64_t)(rand() % 300);
	batch_add_profile(b, series, slot, node, part);
	*value = part;
	if (rand() % 2) {
		batch_add_profile(b, series, slot - 1, node, 7);
		*value += 7;
	}
	return b;
}

static const struct err *
same_again(void *arg, size_t i, struct batch **b)
{
	(void)i;
	*b = arg;
	return NULL;
}

/* Every third comes so often in one push, of which all count or nothing. */
#define PARTS 20

static const struct err *
append(struct store_writer *w, struct batch *b, uint64_t number)
{
	struct store_parts parts = {PARTS, b->id, 0, same_again, NULL, b};
	const struct err *e = batch_finish(b);

	parts.until = store_batch_until(b);
	return e != NULL ? e : number % 3 != 0 ? store_append(w, b)
	                                       : store_append_parts(w, &parts);
}

/* Gives a batch until it is taken; the store may be full meanwhile. */
static void
give(struct store_writer *w, int log, uint64_t number)
{
	struct store_writer_stats stats;
	int64_t value;
	struct batch *b = make_batch(number, &value);
	const struct err *e;

	value *= number % 3 != 0 ? 1 : PARTS;
	say(log, "t %" PRIu64 " %" PRId64 "\n", number, value);
	while ((e = append(w, b, number)) != NULL && !stopped) {
		store_writer_stats(w, &stats);
		say(log, "s %d %s\n", (int)stats.state, stats.why);
		usleep(20000);
		(void)store_tick(w, clock_wall_ns());
	}
	if (e == NULL)
		say(log, "a %" PRIu64 "\n", number);
	if (e == NULL && rand() % 20 == 0 && store_append(w, b) == NULL)
		say(log, "d %" PRIu64 "\n", number);
	batch_free(b);
}

static int
run_writer(const char *dir, const char *log_path, unsigned run,
    int64_t reserve)
{
	struct store_options o = {.slot_ns = SLOT, .reserve_bytes = reserve};
	uint64_t number = (uint64_t)run * 1000000;
	struct store_writer *w;
	int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);

	srand(run + 1);
	if (log < 0 || failed(store_writer_open(&w, dir, &o)))
		return 1;
	printf("open\n");
	fflush(stdout);
	while (!stopped) {
		give(w, log, number++);
		if (failed(store_tick(w, clock_wall_ns())))
			return 1;
		usleep(5000);
	}
	(void)store_writer_close(w);
	close(log);
	return 0;
}

/* ---- reader ---- */

static const struct err *
total(struct store *s, int64_t from, int64_t until, struct profile **p)
{
	struct profile_query q = {NULL, from, until, NULL, false};
	struct selector *selector;
	const struct err *e = selector_parse("cpu", &selector);

	if (e != NULL)
		return e;
	q.selector = selector;
	e = store_query_profile(s, &q, p);
	selector_free(selector);
	return e;
}

/* Bytes that are allocated now. */
static size_t
heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static bool
manifest_names(const struct store *s, const char *name)
{
	size_t n = strcspn(name, " "); /* "NAME (deleted)" */

	for (uint32_t i = 0; i < s->manifest.n; i++) {
		const char *known = s->manifest.files[i].name;

		if (strlen(known) == n && memcmp(known, name, n) == 0)
			return true;
	}
	return false;
}

/* Whatever the moment: each open file of the store is one that the manifest
 * of the last refresh names, and none is open twice. */
static bool
descriptors_fit(const struct store *s, int *open)
{
	size_t known = 0, length = strlen(s->path);
	DIR *d = opendir("/proc/self/fd");
	char seen[1024][MANIFEST_NAME], path[4200];
	struct dirent *entry;
	bool fine = true;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		const char *name = path + length + 1;
		ssize_t n = readlinkat(dirfd(d), entry->d_name, path,
		    sizeof(path) - 1);

		path[n < 0 ? 0 : n] = '\0';
		if (strncmp(path, s->path, length) != 0 ||
		    path[length] != '/' || known == 1024)
			continue;
		for (size_t i = 0; i < known; i++)
			fine &= strcmp(seen[i], name) != 0;
		fine &= manifest_names(s, name);
		if (!fine)
			printf("error: %s is open\n", path);
		snprintf(seen[known++], sizeof(seen[0]), "%s", name);
	}
	if (d != NULL)
		closedir(d);
	*open = (int)known;
	return fine && known <= s->manifest.n;
}

struct reading {
	struct store *s;
	struct store_extent last;
	int64_t sum; /* of everything, so far */
	uint64_t reads;
	uint64_t damaged; /* records: a kill may cut the last one off */
	int most_open;    /* files of the store */
	size_t most_heap; /* after a refresh, beyond that of the start */
};

/* What must hold after each refresh. */
static bool
read_bounds(struct reading *r, size_t before)
{
	int open;

	if (!descriptors_fit(r->s, &open))
		return false;
	if (open > r->most_open)
		r->most_open = open;
	if (heap() - before > r->most_heap)
		r->most_heap = heap() - before;
	return true;
}

/* One request: everything, and a random part of it. */
static bool
read_once(struct reading *r)
{
	struct store_extent x;
	struct profile *p;
	int64_t sum, from;

	if (failed(store_refresh(r->s)))
		return false;
	store_extent(r->s, &x);
	if (failed(total(r->s, 0, INT64_MAX / 2, &p)))
		return false;
	sum = (int64_t)p->nodes[0].total;
	profile_free(p);
	if (x.until_ns < r->last.until_ns || sum < r->sum ||
	    x.generation < r->last.generation) {
		printf("error: until %" PRId64 " sum %" PRId64 " generation %"
		    PRIu64 " after %" PRId64 ", %" PRId64 ", %" PRIu64 "\n",
		    x.until_ns, sum, x.generation, r->last.until_ns, r->sum,
		    r->last.generation);
		return false;
	}
	if (x.damaged > r->damaged)
		r->damaged = x.damaged;
	from = x.until_ns - rand() % (100 * SLOT);
	if (failed(total(r->s, from, from + rand() % (50 * SLOT), &p)))
		return false;
	profile_free(p);
	r->last = x;
	r->sum = sum;
	r->reads++;
	return true;
}

static int
run_reader(const char *dir)
{
	struct reading r = {0};
	size_t before = heap();

	srand((unsigned)getpid());
	if (failed(store_open(&r.s, dir, 0)))
		return 1;
	while (!stopped) {
		if (!read_once(&r) || failed(store_refresh(r.s)) ||
		    !read_bounds(&r, before))
			return 1;
		usleep(2000);
	}
	store_close(r.s);
	printf("reads %" PRIu64 " files %d heap %zu KB, closed %zd KB,"
	    " manifest %" PRIu64 " damaged %" PRIu64 "\n", r.reads,
	    r.most_open, r.most_heap >> 10,
	    (ssize_t)(heap() - before) >> 10, r.last.generation, r.damaged);
	return 0;
}

/* ---- check ---- */

struct tried {
	uint64_t number;
	int64_t value, got;
	bool taken;
};

static int
compare_tried(const void *a, const void *b)
{
	const struct tried *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static struct tried *
find_tried(struct tried *all, size_t n, uint64_t number)
{
	struct tried key = {.number = number};

	return bsearch(&key, all, n, sizeof(*all), compare_tried);
}

/* Numbers rise within the log, so that it is sorted already. */
static struct tried *
read_log(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	struct tried *all = NULL, *t;
	size_t cap = 0;
	char line[400];
	uint64_t number;
	int64_t value;

	*n = 0;
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "t %" SCNu64 " %" SCNd64, &number, &value) ==
		    2) {
			if (*n == cap) {
				cap = cap ? cap * 2 : 1024;
				all = realloc(all, cap * sizeof(*all));
			}
			all[(*n)++] = (struct tried){number, value, 0, false};
		} else if (sscanf(line, "a %" SCNu64, &number) == 1 &&
		    (t = find_tried(all, *n, number)) != NULL)
			t->taken = true;
	}
	if (f != NULL)
		fclose(f);
	return all;
}

/*
 * Of a running writer: what was acknowledged before the store was read must
 * be there, what was begun until after it may be.
 */
static void
mark_taken(struct tried *all, size_t n, const struct tried *before,
    size_t n_before)
{
	for (size_t i = 0; i < n; i++)
		all[i].taken = false;
	for (size_t i = 0; i < n_before; i++) {
		struct tried *t = find_tried(all, n, before[i].number);

		if (t != NULL)
			t->taken = before[i].taken;
	}
}

/* Adds what the store has to the batches; how many it has of none. */
static size_t
take_profile(const struct profile *p, struct tried *all, size_t n)
{
	size_t wrong = 0;

	for (size_t i = 1; i < p->n_nodes; i++) {
		const char *name = p->nodes[i].name;
		struct profile_samples samples;
		struct tried *t = name[0] != 'n' ? NULL
		    : find_tried(all, n, strtoull(name + 1, NULL, 10));

		if (t != NULL) {
			profile_samples(p, i, &samples);
			t->got += (int64_t)samples.self;
		} else if (p->nodes[i].self != 0) {
			printf("%s: nobody gave it\n", name);
			wrong++;
		}
	}
	return wrong;
}

static int
run_check(const char *dir, const char *log_path, unsigned pause_ms)
{
	size_t n, n_before, taken = 0, wrong;
	struct tried *before = read_log(log_path, &n_before), *all;
	struct store_extent x;
	struct profile *p;
	struct store *s;

	usleep(pause_ms * 1000);
	if (failed(store_open(&s, dir, 0)) ||
	    failed(total(s, 0, INT64_MAX / 2, &p)))
		return 1;
	all = read_log(log_path, &n);
	mark_taken(all, n, before, n_before);
	wrong = take_profile(p, all, n);
	for (size_t i = 0; i < n; i++) {
		bool fine = all[i].got == all[i].value ||
		    (all[i].got == 0 && !all[i].taken);

		taken += all[i].taken;
		wrong += !fine;
		if (!fine && wrong < 10)
			printf("batch %" PRIu64 ": %" PRId64 ", not %" PRId64
			    ", %s\n", all[i].number, all[i].got, all[i].value,
			    all[i].taken ? "acknowledged" : "not acknowledged");
	}
	store_extent(s, &x);
	printf("%zu tried, %zu acknowledged, %zu wrong, %" PRIu64
	    " damaged, %" PRIu64 " files, %" PRIu64 " journals\n", n, taken,
	    wrong, x.damaged, x.files, x.journals);
	store_close(s);
	profile_free(p);
	free(before);
	free(all);
	return wrong != 0;
}

static void
on_problem(void *arg, const char *what, double progress)
{
	(void)arg;
	(void)progress;
	if (what != NULL)
		printf("%s\n", what);
}

static int
run_verify(const char *dir)
{
	struct verify_report report;

	if (failed(store_verify(dir, on_problem, NULL, &report)))
		return 1;
	printf("verified %" PRIu64 " files, %" PRIu64 " blocks, %" PRIu64
	    " problems\n", report.files, report.blocks, report.problems);
	return report.problems != 0;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	signal(SIGTERM, on_signal);
	if (strcmp(what, "writer") == 0 && argc >= 5)
		return run_writer(argv[2], argv[3], (unsigned)atoi(argv[4]),
		    argc > 5 ? atoll(argv[5]) : 0);
	if (strcmp(what, "reader") == 0)
		return run_reader(argv[2]);
	if (strcmp(what, "check") == 0 && argc >= 4)
		return run_check(argv[2], argv[3],
		    argc > 4 ? (unsigned)atoi(argv[4]) : 0);
	if (strcmp(what, "verify") == 0)
		return run_verify(argv[2]);
	fprintf(stderr, "usage: store_kill writer|reader|check|verify DIR\n");
	return 2;
}
