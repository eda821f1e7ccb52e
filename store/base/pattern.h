/*
 * Regular expressions that strangers send.  The C library's compiler copies
 * what is repeated: "((a{99}){99}){99}" and "a++++++++++++++++++++++++++++"
 * take gigabytes, and time grows with every repetition of a repetition.
 * This tells them beforehand.
 */
#ifndef STORE_BASE_PATTERN_H
#define STORE_BASE_PATTERN_H

#include <stdbool.h>

#define PATTERN_NODES_MAX 2000u /* after repetitions are written out */
#define PATTERN_DEPTH_MAX 100u  /* nested groups */
#define PATTERN_NESTED_MAX 3u   /* repetitions in repetitions */

/*
 * Is a POSIX extended expression one that compiles to a bounded size?  Back
 * references, which take exponential time, are not.  Says nothing of its
 * syntax: regcomp() does that.
 */
bool pattern_is_bounded(const char *text);

#endif
