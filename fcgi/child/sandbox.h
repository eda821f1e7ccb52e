/*
 * What a worker gives up before its first request: it writes no file,
 * starts no program but the one that draws, and opens no connection but to
 * the playground's target.  Landlock does it, without rights; a kernel that
 * has none leaves only the last line of defence out, so that is no error.
 */
#ifndef FCGI_SANDBOX_H
#define FCGI_SANDBOX_H

#include <stdint.h>

/* The version of Landlock that holds from now on for this process and its
 * children: 0 where the kernel has none; the network needs 4.  `port` is
 * that of the target that may be connected to, 0 for none; `program` the path
 * of what may be started, with the dynamic loader that starts it, NULL for
 * nothing. */
int sandbox_enter(uint16_t port, const char *program);

#endif
