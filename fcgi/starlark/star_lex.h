/*
 * The words of a Starlark file, one after the other; blocks begin with
 * STAR_INDENT and end with STAR_DEDENT.
 */
#ifndef FCGI_STARLARK_STAR_LEX_H
#define FCGI_STARLARK_STAR_LEX_H

#include "fcgi/starlark/star.h"

/* Others are characters, or SIGN_... of star_private.h. */
enum {
	STAR_END = 512,
	STAR_WORD,   /* text */
	STAR_STRING, /* text, without quotes and escapes */
	STAR_NUMBER,
	STAR_NEWLINE,
	STAR_INDENT,
	STAR_DEDENT,
	STAR_AND_ASSIGN = 1024 /* and the sign of "+=" */
};

#define STAR_INDENTS_MAX 100

struct star_lexer {
	struct star *s;
	const struct star_module *module;
	const char *p, *end;
	int line, token;
	const struct star_text *text;
	int64_t number;
	size_t indents[STAR_INDENTS_MAX];
	size_t n_indents;
	unsigned brackets; /* lines do not end within */
	size_t column;     /* that the line begins at */
	bool begin;        /* of a line: its indent is not measured */
	bool fresh;        /* nothing of the line was read yet */
	bool plain;        /* the parser's: no "a if b else c" here */
};

/* Reads the next into token; what is no word ends the file. */
void star_lex(struct star_lexer *l);

#endif
