/*
 * The kernel's half of the histograms of PBFT: loads the BPF programs of
 * bpf/pbft.h, attaches them to files, and reads what they have summed.
 */
#ifndef COLLECTOR_PBFT_PROBE_H
#define COLLECTOR_PBFT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/bpf/pbft.h"
#include "collector/probe/sums.h"

struct err;
struct pbft_probe;

/* The functions that are probed. */
enum pbft_function {
	PBFT_RECORD,
	PBFT_SUMMARY,
	PBFT_FUNCTIONS
};

#define PBFT_FILES 8 /* that may be attached to */

/* Slots are numbered by the wall clock.  Errors: ERR_BPF with the cause in
 * words. */
const struct err *pbft_probe_open(struct pbft_probe **out, int64_t slot_ns);
void pbft_probe_close(struct pbft_probe *p); /* NULL is fine */

/*
 * Attaches to the functions at these offsets of an open file, in each process
 * that runs it, now or later; the descriptor stays the caller's.  `file` is
 * the caller's number for it, below PBFT_FILES.  Errors: ERR_BPF.
 */
const struct err *pbft_probe_attach(struct pbft_probe *p, uint32_t file,
    int fd, const uint64_t offsets[PBFT_FUNCTIONS]);
void pbft_probe_detach(struct pbft_probe *p, uint32_t file);
/* Of all files; what is summed can still be read. */
void pbft_probe_stop(struct pbft_probe *p);

/*
 * Counts this process, which began at that boot time, from now on, also where
 * it says nothing; false: there is no room, or an earlier one of this number is
 * still counted.  One that calls is counted from its first call on without.
 */
bool pbft_probe_add(struct pbft_probe *p, int32_t pid, uint64_t start_ns);
/* What it has counted so far; false: it is not counted. */
bool pbft_probe_read(const struct pbft_probe *p, int32_t pid,
    struct pbft_replica *out);
void pbft_probe_remove(struct pbft_probe *p, int32_t pid);

/* Grows with each process that is counted by its call; it has grown before
 * anything of it can be taken. */
uint64_t pbft_probe_heard(const struct pbft_probe *p);
/* All that are counted, with `start_ns` as the kernel says it; 0: it is only
 * being put in.  The function may remove them. */
typedef void pbft_probe_fn(void *arg, int32_t pid, uint64_t start_ns);
void pbft_probe_each(struct pbft_probe *p, pbft_probe_fn *fn, void *arg);

/* Is what began then the process that began at `known_ns`, as /proc says? */
static inline bool
pbft_probe_is(uint64_t start_ns, uint64_t known_ns)
{
	return start_ns - known_ns < PBFT_TICK_NS;
}

/* Calls of processes that have no room. */
uint64_t pbft_probe_strangers(const struct pbft_probe *p);

/* Looks whether the wall clock was set.  Call often. */
void pbft_probe_set_clock(struct pbft_probe *p);

/* As sums_take_all() and sums_poll(). */
void pbft_probe_take(struct pbft_probe *p, sums_fn *fn, void *arg);
void pbft_probe_poll(struct pbft_probe *p, sums_fn *fn, void *arg);

#endif
