/*
 * What the probe of ends tells of a process: the status of waitpid(), with
 * ENDS_KNOWN; 0: it has not ended.
 */
#ifndef COLLECTOR_BPF_ENDS_H
#define COLLECTOR_BPF_ENDS_H

#define ENDS_MAX 1024 /* processes that are watched */
#define ENDS_KNOWN 0x80000000u

#endif
