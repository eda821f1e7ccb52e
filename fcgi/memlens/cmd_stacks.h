/*
 * Files of any known format, for the commands that draw and convert them.
 */
#ifndef FCGI_CMD_STACKS_H
#define FCGI_CMD_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct stacks;

/*
 * Adds up what the files hold ("-": standard input); `format` NULL: guess
 * for each.  What was left out is said on stderr.  The caller frees *out,
 * also after an error, which names the file.  `pair`: takes a file of two
 * profiles (folded_pair.h) where it is the only one; all others refuse it.
 */
const struct err *cmd_stacks_read(struct stacks **out, const char *command,
    const char *format, int n, char **paths, bool pair);

/* The number of the type called so; `name` NULL: the first, and the others
 * are listed on stderr.  Errors: ERR_REQUEST 422 when there is none. */
const struct err *cmd_stacks_type(struct stacks *s, const char *command,
    const char *name, uint32_t *type);

/* Prints the names of all formats. */
void cmd_stacks_formats(FILE *out);

#endif
