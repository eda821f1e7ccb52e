/*
 * From linkers' names to those of people, for the daemon's child, which reads
 * the symbols of what runs, and for the command, which reads those of files.
 */
#ifndef COLLECTOR_DEMANGLE_H
#define COLLECTOR_DEMANGLE_H

#define DEMANGLE_MAX 65536 /* bytes: longer names stay as they are */

/* The plain name: a string of its own, to be freed; NULL where the name is
 * plain already, or out of memory. */
char *demangle(const char *raw);

#endif
