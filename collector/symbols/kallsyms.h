/*
 * Names of kernel addresses, from /proc/kallsyms: text made by the kernel,
 * so the daemon reads it itself.
 */
#ifndef COLLECTOR_KALLSYMS_H
#define COLLECTOR_KALLSYMS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/unwind.h"
#include "store/model/series.h"

struct err;
struct kallsyms;

/*
 * Reads the table at `path`.  Succeeds with an empty one where the kernel
 * hides addresses (kernel.kptr_restrict): then every lookup says
 * "[kernel]".  Errors: ERR_ERRNO when it cannot be read, out of memory.
 */
const struct err *kallsyms_open(struct kallsyms **out, const char *path);
void kallsyms_close(struct kallsyms *k);

/* Functions known; 0: addresses are hidden. */
size_t kallsyms_count(const struct kallsyms *k);

/*
 * The function that holds an address: kind (kernel or BPF), name, module
 * ("[kernel]" or the module's in brackets), offset 0, since the kernel moves
 * at each boot.  False when no function is near; the frame is then
 * "[kernel]".  Strings live until the next look-up.
 */
bool kallsyms_lookup(struct kallsyms *k, uint64_t addr,
    struct frame *out);

/* Is it code of the scheduler, in which every thread that waits is? */
bool kallsyms_is_scheduler(const struct kallsyms *k, uint64_t addr);

/* Where its unwind tables are, and the code by which it calls what a register
 * points to: what it does not tell is 0. */
struct unwind_orc kallsyms_orc(const struct kallsyms *k);

#endif
