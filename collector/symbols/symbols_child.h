/*
 * The child process that reads the ELF files of others.  It has a socket and
 * nothing else: no capabilities, no file system, no more than the few system
 * calls of its table, a limit on memory.  Whatever a crafted file does to
 * it, it can only give wrong names or end.
 */
#ifndef COLLECTOR_SYMBOLS_CHILD_H
#define COLLECTOR_SYMBOLS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Serves requests from `socket` until its other end is closed.  Call in a
 * freshly forked process; ends it. */
_Noreturn void symbols_child_run(int socket);

/* Gives up everything that serving does not need; false (with the step in
 * *step) when a step fails, and then nothing may be served. */
bool symbols_child_sandbox(int socket, const char **step);

struct wire_request;

/* Answers WIRE_UNWIND: closes the file, sends what it made of it.  False when
 * the other end is gone. */
bool symbols_child_unwind(int socket, const struct wire_request *q, int fd);

/*
 * Makes a name for people of a symbol: C++ and Rust (both ways) demangled, at
 * most size - 1 bytes, cut at a character.  `raw` is any string.
 */
void symbols_child_name(const char *raw, char *out, size_t size);

/* The same for a name that is for people already. */
void symbols_child_copy(const char *raw, char *out, size_t size);

#endif
