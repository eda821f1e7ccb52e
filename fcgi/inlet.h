/*
 * How requests come in.  libfcgi reads a body 8 KB at a time and copies it
 * once more, which is a quarter of what a pushed profile costs a worker.  So
 * connections are accepted here; libfcgi gets what stands before the body,
 * through a pipe; and the records of the body are read into the place where
 * it is wanted.  A request that does not look as nginx's do, or is not there
 * in one piece, libfcgi reads itself.
 *
 *	connection ─┬─ BEGIN_REQUEST, PARAMS ── pipe ── FCGX_Accept_r()
 *	            └─ STDIN ...                 ────── inlet_read()
 */
#ifndef FCGI_INLET_H
#define FCGI_INLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct FCGX_Request;
struct inlet;

/* For a listening socket, which stays the caller's.  NULL when out of
 * memory. */
struct inlet *inlet_new(int socket);
void inlet_free(struct inlet *in); /* NULL is fine */

/* FCGX_InitRequest() for requests of inlets; false on failure. */
bool inlet_init_request(struct FCGX_Request *f);

/* Waits for a request; false when a signal came, or the socket is of no more
 * use.  Connections on which nothing sensible comes are closed. */
bool inlet_accept(struct inlet *in, struct FCGX_Request *f);

/* Reads n bytes of the body, fewer where it ends before. */
size_t inlet_read(struct inlet *in, struct FCGX_Request *f, void *p,
    size_t n);

/* Sends what is left of the answer and ends the connection. */
void inlet_finish(struct inlet *in, struct FCGX_Request *f);

#endif
