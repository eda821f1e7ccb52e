/*
 * All sources together: opened, polled and closed as one, and their states
 * told as facts.  A source that cannot be opened is a state, not an error.
 */
#ifndef COLLECTOR_SOURCES_H
#define COLLECTOR_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/source.h"

struct loop;
struct sources;

/* Opens what the configuration switches on; `config`, `services` and `loop`
 * are borrowed until sources_close().  *out is NULL, or what sources_reload()
 * and sources_close_stopped() have left. */
const struct err *sources_open(struct sources **out,
    const struct config *config, struct services *services,
    struct loop *loop);
void sources_close(struct sources *s); /* NULL is fine */
void sources_close_stopped(struct sources *s);

/* Polls every source.  Their errors are logged, not returned. */
void sources_poll(struct sources *s, int64_t now_ns);

/* They take nothing more: the slot that is closed next is the last. */
void sources_stop(struct sources *s);

/* The same, but for those that go on with what is new.  `stopped` names the
 * others, "cpu, disk": "" when there is none. */
void sources_reload(struct sources *s, const struct config *config,
    char *stopped, size_t size);

enum sources_which {
	SOURCES_ALL,
	SOURCES_STOPPED /* those that sources_reload() has stopped */
};

/* Adds every source's blocks, and FACT_SOURCE for each whose state has
 * changed, or for all when `first`. */
void sources_close_slot(struct sources *s, enum sources_which which,
    uint64_t slot, struct batch *b, int64_t time_ns, bool first);

/* What was opened by `ops`, or NULL. */
void *sources_find(struct sources *s, const struct source_ops *ops);

/* "cpu attached, procfs attached, self attached": for status lines. */
void sources_describe(const struct sources *s, char *text, size_t size);

#endif
