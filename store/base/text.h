/*
 * Text from outside: thread names, paths and symbols are bytes that some
 * process chose.  UTF-8 is that of RFC 3629: no surrogates, no overlong
 * forms.
 *
 * A character ACTS where it does something to what shows it, instead of being
 * shown: controls (C0, DEL, C1), which a terminal obeys, ends of lines and
 * paragraphs, and what turns the direction of text, so that a name looks like
 * another one.
 */
#ifndef STORE_BASE_TEXT_H
#define STORE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;

/* The length of the character at s, 1 to 4; 0 where s[0..n) does not begin
 * with a well-formed one. */
size_t text_utf8(const char *s, size_t n);

/* Its code point where it acts (it is below U+10000 then), or 0; `len` is its
 * length.  NUL is none of them. */
uint32_t text_acts(const char *s, size_t len);

/* Is it U+FFFE or U+FFFF, which are UTF-8, but no characters of XML? */
bool text_is_none(const char *s, size_t len);

/* Makes a string fit to be shown and stored: every byte of what acts, and
 * that is not part of well-formed UTF-8, becomes '?'. */
void text_clean(char *s);

/* The same, so that it can still be told apart: \x09 and \u202e for what acts,
 * \xff for a byte that is not UTF-8.  What does not fit into `room` bytes with
 * the NUL is cut, by whole characters. */
void text_show(char *out, size_t room, const char *s);

/* Appends what is fit to be shown and can still be told apart: \u202e for
 * what acts, U+FFFD for a byte that is not UTF-8. */
void text_put(struct buf *out, const char *s, size_t n);
/* The same to a terminal. */
void text_print(FILE *out, const char *s);

#endif
