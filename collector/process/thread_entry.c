/*
 * A table by pid and tid; one that got the number of another is told apart by
 * its process, or was met only after the other was forgotten.
 */
#include "collector/process/thread_entry.h"

#include <stdlib.h>
#include <string.h>

#include "collector/process/thread_pool.h"
#include "store/base/buf.h"

#define BUCKETS 1024 /* a power of two */
#define IDLE 6       /* slots */
#define NO_STACK UINT32_MAX

struct entry {
	struct entry *next;
	struct thread_key key;
	uint32_t first, last; /* stacks of the open slot */
	unsigned idle; /* slots since it was asked for */
	bool several;  /* it has begun with one and with another */
	char *name;    /* NULL: not known */
};

struct thread_entries {
	struct entry *buckets[BUCKETS];
	size_t n;
};

struct thread_entries *
thread_entries_new(void)
{
	return calloc(1, sizeof(struct thread_entries));
}

static void
entry_free(struct thread_entries *t, struct entry **at)
{
	struct entry *x = *at;

	*at = x->next;
	free(x->name);
	free(x);
	t->n--;
}

void
thread_entries_forget(struct thread_entries *t)
{
	for (size_t i = 0; t != NULL && i < BUCKETS; i++)
		while (t->buckets[i] != NULL)
			entry_free(t, &t->buckets[i]);
}

void
thread_entries_free(struct thread_entries *t)
{
	thread_entries_forget(t);
	free(t);
}

static bool
entry_is(const struct entry *x, const struct thread_key *key)
{
	return x->key.tid == key->tid && x->key.pid == key->pid &&
	    x->key.start_ns == key->start_ns &&
	    x->key.exec_id == key->exec_id;
}

/* Where it is, or would be. */
static struct entry **
entry_place(struct thread_entries *t, const struct thread_key *key)
{
	struct entry **at = &t->buckets[hash64_u64(key->pid, key->tid) &
	    (BUCKETS - 1)];

	while (*at != NULL && !entry_is(*at, key))
		at = &(*at)->next;
	return at;
}

/* NULL: there is none. */
static struct entry *
entry_find(struct thread_entries *t, const struct thread_key *key)
{
	struct entry *x = t != NULL ? *entry_place(t, key) : NULL;

	if (x != NULL)
		x->idle = 0;
	return x;
}

const char *
thread_entry_of(struct thread_entries *t, const struct thread_key *key)
{
	const struct entry *x = entry_find(t, key);

	return x != NULL && x->name != NULL ? x->name : "";
}

bool
thread_entry_waits(struct thread_entries *t, const struct thread_key *key)
{
	const struct entry *x = entry_find(t, key);

	return x != NULL && x->name == NULL && !x->several &&
	    x->first != NO_STACK;
}

void
thread_entry_met(struct thread_entries *t, const struct thread_key *key,
    uint32_t stack)
{
	struct entry *x = entry_find(t, key);

	if (x == NULL && t != NULL && t->n < THREAD_ENTRIES_MAX &&
	    (x = calloc(1, sizeof(*x))) != NULL) {
		x->key = *key;
		x->first = x->last = NO_STACK;
		*entry_place(t, key) = x;
		t->n++;
	}
	if (x == NULL)
		return;
	if (x->first == NO_STACK)
		x->first = stack;
	x->last = stack;
}

/* What one stack of it says. */
static void
entry_learn(struct entry *x, uint32_t stack, thread_entry_fn *fn, void *arg)
{
	char name[THREAD_POOL_NAME_MAX];

	if (stack == NO_STACK || x->several || !fn(arg, stack, name))
		return;
	if (x->name == NULL) {
		x->name = strdup(name);
	} else if (strcmp(x->name, name) != 0) {
		x->several = true;
		free(x->name);
		x->name = NULL;
	}
}

static void
entry_settle(struct entry *x, thread_entry_fn *fn, void *arg)
{
	entry_learn(x, x->first, fn, arg);
	if (x->last != x->first)
		entry_learn(x, x->last, fn, arg);
	x->first = x->last = NO_STACK;
	x->idle++;
}

void
thread_entries_settle(struct thread_entries *t, thread_entry_fn *fn,
    void *arg)
{
	struct entry **at;

	for (size_t i = 0; t != NULL && i < BUCKETS; i++) {
		for (at = &t->buckets[i]; *at != NULL;) {
			entry_settle(*at, fn, arg);
			if ((*at)->idle > IDLE)
				entry_free(t, at);
			else
				at = &(*at)->next;
		}
	}
}
