/*
 * A hash table by pid.  Whoever keeps a part of a process gives it back by a
 * function of its own.
 */
#include "collector/process/process.h"

#include <stdlib.h>

#define BUCKETS 4096

struct part_owner {
	process_part_fn *fn; /* NULL: there are no such parts */
	void *arg;
};

struct processes {
	struct process *buckets[BUCKETS];
	size_t n;
	struct part_owner owners[PROCESS_PARTS];
};

struct processes *
processes_new(void)
{
	return calloc(1, sizeof(struct processes));
}

void
processes_free(struct processes *t)
{
	struct process *p, *next;

	if (t == NULL)
		return;
	for (p = processes_next(t, NULL); p != NULL; p = next) {
		next = processes_next(t, p);
		process_forget(t, p);
	}
	free(t);
}

void
processes_serve(struct processes *t, enum process_part which,
    process_part_fn *fn, void *arg)
{
	struct process *p = NULL;

	while (fn == NULL && (p = processes_next(t, p)) != NULL)
		process_drop(t, p, which);
	t->owners[which] = (struct part_owner){fn, arg};
}

static size_t
process_bucket(int32_t pid)
{
	return (uint32_t)pid % BUCKETS;
}

struct process *
process_add(struct processes *t, int32_t pid, uint64_t start_ns)
{
	struct process **bucket = &t->buckets[process_bucket(pid)], *p;

	if (processes_full(t) || (p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->pid = pid;
	p->start_ns = start_ns;
	p->next = *bucket;
	*bucket = p;
	t->n++;
	return p;
}

struct process *
process_find(const struct processes *t, int32_t pid, uint64_t start_ns)
{
	struct process *p = t->buckets[process_bucket(pid)];

	while (p != NULL && (p->pid != pid || (start_ns != 0 ?
	    p->start_ns != start_ns : p->gone)))
		p = p->next;
	return p;
}

struct process *
process_last(const struct processes *t, int32_t pid)
{
	struct process *p = t->buckets[process_bucket(pid)];

	while (p != NULL && p->pid != pid)
		p = p->next;
	return p;
}

void
process_executes(struct process *p, uint32_t exec_id)
{
	if (exec_id == 0 || process_is_later(p->exec_id, exec_id))
		return;
	if (process_is_later(exec_id, p->exec_id) && !p->renewed)
		p->image++;
	p->exec_id = exec_id;
	p->renewed = false;
}

void
process_renew(struct process *p)
{
	p->renewed = true;
}

void
process_executed(struct process *p, int64_t time_ns)
{
	p->renewed = false;
	if (p->executed_ns == 0 &&
	    (p->read == NULL || time_ns > p->read->named_ns))
		p->executed_ns = time_ns;
}

void
process_drop(struct processes *t, struct process *p, enum process_part which)
{
	const struct part_owner *owner = &t->owners[which];
	void *part = p->part[which];

	p->part[which] = NULL;
	if (part != NULL)
		owner->fn(owner->arg, part);
}

void
process_end(struct processes *t, struct process *p, int64_t now_ns)
{
	p->gone = true;
	p->gone_ns = now_ns;
	process_drop(t, p, PROCESS_WALK);
}

void
process_forget(struct processes *t, struct process *p)
{
	struct process **at = &t->buckets[process_bucket(p->pid)];
	int i;

	for (i = 0; i < PROCESS_PARTS; i++)
		process_drop(t, p, i);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free(p->read);
	free(p);
	t->n--;
}

struct process *
processes_next(const struct processes *t, const struct process *p)
{
	size_t i = p != NULL ? process_bucket(p->pid) + 1 : 0;

	if (p != NULL && p->next != NULL)
		return p->next;
	while (i < BUCKETS && t->buckets[i] == NULL)
		i++;
	return i < BUCKETS ? t->buckets[i] : NULL;
}

bool
processes_full(const struct processes *t)
{
	return t->n >= PROCESSES_MAX;
}
