/*
 * Whose entry in /proc shows a process's memory: its own, mostly, but a process
 * whose first thread has ended lives on without memory under its own number,
 * while those of its other threads show what there is.
 */
#ifndef COLLECTOR_READER_H
#define COLLECTOR_READER_H

#include <stdint.h>

/* A thread of the process that has memory, `first` if that is one; 0: there is
 * none, it has ended or is the kernel's.  `proc` is "/proc", or another
 * directory in tests. */
int32_t reader_find(const char *proc, int32_t pid, int32_t first);

#endif
