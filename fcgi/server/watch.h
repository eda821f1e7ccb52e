/*
 * Watching over the connection while a request is worked on: when the web
 * server closes it, since its client has gone, the work ends.
 *
 * The kernel sends a signal then, and gone() is true from there on; what is
 * computed in many steps asks it.  What does not get to the next of them
 * within a second of CPU ends with its worker, which is replaced at once.
 * For unix sockets; a TCP connection looks the same when only one half of it
 * is closed, and is left alone.
 */
#ifndef FCGI_WATCH_H
#define FCGI_WATCH_H

#include <stdbool.h>

/* Handlers of SIGIO and SIGPROF; once in each worker. */
void watch_init(void);

/* Whether whoever is behind `fd` is gone already is known on return. */
void watch_begin(int fd);

/* What is done while this is set is of use to the next request, too: a worker
 * does not end with it, or one that is slow to start would never be warm. */
void watch_spare(bool useful);

/* Nothing is watched any more; whether the client had gone. */
bool watch_end(void);

#endif
