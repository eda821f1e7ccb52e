/*
 * What drawing gives up before it reads its input: from then on this process
 * reads files (fonts, libraries' plugins) and nothing else.  It opens none to
 * write, has no socket, starts no program and no process, and gains no right.
 */
#ifndef FCGI_DRAW_WALLS_H
#define FCGI_DRAW_WALLS_H

#include <stdbool.h>

/* For good.  False where the kernel has no filters of system calls: then
 * nothing but the caller's limits holds. */
bool walls_enter(void);

#endif
