/*
 * Expressions that are nothing but texts with gaps between them, as most are
 * that people type: get, foo|bar, ^kv::.*_lock$, put.*batch.+.  They match in
 * a time that grows with the text, where an interpreter of all expressions
 * tries each way to share it among the gaps.
 */
#ifndef STORE_BASE_PATTERN_PLAIN_H
#define STORE_BASE_PATTERN_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

struct pattern_plain;

/* Of a valid expression (pattern.h) of n bytes, which is copied; `whole`: all
 * of a text is to match.  NULL: it is no such expression, or no memory. */
struct pattern_plain *pattern_plain_new(const char *text, size_t n,
    bool whole);
void pattern_plain_free(struct pattern_plain *p); /* NULL is fine */

/* In n bytes, of which each that is not UTF-8 is a character of its own. */
bool pattern_plain_match(const struct pattern_plain *p, const char *text,
    size_t n);

#endif
