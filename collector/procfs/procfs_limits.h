/*
 * How much memory the control groups of services leave them: the tightest
 * limit above any of their processes, and what is left below it.  Pages of
 * files count as left, since the kernel takes them back first.
 *
 *	memlens_service_memory_limit_bytes{service}
 *	memlens_service_memory_available_bytes{service}
 *
 * A service without a limit has no such series.
 */
#ifndef COLLECTOR_PROCFS_LIMITS_H
#define COLLECTOR_PROCFS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define LIMITS_MAX 512 /* pairs of service and control group in a slot */

struct limit {
	int64_t max, left; /* bytes */
};

struct limits;
struct procfs_reading;

/* `root` is "/sys/fs/cgroup", or a copy for tests; NULL when out of memory. */
struct limits *limits_new(const char *root);
void limits_free(struct limits *l);

/* The tightest of a control group ("/system.slice/db.service") and those above
 * it, of version 2, or of version 1 where that has no memory; false: none. */
bool limits_of(const struct limits *l, const char *cgroup, struct limit *out);

/* A process of a reading; the same again costs nothing. */
void limits_add(struct limits *l, const char *service, const char *cgroup);

/* Tells of all that were added, and forgets them. */
void limits_put(struct limits *l, const struct procfs_reading *r);

#endif
