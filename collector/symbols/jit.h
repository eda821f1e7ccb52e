/*
 * Machine code that a JIT made: which process has written a map of it
 * (/tmp/perf-PID.map within its root, PID as it is called in its own
 * namespace), and when that map is read anew.
 *
 * The map must be a plain file of root or of the process's own user, as perf
 * demands, and in no file system that a user's program serves.  It is opened
 * here and parsed in the symbols child.  When there is none, or addresses were
 * not in it, it is looked at again after a second (later when it is large),
 * less and less often while that is in vain, and once a minute anyway.
 */
#ifndef COLLECTOR_JIT_H
#define COLLECTOR_JIT_H

#include <stdbool.h>
#include <stdint.h>

struct jits;
struct symbols;

/* All are borrowed; `proc` is "/proc", or another directory in tests.  NULL
 * when out of memory. */
struct jits *jits_new(struct symbols *symbols, const char *proc);
void jits_free(struct jits *j);

/* The reference of an address in a process's anonymous code, false when the
 * process has no map.  *place: what is kept of it here, NULL at first, until
 * jits_drop(), which comes before jits_free(); `reader`: the number under which
 * /proc shows its memory. */
bool jits_ref(struct jits *j, void **place, int32_t reader, uint64_t addr,
    int64_t now_ns, uint32_t *ref);

/* The process is known no more: gives back what was in its place. */
void jits_drop(void *jits, void *jit);

/* The symbols have forgotten all files, that of this process too. */
void jits_forget_file(void *jit);

/* Opens the map of a process, or -1: what jits_ref() does; for tests. */
int jits_open(const char *proc, int32_t reader);

/* Who serves "/" and "/tmp" of a mountinfo text? */
enum jit_root {
	JIT_ROOT_OURS,
	JIT_ROOT_FOREIGN, /* one of them, a user's program */
	JIT_ROOT_UNTOLD   /* "/" is not in it: a chroot */
};
enum jit_root jits_judge_root(const char *mountinfo);

#endif
