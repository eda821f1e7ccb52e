/*
 * Measures what writing costs the store, and what it leaves on disk, on the
 * reference workload and on a thousand metrics.
 *
 *	store_bench write DIR POPULATION SLOTS [MODE]
 *	store_bench metrics DIR SLOTS [OPENMETRICS]
 *
 * MODE: slots (a batch a slot, synced one by one, all work in this thread),
 * queued (the same, but eight are appended before they are synced, as where
 * batches wait: the daemon's thread syncs all that came while it synced),
 * threaded (as the daemon does it, with a pause after each), bulk (64 slots a
 * batch, as an import does it; batches are made by another thread), from slot
 * START of the environment on, for a store that is old already.  OPENMETRICS
 * receives the same values as text, for Prometheus.  Prints lines "name value
 * unit".
 */
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"
#include "workload.h"

#define BULK 64u
#define QUEUE 8u

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

struct writing {
	const char *dir;
	struct store_writer *w;
	uint64_t first, slots;
	unsigned queue; /* batches between two ticks */
	bool threaded;
	double others; /* CPU of other threads at the start, negative */
	double *cycle; /* CPU of our thread by cycle of 4,096 slots */
	double bytes_sum, bytes_worst, latest; /* a slot; longest append */
	uint64_t samples, tenths;
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
	struct writing x = {.dir = dir, .first = FIRST, .slots = slots,
	    .threaded = threaded};
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
	unsigned every = x->slots > 100 * CYCLE ? CYCLE / 16 : 16;
	double each;

	if (done < CYCLE || done > x->slots / CYCLE * CYCLE ||
	    done % every != 0)
		return;
	each = (double)directory_bytes(x->dir) / (double)done;
	x->bytes_sum += each;
	x->samples++;
	if (each > x->bytes_worst)
		x->bytes_worst = each;
}

/* Long runs say how far they are, with the CPU of the cycle behind. */
static void
writing_tell(struct writing *x, uint64_t done)
{
	if (x->slots < 50 * CYCLE || done * 10 / x->slots == x->tenths)
		return;
	x->tenths = done * 10 / x->slots;
	fprintf(stderr, "  %llu of %llu slots\n", (unsigned long long)done,
	    (unsigned long long)x->slots);
}

/* Writes a batch of n slots. */
static void
writing_put(struct writing *x, uint64_t slot, unsigned n, struct batch *b)
{
	double before = seconds(CLOCK_THREAD_CPUTIME_ID);
	double wall = seconds(CLOCK_MONOTONIC);
	uint64_t done = slot - x->first + n;

	must(store_append(x->w, b));
	wall = seconds(CLOCK_MONOTONIC) - wall;
	if (wall > x->latest)
		x->latest = wall;
	if (x->queue < 2 || done % x->queue == 0)
		must(store_tick(x->w,
		    (int64_t)(slot + n) * SLOT_NS + SLOT_NS / 2));
	x->cycle[(slot - x->first) / CYCLE] +=
	    seconds(CLOCK_THREAD_CPUTIME_ID) - before;
	if (x->threaded)
		usleep(2000); /* let the other thread keep up */
	writing_weigh(x, done);
	writing_tell(x, done);
}

/* Does a slot cost more when the store is old?  First tenth against last. */
static void
writing_growth(const struct writing *x, const char *name)
{
	uint64_t full = x->slots / CYCLE, part = full / 10 ? full / 10 : 1;
	double first = 0, last = 0;

	if (full < 2)
		return;
	for (uint64_t i = 0; i < part; i++) {
		first += x->cycle[i];
		last += x->cycle[full - 1 - i];
	}
	printf("%s_cpu_first_tenth %.4f s/1000 slots\n", name,
	    first * 1000 / (double)(part * CYCLE));
	printf("%s_cpu_last_tenth %.4f s/1000 slots\n", name,
	    last * 1000 / (double)(part * CYCLE));
	printf("%s_cpu_growth %.4f ratio\n", name, last / first);
}

static void
writing_end(struct writing *x, const char *name)
{
	double cpu;

	must(store_writer_close(x->w));
	cpu = x->threaded ? x->others + others_cpu() : 0;
	for (uint64_t i = 0; i <= x->slots / CYCLE; i++)
		cpu += x->cycle[i];
	printf("%s_slots %llu slots\n", name, (unsigned long long)x->slots);
	printf("%s_cpu %.4f s/1000 slots\n", name,
	    cpu * 1000 / (double)x->slots);
	if (!x->threaded)
		writing_growth(x, name);
	printf("%s_append_longest %.3f ms\n", name, x->latest * 1e3);
	if (x->samples > 0) {
		printf("%s_bytes %.1f B/slot\n", name,
		    x->bytes_sum / (double)x->samples);
		printf("%s_bytes_worst %.1f B/slot\n", name, x->bytes_worst);
	}
	printf("%s_disk %.1f MB\n", name,
	    (double)directory_bytes(x->dir) / 1e6);
	printf("%s_rss %.1f MB\n", name, (double)peak_rss_kb() / 1024);
	free(x->cycle);
}

static void
run_write(const char *dir, const char *population, uint64_t slots,
    const char *mode)
{
	bool threaded = strcmp(mode, "threaded") == 0;
	bool queued = strcmp(mode, "queued") == 0;
	struct population *p = population_new(population);
	struct writing x = writing_begin(dir, slots, threaded);

	x.queue = queued ? QUEUE : 1;
	for (uint64_t slot = FIRST; slot < FIRST + slots; slot++) {
		struct batch *b = population_batch(p, slot, 1);

		writing_put(&x, slot, 1, b);
		batch_free(b);
	}
	writing_end(&x, threaded ? "store_thread"
	        : queued         ? "store_queue"
	                         : "store_write");
}

/* ---- bulk: one thread makes batches, the other writes them ---- */

struct belt {
	struct population *p;
	uint64_t first, slots;
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	struct batch *ready[4];
	size_t n;
};

static void *
belt_make(void *arg)
{
	struct belt *belt = arg;

	for (uint64_t slot = 0; slot < belt->slots; slot += BULK) {
		struct batch *b = population_batch(belt->p,
		    belt->first + slot, BULK);

		pthread_mutex_lock(&belt->mutex);
		while (belt->n == 4)
			pthread_cond_wait(&belt->moved, &belt->mutex);
		belt->ready[belt->n++] = b;
		pthread_cond_signal(&belt->moved);
		pthread_mutex_unlock(&belt->mutex);
	}
	return NULL;
}

static struct batch *
belt_take(struct belt *belt)
{
	struct batch *b;

	pthread_mutex_lock(&belt->mutex);
	while (belt->n == 0)
		pthread_cond_wait(&belt->moved, &belt->mutex);
	b = belt->ready[0];
	memmove(belt->ready, belt->ready + 1, --belt->n * sizeof(b));
	pthread_cond_signal(&belt->moved);
	pthread_mutex_unlock(&belt->mutex);
	return b;
}

static void
run_bulk(const char *dir, const char *population, uint64_t slots)
{
	const char *start = getenv("START");
	struct belt belt = {.p = population_new(population),
	    .first = FIRST + (start ? strtoull(start, NULL, 10) : 0),
	    .slots = slots / BULK * BULK};
	struct writing x = writing_begin(dir, belt.slots, false);
	double wall = seconds(CLOCK_MONOTONIC);
	pthread_t thread;

	x.first = belt.first;
	pthread_mutex_init(&belt.mutex, NULL);
	pthread_cond_init(&belt.moved, NULL);
	if (pthread_create(&thread, NULL, belt_make, &belt) != 0)
		exit(1);
	for (uint64_t slot = 0; slot < belt.slots; slot += BULK) {
		struct batch *b = belt_take(&belt);

		writing_put(&x, belt.first + slot, BULK, b);
		batch_free(b);
	}
	pthread_join(thread, NULL);
	printf("store_bulk_wall %.0f s\n", seconds(CLOCK_MONOTONIC) - wall);
	writing_end(&x, "store_bulk");
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

/* The same values for Prometheus, whose parser wants the samples of a series
 * together: a row of values a slot goes in. */
static void
metrics_text(const char *path, FILE *rows, uint64_t slots)
{
	int64_t *values = calloc(slots * METRICS, sizeof(*values));
	FILE *f = fopen(path, "w");

	rewind(rows);
	if (values == NULL || fread(values, sizeof(*values) * METRICS, slots,
	        rows) != slots)
		exit(1);

	for (int i = 0; f != NULL && i < METRICS; i++) {
		if (i % 8 == 0)
			fprintf(f, "# TYPE node_metric_%d unknown\n", i / 8);
		for (uint64_t s = 0; s < slots; s++)
			fprintf(f, "node_metric_%d{device=\"dev%d\"} %lld "
			           "%llu\n",
			    i / 8, i % 8,
			    (long long)values[s * METRICS + (unsigned)i],
			    (unsigned long long)(FIRST + s + 1) * 10);
	}
	if (f == NULL || fprintf(f, "# EOF\n") < 0 || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
	free(values);
}

static void
run_metrics(const char *dir, uint64_t slots, const char *text)
{
	struct population random = {.seed = 1};
	struct metric *metrics = calloc(METRICS, sizeof(*metrics));
	struct writing x = writing_begin(dir, slots, false);
	FILE *rows = tmpfile();

	for (uint64_t slot = FIRST; slot < FIRST + slots; slot++) {
		struct batch *b = metric_batch(metrics, slot, &random);

		writing_put(&x, slot, 1, b);
		batch_free(b);
		for (unsigned i = 0; rows != NULL && i < METRICS; i++)
			fwrite(&metrics[i].value, sizeof(int64_t), 1, rows);
	}
	if (x.samples > 0) {
		printf("store_metric_bytes %.2f B/series and slot\n",
		    x.bytes_sum / (double)x.samples / METRICS);
		printf("store_metric_bytes_worst %.2f B/series and slot\n",
		    x.bytes_worst / METRICS);
		x.samples = 0;
	}
	writing_end(&x, "store_metrics");
	if (text != NULL && rows != NULL)
		metrics_text(text, rows, slots);
	free(metrics);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *mode = argc > 5 ? argv[5] : "slots";

	if (strcmp(what, "write") == 0 && argc >= 5 &&
	    strcmp(mode, "bulk") == 0)
		run_bulk(argv[2], argv[3], strtoull(argv[4], NULL, 10));
	else if (strcmp(what, "write") == 0 && argc >= 5)
		run_write(argv[2], argv[3], strtoull(argv[4], NULL, 10), mode);
	else if (strcmp(what, "metrics") == 0 && argc >= 4)
		run_metrics(argv[2], strtoull(argv[3], NULL, 10),
		    argc > 4 ? argv[4] : NULL);
	else {
		fprintf(stderr,
		    "usage: store_bench write|metrics DIR ...\n");
		return 2;
	}
	return 0;
}
