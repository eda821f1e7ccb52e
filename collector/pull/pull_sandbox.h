/*
 * The walls around memlens-pull (pull_child.h).
 */
#ifndef COLLECTOR_PULL_SANDBOX_H
#define COLLECTOR_PULL_SANDBOX_H

#include <stdbool.h>

/* Keeps `socket` and takes all else away from this process; false, and the
 * step in which it failed, where one wall could not be built. */
bool pull_sandbox_enter(int socket, const char **step);

#endif
