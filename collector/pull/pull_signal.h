/*
 * Asks a program for a dump by the signal that it writes one on, as whoever
 * the scraper runs as: a process of another user's is refused by the kernel,
 * and that is said.  One that does not catch the signal gets none, since it
 * would end by it.
 */
#ifndef COLLECTOR_PULL_SIGNAL_H
#define COLLECTOR_PULL_SIGNAL_H

struct err;

/* The number of "USR1" or "USR2"; 0 for others. */
int pull_signal_parse(const char *name);

/* Errors: a file without the number of a process, no such process, one that
 * does not catch it or may not be sent it. */
const struct err *pull_signal_send(const char *pid_file, int signal);

#endif
