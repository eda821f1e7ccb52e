/*
 * What /proc says in words of a process.
 */
#ifndef COLLECTOR_PROCESS_WORDS_H
#define COLLECTOR_PROCESS_WORDS_H

#include <stdbool.h>

struct process;

/* Sets p->read->command: its name, then the path of its executable or, for
 * `arguments`, all of those.  /proc is at `path`, and open as proc_fd. */
void process_read_command(const char *path, int proc_fd, bool arguments,
    struct process *p);

/* Sets p->read->cgroup. */
void process_read_cgroup(int proc_fd, struct process *p);

#endif
