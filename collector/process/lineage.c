/*
 * A table by the low bits of pids: a younger process takes the place of an
 * older one.
 */
#include "collector/process/lineage.h"

#include <stdlib.h>
#include <string.h>

#include "collector/process/process_events.h"

struct lineage {
	struct lineage_entry all[LINEAGE_MAX];
};

struct lineage *
lineage_new(void)
{
	return calloc(1, sizeof(struct lineage));
}

void
lineage_free(struct lineage *l)
{
	free(l);
}

/* Its exec may have been told before: by another CPU. */
static void
lineage_fork(struct lineage_entry *x, const struct process_event *e)
{
	if (x->pid != e->pid || x->exec_ns <= e->time_ns)
		*x = (struct lineage_entry){.pid = e->pid};
	else if (x->first_ns <= e->time_ns)
		x->first_ns = x->exec_ns;
	x->parent = e->parent;
	x->fork_ns = e->time_ns;
}

static void
lineage_exec(struct lineage_entry *x, const struct process_event *e)
{
	if (x->pid != e->pid)
		*x = (struct lineage_entry){.pid = e->pid};
	if (e->time_ns < x->fork_ns)
		return; /* another process's */
	if (x->first_ns == 0 || e->time_ns < x->first_ns)
		x->first_ns = e->time_ns;
	if (e->time_ns < x->exec_ns)
		return;
	x->exec_ns = e->time_ns;
	memcpy(x->comm, e->comm, sizeof(x->comm));
}

void
lineage_event(struct lineage *l, const struct process_event *e)
{
	struct lineage_entry *x = &l->all[(uint32_t)e->pid % LINEAGE_MAX];

	if (e->kind == PROCESS_FORK && e->pid != e->parent)
		lineage_fork(x, e);
	else if (e->kind == PROCESS_EXEC)
		lineage_exec(x, e);
}

static const struct lineage_entry *
lineage_entry(const struct lineage *l, int32_t pid)
{
	const struct lineage_entry *x = &l->all[(uint32_t)pid % LINEAGE_MAX];

	return pid > 0 && x->pid == pid ? x : NULL;
}

/* Which program was it at that moment, if it had executed one? */
static void
lineage_program(const struct lineage_entry *x, int64_t time_ns,
    struct lineage_origin *out)
{
	if (x->first_ns == 0 || x->first_ns > time_ns)
		return;
	out->program = x->pid;
	if (x->exec_ns > time_ns) { /* one before the last */
		out->exec_ns = x->first_ns;
		return;
	}
	out->exec_ns = x->exec_ns;
	memcpy(out->comm, x->comm, sizeof(out->comm));
}

bool
lineage_find(const struct lineage *l, int32_t pid, int64_t time_ns,
    lineage_known_fn *known, void *arg, struct lineage_origin *out)
{
	const struct lineage_entry *x = lineage_entry(l, pid);
	int depth;

	*out = (struct lineage_origin){.root = 0};
	if (x == NULL)
		return false;
	for (depth = 0; x != NULL && depth < LINEAGE_DEPTH; depth++) {
		if (out->program == 0)
			lineage_program(x, time_ns, out);
		if (x->parent != 0 && known(arg, x->parent)) {
			out->root = x->parent;
			break;
		}
		/* what an ancestor executed later is not its child's */
		if (x->fork_ns != 0 && x->fork_ns < time_ns)
			time_ns = x->fork_ns;
		x = lineage_entry(l, x->parent);
	}
	return out->root != 0 || out->program != 0;
}

int64_t
lineage_next_exec(const struct lineage *l, int32_t pid, int64_t time_ns)
{
	const struct lineage_entry *x = lineage_entry(l, pid);

	if (x == NULL || x->fork_ns > time_ns || x->exec_ns <= time_ns)
		return 0;
	return x->first_ns > time_ns ? x->first_ns : x->exec_ns;
}
