/*
 * What is free in the heap, which the allocator keeps for later.
 */
#ifndef STORE_BASE_HEAP_H
#define STORE_BASE_HEAP_H

/* From now on: large pieces go back as soon as they are freed, or stay, too.
 * That is for times in which the same large pieces are made over and over,
 * since each page that comes from the system is cleared by it. */
void heap_keep_little(void);
void heap_keep_all(void);

/* Gives it back to the system where it is worth the time: a process that has
 * nothing to do calls this. */
void heap_trim(void);

#endif
