/*
 * Sums over the processes of a service, as process-exporter's groups.
 *
 * A group's counter is not the sum of its processes' counters, which would
 * fall when one exits: it grows by the sum of each process's own increase.
 * A process that is seen for the first time counts from its birth, except
 * at the very first reading, where it is the base line.  A counter that
 * goes back (the kernel's rounding) counts as no increase.  What a process
 * does between the last reading and its exit is not seen.
 *
 * No /proc here: the caller brings the numbers, so that tests can.
 */
#ifndef COLLECTOR_PROCFS_GROUPS_H
#define COLLECTOR_PROCFS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum group_count {
	GROUP_USER,   /* ticks */
	GROUP_SYSTEM, /* ticks */
	GROUP_MINOR_FAULTS,
	GROUP_MAJOR_FAULTS,
	GROUP_READ_BYTES,
	GROUP_WRITE_BYTES,
	GROUP_VOLUNTARY,   /* context switches */
	GROUP_INVOLUNTARY,
	GROUP_COUNTS
};

/* Where counts are from: what is read together. */
enum group_file {
	GROUP_STAT,    /* GROUP_USER to GROUP_MAJOR_FAULTS */
	GROUP_DETAILS, /* the others */
	GROUP_FILES
};

enum group_level {
	GROUP_THREADS,
	GROUP_VIRTUAL,  /* bytes */
	GROUP_RESIDENT, /* bytes */
	GROUP_ANONYMOUS, /* bytes of what is resident: no file behind it, */
	GROUP_FILE,      /* one, */
	GROUP_SHARED,    /* memory that is a file of its own: shm, tmpfs */
	GROUP_SWAPPED,  /* bytes */
	GROUP_PROPORTIONAL, /* bytes: shared pages by how many share them */
	GROUP_FDS,
	GROUP_PRIVATE,  /* bytes; of our own programs alone */
	GROUP_ALLOCATOR, /* processes that have the first of enum allocator, */
	GROUP_ALLOCATOR_LAST = GROUP_ALLOCATOR + 7, /* and so on */
	GROUP_LEVELS
};

/* What was read of one process; a value that has no bit was not read this
 * time: then the last one stands. */
struct group_reading {
	uint64_t serial; /* of the process, never reused */
	const char *service; /* or what else the group is named by */
	uint64_t count[GROUP_COUNTS];
	int64_t level[GROUP_LEVELS];
	uint32_t have_count, have_level; /* bits: 1 << enum */
	bool zombie; /* has counts, but no levels, and is no process any more */
	int64_t proportional_ns; /* wall: when that level was read, if it was */
	int64_t read_ns[GROUP_FILES]; /* wall: when; 0: not this time */
};

/* Between which times an increase grew, wall: those of the process that had
 * most of it, since each is read at its own.  0: it was not read this time. */
struct group_span {
	int64_t from_ns, until_ns;
	uint64_t most;
};

struct group {
	char service[96]; /* as the readings name it */
	uint64_t processes;
	uint64_t increase[GROUP_COUNTS];
	struct group_span span[GROUP_COUNTS];
	uint64_t raw[GROUP_COUNTS];   /* sum over its processes now */
	int64_t level[GROUP_LEVELS];
	uint32_t have_count, have_level; /* of any process, ever */
	/* Wall: when the oldest of what GROUP_PROPORTIONAL adds up was read. */
	int64_t proportional_ns;
};

struct groups;

struct groups *groups_new(void); /* NULL when out of memory */
void groups_free(struct groups *g);

void groups_begin(struct groups *g);
/* False when out of memory: the process is missing from this reading. */
bool groups_add(struct groups *g, const struct group_reading *r);
/* The groups that have processes, or zombies, in the order of first sight in
 * this reading; they live until the next groups_begin(). */
const struct group *groups_end(struct groups *g, size_t *n);

#endif
