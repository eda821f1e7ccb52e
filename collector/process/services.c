/*
 * What /proc says of the processes in the table.  One sweep a second costs one
 * pread(2) a process: /proc/PID/stat stays open for as many as the limit of
 * descriptors allows, and an open one can never show another process that got
 * the same pid.
 */
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
#include "collector/base/spent.h"
#include "collector/process/instances.h"
#include "collector/process/reader.h"
#include "collector/process/services_private.h"
#include "collector/process/services_rules.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

#define STILL_SWEEPS 4
#define FACTS_MAX 1024    /* new processes told of in one slot, */
#define FACTS_YOUNG 32    /* and of those that live for seconds */

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
	s->path = proc;
	s->slot_ns = config->slot_ns > 2 * NS_PER_S ? config->slot_ns :
	    2 * NS_PER_S;
	s->boot_wall_ns = clock_wall_ns() - clock_boot_ns();
	s->boot_wall_ns -= s->boot_wall_ns % PROCESS_STEP_NS;
	s->fds_max = services_fd_budget();
	s->proc = opendir(proc);
	if (s->proc == NULL) {
		e = err_errno("%s", proc);
		services_free(s);
		return e;
	}
	s->proc_fd = dirfd(s->proc);
	s->table = processes_new();
	s->instances = instances_new();
	if (s->table == NULL || s->instances == NULL)
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

struct processes *
services_table(struct services *s)
{
	return s->table;
}

static void
services_close(struct services *s, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	s->fds--;
}

void
services_free(struct services *s)
{
	struct process *p = NULL;

	if (s == NULL)
		return;
	while (s->table != NULL && (p = processes_next(s->table, p)) != NULL)
		if (p->read != NULL)
			services_close(s, &p->read->fd);
	processes_free(s->table);
	services_rules_free(s->rules);
	instances_free(s->instances);
	if (s->proc != NULL)
		closedir(s->proc);
	free(s);
}

/* Reads /proc/PID/stat; false when the process is gone.  *fd: where it is
 * open, or is to be when there may be one more open file. */
static bool
process_read_stat(struct services *s, int32_t pid, int *fd,
    struct pidstat *out)
{
	char path[32], text[1024];
	int64_t now_ns;
	ssize_t n;

	snprintf(path, sizeof(path), "%d/stat", pid);
	if (*fd < 0 && s->fds < s->fds_max) {
		*fd = openat(s->proc_fd, path, O_RDONLY | O_CLOEXEC);
		s->fds += *fd >= 0;
	}
	now_ns = clock_wall_ns();
	n = *fd >= 0 ? readfile_fd(*fd, text, sizeof(text)) :
	    readfile_at(s->proc_fd, path, text, sizeof(text));
	if (n > 0 && pidstat_parse(text, (size_t)n, out)) {
		out->read_ns = now_ns;
		return true;
	}
	services_close(s, fd);
	return false;
}

const struct process *
services_known(struct services *s, int32_t pid)
{
	return process_find(s->table, pid, 0);
}

struct process *
services_last(struct services *s, int32_t pid)
{
	struct process *p = process_last(s->table, pid);

	while (p != NULL && (p->pid != pid || p->read == NULL))
		p = p->next;
	return p;
}

void
services_serve_origin(struct services *s, services_origin_fn *fn, void *arg)
{
	s->origin = fn;
	s->origin_arg = arg;
}

void
services_name_of(struct services *s, int32_t pid, char *out, size_t size)
{
	const struct process *p = services_last(s, pid);

	if (p != NULL && !p->gone && p->executed_ns != 0) {
		services_look(s, pid);
		p = services_last(s, pid);
	}
	if (p == NULL)
		p = services_process(s, pid, 0);
	if (p != NULL)
		snprintf(out, size, "%s", p->read->service);
	else if (s->origin == NULL || !s->origin(s->origin_arg, pid, out, size))
		snprintf(out, size, "%s", SERVICES_OTHER);
}

static void
services_mark_gone(struct services *s, struct process *p, int64_t now_ns)
{
	services_close(s, &p->read->fd);
	instances_leave(s->instances, p);
	process_end(s->table, p, now_ns);
	s->stats.processes--;
}

/* False when out of memory: it stays one that nobody has looked at. */
static bool
process_first_read(struct services *s, struct process *p)
{
	if (p->read == NULL && (p->read = calloc(1, sizeof(*p->read))) != NULL)
		p->read->serial = ++s->next_serial;
	p->gone = p->read == NULL;
	return !p->gone;
}

/* One whose first thread has ended lives on with others. */
static bool
process_has_ended(const struct services *s, int32_t pid,
    const struct pidstat *stat)
{
	return stat->state == 'Z' &&
	    (stat->threads < 2 || reader_find(s->path, pid, pid) == 0);
}

void
services_add(struct services *s, int32_t pid)
{
	struct pidstat stat;
	struct process *p;
	uint64_t start_ns;
	int fd = -1;

	if (processes_full(s->table)) {
		s->stats.untracked++;
		return;
	}
	if (!process_read_stat(s, pid, &fd, &stat))
		return;
	start_ns = stat.start_ticks * PROCESS_STEP_NS;
	p = process_find(s->table, pid, start_ns);
	if (p == NULL)
		p = process_add(s->table, pid, start_ns);
	if (p == NULL || !process_first_read(s, p)) {
		services_close(s, &fd);
		return;
	}
	p->read->stat = stat;
	p->read->zombie = process_has_ended(s, pid, &stat);
	p->read->fd = fd;
	p->read->seen = s->sweep;
	p->executed_ns = 0;
	s->stats.processes++;
	services_classify(s, p);
}

/* ---- all of them ---- */

/* What has not run for a while, which is most of a machine, is read now and
 * then only; not all in the same sweep. */
static bool
process_may_wait(const struct services *s, const struct process *p)
{
	return p->read->still >= STILL_SWEEPS &&
	    (s->sweep + (uint32_t)p->pid) % STILL_SWEEPS != 0;
}

static bool
process_ran(const struct pidstat *old, const struct pidstat *stat)
{
	return stat->user_ticks != old->user_ticks ||
	    stat->system_ticks != old->system_ticks ||
	    stat->minor_faults != old->minor_faults ||
	    stat->threads != old->threads || stat->state != old->state ||
	    stat->resident_pages != old->resident_pages;
}

/* It lives, and has perhaps changed: by a program that it has executed, of
 * which we were told or not. */
static void
process_go_on(struct services *s, struct process *p, bool changed)
{
	struct process_read *r = p->read;

	if (changed && p->executed_ns != 0) {
		r->before.until_ns = p->executed_ns;
		r->before.named_ns = r->named_ns;
		memcpy(r->before.service, r->service, sizeof(r->service));
		memcpy(r->before.comm, r->comm, sizeof(r->comm));
	}
	p->executed_ns = 0;
	if (changed)
		services_classify(s, p);
}

static void
services_refresh(struct services *s, int32_t pid, bool may_wait,
    int64_t now_ns)
{
	struct process *p = process_find(s->table, pid, 0);
	struct process_read *r = p != NULL ? p->read : NULL;
	struct pidstat stat;
	bool changed;

	if (p != NULL && may_wait && process_may_wait(s, p)) {
		r->seen = s->sweep;
		return;
	}
	if (p == NULL || !process_read_stat(s, pid, &r->fd, &stat) ||
	    stat.start_ticks != r->stat.start_ticks) {
		if (p != NULL)
			services_mark_gone(s, p, now_ns);
		services_add(s, pid);
		return;
	}
	changed = stat.code_start != r->stat.code_start ||
	    stat.stack_start != r->stat.stack_start ||
	    strncmp(stat.comm, r->comm, sizeof(r->comm) - 1) != 0;
	r->still = process_ran(&r->stat, &stat) ? 0 : r->still + 1;
	r->stat = stat;
	r->zombie = process_has_ended(s, pid, &stat);
	r->seen = s->sweep;
	if (r->young && !services_is_young(s, p))
		changed = true;
	if (!stat.kernel_thread && !r->zombie)
		process_go_on(s, p, changed);
}

/* Of a program that comes, once: it does not go with the rate of samples. */
struct process *
services_look(struct services *s, int32_t pid)
{
	enum spent_on before = spent_begin(SPENT_NAMES);

	services_refresh(s, pid, false, clock_wall_ns());
	spent_begin(before);
	return process_find(s->table, pid, 0);
}

struct process *
services_process(struct services *s, int32_t pid, uint64_t start_ns)
{
	struct process *p;

	start_ns -= start_ns % PROCESS_STEP_NS;
	p = process_find(s->table, pid, start_ns);
	if (p == NULL || p->read == NULL) {
		services_look(s, pid);
		p = process_find(s->table, pid, start_ns);
	}
	if (p == NULL || p->read == NULL)
		return NULL;
	p->read->still = 0; /* whoever asks has seen it run */
	return p;
}

struct process *
services_missed(struct services *s, int32_t pid, uint64_t start_ns)
{
	struct process *p;

	start_ns -= start_ns % PROCESS_STEP_NS;
	p = process_find(s->table, pid, start_ns);
	if (p != NULL)
		return p;
	if ((p = process_add(s->table, pid, start_ns)) == NULL) {
		s->stats.untracked++;
		return NULL;
	}
	process_end(s->table, p, clock_wall_ns());
	return p;
}

static bool
process_is_told_of(const struct process *p)
{
	return p->read != NULL && !p->read->kernel_thread;
}

static void
services_forget(struct services *s, int64_t now_ns)
{
	struct process *p, *next;

	for (p = processes_next(s->table, NULL); p != NULL; p = next) {
		next = processes_next(s->table, p);
		if (!p->gone && p->read->seen != s->sweep)
			services_mark_gone(s, p, now_ns);
		if (!p->gone || (now_ns >= p->gone_ns &&
		    now_ns - p->gone_ns <= s->slot_ns))
			continue;
		if (p->read != NULL) {
			services_release(s, p->read);
			s->stats.untold += process_is_told_of(p) &&
			    !p->read->told;
		}
		process_forget(s->table, p);
	}
}

/* A process may listen only after a while: it is looked at in the sweeps 1,
 * 2, 4, 8 ... of its life.  A parent goes before its children. */
static void
services_instance(struct services *s, struct process *p, int depth)
{
	struct process_read *r = p->read;
	struct process *parent;

	if (!r->ruled || p->gone || depth == 16)
		return;
	parent = process_find(s->table, r->stat.parent, 0);
	if (parent != NULL && strcmp(parent->read->service, r->service) != 0)
		parent = NULL;
	if (r->follows && parent != NULL)
		instances_follow(s->instances, p, parent);
	if (r->sweeps == 1u << 16)
		return;
	r->sweeps++;
	if ((r->sweeps & (r->sweeps - 1)) != 0)
		return;
	if (parent != NULL && parent->read->instance[0] == '\0')
		services_instance(s, parent, depth + 1);
	instances_name(s->instances, s->proc_fd, p, parent);
}

static void
services_name_instances(struct services *s)
{
	struct process *p = NULL;

	while ((p = processes_next(s->table, p)) != NULL)
		if (p->read != NULL)
			services_instance(s, p, 0);
}

void
services_watch(struct services *s, bool on)
{
	s->watched = on;
	s->stirred = true;
}

void
services_stir(struct services *s)
{
	s->stirred = true;
}

static const struct err *
services_refresh_all(struct services *s, bool may_wait, int64_t now_ns)
{
	struct dirent *d;

	s->stirred = false;
	rewinddir(s->proc);
	for (;;) {
		errno = 0;
		if ((d = readdir(s->proc)) == NULL)
			break;
		if (isdigit((unsigned char)d->d_name[0]))
			services_refresh(s, atoi(d->d_name), may_wait,
			    now_ns);
	}
	return errno == 0 ? NULL : err_errno("/proc");
}

static void
services_refresh_known(struct services *s, int64_t now_ns)
{
	struct process *p = NULL;

	while ((p = processes_next(s->table, p)) != NULL)
		if (!p->gone && p->read->seen != s->sweep)
			services_refresh(s, p->pid, true, now_ns);
}

const struct err *
services_sweep(struct services *s, int64_t now_ns)
{
	bool may_wait = now_ns / s->config->slot_ns == s->slot;
	const struct err *e = NULL;

	s->slot = now_ns / s->config->slot_ns;
	s->sweep++;
	if (may_wait && s->watched && !s->stirred)
		services_refresh_known(s, now_ns);
	else
		e = services_refresh_all(s, may_wait, now_ns);
	if (e != NULL)
		return e;
	services_forget(s, now_ns);
	services_name_instances(s);
	return NULL;
}

void
services_each(struct services *s, services_fn *fn, void *arg)
{
	struct process *p = NULL;

	while ((p = processes_next(s->table, p)) != NULL)
		if (!p->gone)
			fn(arg, p);
}

static void
process_fact(const struct services *s, struct process *p, struct batch *b,
    int64_t time_ns)
{
	struct process_read *r = p->read;
	struct buf text = {0};

	fact_put_process(&text, &(struct fact_process){p->pid,
	    s->boot_wall_ns + (int64_t)p->start_ns,
	    fact_part_of(r->comm),
	    fact_part_of(r->command + strlen(r->comm) + 1)});
	if (!text.failed)
		batch_add_fact(b, time_ns, FACT_PROCESS, r->service,
		    text.data, text.len);
	r->told = !text.failed;
	buf_fini(&text);
}

/* Of a service that no rule names, and young now, or as it ended. */
static bool
process_was_short(const struct services *s, const struct process *p)
{
	int64_t until = p->gone ? p->gone_ns : clock_wall_ns();

	return !p->read->ruled && until - s->boot_wall_ns -
	    (int64_t)p->start_ns < s->config->short_lived_ns;
}

void
services_facts(struct services *s, struct batch *b, int64_t time_ns, bool all)
{
	struct process *p = NULL;
	size_t told = 0, young = 0;

	while ((p = processes_next(s->table, p)) != NULL) {
		bool again = all && !p->gone;

		if (!process_is_told_of(p) || (p->read->told && !again))
			continue;
		if (process_was_short(s, p) && ++young > FACTS_YOUNG)
			continue; /* later, should it grow old */
		if (!again && ++told > FACTS_MAX)
			return;
		process_fact(s, p, b, time_ns);
	}
}

void
services_stats(const struct services *s, struct services_stats *out)
{
	*out = s->stats;
}
