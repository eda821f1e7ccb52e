/*
 * Small files of /proc and /sys: read whole, or as much as fits.
 */
#ifndef COLLECTOR_READFILE_H
#define COLLECTOR_READFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads `path` below `dirfd` into buf, which is NUL-terminated; longer files
 * are cut.  The number of bytes, or -1 with errno set. */
ssize_t readfile_at(int dirfd, const char *path, char *buf, size_t cap);

/* The same from offset 0 of an open descriptor. */
ssize_t readfile_fd(int fd, char *buf, size_t cap);

/* A line of text that is being walked: the next one, NUL-terminated in
 * place, or NULL at the end.  *text moves on. */
char *readfile_line(char **text);

/* Of what /proc/PID/status says: the process's number in its own namespace, the
 * innermost one; 0 where there is none. */
int32_t readfile_inner_pid(const char *status);

#endif
