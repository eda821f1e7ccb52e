/*
 * What processes have mapped lately, by the kernel's word: decides whether a
 * mapping that is known now was there when a sample was taken.  The lists of
 * mappings are read at other moments, and after dlclose() another library may
 * take the very place of the last one.
 *
 *	sample        ?
 *	changes  ─ A ─── B ──▶  what is known now is B's: the address was A's
 */
#ifndef COLLECTOR_MAPS_CHANGES_H
#define COLLECTOR_MAPS_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/maps/maps.h"

#define CHANGES_MAX 8192   /* remembered; some seconds' in a storm */
#define CHANGES_BUCKETS 4096 /* by pid: most processes have one alone */
#define CHANGES_CELLS 4096
#define CHANGES_GAPS 8

#define CHANGES_PATHS 512  /* remembered, of so many bytes with NUL */
#define CHANGES_PATH 160
#define CHANGES_PROBES 8   /* places where one may be */

/* pid mapped code at [start, end): `offset` bytes into the file `ino` of the
 * device `dev`, 0 for none.  time_ns: CLOCK_MONOTONIC.  path: the hash of
 * its path, 0 for none; set by maps_changes_add(). */
struct maps_change {
	int32_t pid;
	uint64_t start, end, offset, ino, dev;
	int64_t time_ns;
	uint64_t path;
};

struct changes_path {
	uint64_t hash; /* 0: free */
	char text[CHANGES_PATH];
};

/* Moments behind since_ns, up to until_ns, of which not all was told. */
struct changes_gap {
	int64_t since_ns, until_ns;
};

/* All zero when empty. */
struct maps_changes {
	struct maps_change all[CHANGES_MAX]; /* a ring */
	uint32_t older[CHANGES_MAX];         /* place + 1, in its bucket, */
	uint32_t cell[CHANGES_MAX];          /* in this one: */
	uint32_t same[CHANGES_MAX];          /* of the same range, */
	uint32_t other[CHANGES_MAX];         /* and the next range's newest */
	uint32_t round[CHANGES_MAX];
	uint32_t newest[CHANGES_BUCKETS];    /* by pid; place + 1 */
	uint32_t count[CHANGES_BUCKETS];     /* that are in the ring */
	uint32_t latest[CHANGES_CELLS];      /* by place: see changes_cell() */
	uint64_t sizes[CHANGES_BUCKETS];     /* of their cells, a bit each */
	uint64_t n;                          /* since the beginning */
	uint32_t rounds;
	/* What went round the ring, by pid: none of it is younger. */
	int64_t forgot_ns[CHANGES_BUCKETS];
	struct changes_gap gaps[CHANGES_GAPS]; /* apart, oldest first */
	uint32_t n_gaps;
	struct changes_path paths[CHANGES_PATHS]; /* by hash */
};

/* They come in any order, since each CPU tells its own; but what comes after
 * this is younger than what came two calls before it. */
void maps_changes_round(struct maps_changes *c);
void maps_changes_add(struct maps_changes *c, const struct maps_change *m,
    const char *path);

/* What happened behind since_ns, up to until_ns, may be missing. */
void maps_changes_lose(struct maps_changes *c, int64_t since_ns,
    int64_t until_ns);

/* May the process have mapped, behind from_ns and up to to_ns, what nobody told
 * or what is forgotten? */
bool maps_changes_miss(const struct maps_changes *c, int32_t pid,
    int64_t from_ns, int64_t to_ns);

/* The path of a change, "" when it is not remembered. */
const char *maps_changes_path(const struct maps_changes *c,
    const struct maps_change *m);

/* What was mapped last at an address before that moment; NULL: not told.
 * *later: something was behind it. */
const struct maps_change *maps_changes_at(const struct maps_changes *c,
    int32_t pid, uint64_t addr, int64_t time_ns, bool *later);

/* Those of a process from since_ns on, about the newest first, until the
 * function says false. */
typedef bool maps_changes_fn(void *arg, const struct maps_change *m);
void maps_changes_each(const struct maps_changes *c, int32_t pid,
    int64_t since_ns, maps_changes_fn *fn, void *arg);

/* Is that the same code at the same place?  Of a file, a part of it may have
 * been mapped anew since; memory without one must be the same range. */
bool maps_change_is(const struct maps_change *m, const struct mapping *map);

#endif
