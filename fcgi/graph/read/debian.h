/*
 * Which Debian package a file is of: dpkg's lists and its status, read as
 * text without dpkg.  Where there is no dpkg nothing is known.
 */
#ifndef FCGI_DEBIAN_H
#define FCGI_DEBIAN_H

#include <stddef.h>

struct graph;

/* The folder, "/var/lib/dpkg" but for tests. */
#define DEBIAN_FOLDER "/var/lib/dpkg"

/* Sets the packages, "name version", of nodes by their files' real paths:
 * paths[i] is node i's, NULL where it has none. */
void debian_packages(struct graph *g, char *const *paths, size_t n,
    const char *folder);

#endif
