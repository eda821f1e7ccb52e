/*
 * What the threads that nobody named began with, by whole stacks of theirs: so
 * what has no such stack is of the same pool (thread_pool.h).
 *
 *	slot   a whole stack of a thread ──► its number in the aggregate
 *	end    the stack has names ──► the thread's entry, from now on
 *
 * A thread whose stacks begin with several, as those of coroutines do, has no
 * entry.  One of which nothing was heard for some slots is forgotten, and so is
 * what it began with before its process executed another program.
 */
#ifndef COLLECTOR_THREAD_ENTRY_H
#define COLLECTOR_THREAD_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_ENTRIES_MAX 65536

struct thread_entries;

struct thread_key {
	uint32_t pid, tid, exec_id;
	uint64_t start_ns; /* of the process, boot time */
};

/* NULL when out of memory; the others take NULL, which knows nobody. */
struct thread_entries *thread_entries_new(void);
void thread_entries_free(struct thread_entries *t);
/* All of them: names may be other ones now. */
void thread_entries_forget(struct thread_entries *t);

/* The function; "": not known, or not one.  Valid until the next call. */
const char *thread_entry_of(struct thread_entries *t,
    const struct thread_key *key);

/* The open slot has this whole stack of the thread. */
void thread_entry_met(struct thread_entries *t, const struct thread_key *key,
    uint32_t stack);

/* Has it one, of which it is not known yet what it begins with? */
bool thread_entry_waits(struct thread_entries *t,
    const struct thread_key *key);

/* Puts what a stack begins with into `out` of THREAD_POOL_NAME_MAX bytes, or
 * returns false. */
typedef bool thread_entry_fn(void *arg, uint32_t stack, char *out);

/* The slot is over, and its stacks have the names that they will have. */
void thread_entries_settle(struct thread_entries *t, thread_entry_fn *fn,
    void *arg);

#endif
