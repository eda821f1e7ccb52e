/*
 * The [service NAME] rules: which name a process gets.  Pure functions of
 * the configuration and of one process record.
 */
#ifndef COLLECTOR_SERVICES_RULES_H
#define COLLECTOR_SERVICES_RULES_H

#include <stddef.h>

struct config;
struct err;
struct process_read;
struct services_rules;

/* Compiles the patterns; `config` is borrowed. */
const struct err *services_rules_new(struct services_rules **out,
    const struct config *config);
void services_rules_free(struct services_rules *r);

/* The name of the first rule whose patterns all match, or NULL.  A rule
 * without patterns matches nothing. */
const char *services_rules_match(struct services_rules *r,
    const struct process_read *p);

/* The path of a process in the text of /proc/PID/cgroup: version 2's, or,
 * where that is the root, the first of version 1 that is not; "" for the
 * root.  Cut to `cap` - 1 bytes. */
void services_cgroup(char *text, char *out, size_t cap);

#endif
