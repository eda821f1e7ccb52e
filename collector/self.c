/*
 * Reads the CPU seconds and statm of the daemon and of its programs; a table
 * says which figure is which metric.
 */
#include "collector/self.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/readfile.h"
#include "collector/base/source.h"
#include "collector/base/spent.h"
#include "collector/own.h"
#include "collector/process/services.h"
#include "collector/procfs/procfs_groups.h"
#include "collector/procfs/procfs_process.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/meter.h"

#define TICK_NS 10000000 /* of /proc/PID/stat */
#define SELF_INTERVAL_NS NS_PER_S

struct self {
	struct meter *meter;
	struct services *services;
	struct groups *ours; /* programs beside this one */
	int64_t slot_ns, interval_ns;
	int64_t last_ns; /* last reading */
	self_fn *fn;
	void *arg;
};

/* One pass over the metrics below. */
struct self_reading {
	struct meter *meter;
	struct groups *ours;
	int64_t now_ns;
	struct meter_span span; /* in which increases grew */
	struct services_stats services;
	uint64_t dropped;
	struct self_view view;
};

#define VIEW(field) offsetof(struct self_reading, field)

static const struct self_metric {
	const char *name, *unit;
	enum series_kind kind;
	size_t offset; /* of a uint64_t in struct self_reading */
} self_metrics[] = {
    {"memlens_store_bytes", "bytes", SERIES_GAUGE, VIEW(view.store.bytes)},
    {"memlens_store_files", "", SERIES_GAUGE, VIEW(view.store.files)},
    {"memlens_store_batches_total", "", SERIES_COUNTER,
        VIEW(view.store.batches)},
    {"memlens_store_duplicates_total", "", SERIES_COUNTER,
        VIEW(view.store.duplicates)},
    {"memlens_store_refused_total", "", SERIES_COUNTER,
        VIEW(view.store.refused)},
    {"memlens_store_damaged_records_total", "", SERIES_COUNTER,
        VIEW(view.store.damaged_records)},
    {"memlens_store_late_blocks_total", "", SERIES_COUNTER,
        VIEW(view.store.late_blocks)},
    {"memlens_store_lost_slots_total", "", SERIES_COUNTER,
        VIEW(view.store.lost_slots)},
    {"memlens_socket_batches_total", "", SERIES_COUNTER,
        VIEW(view.intake.taken)},
    {"memlens_socket_refused_total", "", SERIES_COUNTER,
        VIEW(view.intake.refused)},
    {"memlens_socket_connections_total", "", SERIES_COUNTER,
        VIEW(view.intake.connections)},
    {"memlens_socket_turned_away_total", "", SERIES_COUNTER,
        VIEW(view.intake.turned_away)},
    {"memlens_socket_timeouts_total", "", SERIES_COUNTER,
        VIEW(view.intake.timeouts)},
    {"memlens_socket_starved_total", "", SERIES_COUNTER,
        VIEW(view.intake.starved)},
    {"memlens_socket_abandoned_total", "", SERIES_COUNTER,
        VIEW(view.intake.abandoned)},
    {"memlens_slots_skipped_total", "", SERIES_COUNTER,
        VIEW(view.slots_skipped)},
    {"memlens_batches_lost_total", "", SERIES_COUNTER,
        VIEW(view.batches_lost)},
    {"memlens_readings_dropped_total", "", SERIES_COUNTER, VIEW(dropped)},
    {"memlens_services", "", SERIES_GAUGE, VIEW(services.services)},
    {"memlens_processes", "", SERIES_GAUGE, VIEW(services.processes)},
    {"memlens_services_overflowed_total", "", SERIES_COUNTER,
        VIEW(services.overflowed)},
    {"memlens_processes_untracked_total", "", SERIES_COUNTER,
        VIEW(services.untracked)},
    {"memlens_processes_untold_total", "", SERIES_COUNTER,
        VIEW(services.untold)},
};

static void
self_put(struct self_reading *r, const char *name, const char *unit,
    enum series_kind kind, uint8_t scale, const char *process, int64_t value)
{
	struct label label = {"process", process};
	struct series_desc d = {kind, name, unit, 0, scale, &label,
	    process != NULL};

	if (kind == SERIES_COUNTER)
		meter_counter(r->meter, &d, r->now_ns, value);
	else
		meter_gauge(r->meter, &d, r->now_ns, value);
}

/* What is resident, and of that what is no file's: files are in memory once
 * for all who map them. */
static void
self_memory(int32_t pid, int64_t *resident, int64_t *private)
{
	char path[32], text[128];
	long long pages, shared;

	*resident = *private = 0;
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	if (readfile_at(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*s %lld %lld", &pages, &shared) != 2)
		return;
	*resident = pages * sysconf(_SC_PAGESIZE);
	*private = (pages - shared) * sysconf(_SC_PAGESIZE);
}

/* Which pool a worker is of: "-p POOL", "-pPOOL", "--pool POOL" or
 * "--pool=POOL", else "query". */
static void
self_pool(int32_t pid, char *pool, size_t size)
{
	char path[32], text[4096];
	const char *end, *found = NULL;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = readfile_at(AT_FDCWD, path, text, sizeof(text));
	end = text + (n > 0 ? n : 0);
	for (const char *p = text; p < end; p += strlen(p) + 1) {
		if (strncmp(p, "--pool=", 7) == 0)
			found = p + 7;
		else if (strcmp(p, "-p") == 0 || strcmp(p, "--pool") == 0)
			found = p + strlen(p) + 1;
		else if (strncmp(p, "-p", 2) == 0)
			found = p + 2;
	}
	snprintf(pool, size, "%.16s", found != NULL && found < end ? found :
	    "query");
}

/* Ours are the daemon's children, workers of our store, and a scraper that
 * has come in by our socket. */
static bool
self_owns(const struct self_reading *r, struct process *p)
{
	if (p->read->stat.parent == getpid())
		return true;
	if (strcmp(p->read->comm, "memlens-scrape") == 0) {
		if (p->read->own == 0 && intake_has_peer(r->view.door, p->pid))
			p->read->own = 1;
		return p->read->own > 0;
	}
	if (strcmp(p->read->comm, "memlens-fcgi") != 0)
		return false;
	if (p->read->own == 0 && r->view.directory != NULL) {
		int is = own_worker(p->pid, r->view.directory);

		p->read->own = is < 0 ? 0 : is > 0 ? 1 : -1;
	}
	return p->read->own > 0;
}

static void
self_read_process(void *arg, struct process *p)
{
	struct self_reading *r = arg;
	struct group_reading g = {.serial = p->read->serial};
	char name[96], pool[20];
	int64_t resident;
	bool worker = strcmp(p->read->comm, "memlens-fcgi") == 0;

	/* A dead one that was not gathered yet has its successor's name. */
	if (p->read->stat.state == 'Z' || !self_owns(r, p))
		return;
	if (worker)
		self_pool(p->pid, pool, sizeof(pool));
	snprintf(name, sizeof(name), "%s%s%s", p->read->comm, worker ? " " : "",
	    worker ? pool : "");
	procfs_process_stat(&p->read->stat, &g);
	self_memory(p->pid, &resident, &g.level[GROUP_PRIVATE]);
	g.have_level |= 1u << GROUP_PRIVATE;
	g.service = name;
	groups_add(r->ours, &g);
}

/* A program's processes together: some of them begin and end. */
static void
self_put_programs(struct self_reading *r)
{
	const struct group *g;
	size_t n;

	g = groups_end(r->ours, &n);
	for (size_t i = 0; i < n; i++) {
		struct label label = {"process", g[i].service};
		struct series_desc cpu = {SERIES_COUNTER,
		    "memlens_self_cpu_seconds_total", "seconds", 0, 9, &label,
		    1};

		meter_increase(r->meter, &cpu, r->span,
		    (int64_t)(g[i].increase[GROUP_USER] +
		    g[i].increase[GROUP_SYSTEM]) * TICK_NS,
		    (int64_t)(g[i].raw[GROUP_USER] +
		    g[i].raw[GROUP_SYSTEM]) * TICK_NS);
		self_put(r, "memlens_self_resident_bytes", "bytes",
		    SERIES_GAUGE, 0, g[i].service, g[i].level[GROUP_RESIDENT]);
		self_put(r, "memlens_self_private_bytes", "bytes",
		    SERIES_GAUGE, 0, g[i].service, g[i].level[GROUP_PRIVATE]);
	}
}

/* What the daemon's own CPU time went to. */
static void
self_put_spent(struct self_reading *r)
{
	static const char *const names[SPENT_PARTS] = {
	    [SPENT_OTHER] = "other", [SPENT_SAMPLES] = "samples",
	    [SPENT_WAITS] = "waits", [SPENT_NAMES] = "names",
	    [SPENT_PROC] = "proc",
	    [SPENT_STORE] = "store"};

	for (int i = 0; i < SPENT_PARTS; i++) {
		struct label label = {"part", names[i]};
		struct series_desc d = {SERIES_COUNTER,
		    "memlens_daemon_cpu_seconds_total", "seconds", 0, 9,
		    &label, 1};

		meter_counter(r->meter, &d, r->now_ns,
		    spent_ns((enum spent_on)i));
	}
}

static void
self_read(struct self *s, int64_t now_ns)
{
	struct self_reading r = {.meter = s->meter, .ours = s->ours,
	    .now_ns = now_ns, .span = {s->last_ns, now_ns}};
	struct meter_stats meter;
	int64_t resident, private;

	s->last_ns = now_ns;
	if (s->fn != NULL)
		s->fn(s->arg, &r.view);
	services_stats(s->services, &r.services);
	meter_stats(s->meter, &meter);
	r.dropped = meter.dropped;
	for (size_t i = 0; i < sizeof(self_metrics) / sizeof(self_metrics[0]);
	    i++) {
		const struct self_metric *m = &self_metrics[i];
		uint64_t value;

		memcpy(&value, (const char *)&r + m->offset, sizeof(value));
		self_put(&r, m->name, m->unit, m->kind, 0, NULL,
		    (int64_t)value);
	}
	self_put(&r, "memlens_up", "", SERIES_GAUGE, 0, NULL, 1);
	self_put(&r, "memlens_store_full", "", SERIES_GAUGE, 0, NULL,
	    r.view.store.state == STORE_DISK_FULL);
	self_put(&r, "memlens_self_cpu_seconds_total", "seconds",
	    SERIES_COUNTER, 9, "memlensd", clock_cpu_ns());
	self_put_spent(&r);
	self_memory(getpid(), &resident, &private);
	self_put(&r, "memlens_self_resident_bytes", "bytes", SERIES_GAUGE, 0,
	    "memlensd", resident);
	self_put(&r, "memlens_self_private_bytes", "bytes", SERIES_GAUGE, 0,
	    "memlensd", private);
	groups_begin(r.ours);
	services_each(s->services, self_read_process, &r);
	self_put_programs(&r);
}

void
self_watch(void *source, self_fn *fn, void *arg)
{
	struct self *s = source;

	if (s == NULL)
		return;
	s->fn = fn;
	s->arg = arg;
}

static const struct err *
self_open(void **out, const struct config *config,
    struct services *services)
{
	struct self *s = calloc(1, sizeof(*s));

	if (s == NULL || (s->ours = groups_new()) == NULL ||
	    (s->meter = meter_new((uint64_t)config->slot_ns)) == NULL) {
		groups_free(s != NULL ? s->ours : NULL);
		free(s);
		return err_nomem();
	}
	s->services = services;
	s->slot_ns = config->slot_ns;
	s->interval_ns = SELF_INTERVAL_NS < s->slot_ns ? SELF_INTERVAL_NS :
	    s->slot_ns;
	*out = s;
	return NULL;
}

static int
self_fd(const void *source)
{
	(void)source;
	return -1;
}

static const struct err *
self_poll(void *source, int64_t now_ns)
{
	struct self *s = source;

	if (now_ns / s->interval_ns != s->last_ns / s->interval_ns)
		self_read(s, clock_wall_ns());
	return NULL;
}

static const struct err *
self_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct self *s = source;

	(void)first;
	if (s->last_ns / s->slot_ns <= (int64_t)slot)
		self_read(s, clock_wall_ns()); /* up to now */
	meter_close(s->meter, slot, b);
	return NULL;
}

static enum source_state
self_state(const void *source, size_t part, const char **why)
{
	(void)source;
	(void)part;
	*why = "";
	return SOURCE_ATTACHED;
}

static void
self_close(void *source)
{
	struct self *s = source;

	meter_free(s->meter);
	groups_free(s->ours);
	free(s);
}

/* Nothing of it is configured. */
static bool
self_reload(void *source, const struct config *config)
{
	(void)source;
	(void)config;
	return true;
}

static const char *
self_name(size_t part)
{
	return part == 0 ? "self" : NULL;
}

const struct source_ops source_self = {
    .spends = SPENT_PROC,
    .name = self_name,
    .open = self_open,
    .fd = self_fd,
    .poll = self_poll,
    .close_slot = self_close_slot,
    .state = self_state,
    .close = self_close,
    .reload = self_reload,
};
