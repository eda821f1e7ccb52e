/*
 * From an event to who ran and a stack of references, in the aggregate.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/wait.h"

struct engine;
struct mapping;
struct maps_process;
struct sample_event;

/* Where samples go whose process ended before it was looked at. */
#define RESOLVE_EXITED "(exited)"

/* Adds one event of `size` bytes to the open slot's aggregate. */
void resolve_event(struct engine *s, const struct sample_event *e,
    size_t size);

/* The list of mappings that an event's addresses lie in; NULL: nobody's.
 * Valid until the next event. */
struct maps_process *resolve_maps(struct engine *s,
    const struct sample_event *e);

/* The mapping in such a list that held the address when the sample was taken,
 * or NULL; *of: the list that it is in.  *reads: maps_reads() when the list
 * was asked for. */
struct mapping *resolve_mapping(struct engine *s,
    const struct sample_event *e, struct maps_process *p, uint64_t addr,
    uint64_t *reads, struct maps_process **of);

/* Whose thread it is, as long as its process was known. */
struct resolve_owner {
	bool known; /* else what the kernel says of it alone */
	char service[64], comm[16], cgroup[128], instance[16];
};

/* Finds out whose thread the head of an event names; *owner stays as it is
 * where the process is gone.  And adds `below` ns in each state that have no
 * stack of their own, under a mark. */
void resolve_thread(struct engine *s, const struct sample_event *e,
    const int64_t below[WAIT_STATES], const char *mark,
    struct resolve_owner *owner);

/* "run queue", "lock", ... */
const char *resolve_state_name(enum wait_state state);

#endif
