/*
 * Standing by for a worker (fcgi/server/draw.h): this process reads nothing
 * foreign, what it has loaded its children have, too.  Each picture is drawn
 * in a child, behind walls and within the limits that come with it.
 */
#ifndef FCGI_DRAW_STANDBY_H
#define FCGI_DRAW_STANDBY_H

struct draw_job;

/* Draws from standard input to standard output, in a child; its exit status.
 * It says on `said` why it fails. */
typedef int standby_fn(const struct draw_job *job, int said);

/* Serves the worker whose socket is standard input until it is gone; the
 * exit status. */
int standby_serve(standby_fn *draw, int said);

#endif
