/*
 * What this host says of itself when a run is recorded.
 */
#ifndef FCGI_RUNS_HOST_H
#define FCGI_RUNS_HOST_H

#include <stdbool.h>
#include <stddef.h>

struct writer;

/* "kernel" and "governor"; false for others, and where it is not told. */
bool runs_host_text(const char *key, char *text, size_t size);

/* Members of an open object: the settings of the kernel that move a
 * database's figures most, as text. */
void runs_host_sysctls(struct writer *w);

#endif
