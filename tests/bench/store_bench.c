/*
 * Measures the store on the reference workload: what writing costs, what it
 * leaves on disk, what answers cost.  The population of stacks comes from
 * profiles.py --dump; slots are drawn from it here, since a generator that
 * is slower than the store would hide it.
 *
 *	store_bench write DIR POPULATION SLOTS [threaded]
 *	store_bench metrics DIR SLOTS
 *	store_bench query DIR TIMES
 *	store_bench text POPULATION SLOTS
 *
 * Prints lines "name value unit".
 */
#include "fcgi/format/flamebearer.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/reader.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define SLOT_NS INT64_C(10000000000)
#define FIRST 4096u /* so that cycles begin with a full span */
#define CYCLE 4096u
#define STACKS 3000
#define NAMES 2500
#define DEPTH 64
#define DISTINCT 300
#define DRIFT_SLOTS 2000

static void
must(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "store_bench: %s\n", e->text);
	exit(1);
}

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the workload ---- */

struct stack {
	uint16_t depth, names[DEPTH];
};

struct population {
	FILE *file; /* stands before the next epoch */
	char *names[NAMES];
	struct stack stacks[STACKS];
	uint32_t order[STACKS]; /* by rank */
	double sums[STACKS];
	size_t n_names, n_order;
	uint64_t epoch, next_epoch, seed;
};

static uint64_t
roll(struct population *p)
{
	uint64_t z = p->seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void
population_stack(struct population *p, char *line)
{
	char *at = line;
	struct stack *s = &p->stacks[strtoul(at, &at, 10) % STACKS];

	s->depth = 0;
	while (*at == ' ' && s->depth < DEPTH)
		s->names[s->depth++] = (uint16_t)(strtoul(at, &at, 10) % NAMES);
}

/* Reads up to the next epoch. */
static void
population_read(struct population *p)
{
	char line[1024];

	p->next_epoch = UINT64_MAX;
	while (fgets(line, sizeof(line), p->file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "name ", 5) == 0 && p->n_names < NAMES)
			p->names[p->n_names++] = strdup(line + 5);
		else if (strncmp(line, "stack ", 6) == 0)
			population_stack(p, line + 6);
		else if (strncmp(line, "rank ", 5) == 0 && p->n_order < STACKS)
			p->order[p->n_order++] =
			    (uint32_t)strtoul(line + 5, NULL, 10) % STACKS;
		else if (strncmp(line, "epoch ", 6) == 0) {
			p->next_epoch = strtoull(line + 6, NULL, 10);
			return;
		}
	}
}

static struct population *
population_new(const char *path)
{
	struct population *p = calloc(1, sizeof(*p));
	double sum = 0;

	if (p == NULL || (p->file = fopen(path, "r")) == NULL) {
		perror(path);
		exit(1);
	}
	population_read(p);
	for (int i = 0; i < STACKS; i++)
		p->sums[i] = sum += 1 / pow(20 + i, 1.15);
	if (p->n_names == 0 || p->n_order != STACKS) {
		fprintf(stderr, "store_bench: %s is no population\n", path);
		exit(1);
	}
	return p;
}

static uint32_t
population_draw(struct population *p)
{
	double at = (double)(roll(p) >> 11) / 9007199254740992.0 *
	    p->sums[STACKS - 1];
	size_t low = 0, high = STACKS - 1;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->sums[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return p->order[low];
}

/* The samples of a slot by stack; slots in rising order. */
static void
population_slot(struct population *p, uint64_t slot, uint16_t *counts)
{
	unsigned total, sum = 0, distinct = 0;

	while (p->next_epoch <= slot / DRIFT_SLOTS)
		population_read(p);
	p->seed = slot * 2654435761u + 1;
	total = 800 + (unsigned)(roll(p) % 401);
	memset(counts, 0, STACKS * sizeof(*counts));
	while (sum < total || distinct < DISTINCT) {
		uint32_t stack = population_draw(p);

		if (counts[stack] == 0 && distinct == DISTINCT)
			continue;
		distinct += counts[stack]++ == 0;
		sum++;
	}
}

static struct batch *
population_batch(struct population *p, uint64_t slot)
{
	struct label service = {"service", "kv"}, pool = {"process", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct batch *b = batch_new(SLOT_NS);
	uint32_t series = batch_series(b, &d), top;
	uint16_t counts[STACKS];

	top = batch_node(b, 0, batch_labels(b, &pool, 1));
	population_slot(p, slot - FIRST, counts);
	for (int i = 0; i < STACKS; i++) {
		const struct stack *s = &p->stacks[i];
		uint32_t node = top;

		if (counts[i] == 0)
			continue;
		for (int k = 0; k < s->depth; k++) {
			struct frame f = {FRAME_NATIVE, p->names[s->names[k]],
			    "kv", "b1", 64u * s->names[k]};

			node = batch_node(b, node, batch_frame(b, &f));
		}
		batch_add_profile(b, series, slot, node, counts[i]);
	}
	must(batch_finish(b));
	return b;
}

/* ---- writing ---- */

static uint64_t
directory_bytes(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	}
	closedir(d);
	return bytes;
}

static long
peak_rss_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmHWM: %ld", &kb);
	if (f != NULL)
		fclose(f);
	return kb;
}

struct writing {
	const char *dir;
	struct store_writer *w;
	uint64_t slots;
	bool threaded;
	double others; /* CPU of other threads at the start, negative */
	double *cycle; /* CPU of our thread by cycle of 4,096 slots */
	double bytes_sum, bytes_worst, latest; /* a slot; longest append */
	uint64_t samples;
};

/* CPU that all threads but this one have had. */
static double
others_cpu(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID) -
	    seconds(CLOCK_THREAD_CPUTIME_ID);
}

static struct writing
writing_begin(const char *dir, uint64_t slots, bool threaded)
{
	struct writing x = {.dir = dir, .slots = slots, .threaded = threaded};
	struct store_options o = {.slot_ns = SLOT_NS, .no_thread = !threaded};

	x.cycle = calloc(slots / CYCLE + 1, sizeof(*x.cycle));
	must(store_writer_open(&x.w, dir, &o));
	x.others = -others_cpu();
	return x;
}

/* How many bytes a slot takes: in full cycles, when one is behind. */
static void
writing_weigh(struct writing *x, uint64_t done)
{
	double each;

	if (done < CYCLE || done > x->slots / CYCLE * CYCLE || done % 16 != 0)
		return;
	each = (double)directory_bytes(x->dir) / (double)done;
	x->bytes_sum += each;
	x->samples++;
	if (each > x->bytes_worst)
		x->bytes_worst = each;
}

static void
writing_slot(struct writing *x, uint64_t slot, struct batch *b)
{
	double before = seconds(CLOCK_THREAD_CPUTIME_ID);
	double wall = seconds(CLOCK_MONOTONIC);

	must(store_append(x->w, b));
	wall = seconds(CLOCK_MONOTONIC) - wall;
	if (wall > x->latest)
		x->latest = wall;
	must(store_tick(x->w, (int64_t)(slot + 1) * SLOT_NS + SLOT_NS / 2));
	x->cycle[(slot - FIRST) / CYCLE] +=
	    seconds(CLOCK_THREAD_CPUTIME_ID) - before;
	if (x->threaded)
		usleep(2000); /* let the other thread keep up */
	writing_weigh(x, slot - FIRST + 1);
}

static void
writing_end(struct writing *x, const char *name)
{
	uint64_t full = x->slots / CYCLE;
	double cpu;

	must(store_writer_close(x->w));
	cpu = x->threaded ? x->others + others_cpu() : 0;
	for (uint64_t i = 0; i <= full; i++)
		cpu += x->cycle[i];
	printf("%s_cpu %.4f s/1000 slots\n", name,
	    cpu * 1000 / (double)x->slots);
	if (full >= 2)
		printf("%s_cpu_growth %.4f ratio\n", name,
		    x->cycle[full - 1] / x->cycle[0]);
	printf("%s_append_longest %.3f ms\n", name, x->latest * 1e3);
	if (x->samples > 0) {
		printf("%s_bytes %.1f B/slot\n", name,
		    x->bytes_sum / (double)x->samples);
		printf("%s_bytes_worst %.1f B/slot\n", name, x->bytes_worst);
	}
	printf("%s_rss %.1f MB\n", name, (double)peak_rss_kb() / 1024);
	free(x->cycle);
}

static void
run_write(const char *dir, const char *population, uint64_t slots,
    bool threaded)
{
	struct population *p = population_new(population);
	struct writing x = writing_begin(dir, slots, threaded);

	for (uint64_t slot = FIRST; slot < FIRST + slots; slot++) {
		struct batch *b = population_batch(p, slot);

		writing_slot(&x, slot, b);
		batch_free(b);
	}
	writing_end(&x, threaded ? "store_thread" : "store_write");
}

/* ---- metrics ---- */

#define METRICS 1000

struct metric {
	int64_t value;
	uint32_t series;
};

/* What a host's metrics are like: 30 % never change, 20 % drift, 10 % are
 * noise, 40 % are counters: idle, steady or bursty. */
static void
metric_step(struct batch *b, struct metric *m, int i, uint64_t slot,
    struct population *p)
{
	int64_t at = (int64_t)slot * SLOT_NS + SLOT_NS - 1000000;
	int64_t step;

	if (i % 10 < 6) {
		if (i % 10 >= 3 && i % 10 < 5 && roll(p) % 4 == 0)
			m->value += (int64_t)(roll(p) % 21) - 10;
		else if (i % 10 == 5)
			m->value = (int64_t)(roll(p) % 1000000);
		batch_add_gauge(b, m->series, slot, at, m->value);
		return;
	}
	step = i % 10 == 6 ? 0
	    : i % 10 == 7  ? 1000
	    : i % 10 == 8  ? (int64_t)(1000 + roll(p) % 64)
	    : roll(p) % 8 == 0 ? (int64_t)(roll(p) % 100000) : 0;
	m->value += step;
	batch_add_counter(b, m->series, slot, at, step, m->value);
}

static struct batch *
metric_batch(struct metric *metrics, uint64_t slot, struct population *p)
{
	struct batch *b = batch_new(SLOT_NS);

	for (int i = 0; i < METRICS; i++) {
		char name[48], device[16];
		struct label labels[] = {{"device", device}};
		struct series_desc d = {
		    i % 10 < 6 ? SERIES_GAUGE : SERIES_COUNTER, name, "", 0,
		    0, labels, 1};

		snprintf(name, sizeof(name), "node_metric_%d_total", i / 8);
		snprintf(device, sizeof(device), "dev%d", i % 8);
		metrics[i].series = batch_series(b, &d);
		metric_step(b, &metrics[i], i, slot, p);
	}
	must(batch_finish(b));
	return b;
}

static void
run_metrics(const char *dir, uint64_t slots)
{
	struct population random = {.seed = 1};
	struct metric *metrics = calloc(METRICS, sizeof(*metrics));
	struct writing x = writing_begin(dir, slots, false);

	for (uint64_t slot = FIRST; slot < FIRST + slots; slot++) {
		struct batch *b = metric_batch(metrics, slot, &random);

		writing_slot(&x, slot, b);
		batch_free(b);
	}
	if (x.samples > 0) {
		printf("store_metric_bytes %.2f B/series and slot\n",
		    x.bytes_sum / (double)x.samples / METRICS);
		printf("store_metric_bytes_worst %.2f B/series and slot\n",
		    x.bytes_worst / METRICS);
		x.samples = 0;
	}
	writing_end(&x, "store_metrics");
	free(metrics);
}

/* ---- queries ---- */

static int
compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct question {
	const char *name;
	int64_t length_ns; /* 0: random, up to a day */
};

static const struct question questions[] = {
    {"10s", SLOT_NS},
    {"1h", 360 * SLOT_NS},
    {"1d", 8640 * SLOT_NS},
    {"random", 0},
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

/* The finished JSON of a profile, uncut. */
static size_t
render(const struct profile *p, struct buf *out)
{
	struct flame_options o = {-1, "", "", "(other)"};
	struct writer w = writer_of(out);
	struct flame *f;

	buf_clear(out);
	must(flame_new(&f, p, &o));
	writer_open(&w, '{');
	flamebearer_put(&w, f);
	writer_close(&w, '}');
	flame_free(f);
	return out->len;
}

/* Picks a range of the store's extent. */
static void
pick(const struct question *q, const struct store_extent *x,
    struct population *random, int64_t *from, int64_t *until)
{
	int64_t all = x->until_ns - x->from_ns;
	int64_t day = all < 8640 * SLOT_NS ? all : 8640 * SLOT_NS;
	int64_t n = q->length_ns ? q->length_ns
	                         : 1 + (int64_t)(roll(random) % (uint64_t)day);

	if (n > all)
		n = all;
	*from = x->from_ns;
	if (all > n)
		*from += (int64_t)(roll(random) % (uint64_t)(all - n));
	if (q->length_ns)
		*from -= *from % SLOT_NS;
	*until = *from + n;
}

static void
ask(struct store *s, const struct question *question, unsigned times)
{
	struct population random = {.seed = 7};
	double *tree = calloc(times, sizeof(*tree));
	double *json = calloc(times, sizeof(*json));
	double *cpu = calloc(times, sizeof(*cpu));
	uint64_t most = 0, nodes = 0;
	struct profile_query q = {0};
	struct selector *selector;
	struct store_extent x;
	struct buf out = {0};
	struct profile *p;

	must(selector_parse("cpu{service=\"kv\"}", &selector));
	q.selector = selector;
	store_extent(s, &x);
	for (unsigned i = 0; i < times; i++) {
		double before = seconds(CLOCK_MONOTONIC);
		double cpu_before = seconds(CLOCK_THREAD_CPUTIME_ID);

		pick(question, &x, &random, &q.from_ns, &q.until_ns);
		must(store_query_profile(s, &q, &p));
		tree[i] = seconds(CLOCK_MONOTONIC) - before;
		render(p, &out);
		json[i] = seconds(CLOCK_MONOTONIC) - before;
		cpu[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
		most = p->blocks > most ? p->blocks : most;
		nodes = p->n_nodes > nodes ? p->n_nodes : nodes;
		profile_free(p);
	}
	qsort(tree, times, sizeof(*tree), compare_doubles);
	qsort(json, times, sizeof(*json), compare_doubles);
	qsort(cpu, times, sizeof(*cpu), compare_doubles);
	printf("store_query_%s_blocks %llu blocks\n", question->name,
	    (unsigned long long)most);
	printf("store_query_%s_nodes %llu nodes\n", question->name,
	    (unsigned long long)nodes);
	printf("store_query_%s_tree_p50 %.3f ms\n", question->name,
	    tree[times / 2] * 1e3);
	printf("store_query_%s_tree_p99 %.3f ms\n", question->name,
	    tree[times * 99 / 100] * 1e3);
	printf("store_query_%s_json_p50 %.3f ms\n", question->name,
	    json[times / 2] * 1e3);
	printf("store_query_%s_json_p99 %.3f ms\n", question->name,
	    json[times * 99 / 100] * 1e3);
	printf("store_query_%s_json_cpu_p99 %.3f ms\n", question->name,
	    cpu[times * 99 / 100] * 1e3);
	selector_free(selector);
	buf_fini(&out);
	free(tree);
	free(json);
	free(cpu);
}

/* The same day without the tree of levels: all its leaves, one by one. */
static void
ask_naive(struct store *s)
{
	struct profile p = {0};
	struct node_values sum;
	struct plan plan = {0};
	struct store_extent x;
	double before;
	int128 value;
	uint32_t key;

	store_extent(s, &x);
	before = seconds(CLOCK_MONOTONIC);
	for (uint64_t slot = reader_slot(s, x.from_ns), i = 0; i < 8640; i++)
		must(plan_add(&plan, s, slot + i, slot + i + 1, 0));
	must(node_values_init(&sum, s->syms.n_nodes));
	for (size_t i = 0; i < plan.n; i++) {
		struct reader_file *f = plan.pieces[i].file;
		struct entry_reader r = {0};
		const struct block *b;

		must(reader_need(s, f));
		must(sealed_block(f->sealed, 0, 0, plan.pieces[i].start, &b));
		if (b != NULL)
			r.c = b->entries;
		while (b != NULL && entry_next(&r, &key, &value))
			node_values_add(&sum, f->stack_nodes[key], value);
	}
	must(profile_tree(s, &sum, NULL, &p));
	printf("store_query_1d_naive_blocks %zu blocks\n", plan.n);
	printf("store_query_1d_naive %.3f ms\n",
	    (seconds(CLOCK_MONOTONIC) - before) * 1e3);
	node_values_fini(&sum);
	plan_fini(&plan);
	free(p.nodes);
	buf_fini(&p.strings);
}

static bool
count_series(void *arg, const struct series_desc *d, int64_t last_ns)
{
	(void)d;
	(void)last_ns;
	++*(unsigned *)arg;
	return true;
}

/* Which series there are, over all time: again and again, as pages do. */
static void
ask_series(struct store *s)
{
	struct selector *any;
	unsigned n = 0;

	must(selector_parse("{service=~\".*\"}", &any));
	for (int i = 0; i < 3; i++) {
		double before = seconds(CLOCK_MONOTONIC);

		must(store_refresh(s));
		must(store_each_series(s, any, 0, INT64_MAX / 4, count_series,
		    &n));
		printf("store_series_all_%d %.3f ms\n", i,
		    (seconds(CLOCK_MONOTONIC) - before) * 1e3);
	}
	selector_free(any);
}

static void
run_query(const char *dir, unsigned times)
{
	double before = seconds(CLOCK_MONOTONIC);
	struct profile_query q = {.until_ns = INT64_MAX / 2};
	struct selector *selector;
	struct profile *p;
	struct store *s;

	must(store_open(&s, dir, 0));
	must(selector_parse("cpu", &selector));
	q.selector = selector;
	must(store_query_profile(s, &q, &p));
	printf("store_query_all_cold %.3f ms\n",
	    (seconds(CLOCK_MONOTONIC) - before) * 1e3);
	profile_free(p);
	selector_free(selector);
	for (size_t i = 0; i < QUESTIONS; i++)
		ask(s, &questions[i], times);
	ask_naive(s);
	printf("store_query_rss %.1f MB\n", (double)peak_rss_kb() / 1024);
	ask_series(s);
	printf("store_series_rss %.1f MB\n", (double)peak_rss_kb() / 1024);
	store_close(s);
}

/* ---- text, for comparison ---- */

static void
run_text(const char *population, uint64_t slots)
{
	struct population *p = population_new(population);
	uint64_t raw = 0, packed = 0;
	uint16_t counts[STACKS];
	struct buf text = {0};

	for (uint64_t slot = 0; slot < slots; slot++) {
		uLongf n;
		uint8_t *out;

		buf_clear(&text);
		population_slot(p, slot, counts);
		for (int i = 0; i < STACKS; i++) {
			const struct stack *s = &p->stacks[i];

			for (int k = 0; k < s->depth && counts[i] > 0; k++)
				buf_printf(&text, "%s%s", k ? ";" : "",
				    p->names[s->names[k]]);
			if (counts[i] > 0)
				buf_printf(&text, " %d\n", counts[i]);
		}
		n = compressBound(text.len);
		out = malloc(n);
		compress2(out, &n, text.data, text.len, 6);
		raw += text.len;
		packed += n;
		free(out);
	}
	printf("store_text_folded %.0f B/slot\n", (double)raw / (double)slots);
	printf("store_text_gzip %.0f B/slot\n",
	    (double)packed / (double)slots);
	buf_fini(&text);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "write") == 0 && argc >= 5)
		run_write(argv[2], argv[3], strtoull(argv[4], NULL, 10),
		    argc > 5);
	else if (strcmp(what, "metrics") == 0 && argc == 4)
		run_metrics(argv[2], strtoull(argv[3], NULL, 10));
	else if (strcmp(what, "query") == 0 && argc == 4)
		run_query(argv[2], (unsigned)atoi(argv[3]));
	else if (strcmp(what, "text") == 0 && argc == 4)
		run_text(argv[2], strtoull(argv[3], NULL, 10));
	else {
		fprintf(stderr, "usage: store_bench "
		    "write|metrics|query|text ...\n");
		return 2;
	}
	return 0;
}
