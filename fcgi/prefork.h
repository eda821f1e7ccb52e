/*
 * The parent: keeps N workers running.  It opens no store and reads no
 * request, so that nothing foreign can bring it down.
 *
 * A worker that ended in order, or was killed, is replaced at once; one
 * that fails (crash, error at its start) within a second of its start is
 * replaced after a pause that doubles from 100 ms to 5 s.
 */
#ifndef FCGI_PREFORK_H
#define FCGI_PREFORK_H

#include <stdbool.h>

#define PREFORK_MAX 64

/* Runs in the child, number 1 to n of the pool, which it shares with those
 * before it in its place; its result is the exit status. */
typedef int prefork_fn(void *arg, unsigned number);

/* Reads the configuration anew; false: keep the old one. */
typedef bool prefork_reload_fn(void *arg);

/*
 * Runs n workers until SIGTERM or SIGINT, which also ends them; SIGHUP
 * reloads and replaces the workers, each after the request in its hands.
 * Returns the exit status.
 */
int prefork_run(
    unsigned n, prefork_fn *work, prefork_reload_fn *reload, void *arg);

#endif
