/*
 * Names from outside: thread names, paths and symbols are bytes that some
 * process chose.
 */
#ifndef COLLECTOR_TEXT_H
#define COLLECTOR_TEXT_H

/* Makes a string fit to be shown and stored: every control character and
 * every byte that is not part of well-formed UTF-8 becomes '?'. */
void text_clean(char *s);

#endif
