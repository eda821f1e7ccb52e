/*
 * What the program of plain C (work.c) has in a file of its own, so that it
 * can be compiled in another way.
 */
#ifndef TESTS_KINDS_WORK_H
#define TESTS_KINDS_WORK_H

#define NOINLINE __attribute__((noinline, noclone))

void burn(unsigned n);
int compare(const void *a, const void *b);
void sort_some(void);
void heavy(void);
void light(void);
void chain(void);
void recurse(unsigned n);
void clocks(void);
void calls(void);

/* Calls `next`, with a frame of its own. */
void between(void (*next)(void));

#endif
