/*
 * source_procfs: reads /proc at every whole interval of the wall clock.
 *
 * The reading at the end of a slot comes a moment after its end, or late where
 * the host is busy, but before the slot is closed.  Each file is of when it was
 * read, and not of when we began, so that the meter gives each slot its part of
 * what grew.
 *
 * stat of every process is read each time (by services_sweep()); io, status
 * and descriptors of those that have run since, and of all at the end of a
 * slot.
 */
#include "collector/procfs/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/slots.h"
#include "collector/base/source.h"
#include "collector/process/services.h"
#include "collector/procfs/procfs_allocator.h"
#include "collector/procfs/procfs_files.h"
#include "collector/procfs/procfs_groups.h"
#include "collector/procfs/procfs_limits.h"
#include "collector/procfs/procfs_pace.h"
#include "collector/procfs/procfs_process.h"
#include "collector/procfs/procfs_pss.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/intern.h"
#include "store/batch/meter.h"

#define MOUNTS_NS (10 * NS_PER_S)

struct procfs {
	struct meter *meter;
	const struct config *config;
	struct services *services;
	struct procfs_host *host;
	struct groups *groups, *instances;
	struct limits *limits;
	struct files *files;
	int proc_fd;
	int64_t slot_ns, mounts_ns;
	struct procfs_pace pace;
	struct procfs_pss pss;
	int64_t last_ns; /* when the last reading began; 0: none */
	uint64_t last_slot; /* that details of all processes were read for */
	struct map64 active; /* serial -> index of sums */
	uint64_t *sums; /* what stat said when details were read last */
	uint32_t n_sums, cap_sums;
	bool blind; /* most processes' I/O is not for us to see */
	char why[200];
};

/* ---- services ---- */

/* The columns of a group, and the label that tells some of them apart. */
static const struct {
	struct procfs_metric metric;
	const char *label, *value;
} count_metrics[GROUP_COUNTS] = {
#define COUNT(which, name, unit, scale, label, value)                          \
	[which] = {{name, unit, SERIES_COUNTER, scale}, label, value}
    COUNT(GROUP_USER, "cpu_seconds_total", "seconds", 2, "mode", "user"),
    COUNT(GROUP_SYSTEM, "cpu_seconds_total", "seconds", 2, "mode", "system"),
    COUNT(GROUP_MINOR_FAULTS, "minor_page_faults_total", "", 0, NULL, NULL),
    COUNT(GROUP_MAJOR_FAULTS, "major_page_faults_total", "", 0, NULL, NULL),
    COUNT(GROUP_READ_BYTES, "read_bytes_total", "bytes", 0, NULL, NULL),
    COUNT(GROUP_WRITE_BYTES, "write_bytes_total", "bytes", 0, NULL, NULL),
    COUNT(GROUP_VOLUNTARY, "context_switches_total", "", 0, "ctxswitchtype",
        "voluntary"),
    COUNT(GROUP_INVOLUNTARY, "context_switches_total", "", 0,
        "ctxswitchtype", "nonvoluntary"),
};

static const struct {
	struct procfs_metric metric;
	const char *memtype, *allocator;
} level_metrics[GROUP_LEVELS] = {
#define LEVEL(which, name, unit, memtype)                                      \
	[which] = {{name, unit, SERIES_GAUGE, 0}, memtype, NULL}
#define HAS(which, name)                                                       \
	[GROUP_ALLOCATOR + which - 1] = {{"allocator", "", SERIES_GAUGE, 0},   \
	    NULL, name}
    HAS(ALLOCATOR_STATIC, "static"),
    HAS(ALLOCATOR_GO, "go"),
    HAS(ALLOCATOR_JAVA, "java"),
    HAS(ALLOCATOR_GLIBC, "glibc"),
    HAS(ALLOCATOR_MUSL, "musl"),
    HAS(ALLOCATOR_MIMALLOC, "mimalloc"),
    HAS(ALLOCATOR_TCMALLOC, "tcmalloc"),
    HAS(ALLOCATOR_JEMALLOC, "jemalloc"),
    LEVEL(GROUP_THREADS, "num_threads", "", NULL),
    LEVEL(GROUP_VIRTUAL, "memory_bytes", "bytes", "virtual"),
    LEVEL(GROUP_RESIDENT, "memory_bytes", "bytes", "resident"),
    LEVEL(GROUP_ANONYMOUS, "memory_bytes", "bytes", "anonymous"),
    LEVEL(GROUP_FILE, "memory_bytes", "bytes", "file"),
    LEVEL(GROUP_SHARED, "memory_bytes", "bytes", "shared"),
    LEVEL(GROUP_SWAPPED, "memory_bytes", "bytes", "swapped"),
    LEVEL(GROUP_PROPORTIONAL, "memory_bytes", "bytes",
        "proportionalResident"),
    LEVEL(GROUP_FDS, "open_filedesc", "", NULL),
};

/* Whose numbers these are: a service's, as process-exporter names them, or
 * one of its instances'. */
struct group_who {
	const char *prefix;
	struct label own[2]; /* sorted */
};

/* The descriptor of a metric of theirs; `name` and `labels` are room for
 * it. */
static struct series_desc
group_desc(const struct group_who *who, const struct procfs_metric *m,
    struct label more, char name[80], struct label labels[3])
{
	struct series_desc d = {m->kind, name, m->unit, 0, m->scale, labels,
	    0};
	bool put = more.name == NULL;

	snprintf(name, 80, "%s%s", who->prefix, m->name);
	for (int i = 0; i < 2; i++) {
		if (!put && strcmp(more.name, who->own[i].name) < 0) {
			labels[d.n_labels++] = more;
			put = true;
		}
		labels[d.n_labels++] = who->own[i];
	}
	if (!put)
		labels[d.n_labels++] = more;
	return d;
}

static void
group_put_counts(const struct procfs_reading *r, const struct group_who *who,
    const struct group *g)
{
	struct label labels[3];
	char name[80];

	for (int i = 0; i < GROUP_COUNTS; i++) {
		struct series_desc d = group_desc(who, &count_metrics[i].metric,
		    (struct label){count_metrics[i].label,
		    count_metrics[i].value}, name, labels);
		struct meter_span span = {g->span[i].from_ns,
		    g->span[i].until_ns};

		if (span.until_ns == 0) /* not read: as it was */
			span = (struct meter_span){r->now_ns, r->now_ns};
		if ((g->have_count >> i & 1) != 0)
			meter_increase(r->meter, &d, span,
			    (int64_t)g->increase[i], (int64_t)g->raw[i]);
	}
}

static void
group_put_levels(const struct procfs_reading *r, const struct group_who *who,
    const struct group *g)
{
	static const struct procfs_metric processes = {"num_procs", "",
	    SERIES_GAUGE, 0}, read_at = {"memory_read_timestamp_seconds",
	    "seconds", SERIES_GAUGE, 3};
	struct label labels[3];
	char name[80];
	struct series_desc d = group_desc(who, &processes, (struct label){0},
	    name, labels);

	meter_gauge(r->meter, &d, r->now_ns, (int64_t)g->processes);
	for (int i = 0; i < GROUP_LEVELS; i++) {
		const char *type = level_metrics[i].memtype,
		    *has = level_metrics[i].allocator;

		if ((g->have_level >> i & 1) == 0)
			continue;
		d = group_desc(who, &level_metrics[i].metric,
		    has != NULL ? (struct label){"allocator", has} :
		    (struct label){type != NULL ? "memtype" : NULL, type},
		    name, labels);
		meter_gauge(r->meter, &d, r->now_ns, g->level[i]);
	}
	if ((g->have_level >> GROUP_PROPORTIONAL & 1) == 0)
		return;
	d = group_desc(who, &read_at, (struct label){"memtype",
	    level_metrics[GROUP_PROPORTIONAL].memtype}, name, labels);
	meter_gauge(r->meter, &d, r->now_ns, g->proportional_ns / NS_PER_MS);
}

static void
group_put(const struct procfs_reading *r, const struct group_who *who,
    const struct group *g)
{
	group_put_counts(r, who, g);
	group_put_levels(r, who, g);
}

static void
group_put_service(const struct procfs_reading *r, const struct group *g)
{
	struct group_who who = {"namedprocess_namegroup_",
	    {{"groupname", g->service}, {"service", g->service}}};

	group_put(r, &who, g);
}

/* Its name is that of the service, a tab, and that of the instance. */
static void
group_put_instance(const struct procfs_reading *r, const struct group *g)
{
	char service[sizeof(g->service)], *tab;
	struct group_who who = {"memlens_instance_",
	    {{"instance", ""}, {"service", service}}};

	memcpy(service, g->service, sizeof(service));
	tab = strrchr(service, '\t');
	*tab = '\0';
	who.own[0].value = tab + 1;
	group_put(r, &who, g);
}

/* Has the process run since its details were read? */
static bool
procfs_has_run(struct procfs *s, const struct process *p)
{
	uint64_t sum = p->read->stat.user_ticks + p->read->stat.system_ticks +
	    p->read->stat.minor_faults + p->read->stat.major_faults + 1;
	uint32_t i = map64_get(&s->active, p->read->serial);
	uint64_t *grown;

	if (i != INTERN_NONE) {
		bool run = s->sums[i] != sum;

		s->sums[i] = sum;
		return run;
	}
	if (s->n_sums == s->cap_sums) {
		s->cap_sums = s->cap_sums ? s->cap_sums * 2 : 256;
		grown = realloc(s->sums, s->cap_sums * sizeof(*grown));
		if (grown == NULL) {
			s->cap_sums = s->n_sums;
			return true;
		}
		s->sums = grown;
	}
	if (map64_add(&s->active, p->read->serial, s->n_sums))
		s->sums[s->n_sums++] = sum;
	return true;
}

struct process_pass {
	struct procfs *s;
	bool all; /* details of every process */
	struct allocator_pass allocators;
	size_t asked, denied;
};

static void
procfs_read_process(void *arg, struct process *p)
{
	struct process_pass *pass = arg;
	struct procfs *s = pass->s;
	struct group_reading r = {.serial = p->read->serial,
	    .service = p->read->service, .zombie = p->read->zombie};
	char name[sizeof(p->read->service) + sizeof(p->read->instance) + 1];
	bool run = procfs_has_run(s, p);

	procfs_process_stat(&p->read->stat, &r);
	if (!p->read->kernel_thread && p->read->stat.state != 'Z' &&
	    (pass->all || run)) {
		pass->asked++;
		pass->denied += !procfs_process_details(s->proc_fd, p->pid,
		    &r);
	}
	if (!p->read->kernel_thread && pass->all) {
		procfs_process_allocator(&pass->allocators, s->proc_fd, p,
		    &r);
		limits_add(s->limits, p->read->service, p->read->cgroup);
		files_add(s->files, s->proc_fd, p);
	}
	if (!p->read->kernel_thread && p->read->stat.state != 'Z')
		procfs_pss_read(&s->pss, s->proc_fd, p->pid, &r);
	groups_add(s->groups, &r);
	if (p->read->instance[0] != '\0') {
		snprintf(name, sizeof(name), "%s\t%s", p->read->service,
		    p->read->instance);
		r.service = name;
		groups_add(s->instances, &r);
	}
}

static void
procfs_read_groups(struct procfs *s, const struct procfs_reading *r, bool all)
{
	struct process_pass pass = {.s = s, .all = all,
	    .allocators = {ALLOCATOR_READS, clock_boot_ns()}};
	const struct group *g;
	size_t n;

	if (all) { /* forget those that are gone */
		map64_fini(&s->active);
		s->n_sums = 0;
	}
	if (all)
		files_begin(s->files, r->now_ns);
	groups_begin(s->groups);
	groups_begin(s->instances);
	procfs_pss_begin(&s->pss, r->now_ns);
	services_each(s->services, procfs_read_process, &pass);
	g = groups_end(s->groups, &n);
	for (size_t i = 0; i < n; i++)
		group_put_service(r, &g[i]);
	g = groups_end(s->instances, &n);
	for (size_t i = 0; i < n; i++)
		group_put_instance(r, &g[i]);
	if (all)
		limits_put(s->limits, r);
	if (all)
		files_put(s->files, s->proc_fd, r);
	if (all) /* single ones may be hidden even from root */
		s->blind = pass.denied > pass.asked / 2;
}

/* ---- one reading ---- */

/* No count of processes: it would make the state a new one all the time. */
static void
procfs_explain(struct procfs *s, size_t failed)
{
	s->why[0] = '\0';
	if (failed > 0)
		snprintf(s->why, sizeof(s->why),
		    "%zu files of /proc cannot be read", failed);
	else if (s->blind)
		snprintf(s->why, sizeof(s->why), "I/O and descriptors of "
		    "other users' processes cannot be read: needs "
		    "CAP_SYS_PTRACE");
}

static void
procfs_read(struct procfs *s, int64_t now_ns)
{
	struct procfs_reading r = {s->meter, now_ns, clock_wall_ns};
	bool first = s->last_ns == 0, new_slot;
	size_t failed;

	new_slot = (uint64_t)(now_ns / s->slot_ns) != s->last_slot;
	s->last_slot = (uint64_t)(now_ns / s->slot_ns);
	failed = procfs_host_read(s->host, &r);
	procfs_begin(&r);
	procfs_read_groups(s, &r, first || new_slot);
	procfs_begin(&r);
	if (first || now_ns / s->mounts_ns != s->last_ns / s->mounts_ns)
		procfs_mounts_read(&r);
	s->last_ns = now_ns;
	procfs_explain(s, failed);
}

/* ---- the source ---- */

static void
procfs_close(void *source)
{
	struct procfs *s = source;

	meter_free(s->meter);
	procfs_host_free(s->host);
	groups_free(s->groups);
	groups_free(s->instances);
	limits_free(s->limits);
	files_free(s->files);
	map64_fini(&s->active);
	free(s->sums);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	free(s);
}

static const struct err *
procfs_open(void **out, const struct config *config,
    struct services *services)
{
	struct procfs *s;

	*out = NULL;
	if (!config->procfs)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return err_nomem();
	s->config = config;
	s->services = services;
	s->slot_ns = config->slot_ns;
	procfs_pace_begin(&s->pace, config);
	s->mounts_ns = s->slot_ns < MOUNTS_NS ? s->slot_ns : MOUNTS_NS;
	if (s->mounts_ns < config->procfs_interval_ns)
		s->mounts_ns = config->procfs_interval_ns;
	s->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->meter = meter_new((uint64_t)s->slot_ns);
	s->host = procfs_host_new("/proc");
	s->groups = groups_new();
	s->instances = groups_new();
	s->limits = limits_new("/sys/fs/cgroup");
	s->files = files_new(s->slot_ns);
	if (s->meter == NULL || s->host == NULL || s->groups == NULL ||
	    s->instances == NULL || s->limits == NULL || s->files == NULL) {
		procfs_close(s);
		return err_nomem();
	}
	*out = s;
	return NULL;
}

static int
procfs_fd(const void *source)
{
	(void)source;
	return -1;
}

static const struct err *
procfs_poll(void *source, int64_t now_ns)
{
	struct procfs *s = source;

	if (slots_period(now_ns, s->slot_ns, s->pace.interval_ns) !=
	    slots_period(s->last_ns, s->slot_ns, s->pace.interval_ns))
		procfs_read(s, now_ns);
	return NULL;
}

static const struct err *
procfs_close_slot(void *source, uint64_t slot, struct batch *b, bool first)
{
	struct procfs *s = source;

	(void)first;
	if (s->last_ns / s->slot_ns <= (int64_t)slot) {
		s->last_slot = 0;
		procfs_read(s, clock_wall_ns()); /* up to now */
	}
	procfs_pace_judge(&s->pace, s->meter, slot, b);
	meter_close(s->meter, slot, b);
	return NULL;
}

/* Its counters go on. */
static bool
procfs_reload(void *source, const struct config *config)
{
	struct procfs *s = source;

	if (!conf_same(&config_spec, "procfs", s->config, config))
		return false;
	s->config = config;
	return true;
}

static enum source_state
procfs_state(const void *source, size_t part, const char **why)
{
	const struct procfs *s = source;

	(void)part;
	*why = s->why[0] != '\0' ? s->why : s->pace.slow;
	return (*why)[0] == '\0' ? SOURCE_ATTACHED : SOURCE_DEGRADED;
}

int64_t
procfs_interval_ns(const void *source)
{
	const struct procfs *s = source;

	return s->pace.interval_ns;
}

static const char *
procfs_name(size_t part)
{
	return part == 0 ? "procfs" : NULL;
}

const struct source_ops source_procfs = {
    .spends = SPENT_PROC,
    .name = procfs_name,
    .open = procfs_open,
    .fd = procfs_fd,
    .poll = procfs_poll,
    .close_slot = procfs_close_slot,
    .state = procfs_state,
    .close = procfs_close,
    .reload = procfs_reload,
};
