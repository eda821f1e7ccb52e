/*
 * An engine without BPF and without root, for its tests: events are made by
 * hand, of functions of the test itself.
 */
#ifndef TESTS_ENGINE_BENCH_H
#define TESTS_ENGINE_BENCH_H

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/slots.h"
#include "collector/engine/emit.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/engine/service_faults.h"
#include "collector/process/process_events.h"
#include "collector/process/services.h"
#include "collector/profile/profiles.h"
#include "collector/symbols/jit.h"
#include "collector/unwind/unwind_kernel.h"
#include "collector/watch/process_watch.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

#define SLOT 1000

void leaf_function(void);
void root_function(void);

__attribute__((noinline)) void
leaf_function(void)
{
	__asm__ volatile("nop; nop");
}

__attribute__((noinline)) void
root_function(void)
{
	__asm__ volatile("nop; nop");
}

struct bench {
	struct config config;
	struct services *services;
	struct engine s;
	uint64_t start_ns;
	char service[64];
};

static const struct aggregate_limits wide = {4096, 4096, 1u << 20};

static inline struct bench *
bench_new(void)
{
	struct bench *t = calloc(1, sizeof(*t));
	const struct process *p;
	char command[64];

	snprintf(command, sizeof(command), "/%s$",
	    program_invocation_short_name);
	CHECK_OK(config_load(&t->config, NULL));
	t->config.every_process = true;
	t->config.short_lived_ns = 0;
	t->config.n_services = 1;
	t->config.services[0] = (struct config_service){
	    .name = strdup("by its file"), .comm = strdup("grep"),
	    .command = strdup(command)};
	CHECK_OK(services_new(&t->services, &t->config));
	CHECK_OK(services_sweep(t->services, clock_wall_ns()));
	p = services_process(t->services, getpid(), 0);
	CHECK(p != NULL);
	if (p != NULL) {
		t->start_ns = p->start_ns;
		snprintf(t->service, sizeof(t->service), "%s",
		    p->read->service);
	}
	t->s.config = &t->config;
	t->s.services = t->services;
	t->s.border.slot_ns = t->config.slot_ns;
	pace_init(&t->s, 0);
	t->s.n_profiles = 1;
	t->s.profiles[0] = (struct engine_profile){.row = &profile_cpu,
	    .type = types_find("cpu"), .state = SOURCE_ATTACHED};
	CHECK(profile_cpu.clock(&t->config, &t->s.profiles[0].clock));
	t->s.now_ns = clock_mono_ns();
	t->s.aggregate = aggregate_new(&wide);
	t->s.profiles[0].faults = service_faults_new("cpu");
	CHECK_OK(maps_new(&t->s.maps, services_table(t->services), "/proc"));
	CHECK_OK(symbols_new(&t->s.symbols, NULL, NULL));
	t->s.jits = jits_new(t->s.symbols, "/proc");
	processes_serve(services_table(t->services), PROCESS_JIT, jits_drop,
	    t->s.jits);
	return t;
}

static inline void
bench_free(struct bench *t)
{
	processes_serve(services_table(t->services), PROCESS_JIT, NULL, NULL);
	jits_free(t->s.jits);
	symbols_free(t->s.symbols);
	maps_free(t->s.maps);
	aggregate_free(t->s.aggregate);
	service_faults_free(t->s.profiles[0].faults);
	services_free(t->services);
	config_free(&t->config);
	free(t);
}

/* A sample of this process in leaf_function, called by root_function. */
static inline struct sample_event
own_event(const struct bench *t)
{
	struct sample_event e = {.pid = (__u32)getpid(), .tid = 1,
	    .start_ns = t->start_ns + 1234567, .value = 1, .exec_id = 1,
	    .n_user = 2, .comm = "pool-12"};

	e.frames[0] = (uintptr_t)leaf_function;
	e.frames[1] = (uintptr_t)root_function + 1; /* returns to behind */
	return e;
}

/* The slot as it would be stored: encoded, so folded and sorted. */
static inline struct batch *
bench_slot(struct bench *t)
{
	struct batch *b = batch_new((uint64_t)t->s.border.slot_ns);
	struct batch *copy = NULL;
	struct buf record = {0};

	symbols_settle(t->s.symbols, 30 * NS_PER_S);
	emit_profiles(&t->s, SLOT, b);
	CHECK_OK(batch_encode(b, &record));
	CHECK_OK(batch_decode(record.data, record.len, &copy));
	batch_free(b);
	buf_fini(&record);
	return copy;
}

static inline const struct batch_block *
block_of(const struct batch *b, const char *service)
{
	struct series_desc d;
	struct label labels[4];
	size_t i;

	for (i = 0; i < b->n_blocks; i++) {
		batch_series_desc(b, b->blocks[i].series, &d, labels, 4);
		if (strcmp(label_find(d.labels, d.n_labels, "service"),
		    service) == 0)
			return &b->blocks[i];
	}
	return NULL;
}

/* "{process=x};root;leaf" of a node. */
static inline void
path_of(const struct batch *b, uint32_t node, char *out, size_t size)
{
	const struct batch_node *n = &b->nodes[node];
	size_t used;
	uint32_t i;

	if (n->parent == 0) {
		const struct batch_labels *l = &b->labels[n->edge];

		used = (size_t)snprintf(out, size, "{");
		for (i = 0; i < l->n; i++) {
			const uint32_t *pair = b->pairs + 2 * (l->first + i);

			if (strcmp(batch_str(b, pair[0]), "cgroup") != 0)
				used += (size_t)snprintf(out + used,
				    size - used, "%s=%s,",
				    batch_str(b, pair[0]),
				    batch_str(b, pair[1]));
		}
		snprintf(out + used, size - used, "}");
		return;
	}
	path_of(b, n->parent, out, size);
	used = strlen(out);
	snprintf(out + used, size - used, ";%s",
	    batch_str(b, b->frames[n->edge].name));
}

/* The only stack of a service, and its value. */
static inline void
check_stack(const struct batch *b, const char *service, const char *want,
    int64_t value)
{
	const struct batch_block *k = block_of(b, service);
	char got[1024];

	CHECK(k != NULL && k->n == 1);
	if (k == NULL || k->n != 1)
		return;
	CHECK_INT(k->count, 1);
	CHECK_INT(k->slot, SLOT);
	CHECK_INT(b->entries[k->first].value, value);
	path_of(b, b->entries[k->first].key, got, sizeof(got));
	CHECK_STR(got, want);
}

/* The kernel tells of a process that executes this very program. */
static inline void
tell_own_code(struct bench *t, int32_t pid, const struct process_event *exec)
{
	struct process_event e = *exec;
	const struct mapping *map;
	struct maps_process *p;
	struct processes *table = processes_new();
	struct maps *maps;

	CHECK_OK(maps_new(&maps, table, "/proc"));
	p = maps_process(maps, process_add(table, getpid(), 1), t->s.now_ns);
	map = maps_find(maps, p, (uintptr_t)leaf_function, t->s.now_ns);
	e.pid = e.tid = pid;
	process_watch_event(t->s.watch, &e, t->s.now_ns);
	CHECK(map != NULL && map->kind == MAPPING_FILE);
	if (map == NULL)
		return;
	e.kind = PROCESS_MAP;
	e.start = map->start;
	e.end = map->end;
	e.offset = map->offset;
	e.ino = map->ino;
	e.dev = map->dev;
	e.path = maps_process_name(p, map);
	process_watch_event(t->s.watch, &e, t->s.now_ns);
	maps_free(maps);
	processes_free(table);
}

#endif
