/*
 * Pictures by memlens-draw, a program of its own: the libraries that draw are
 * not in the worker, and what they do with strangers' names is done behind
 * walls.  It is started for the first picture, loads its libraries and fonts
 * once, and makes a process for each picture, bounded in time and memory.  It
 * ends when nothing was drawn for a minute, and with its worker.
 */
#ifndef FCGI_SERVER_DRAW_H
#define FCGI_SERVER_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/* Which file a path was: all 0 where there was none. */
struct draw_file {
	dev_t dev;
	ino_t ino;
	int64_t changed_ns;
};

struct draw {
	const char *program; /* path, borrowed; NULL: there are no pictures */
	struct draw_file file; /* that may be started */
	pid_t pid;             /* 0: none is running */
	int socket;            /* to it */
	int said;              /* a pipe: its standard error */
	int64_t used_ns;       /* monotonic: the last picture's end */
};

/* To be called before the worker gives up its rights: what it may start then
 * is the file that is here now. */
void draw_init(struct draw *d, const char *program);

/* Has another file taken its place?  This worker cannot start it. */
bool draw_is_replaced(const struct draw *d);

/* Ends one that has been idle; in how many ms to ask again, -1: never. */
int draw_idle(struct draw *d);
void draw_end(struct draw *d);

/*
 * Both append the picture.  Errors: ERR_REQUEST 503 when the program is
 * missing, fails or passes a limit, with its reason.
 */

/* The PNG of an SVG, `scale` pixels a pixel (1 to 4). */
const struct err *draw_png(struct draw *d, const struct buf *svg, int scale,
    struct buf *out);

/* The SVG of a DOT text. */
const struct err *draw_graph(struct draw *d, const struct buf *dot,
    struct buf *out);

#endif
