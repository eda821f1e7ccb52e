/*
 * A frame's name in a line of folded text.
 */
#ifndef FCGI_FORMAT_FOLDED_NAME_H
#define FCGI_FORMAT_FOLDED_NAME_H

#include <stdbool.h>

struct buf;

/* Appends it: ';' and ends of lines become ':', as does a '#' that would
 * begin the line, what acts on a terminal becomes \u001b.  Bytes that are not
 * UTF-8 stay: who reads the text again gets the same name. */
void folded_put_name(struct buf *out, const char *name, bool begins);

#endif
