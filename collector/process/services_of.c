/*
 * Which service a process is of: the rules, its name, its parent's while it is
 * young; and the names that are in use.
 */
#include <stdio.h>
#include <string.h>

#include "collector/alloc/beside.h"
#include "collector/base/config.h"
#include "collector/base/readfile.h"
#include "collector/process/instances.h"
#include "collector/process/process_words.h"
#include "collector/process/services_private.h"
#include "collector/process/services_rules.h"
#include "store/base/clock.h"

#define ANCESTORS_MAX 16

/* ---- names of services ---- */

static struct service_name *
service_find(struct services *s, const char *name)
{
	for (size_t i = 0; i < SERVICES_MAX; i++)
		if (s->names[i].processes > 0 &&
		    strcmp(s->names[i].name, name) == 0)
			return &s->names[i];
	return NULL;
}

void
services_release(struct services *s, const struct process_read *r)
{
	struct service_name *n = service_find(s, r->service);

	if (n != NULL && --n->processes == 0)
		s->stats.services--;
}

/* A place for a new name, or NULL; the last one is kept for SERVICES_OTHER. */
static struct service_name *
service_place(struct services *s, const char *name)
{
	size_t last = SERVICES_MAX - 1;

	if (strcmp(name, SERVICES_OTHER) == 0)
		return &s->names[last];
	for (size_t i = 0; i < last; i++)
		if (s->names[i].processes == 0)
			return &s->names[i];
	return NULL;
}

/* Gives the process the service `name`, or the rest's when all are taken. */
static void
service_assign(struct services *s, struct process_read *r, const char *name)
{
	struct service_name *n = service_find(s, name);

	if (n == NULL && (n = service_place(s, name)) == NULL) {
		s->stats.overflowed++;
		service_assign(s, r, SERVICES_OTHER);
		return;
	}
	if (n->processes++ == 0) {
		snprintf(n->name, sizeof(n->name), "%s", name);
		s->stats.services++;
	}
	memcpy(r->service, n->name, sizeof(n->name));
}

/* ---- one process ---- */

/* The parent whose service a young process belongs to, or NULL.  init's
 * children are services, and the kernel's helpers nobody's. */
static const struct process *
process_guardian(struct services *s, const struct process_read *r,
    const struct process *parent)
{
	if (s->config->short_lived_ns == 0 || parent == NULL ||
	    parent->pid == 1 || parent->read == NULL ||
	    parent->read->kernel_thread || parent->read->service[0] == '\0' ||
	    service_find(s, r->comm) != NULL)
		return NULL;
	return parent;
}

/* The rules, then what every process is; `parent`: of one that is young. */
static const char *
process_service(struct services *s, struct process_read *r,
    const struct process *parent)
{
	const char *name = services_rules_match(s->rules, r);
	const struct process *guardian;

	r->ruled = name != NULL;
	r->young = false;
	if (name == NULL && r->kernel_thread)
		name = SERVICES_KERNEL;
	if (name != NULL)
		return name;
	if (!s->config->every_process || r->comm[0] == '\0')
		return SERVICES_OTHER;
	guardian = process_guardian(s, r, parent);
	r->young = guardian != NULL;
	return r->young ? guardian->read->service : r->comm;
}

void
services_name(struct services *s, const char *comm, const char *rest,
    const char *cgroup, const struct process *ancestor, char *out,
    size_t size)
{
	struct process_read r = {0};

	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	snprintf(r.command, sizeof(r.command), "%s %s", comm, rest);
	snprintf(r.cgroup, sizeof(r.cgroup), "%s", cgroup);
	snprintf(out, size, "%s", process_service(s, &r, ancestor));
}

/* Of a process that was born between two sweeps the parent may be, too. */
static const struct process *
services_parent(struct services *s, const struct process_read *r)
{
	int32_t pid = r->stat.parent;
	const struct process *p = process_find(s->table, pid, 0);

	if (p != NULL || pid <= 1 || s->ancestors == ANCESTORS_MAX)
		return p;
	s->ancestors++;
	services_add(s, pid);
	s->ancestors--;
	return process_find(s->table, pid, 0);
}

bool
services_is_young(const struct services *s, const struct process *p)
{
	return clock_boot_ns() - (int64_t)p->start_ns <
	    s->config->short_lived_ns;
}

void
services_classify(struct services *s, struct process *p)
{
	struct process_read *r = p->read;
	const struct process *parent = NULL;

	r->named_ns = clock_mono_ns();
	instances_leave(s->instances, p);
	r->port = r->number = 0;
	if (r->service[0] != '\0')
		services_release(s, r);
	snprintf(r->comm, sizeof(r->comm), "%.15s", r->stat.comm);
	r->kernel_thread = r->stat.kernel_thread;
	process_read_command(s->path, s->proc_fd,
	    s->config->show_arguments, p);
	process_read_cgroup(s->proc_fd, p);
	if (!r->alone && services_is_young(s, p))
		parent = services_parent(s, r);
	service_assign(s, r, process_service(s, r, parent));
	r->ruled &= strcmp(r->service, SERVICES_OTHER) != 0;
	r->sweeps = 0;
	r->told = false;
}

/* Do rules that are new give it another service? */
static bool
process_follow_rules(struct services *s, struct process *p)
{
	struct process_read *r = p->read;
	char before[sizeof(r->service)];
	const struct process *parent = NULL;
	bool ruled = r->ruled;
	const char *name;

	if (!r->alone && services_is_young(s, p))
		parent = services_parent(s, r);
	name = process_service(s, r, parent);
	if (strcmp(name, r->service) == 0 && r->ruled == ruled)
		return false;
	memcpy(before, r->service, sizeof(before));
	services_classify(s, p);
	r->watched = 0;
	return strcmp(before, r->service) != 0;
}

static bool
services_follow_rules(struct services *s)
{
	struct process *p = NULL;
	bool changed = false;

	while ((p = processes_next(s->table, p)) != NULL)
		if (p->read != NULL && !p->gone)
			changed |= process_follow_rules(s, p);
	return changed;
}

void
services_reload(struct services *s, const struct config *config,
    struct services_rules *rules)
{
	bool other = config->show_arguments != s->config->show_arguments;
	struct process *p = NULL;
	int i = 0;

	services_rules_free(s->rules);
	s->rules = rules;
	s->config = config;
	while ((p = processes_next(s->table, p)) != NULL) {
		if (p->read == NULL || p->gone)
			continue;
		p->read->sweeps = 0;
		if (!other)
			continue;
		process_read_command(s->path, s->proc_fd,
		    config->show_arguments, p);
		p->read->told = false;
	}
	/* A young one is what its parent is. */
	while (services_follow_rules(s) && ++i < ANCESTORS_MAX)
		continue;
}

/* Has `memlens run` executed it, and not one that has?  It knows its number in
 * its own namespace. */
static bool
process_was_run(struct services *s, const struct process *p)
{
	char path[32], text[sizeof(BESIDE_RUN) + 16], mark[sizeof(text)];
	char status[4096];

	snprintf(path, sizeof(path), "%d/environ", p->pid);
	if (readfile_at(s->proc_fd, path, text, sizeof(text)) <= 0 ||
	    strncmp(text, BESIDE_RUN, sizeof(BESIDE_RUN) - 1) != 0)
		return false;
	snprintf(path, sizeof(path), "%d/status", p->pid);
	if (readfile_at(s->proc_fd, path, status, sizeof(status)) <= 0)
		return false;
	snprintf(mark, sizeof(mark), BESIDE_RUN "%d",
	    readfile_inner_pid(status));
	return strcmp(text, mark) == 0;
}

void
services_samples_memory(struct services *s, struct process *p)
{
	struct process_read *r = p->read;

	if (r == NULL || !r->young || r->run_asked == p->image + 1)
		return;
	r->run_asked = p->image + 1;
	r->alone = process_was_run(s, p);
	if (r->alone)
		services_classify(s, p);
}
