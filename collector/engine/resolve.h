/*
 * From an event to who ran and a stack of references, in the aggregate.
 */
#ifndef COLLECTOR_RESOLVE_H
#define COLLECTOR_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/bpf/event.h"
#include "collector/bpf/wait.h"
#include "collector/process/process.h"
#include "store/model/series.h"

struct engine;
struct mapping;
struct maps_process;

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

/* Will its pool be known as the slot ends, and is not yet? */
bool resolve_waits_for_entry(struct engine *s, const struct sample_event *e);

/* "run queue", "lock", ... */
const char *resolve_state_name(enum wait_state state);

/* ---- between resolve.c and resolve_stack.c ---- */

/* With marks, and a lock. */
#define RESOLVE_STACK_MAX (EVENT_MAX_KERNEL + EVENT_MAX_USER + 4)

/* Whose sample it is. */
struct resolve_who {
	struct process *p; /* NULL: gone before it was looked at, */
	bool told;         /* but the kernel said where it comes from */
	struct process *root; /* told: an ancestor that is known, or NULL */
	struct process *code; /* told: whose mappings are its own, or NULL */
	int64_t next_ns;   /* when it executed another program, 0: not yet */
	int64_t exec_ns;   /* told: when it executed its program, 0: never */
	const char *cgroup;
	const char *instance; /* "": of none, or not known */
	char service[sizeof(((struct process_read *)0)->service)];
	char comm[EVENT_COMM + 1]; /* of the process */
};

/* A process that nobody has looked at: it has its first thread's name, which
 * the sample brings, and what else there is from where it comes from. */
void resolve_ask_origin(struct engine *s, const struct sample_event *e,
    struct resolve_who *who);

/* The list of mappings that a sample's addresses lie in.  A process that is
 * gone has none, but a child of a fork has its parent's until it executes a
 * program, also where its own were read only behind that; *own: the process,
 * unless it is that.  NULL: nobody's. */
struct maps_process *resolve_code(struct engine *s,
    const struct sample_event *e, struct resolve_who *who,
    struct process **own);

/* The whole stack, root first; returns its depth.  *users: of its part before
 * the kernel's; *whole: it begins where its thread began. */
size_t resolve_stack(struct engine *s, const struct sample_event *e,
    struct resolve_who *who, uint32_t *refs, size_t *users, bool *whole);

/* The frame that bears a name and lies in no file. */
uint32_t resolve_named(struct engine *s, enum frame_kind kind,
    const char *name);

#endif
