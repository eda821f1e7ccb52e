/*
 * What is free in the heap, which the allocator keeps for later.
 */
#ifndef STORE_BASE_HEAP_H
#define STORE_BASE_HEAP_H

/* Gives it back to the system where it is worth the time: a process that has
 * nothing to do calls this. */
void heap_trim(void);

#endif
