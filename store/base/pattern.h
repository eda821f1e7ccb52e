/*
 * Regular expressions, of strangers too: those of PCRE2, in which \d, \pL
 * and (?i) mean what whoever writes queries for Prometheus and Grafana
 * expects.  A dot matches a new line too, $ the very end alone; characters
 * are Unicode's, and a byte that is not UTF-8 is U+FFFD, as in Go.
 *
 * Some expressions take exponential time.  A match has a bound, and one that
 * reaches it has no answer: pattern_check() says so from then on, and nothing
 * that was computed with the expression is to be believed.
 */
#ifndef STORE_BASE_PATTERN_H
#define STORE_BASE_PATTERN_H

#include <stdbool.h>

struct err;
struct pattern;

#define PATTERN_MAX 1024u            /* bytes of an expression */
#define PATTERN_STEPS_MAX 1000000u   /* of a match: some 50 ms */
#define PATTERN_MEMORY_MAX 4096u     /* KiB, of a match */

#define PATTERN_WHOLE 1u /* all of a text is to match, not a part */
#define PATTERN_FOLD 2u  /* in either case */

/* Errors: ERR_REQUEST 400 about `field` with the offset, ENOMEM. */
const struct err *pattern_new(struct pattern **out, const char *field,
    const char *text, unsigned flags);
void pattern_free(struct pattern *p); /* NULL is fine */

/* False as well where there is no answer, and for all texts after that. */
bool pattern_match(struct pattern *p, const char *text);

/* Have all matches had an answer?  Errors: ERR_REQUEST 400 about the field. */
const struct err *pattern_check(const struct pattern *p);
/* Matches go on after one that had none. */
void pattern_reset(struct pattern *p);

#endif
