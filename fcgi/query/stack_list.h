/*
 * Whole stacks of profiles: as numbers that are alike in two of them, and in
 * JSON.
 */
#ifndef FCGI_STACK_LIST_H
#define FCGI_STACK_LIST_H

#include <stdint.h>

struct profile;
struct writer;

/* A hash of the stack of each node, the root's first; the caller frees it.
 * NULL when out of memory. */
uint64_t *stack_list_hashes(const struct profile *p);

/* "stack": the names from the root on, without those of so many levels. */
void stack_list_put(struct writer *w, const struct profile *p, uint32_t node,
    uint32_t levels);

#endif
