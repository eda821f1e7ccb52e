/*
 * Which service a process belongs to, and what is known of the process.
 *
 * The entry of a process (process.h) is made at first sight from /proc and
 * kept until it has been gone for a slot; all sources share the table, so that
 * a profile and a metric of one process carry the same service name.
 *
 * The service of a process is, in this order: the first [service NAME] rule
 * of the configuration that matches; "kernel" for kernel threads; its comm,
 * when every-process = yes; "(other services)".  A process whose comm is not
 * a service yet is its parent's until it is as old as short-lived says.
 * There are never more than SERVICES_MAX names at a time: a new one beyond
 * that is "(other services)" too, and counted.
 *
 * FACT_PROCESS (fact.h) tells of each: its comm, up to 15 bytes without a
 * control byte; its command, the path of the executable ("" when unknown), or
 * all arguments joined by spaces where the configuration says show-arguments
 * = yes.
 */
#ifndef COLLECTOR_SERVICES_H
#define COLLECTOR_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/process/process.h"

struct batch;
struct config;
struct err;
struct services_rules;

#define SERVICES_MAX 256 /* at a time; the rest is "(other services)" */
#define SERVICES_OTHER "(other services)"
#define SERVICES_KERNEL "kernel"

struct services;

struct services_stats {
	uint64_t processes;  /* known, living */
	uint64_t services;   /* names in use */
	uint64_t overflowed; /* processes that got no name of their own */
	uint64_t untracked;  /* sightings beyond PROCESSES_MAX */
	uint64_t untold;     /* that ended before services_facts() did */
};

/* `config` is borrowed until services_reload() or services_free(). */
const struct err *services_new(struct services **out,
    const struct config *config);
/* The same with another directory for /proc: for tests. */
const struct err *services_new_at(struct services **out,
    const struct config *config, const char *proc);
void services_free(struct services *s);

/* Goes on with another configuration and with its rules, which it owns then:
 * processes are what they were, but those that are of another service now.  All
 * are looked at anew in the next sweep, whether they listen. */
void services_reload(struct services *s, const struct config *config,
    struct services_rules *rules);

/* The table, for those who attach parts. */
struct processes *services_table(struct services *s);

/* It maps the allocator's library.  One that `memlens run` has executed is a
 * service of its own at once. */
void services_samples_memory(struct services *s, struct process *p);

/* The process that has this pid now; NULL when there is none or /proc
 * refuses.  Valid until services_sweep().  `start_ns`: boot time, that of a
 * process that may have gone since; 0: any that lives. */
struct process *services_process(struct services *s, int32_t pid,
    uint64_t start_ns);

/* The living process that is known under this pid, or NULL; reads nothing.
 * Valid until services_sweep(). */
const struct process *services_known(struct services *s, int32_t pid);

/* The same, or one that was known under it until lately. */
struct process *services_last(struct services *s, int32_t pid);

/* The entry of a process that nobody could look at; NULL: no room. */
struct process *services_missed(struct services *s, int32_t pid,
    uint64_t start_ns);

/* Names the service of a process that nobody has looked at, of this name and
 * executable (or arguments; both may be "") in a control group; `ancestor`:
 * the nearest that is known, or NULL. */
void services_name(struct services *s, const char *comm,
    const char *rest, const char *cgroup, const struct process *ancestor,
    char *out, size_t size);

/* Who knows where ended processes come from that nobody has looked at: puts
 * the service of one into `out`, or returns false.  NULL: nobody. */
typedef bool services_origin_fn(void *arg, int32_t pid, char *out,
    size_t size);
void services_serve_origin(struct services *s, services_origin_fn *fn,
    void *arg);

/* The service of a process that is of late, living or not, for those who have
 * nothing but its number; SERVICES_OTHER when nobody knows. */
void services_name_of(struct services *s, int32_t pid, char *out,
    size_t size);

/* Reads one process anew, as a sweep does: it may be new, gone (NULL), or have
 * executed another program. */
struct process *services_look(struct services *s, int32_t pid);

/* Re-reads the list of processes and the stat of those that run; of those
 * that have not run for some sweeps every fourth time, and of all in the
 * first sweep of a slot, so that a slot's numbers are exact.  Marks those
 * that are gone, forgets those that have been gone for a slot, classifies
 * anew those that have executed another program.  Call once a second. */
const struct err *services_sweep(struct services *s, int64_t now_ns);

/* Somebody is told when processes begin and end, and says so: but in the first
 * sweep of a slot their list, which costs most of a sweep where nothing
 * happens, is read only if any has since the last one. */
void services_watch(struct services *s, bool on);
void services_stir(struct services *s);

/* Walks the living processes. */
typedef void services_fn(void *arg, struct process *p);
void services_each(struct services *s, services_fn *fn, void *arg);

/* Adds FACT_PROCESS for processes not yet told of, or for all that live.
 * Kernel threads are left out; of those that live for seconds and that no
 * rule names so many a call that a build is not mostly facts. */
void services_facts(struct services *s, struct batch *b, int64_t time_ns,
    bool all);

void services_stats(const struct services *s, struct services_stats *out);

#endif
