/*
 * The CPU source by itself, for the system tests: samples for a while and
 * prints each slot.
 *
 *	cpu_driver [-h HZ] [-s SLOT_MS] [-n SLOTS] [-b BUDGET]
 *	    [-i] [-w THRESHOLD_US [-W BUDGET] [-I IDLE_US]
 *	    [-o auto|back|schedule|leave] [-c] [-l]]
 *	    [-k] [-f PERIOD] [-y MS] [-z MS]
 *
 * SIGTERM ends it before that, in the middle of a slot.  BUDGET is in
 * millionths of a CPU and judged at each slot; without it there is none.
 * -W BUDGET is that of waits, in the same unit.  -I: the threshold of idle
 * waits, as if a budget had raised it.
 * -k: the kernel does not count runs, which costs more than an empty program.
 * -i: show inlined functions.  -w: take the waits of threads too, -o: when
 * their stacks are taken, -c: without samples of a clock, -l: those for locks.
 * -f: a stack of each so many page faults.  -y: a process that is younger is of
 * its parent's service.  -z: it sleeps for so long before
 * each look at the ring, as it would where /proc is slow.  -a LIBRARY: what
 * this library of an allocator tells.
 *
 * Output, one line each:
 *	state STATE WHY
 *	child PID                       the symbols child, at each slot
 *	stack SLOT SERVICE LABELS;FRAME;FRAME... VALUE
 *	lock, lock_waits, lock_holder SLOT ... the same, of those types; and of
 *	alloc_space, alloc_objects, short_space, inuse_space, inuse_objects
 *	frame KIND MODULE BUILDID OFFSET NAME
 *	counter SLOT NAME [REASON or SERVICE] INCREASE RAW
 *	time SLOT SERVICE [STATE] INCREASE   of threads
 *	gauge SLOT NAME [REASON or SERVICE] LAST
 *	fact SUBJECT TEXT
 *	balance RUNS IDLE LOST SAMPLES  at the end, the ring drained
 *	kernel RUNS                     of the program, as the kernel counts
 *	clock HZ CPUS MS                what was set, and for how long
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/engine/engine.h"
#include "collector/process/services.h"
#include "collector/unwind/unwind_process.h"
#include "collector/unwind/unwind_tables.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"

static int64_t began_ns; /* of the sampling */
static volatile sig_atomic_t stopped;
static long slow_ms, idle_us;

static void
on_signal(int sig)
{
	stopped = sig;
}

static void
die(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "cpu_driver: %s\n", e->text);
	exit(1);
}

static void
print_labels(const struct batch *b, uint32_t set)
{
	uint32_t i;

	printf("{");
	for (i = 0; i < b->labels[set].n; i++) {
		const uint32_t *pair = b->pairs +
		    2 * (b->labels[set].first + i);

		printf("%s%s=%s", i > 0 ? "," : "", batch_str(b, pair[0]),
		    batch_str(b, pair[1]));
	}
	printf("}");
}

static void
print_path(const struct batch *b, uint32_t node)
{
	const struct batch_node *n = &b->nodes[node];

	if (n->parent == 0) {
		print_labels(b, n->edge);
		return;
	}
	print_path(b, n->parent);
	printf(";%s", batch_str(b, b->frames[n->edge].name));
}

static const char *
series_label(const struct batch *b, uint32_t series, const char *name)
{
	struct label labels[8];
	struct series_desc d;
	const char *value;

	batch_series_desc(b, series, &d, labels, 8);
	value = label_find(d.labels, d.n_labels, name);
	return value != NULL ? value : "";
}

/* Stacks of the CPU, off it and of faults say themselves what they are. */
static const char *
series_word(const char *name)
{
	bool says = strncmp(name, "lock", 4) == 0 ||
	    strstr(name, "_space") != NULL || strstr(name, "_objects") != NULL;

	return says ? name : "stack";
}

static void
print_block(const struct batch *b, const struct batch_block *k)
{
	const struct batch_series *s = &b->series[k->series];
	uint32_t i;

	const char *label = series_label(b, k->series, "state");

	if (strcmp(batch_str(b, s->name), "thread_seconds_total") == 0) {
		printf("time %llu %s [%s] %lld\n",
		    (unsigned long long)k->slot,
		    series_label(b, k->series, "service"), label,
		    (long long)k->increase);
		return;
	}
	label = series_label(b, k->series, "reason");

	if (label[0] == '\0')
		label = series_label(b, k->series, "service");
	if (s->kind == SERIES_COUNTER)
		printf("counter %llu %s [%s] %lld %lld\n",
		    (unsigned long long)k->slot, batch_str(b, s->name),
		    label, (long long)k->increase, (long long)k->last);
	if (s->kind == SERIES_GAUGE)
		printf("gauge %llu %s [%s] %lld\n",
		    (unsigned long long)k->slot, batch_str(b, s->name),
		    label, (long long)k->last);
	if (s->kind != SERIES_FLOW && s->kind != SERIES_STOCK)
		return;
	printf("block %llu %s %lld\n", (unsigned long long)k->slot,
	    series_label(b, k->series, "service"), (long long)s->period);
	for (i = 0; i < k->n; i++) {
		const struct batch_entry *e = &b->entries[k->first + i];

		printf("%s %llu %s ", series_word(batch_str(b, s->name)),
		    (unsigned long long)k->slot,
		    series_label(b, k->series, "service"));
		print_path(b, e->key);
		printf(" %lld\n", (long long)e->value);
	}
}

/* Encodes first: that folds and sorts the entries. */
static void
print_batch(struct batch *b)
{
	struct buf record = {0};
	struct batch *copy;
	size_t i;

	die(batch_encode(b, &record));
	die(batch_decode(record.data, record.len, &copy));
	for (i = 0; i < copy->n_frames; i++)
		printf("frame %s %s %s 0x%llx %s\n",
		    frame_kind_name(copy->frames[i].kind),
		    batch_str(copy, copy->frames[i].module),
		    batch_str(copy, copy->frames[i].build_id),
		    (unsigned long long)copy->frames[i].offset,
		    batch_str(copy, copy->frames[i].name));
	for (i = 0; i < copy->n_blocks; i++)
		print_block(copy, &copy->blocks[i]);
	for (i = 0; i < copy->n_facts; i++)
		printf("fact %s %.*s\n",
		    batch_str(copy, copy->facts[i].subject),
		    (int)copy->facts[i].n,
		    (const char *)copy->fact_bytes.data +
		    copy->facts[i].first);
	printf("batch %zu bytes\n", record.len);
	batch_free(copy);
	buf_fini(&record);
}

static void
print_unwinder(const struct engine *s)
{
	struct unwind_tables_stats t;
	struct unwind_processes_stats p;

	if (s->tables == NULL)
		return;
	unwind_tables_stats(s->tables, &t);
	unwind_processes_stats(s->processes, &p);
	printf("unwind tables %u ready %u unknown %u without %llu failed; "
	    "regions %u loaded %u waiting %llu made %llu evicted %llu rows "
	    "%u cells; processes %u known %u waiting "
	    "%llu built %llu evicted %llu failed %u mappings\n", t.ready,
	    t.unknown, t.without, (unsigned long long)t.failures,
	    t.regions.loaded, t.waiting, (unsigned long long)t.regions.made,
	    (unsigned long long)t.regions.evicted,
	    (unsigned long long)t.regions.rows, t.regions.cells,
	    p.processes, p.waiting, (unsigned long long)p.built,
	    (unsigned long long)p.evicted, (unsigned long long)p.failed,
	    p.mappings);
}

static void
close_slot(struct engine *s, uint64_t slot, const struct config *c)
{
	struct batch *b = batch_new((uint64_t)c->slot_ns);
	struct symbols_stats stats;

	die(source_profiles.close_slot(s, slot, b, false));
	print_batch(b);
	batch_free(b);
	symbols_stats(s->symbols, &stats);
	printf("child %d\n", (int)stats.child);
	print_unwinder(s);
	fflush(stdout);
}

/* Polls as the daemon does until the slot is over and a little more; false
 * when it was stopped before that. */
static bool
run_slot(struct engine *s, struct services *services, uint64_t slot,
    const struct config *c)
{
	int64_t end = ((int64_t)slot + 1) * c->slot_ns + c->slot_ns / 4;
	int64_t swept = 0, now = 0;
	struct pollfd p = {.fd = source_profiles.fd(s), .events = POLLIN};

	while (!stopped && (now = clock_wall_ns()) < end) {
		if (now - swept > NS_PER_S) {
			die(services_sweep(services, now));
			swept = now;
		}
		poll(&p, 1, 100);
		usleep((useconds_t)slow_ms * 1000);
		die(source_profiles.poll(s, clock_wall_ns()));
	}
	if (now < end)
		return false;
	close_slot(s, slot, c);
	return true;
}

/* The runs of this process's program of a perf event, from the descriptor's
 * own lines; 0 when the kernel was not asked to count. */
static unsigned long long
kernel_runs(void)
{
	unsigned long long runs, sum = 0;
	char path[64], line[128];
	unsigned type;
	FILE *f;
	int fd;

	/* A descriptor of each process of the machine may come before. */
	for (fd = 0; fd < 16384; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		type = 0;
		f = fopen(path, "re");
		while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
			sscanf(line, "prog_type: %u", &type);
			if (type == BPF_PROG_TYPE_PERF_EVENT &&
			    sscanf(line, "run_cnt: %llu", &runs) == 1)
				sum += runs;
		}
		if (f != NULL)
			fclose(f);
	}
	return sum;
}

/* Stops the sampling and accounts for every run of the program. */
static void
print_balance(struct engine *s, uint64_t slot, const struct config *c)
{
	const struct account_profile *t = &s->profiles[0].now;
	unsigned online, sampled;
	int64_t ended_ns;

	ended_ns = clock_mono_ns();
	source_profiles.stop(s);
	sampler_cpus(s->sampler, 0, &online, &sampled);
	printf("clock %lld %u %lld\n",
	    (long long)c->profiles[PROFILE_cpu].every, sampled,
	    (long long)(ended_ns - began_ns) / NS_PER_MS);
	printf("kernel %llu\n", kernel_runs());
	/* A slow machine may have held events of several slots. */
	do
		close_slot(s, slot++, c);
	while (s->border.held.len > 0 ||
	    slot <= border_slot(&s->border, (uint64_t)ended_ns));
	close_slot(s, slot, c);
	printf("balance %llu %llu %llu %llu\n", (unsigned long long)t->runs,
	    (unsigned long long)t->idle,
	    (unsigned long long)(t->ring_full + t->malformed +
	    t->held_full + t->aggregate_full),
	    (unsigned long long)t->samples);
}

static uint64_t
run(struct engine *s, struct services *services, const struct config *c,
    long slots)
{
	uint64_t slot = (uint64_t)(clock_wall_ns() / c->slot_ns);

	int64_t began = 0;

	for (; slots > 0 && run_slot(s, services, slot, c); slots--) {
		slot++;
		/* The first slot reads symbols, the others do not. */
		if (began == 0)
			began = clock_cpu_ns();
	}
	printf("cost %lld us of CPU after the first slot\n",
	    (long long)(clock_cpu_ns() - began) / 1000);
	return slot;
}

static void
set_waits(struct config *c, int64_t threshold_ns)
{
	c->profiles[PROFILE_offcpu].enabled = true;
	c->profiles[PROFILE_offcpu].every = threshold_ns;
	c->offcpu_budget = 0;
}

static void
set_idle(struct engine *s, const struct config *c)
{
	struct waits_options *o = &s->profiles[PROFILE_offcpu].waits;

	if (idle_us == 0 || s->sampler == NULL)
		return;
	o->idle_ns = idle_us * 1000;
	sampler_set_threshold(s->sampler, c->profiles[PROFILE_offcpu].every,
	    o->idle_ns);
}

static void
set_faults(struct config *c, long period)
{
	c->profiles[PROFILE_faults].enabled = true;
	c->profiles[PROFILE_faults].every = period;
}

static void
set_stacks(struct config *c, const char *when)
{
	free(c->offcpu_stacks);
	c->offcpu_stacks = strdup(when);
}

static void
print_state(const void *source, const char *word, size_t part)
{
	const char *why = "";
	int state = source_profiles.state(source, part, &why);

	printf("%s %d %s\n", word, state, why);
}

static void
print_states(const void *source)
{
	print_state(source, "state", 0);
	print_state(source, "waits", PROFILE_offcpu);
	print_state(source, "faults", PROFILE_faults);
	print_state(source, "wakers", PROFILE_lock_holder);
	print_state(source, "allocs", PROFILE_inuse_objects);
	fflush(stdout);
}

static void
set_allocs(struct config *c, char *library)
{
	c->profiles[PROFILE_alloc_space].enabled = true;
	c->alloc_library = library;
}

int
main(int argc, char **argv)
{
	struct services *services;
	struct config config;
	struct engine *s;
	void *source;
	bool count = true;
	long slots = 1;
	int c;

	log_init("cpu_driver", LOG_L_INFO);
	signal(SIGTERM, on_signal);
	die(config_load(&config, NULL));
	config.slot_ns = NS_PER_S;
	config.cpu_budget = 0;
	config.short_lived_ns = 0;
	config.profiles[PROFILE_faults].enabled = false;
	config.profiles[PROFILE_alloc_space].enabled = false;
	while ((c = getopt(argc, argv,
	    "a:h:s:n:b:im:w:W:I:o:cklf:y:z:")) != -1) {
		if (c == 'h')
			config.profiles[PROFILE_cpu].every = atol(optarg);
		else if (c == 's')
			config.slot_ns = atol(optarg) * NS_PER_MS;
		else if (c == 'b')
			config.cpu_budget = atol(optarg);
		else if (c == 'i')
			config.cpu_inline = true;
		else if (c == 'a')
			set_allocs(&config, optarg);
		else if (c == 'm')
			config.mirror = optarg;
		else if (c == 'w')
			set_waits(&config, atol(optarg) * 1000);
		else if (c == 'W')
			config.offcpu_budget = atol(optarg);
		else if (c == 'I')
			idle_us = atol(optarg);
		else if (c == 'o')
			set_stacks(&config, optarg);
		else if (c == 'f')
			set_faults(&config, atol(optarg));
		else if (c == 'c')
			config.profiles[PROFILE_cpu].enabled = false;
		else if (c == 'k')
			count = false;
		else if (c == 'l')
			config.profiles[PROFILE_lock].enabled = true;
		else if (c == 'y')
			config.short_lived_ns = atol(optarg) * NS_PER_MS;
		else if (c == 'z')
			slow_ms = atol(optarg);
		else if (c == 'n')
			slots = atol(optarg);
		else
			return 2;
	}
	die(services_new(&services, &config));
	die(services_sweep(services, clock_wall_ns()));
	if (count)
		bpf_enable_stats(BPF_STATS_RUN_TIME); /* until we end */
	die(source_profiles.open(&source, &config, services));
	s = source;
	set_idle(s, &config);
	began_ns = clock_mono_ns();
	s->pace.window.window_ns = config.slot_ns;
	s->waits_pace.window.window_ns = config.slot_ns;
	print_states(s);
	if (s->sampler != NULL)
		print_balance(s, run(s, services, &config, slots), &config);
	print_state(s, "ended", 0);
	source_profiles.close(s);
	services_free(services);
	config.mirror = NULL;
	config.alloc_library = NULL;
	config_free(&config);
	return 0;
}
