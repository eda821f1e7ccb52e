/*
 * The table of processes.  One sweep a second costs one pread(2) a process:
 * /proc/PID/stat stays open for as many as the limit of descriptors allows,
 * and an open one can never show another process that got the same pid.
 */
#include "collector/process/services.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/readfile.h"
#include "collector/process/instances.h"
#include "collector/process/services_rules.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/text.h"
#include "store/batch/batch.h"

#define BUCKETS 4096
#define TICK_NS 10000000u /* USER_HZ is 100 on every architecture we run on */
#define STILL_SWEEPS 4
#define FACTS_MAX 1024    /* new processes told of in one slot */

struct entry {
	struct process p;
	struct entry *next;
	int fd;         /* /proc/PID/stat or -1 */
	uint64_t seen;  /* sweep */
	int64_t gone_ns;
	uint32_t still; /* readings in a row that found it as it was */
	bool told;
};

struct service_name {
	char name[64];
	uint32_t processes; /* 0: free */
};

struct services {
	const struct config *config;
	struct services_rules *rules;
	struct instances *instances;
	DIR *proc;
	int proc_fd;
	struct entry *bucket[BUCKETS];
	struct service_name names[SERVICES_MAX];
	struct services_stats stats;
	uint64_t sweep, next_serial;
	int64_t slot; /* of the last sweep */
	size_t fds, fds_max, entries;
	int64_t slot_ns;
	int64_t boot_wall_ns; /* wall time at boot */
};

static size_t
services_fd_budget(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 256;
	return limit.rlim_cur > 8192 ? 4096 : (size_t)limit.rlim_cur / 2;
}

const struct err *
services_new_at(struct services **out, const struct config *config,
    const char *proc)
{
	struct services *s = calloc(1, sizeof(*s));
	const struct err *e;

	if (s == NULL)
		return err_nomem();
	s->config = config;
	s->slot_ns = config->slot_ns > 2 * NS_PER_S ? config->slot_ns :
	    2 * NS_PER_S;
	s->boot_wall_ns = clock_wall_ns() - clock_boot_ns();
	s->boot_wall_ns -= s->boot_wall_ns % TICK_NS;
	s->fds_max = services_fd_budget();
	s->proc = opendir(proc);
	if (s->proc == NULL) {
		e = err_errno("%s", proc);
		services_free(s);
		return e;
	}
	s->proc_fd = dirfd(s->proc);
	if ((s->instances = instances_new()) == NULL)
		e = err_nomem();
	else
		e = services_rules_new(&s->rules, config);
	if (e != NULL) {
		services_free(s);
		return e;
	}
	*out = s;
	return NULL;
}

const struct err *
services_new(struct services **out, const struct config *config)
{
	return services_new_at(out, config, "/proc");
}

static void
entry_close(struct services *s, struct entry *e)
{
	if (e->fd < 0)
		return;
	close(e->fd);
	e->fd = -1;
	s->fds--;
}

void
services_free(struct services *s)
{
	struct entry *e, *next;

	if (s == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (e = s->bucket[i]; e != NULL; e = next) {
			next = e->next;
			entry_close(s, e);
			free(e);
		}
	}
	services_rules_free(s->rules);
	instances_free(s->instances);
	if (s->proc != NULL)
		closedir(s->proc);
	free(s);
}

/* ---- names of services ---- */

static void
service_release(struct services *s, struct entry *e)
{
	for (size_t i = 0; i < SERVICES_MAX; i++) {
		struct service_name *n = &s->names[i];

		if (n->processes > 0 && strcmp(n->name, e->p.service) == 0) {
			if (--n->processes == 0)
				s->stats.services--;
			return;
		}
	}
}

/* Gives the process the service `name`, or the rest's when all are taken. */
static void
service_assign(struct services *s, struct entry *e, const char *name)
{
	struct service_name *n, *free_one = NULL;
	bool other = strcmp(name, SERVICES_OTHER) == 0;
	size_t last = SERVICES_MAX - 1; /* kept for SERVICES_OTHER */

	for (size_t i = other ? last : 0; i < last + other; i++) {
		n = &s->names[i];
		if (n->processes > 0 && strcmp(n->name, name) == 0) {
			n->processes++;
			memcpy(e->p.service, n->name, sizeof(n->name));
			return;
		}
		if (n->processes == 0 && free_one == NULL)
			free_one = n;
	}
	if (free_one == NULL) {
		s->stats.overflowed++;
		service_assign(s, e, SERVICES_OTHER);
		return;
	}
	snprintf(free_one->name, sizeof(free_one->name), "%s", name);
	free_one->processes = 1;
	s->stats.services++;
	memcpy(e->p.service, free_one->name, sizeof(free_one->name));
}

/* ---- one process ---- */

static void
process_read_exe(const struct services *s, struct process *p, char *out,
    size_t cap)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/exe", p->pid);
	n = readlinkat(s->proc_fd, path, out, cap - 1);
	out[n > 0 ? n : 0] = '\0';
}

static void
process_read_arguments(const struct services *s, struct process *p,
    char *out, size_t cap)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/cmdline", p->pid);
	n = readfile_at(s->proc_fd, path, out, cap);
	while (n > 0 && out[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++) {
		if (out[i] == '\0')
			out[i] = ' ';
	}
	out[n > 0 ? n : 0] = '\0';
}

static void
process_read_command(const struct services *s, struct process *p)
{
	char rest[sizeof(p->command) - sizeof(p->comm) - 1];

	if (s->config->show_arguments)
		process_read_arguments(s, p, rest, sizeof(rest));
	else
		process_read_exe(s, p, rest, sizeof(rest));
	text_clean(rest);
	snprintf(p->command, sizeof(p->command), "%s %s", p->comm, rest);
}

static void
process_read_cgroup(const struct services *s, struct process *p)
{
	char path[32], text[4096];

	snprintf(path, sizeof(path), "%d/cgroup", p->pid);
	p->cgroup[0] = '\0';
	if (readfile_at(s->proc_fd, path, text, sizeof(text)) > 0)
		services_cgroup(text, p->cgroup, sizeof(p->cgroup));
	text_clean(p->cgroup);
}

/* The rules, then what every process is. */
static const char *
process_service(const struct services *s, const struct process *p,
    bool *ruled)
{
	const char *name = services_rules_match(s->rules, p);

	*ruled = name != NULL;
	if (name == NULL && p->kernel_thread)
		name = SERVICES_KERNEL;
	if (name == NULL && s->config->every_process && p->comm[0] != '\0')
		name = p->comm;
	return name == NULL ? SERVICES_OTHER : name;
}

void
services_name(const struct services *s, const char *comm, const char *rest,
    const char *cgroup, char *out, size_t size)
{
	struct process p = {.pid = 0};
	bool ruled;

	snprintf(p.comm, sizeof(p.comm), "%s", comm);
	snprintf(p.command, sizeof(p.command), "%s %s", comm, rest);
	snprintf(p.cgroup, sizeof(p.cgroup), "%s", cgroup);
	snprintf(out, size, "%s", process_service(s, &p, &ruled));
}

static void
process_classify(struct services *s, struct entry *e)
{
	struct process *p = &e->p;
	bool ruled;

	instances_leave(s->instances, p);
	if (p->service[0] != '\0')
		service_release(s, e);
	snprintf(p->comm, sizeof(p->comm), "%.15s", p->stat.comm);
	p->kernel_thread = p->stat.kernel_thread;
	process_read_command(s, p);
	process_read_cgroup(s, p);
	service_assign(s, e, process_service(s, p, &ruled));
	p->ruled = ruled && strcmp(p->service, SERVICES_OTHER) != 0;
	p->sweeps = 0;
	e->told = false;
}

/* Reads /proc/PID/stat; false when the process is gone. */
static bool
process_read_stat(struct services *s, struct entry *e, struct pidstat *out)
{
	char path[32], text[1024];
	ssize_t n;

	if (e->fd >= 0) {
		n = readfile_fd(e->fd, text, sizeof(text));
		return n > 0 && pidstat_parse(text, (size_t)n, out);
	}
	snprintf(path, sizeof(path), "%d/stat", e->p.pid);
	if (s->fds >= s->fds_max) {
		n = readfile_at(s->proc_fd, path, text, sizeof(text));
		return n > 0 && pidstat_parse(text, (size_t)n, out);
	}
	e->fd = openat(s->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (e->fd < 0)
		return false;
	s->fds++;
	n = readfile_fd(e->fd, text, sizeof(text));
	return n > 0 && pidstat_parse(text, (size_t)n, out);
}

static struct entry **
services_bucket(struct services *s, int32_t pid)
{
	return &s->bucket[(uint32_t)pid % BUCKETS];
}

static struct entry *
services_find(struct services *s, int32_t pid)
{
	struct entry *e;

	for (e = *services_bucket(s, pid); e != NULL; e = e->next) {
		if (e->p.pid == pid && !e->p.gone)
			return e;
	}
	return NULL;
}

const struct process *
services_known(struct services *s, int32_t pid)
{
	const struct entry *e = services_find(s, pid);

	return e != NULL ? &e->p : NULL;
}

const struct process *
services_last(struct services *s, int32_t pid)
{
	struct entry *e = *services_bucket(s, pid);

	while (e != NULL && e->p.pid != pid)
		e = e->next;
	return e != NULL ? &e->p : NULL;
}

static void
services_mark_gone(struct services *s, struct entry *e, int64_t now_ns)
{
	entry_close(s, e);
	instances_leave(s->instances, &e->p);
	e->p.gone = true;
	e->gone_ns = now_ns;
	s->stats.processes--;
}

static struct entry *
services_add(struct services *s, int32_t pid)
{
	struct entry *e, **bucket = services_bucket(s, pid);

	if (s->entries >= SERVICES_PROCESSES_MAX) {
		s->stats.untracked++;
		return NULL;
	}
	if ((e = calloc(1, sizeof(*e))) == NULL)
		return NULL;
	e->fd = -1;
	e->p.pid = pid;
	if (!process_read_stat(s, e, &e->p.stat)) {
		entry_close(s, e);
		free(e);
		return NULL;
	}
	e->p.start_ns = e->p.stat.start_ticks * TICK_NS;
	e->p.serial = ++s->next_serial;
	e->seen = s->sweep;
	e->next = *bucket;
	*bucket = e;
	s->entries++;
	s->stats.processes++;
	process_classify(s, e);
	return e;
}

static bool
process_started(const struct process *p, uint64_t start_ns)
{
	return start_ns == 0 || start_ns / TICK_NS == p->stat.start_ticks;
}

struct process *
services_process(struct services *s, int32_t pid, uint64_t start_ns)
{
	struct entry *e;

	for (e = *services_bucket(s, pid); e != NULL; e = e->next) {
		if (e->p.pid == pid && process_started(&e->p, start_ns) &&
		    (start_ns != 0 || !e->p.gone)) {
			e->still = 0; /* whoever asks has seen it run */
			return &e->p;
		}
	}
	/* Known under this pid, but another one: it must have been reused. */
	if ((e = services_find(s, pid)) != NULL)
		services_mark_gone(s, e, clock_wall_ns());
	e = services_add(s, pid);
	return e != NULL && process_started(&e->p, start_ns) ? &e->p : NULL;
}

/* ---- all of them ---- */

/* What has not run for a while, which is most of a machine, is read now and
 * then only; not all in the same sweep. */
static bool
entry_may_wait(const struct services *s, const struct entry *e)
{
	return e->still >= STILL_SWEEPS &&
	    (s->sweep + (uint32_t)e->p.pid) % STILL_SWEEPS != 0;
}

static bool
entry_ran(const struct entry *e, const struct pidstat *stat)
{
	const struct pidstat *old = &e->p.stat;

	return stat->user_ticks != old->user_ticks ||
	    stat->system_ticks != old->system_ticks ||
	    stat->minor_faults != old->minor_faults ||
	    stat->threads != old->threads || stat->state != old->state ||
	    stat->resident_pages != old->resident_pages;
}

static void
services_refresh(struct services *s, int32_t pid, bool may_wait,
    int64_t now_ns)
{
	struct entry *e = services_find(s, pid);
	struct pidstat stat;
	bool changed;

	if (e != NULL && may_wait && entry_may_wait(s, e)) {
		e->seen = s->sweep;
		return;
	}
	if (e != NULL && (!process_read_stat(s, e, &stat) ||
	    stat.start_ticks != e->p.stat.start_ticks)) {
		services_mark_gone(s, e, now_ns);
		e = NULL;
	}
	if (e == NULL) {
		services_add(s, pid);
		return;
	}
	changed = stat.image != e->p.stat.image ||
	    strncmp(stat.comm, e->p.comm, sizeof(e->p.comm) - 1) != 0;
	e->still = entry_ran(e, &stat) ? 0 : e->still + 1;
	e->p.stat = stat;
	e->seen = s->sweep;
	if (changed && !stat.kernel_thread && stat.state != 'Z')
		process_classify(s, e);
}

void
services_look(struct services *s, int32_t pid)
{
	services_refresh(s, pid, false, clock_wall_ns());
}

static void
services_forget(struct services *s, int64_t now_ns)
{
	struct entry *e, **at;

	for (size_t i = 0; i < BUCKETS; i++) {
		for (at = &s->bucket[i]; (e = *at) != NULL;) {
			if (!e->p.gone && e->seen != s->sweep)
				services_mark_gone(s, e, now_ns);
			if (!e->p.gone || (now_ns >= e->gone_ns &&
			    now_ns - e->gone_ns <= s->slot_ns)) {
				at = &e->next;
				continue;
			}
			service_release(s, e);
			*at = e->next;
			free(e);
			s->entries--;
		}
	}
}

/* A process may listen only after a while: it is looked at in the sweeps 1,
 * 2, 4, 8 ... of its life.  A parent goes before its children. */
static void
services_instance(struct services *s, struct entry *e, int depth)
{
	struct process *p = &e->p;
	struct entry *parent;

	if (!p->ruled || p->gone || depth == 16)
		return;
	parent = services_find(s, p->stat.parent);
	if (parent != NULL && strcmp(parent->p.service, p->service) != 0)
		parent = NULL;
	if (p->follows && parent != NULL)
		instances_follow(s->instances, p, &parent->p);
	if (p->sweeps == 1u << 16)
		return;
	p->sweeps++;
	if ((p->sweeps & (p->sweeps - 1)) != 0)
		return;
	if (parent != NULL && parent->p.instance[0] == '\0')
		services_instance(s, parent, depth + 1);
	instances_name(s->instances, s->proc_fd, p,
	    parent != NULL ? &parent->p : NULL);
}

static void
services_name_instances(struct services *s)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct entry *e = s->bucket[i]; e != NULL; e = e->next)
			services_instance(s, e, 0);
}

const struct err *
services_sweep(struct services *s, int64_t now_ns)
{
	bool may_wait = now_ns / s->config->slot_ns == s->slot;
	struct dirent *d;

	s->slot = now_ns / s->config->slot_ns;
	s->sweep++;
	rewinddir(s->proc);
	for (;;) {
		errno = 0;
		if ((d = readdir(s->proc)) == NULL)
			break;
		if (isdigit((unsigned char)d->d_name[0]))
			services_refresh(s, atoi(d->d_name), may_wait,
			    now_ns);
	}
	if (errno != 0)
		return err_errno("/proc");
	services_forget(s, now_ns);
	services_name_instances(s);
	return NULL;
}

void
services_each(struct services *s, services_fn *fn, void *arg)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *e = s->bucket[i]; e != NULL; e = e->next) {
			if (!e->p.gone)
				fn(arg, &e->p);
		}
	}
}

static void
entry_fact(const struct services *s, struct entry *e, struct batch *b,
    int64_t time_ns)
{
	struct buf text = {0};

	fact_put_process(&text, &(struct fact_process){e->p.pid,
	    s->boot_wall_ns + (int64_t)e->p.start_ns,
	    fact_part_of(e->p.comm),
	    fact_part_of(e->p.command + strlen(e->p.comm) + 1)});
	if (!text.failed)
		batch_add_fact(b, time_ns, FACT_PROCESS, e->p.service,
		    text.data, text.len);
	e->told = !text.failed;
	buf_fini(&text);
}

void
services_facts(struct services *s, struct batch *b, int64_t time_ns, bool all)
{
	size_t told = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct entry *e = s->bucket[i]; e != NULL; e = e->next) {
			bool again = all && !e->p.gone;

			if (e->p.kernel_thread || (e->told && !again))
				continue;
			if (!again && ++told > FACTS_MAX)
				return;
			entry_fact(s, e, b, time_ns);
		}
	}
}

void
services_stats(const struct services *s, struct services_stats *out)
{
	*out = s->stats;
}
