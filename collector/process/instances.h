/*
 * Which instance of its service a process is.
 *
 * One rule may name three databases: their processes are three instances.
 * An instance is, in this order,
 *
 *	":6379"   the lowest TCP port that the process listens on
 *	          its parent's instance, where that is of the same service: the
 *	          workers of a server are the server
 *	"#1"      the number that a process with the same arguments, working
 *	          directory and cgroup had before, else the lowest that nobody
 *	          has, and nobody had within INSTANCES_HELD_NS
 *	"(other)" beyond INSTANCES_MAX of one service at a time
 *
 * so that a database keeps its name when it, or the daemon, is started
 * again.  A pid never is one.  Several processes may be of one instance.  Who
 * begins to listen later keeps its number beside its port.
 */
#ifndef COLLECTOR_INSTANCES_H
#define COLLECTOR_INSTANCES_H

#include <stdint.h>

struct instances;
struct process;

#define INSTANCES_MAX 32 /* of one service */
#define INSTANCES_OTHER "(other)"
/* A number is that of one program for so long after it was given up, unless
 * that had lived for a moment only. */
#define INSTANCES_HELD_NS (INT64_C(3600) * 1000000000)
#define INSTANCES_MOMENT_NS (INT64_C(5) * 1000000000)

struct instances *instances_new(void); /* NULL when out of memory */
void instances_free(struct instances *in);

/* Names the instance of a process, or names it anew where it has begun to
 * listen; `parent` is that of the same service or NULL.  Reads below
 * `proc_fd`; what is not ours to read counts as absent. */
void instances_name(struct instances *in, int proc_fd, struct process *p,
    const struct process *parent);

/* Its parent's may be another by now: then its own is, too. */
void instances_follow(struct instances *in, struct process *p,
    const struct process *parent);

/* The process is gone, or will be of another service; "" is fine. */
void instances_leave(struct instances *in, struct process *p);

/* The lowest port that the process listens on, 0 for none. */
uint16_t instances_port(int proc_fd, int32_t pid);

#endif
