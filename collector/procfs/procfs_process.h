/*
 * The files of one process beyond its stat: io, status, number of open
 * descriptors.  They cost several times as much, so the caller chooses when.
 */
#ifndef COLLECTOR_PROCFS_PROCESS_H
#define COLLECTOR_PROCFS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct group_reading;
struct pidstat;

/* Fills what stat says. */
void procfs_process_stat(const struct pidstat *stat, struct group_reading *r);

/* Adds what /proc/PID/{io,status,fd} say; false when the kernel does not let
 * us read all of them. */
bool procfs_process_details(int proc_fd, int32_t pid, struct group_reading *r);

/* Adds the proportional set size, where it may be read: dear. */
void procfs_process_pss(int proc_fd, int32_t pid, struct group_reading *r);

#endif
