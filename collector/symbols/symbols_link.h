/*
 * The daemon's end of a symbols child: starts it, restarts it when it has
 * died, hands requests over without ever waiting, and matches the answers.
 * What the requests mean is symbols.c's affair.
 */
#ifndef COLLECTOR_SYMBOLS_LINK_H
#define COLLECTOR_SYMBOLS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/symbols/symbols_wire.h"

#define LINK_IN_FLIGHT 32 /* requests */

struct err;
struct symbols_link;

/* A request on its way, and what its sender wants back with the answer. */
struct link_request {
	uint32_t type, seq, file, n;
	uint32_t ids[WIRE_OFFSETS];
	int64_t cpu_ns; /* the child's, when it is done: from the answer before
	                 * it to its own */
};

/* An answer: its head and the bytes behind it, none of them checked beyond
 * belonging to the oldest request.  `fd` came with it and is borrowed; -1:
 * none. */
typedef void link_answer_fn(void *arg, const struct link_request *q,
    const struct wire_reply *r, const uint8_t *p, size_t n, int fd);

/* A request that will have no answer: the child is gone.  `guilty` is true
 * for the one that it was working on. */
typedef void link_lost_fn(void *arg, const struct link_request *q,
    bool guilty);

/* Starts the child, a fork of the caller.  Threads of the caller do no harm:
 * before its walls stand the child uses only what the C library keeps whole
 * across a fork (memory, stdio).  `epoll`, the caller's, is readable when an
 * answer waits. */
const struct err *symbols_link_new(struct symbols_link **out, int epoll,
    link_answer_fn *answer, link_lost_fn *lost, void *arg);
/* Ends the child and gathers it, 0.2 s at most. */
void symbols_link_free(struct symbols_link *l);

/* Room for one more request to a living child? */
bool symbols_link_ready(const struct symbols_link *l);
bool symbols_link_busy(const struct symbols_link *l);

/* Counts up with each child: files that an older one knew are not known. */
uint32_t symbols_link_generation(const struct symbols_link *l);
uint64_t symbols_link_restarts(const struct symbols_link *l);
pid_t symbols_link_pid(const struct symbols_link *l);

/* WIRE_LOAD or WIRE_DEBUG of an open file; the descriptor stays the
 * caller's.  False when there is no room. */
bool symbols_link_file(struct symbols_link *l, enum wire_type type,
    uint32_t file, int fd, uint64_t size);
bool symbols_link_drop(struct symbols_link *l, uint32_t file);
/* Inlined functions will be asked for, of files that are loaded from now
 * on. */
void symbols_link_inline(struct symbols_link *l, bool on);
/* n <= WIRE_OFFSETS; ids come back in the answer's request. */
bool symbols_link_resolve(struct symbols_link *l, uint32_t file,
    const uint64_t *offsets, const uint32_t *ids, uint32_t n);

/* WIRE_UNWIND of an open file, which stays the caller's. */
bool symbols_link_unwind(struct symbols_link *l, uint32_t table, int fd,
    uint64_t size, uint64_t offset);

/* Takes the answers that wait, ends a child that takes too long over one
 * request (5 s of its CPU time, or 30 s in all), starts the next one when it
 * is time.  Never blocks. */
void symbols_link_pump(struct symbols_link *l, int64_t now_ns);

#endif
