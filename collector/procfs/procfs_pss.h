/*
 * When the proportional set size of processes is read: the kernel walks all
 * of a process's pages for it, so it is once a minute, in the order of the
 * processes, and takes a thousandth of the time at most.  A process of many
 * gigabytes is paid for by those after it, which come later.
 */
#ifndef COLLECTOR_PROCFS_PSS_H
#define COLLECTOR_PROCFS_PSS_H

#include <stddef.h>
#include <stdint.h>

struct group_reading;

#define PROCFS_PSS_EVERY_NS (INT64_C(60) * 1000000000)
#define PROCFS_PSS_PART 1000 /* of the time between readings */

struct procfs_pss { /* all zero at first */
	size_t at, now;     /* processes read in this round; passed by now */
	int64_t round_ns;   /* wall: when this round began */
	int64_t last_ns;    /* wall: the last reading */
	int64_t left_ns;    /* of CPU time; negative: not paid for yet */
};

/* Before the processes of a reading. */
void procfs_pss_begin(struct procfs_pss *p, int64_t now_ns);

/* Reads that of a process where it is its turn, and says when; called for each,
 * in an order that stays. */
void procfs_pss_read(struct procfs_pss *p, int proc_fd, int32_t pid,
    struct group_reading *r);

#endif
