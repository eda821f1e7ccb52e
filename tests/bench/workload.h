/*
 * What the benchmarks of the store share: the reference workload, drawn from
 * the population of stacks that profiles.py --dump writes, since a generator
 * that is slower than the store would hide it; clocks, memory.
 *
 * SHAPE of the environment makes another population of it:
 *	deep  each frame with two of the templates that call it, 75 calls deep
 *	      in the mean, names of some 200 bytes
 *	many  forty stacks of each, by two more calls; MANY_DISTINCT of them in
 *	      a slot, drawn anew each time
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/base/err.h"
#include "store/batch/batch.h"

#define SLOT_NS INT64_C(10000000000)
#define FIRST 4096u /* so that cycles begin with a full span */
#define CYCLE 4096u
#define STACKS 3000
#define NAMES 2500
#define DEPTH 64
#define DISTINCT 300
#define DRIFT_SLOTS 2000
#define DEEP 3 /* names of each, and frames */
#define MANY 40
#define MANY_DISTINCT 50000u

static inline void
must(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "bench: %s\n", e->text);
	exit(1);
}

static inline double
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
	bool deep, many;
	uint32_t n_stacks; /* of all shapes */
	char *names[DEEP * NAMES]; /* behind NAMES: those of templates */
	struct stack stacks[STACKS];
	uint32_t order[STACKS]; /* by rank */
	double sums[STACKS];
	size_t n_names, n_order;
	uint64_t epoch, next_epoch, seed;
};

static inline uint64_t
roll(struct population *p)
{
	uint64_t z = p->seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline void
population_stack(struct population *p, char *line)
{
	char *at = line;
	struct stack *s = &p->stacks[strtoul(at, &at, 10) % STACKS];

	s->depth = 0;
	while (*at == ' ' && s->depth < DEPTH)
		s->names[s->depth++] = (uint16_t)(strtoul(at, &at, 10) % NAMES);
}

/* `name` as the argument of a template's instance that calls it. */
static inline char *
population_text(const char *before, const char *name, const char *after)
{
	struct buf text = {0};

	buf_printf(&text, "%s%s<std::shared_ptr<%s>>%s", before, name, name,
	    after);
	buf_put_u8(&text, 0);
	return (char *)text.data;
}

#define CONTEXT "std::unique_ptr<service::backend::Context> const&"

static inline void
population_name(struct population *p, const char *name)
{
	size_t n = p->n_names++;

	if (!p->deep) {
		p->names[n] = strdup(name);
		return;
	}
	p->names[n] = population_text("service::backend::v2::", name,
	    "::operator()(" CONTEXT ", std::string_view)");
	p->names[NAMES + n] = population_text("std::__invoke_impl<void, "
	    "service::backend::v2::", name, "&, " CONTEXT
	    ">(std::__invoke_other)");
	p->names[2 * NAMES + n] = population_text("std::_Function_handler<"
	    "void (" CONTEXT "), service::backend::v2::", name,
	    ">::_M_invoke");
}

/* Reads up to the next epoch. */
static inline void
population_read(struct population *p)
{
	char line[1024];

	p->next_epoch = UINT64_MAX;
	while (fgets(line, sizeof(line), p->file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "name ", 5) == 0 && p->n_names < NAMES)
			population_name(p, line + 5);
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

static inline struct population *
population_new(const char *path)
{
	struct population *p = calloc(1, sizeof(*p));
	const char *shape = getenv("SHAPE");
	double sum = 0;

	if (p == NULL || (p->file = fopen(path, "r")) == NULL) {
		perror(path);
		exit(1);
	}
	p->deep = shape != NULL && strcmp(shape, "deep") == 0;
	p->many = shape != NULL && strcmp(shape, "many") == 0;
	p->n_stacks = STACKS * (p->many ? MANY : 1);
	population_read(p);
	for (int i = 0; i < STACKS; i++)
		p->sums[i] = sum += 1 / pow(20 + i, 1.15);
	if (p->n_names == 0 || p->n_order != STACKS) {
		fprintf(stderr, "bench: %s is no population\n", path);
		exit(1);
	}
	return p;
}

static inline uint32_t
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

/* As many of all as there are to be, each as likely as any. */
static inline void
population_many(struct population *p, uint16_t *counts)
{
	uint32_t left = MANY_DISTINCT;

	for (uint32_t i = 0; i < p->n_stacks; i++) {
		bool drawn = roll(p) % (p->n_stacks - i) < left;

		counts[i] = drawn ? (uint16_t)(1 + (roll(p) % 8 == 0)) : 0;
		left -= drawn;
	}
}

/* The samples of a slot by stack, p->n_stacks; slots in rising order. */
static inline void
population_slot(struct population *p, uint64_t slot, uint16_t *counts)
{
	unsigned total, sum = 0, distinct = 0;

	while (p->next_epoch <= slot / DRIFT_SLOTS)
		population_read(p);
	p->seed = slot * 2654435761u + 1;
	if (p->many) {
		population_many(p, counts);
		return;
	}
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

/* The frames of a stack, by the numbers of their names, from the root. */
#define FRAMES (DEEP * DEPTH + 2)
static inline uint32_t
population_frames(const struct population *p, uint32_t stack,
    uint32_t frames[FRAMES])
{
	const struct stack *s = &p->stacks[stack % STACKS];
	uint32_t n = 0, variant = stack / STACKS;

	for (uint32_t k = 0; k < s->depth; k++) {
		for (uint32_t t = p->deep ? DEEP : 1; t-- > 0;)
			frames[n++] = t * NAMES + s->names[k];
	}
	if (variant > 0) {
		frames[n++] = (stack * 7u + variant) % (uint32_t)p->n_names;
		frames[n++] = stack / 7u % (uint32_t)p->n_names;
	}
	return n;
}

/* A stack of the population in a batch. */
static inline uint32_t
population_node(const struct population *p, struct batch *b, uint32_t top,
    uint32_t stack)
{
	uint32_t frames[FRAMES], n = population_frames(p, stack, frames);

	for (uint32_t k = 0; k < n; k++) {
		struct frame f = {FRAME_NATIVE, p->names[frames[k]], "kv",
		    "b1", 64u * frames[k]};

		top = batch_node(b, top, batch_frame(b, &f));
	}
	return top;
}

/* Slots [slot, slot + n) as one batch, as a daemon (n = 1) or an import
 * makes it. */
static inline struct batch *
population_batch(struct population *p, uint64_t slot, unsigned n)
{
	struct label service = {"service", "kv"}, pool = {"process", "kv"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct batch *b = batch_new(SLOT_NS);
	uint32_t series = batch_series(b, &d), top;
	uint32_t *nodes = calloc(p->n_stacks, sizeof(*nodes));
	uint16_t *counts = calloc(p->n_stacks, sizeof(*counts));

	top = batch_node(b, 0, batch_labels(b, &pool, 1));
	for (uint64_t at = slot; at < slot + n; at++) {
		uint64_t epoch = p->next_epoch;

		population_slot(p, at - FIRST, counts);
		if (p->next_epoch != epoch)
			memset(nodes, 0, p->n_stacks * sizeof(*nodes));
		for (uint32_t i = 0; i < p->n_stacks; i++) {
			if (counts[i] == 0)
				continue;
			if (nodes[i] == 0)
				nodes[i] = population_node(p, b, top, i);
			batch_add_profile(b, series, at, nodes[i], counts[i]);
		}
	}
	free(nodes);
	free(counts);
	must(batch_finish(b));
	return b;
}

static inline long
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

static inline int
compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

#endif
