/*
 * Which service a process belongs to, and what is known of the process.
 *
 * A process is one (pid, start time).  Its record is made at first sight
 * from /proc and kept until it has been gone for a while; all sources share
 * this table, so that a profile and a metric of one process carry the same
 * service name.
 */
#ifndef COLLECTOR_SERVICES_H
#define COLLECTOR_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct config;
struct err;

#define SERVICES_MAX 256 /* a slot; the rest is "(other services)" */

struct process {
	int32_t pid;
	uint64_t start_ns;    /* boot time, from /proc/PID/stat */
	char service[64];
	char comm[16];
	char command[256];    /* comm and executable path, or the arguments */
	char cgroup[128];     /* path, "" for the root */
	bool kernel_thread;
	bool gone;
};

struct services;

const struct err *services_new(struct services **out,
    const struct config *config);
void services_free(struct services *s);

/* The process that has this pid now; NULL when there is none or /proc
 * refuses.  Valid until services_sweep().  `start_ns` 0: any. */
struct process *services_process(struct services *s, int32_t pid,
    uint64_t start_ns);

/* Re-reads the list of processes; marks those that are gone, forgets those
 * that have been gone for a slot.  Call once a second. */
const struct err *services_sweep(struct services *s, int64_t now_ns);

/* Walks the living processes. */
typedef void services_fn(void *arg, struct process *p);
void services_each(struct services *s, services_fn *fn, void *arg);

/* Adds FACT_PROCESS for processes not yet told of, or for all. */
void services_facts(struct services *s, struct batch *b, int64_t time_ns,
    bool all);

#endif
