/*
 * Words, numbers, strings, signs, indents.
 */
#include "fcgi/starlark/star_lex.h"

#include <string.h>

#include "fcgi/starlark/star_private.h"

__attribute__((noreturn)) static void
lex_fail(struct star_lexer *l, const char *what)
{
	star_say(l->s, l->module, l->line, "%s", what);
	star_end(l->s);
}

static int
lex_at(const struct star_lexer *l, size_t i)
{
	return (size_t)(l->end - l->p) > i ? (unsigned char)l->p[i] : -1;
}

/* Blanks, comments, and lines that go on; lines too within brackets. */
static void
lex_skip(struct star_lexer *l)
{
	for (;;) {
		int c = lex_at(l, 0);

		if (c == '#') {
			while (lex_at(l, 0) >= 0 && lex_at(l, 0) != '\n')
				l->p++;
		} else if (c == '\\' && lex_at(l, 1) == '\n') {
			l->p += 2;
			l->line++;
		} else if (c == '\n' && l->brackets > 0) {
			l->p++;
			l->line++;
		} else if (c == ' ' || c == '\t' || c == '\r') {
			l->p++;
		} else {
			return;
		}
	}
}

/* ---- indents ---- */

static size_t
lex_indent_of_line(struct star_lexer *l)
{
	size_t column = 0;

	for (;; l->p++) {
		int c = lex_at(l, 0);

		if (c == ' ')
			column++;
		else if (c == '\t')
			column += 8 - column % 8;
		else if (c == '\n') {
			l->line++;
			column = 0;
		} else if (c == '#') {
			while (lex_at(l, 1) >= 0 && lex_at(l, 1) != '\n')
				l->p++;
		} else if (c != '\r')
			break;
	}
	return lex_at(l, 0) < 0 ? 0 : column;
}

/* Is an indent or a dedent next? */
static bool
lex_indent(struct star_lexer *l)
{
	size_t now = l->n_indents > 0 ? l->indents[l->n_indents - 1] : 0;

	if (l->column > now) {
		if (l->n_indents == STAR_INDENTS_MAX)
			lex_fail(l, "blocks are too deep");
		l->indents[l->n_indents++] = l->column;
		l->token = STAR_INDENT;
	} else if (l->column < now) {
		l->n_indents--;
		l->token = STAR_DEDENT;
	}
	return l->column != now;
}

/* ---- strings ---- */

static void
lex_escape(struct star_lexer *l, struct buf *out)
{
	static const char from[] = "nrt\\'\"abfv", to[] = "\n\r\t\\'\"\a\b\f\v";
	int c = lex_at(l, 1);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	l->p += 2;
	if (at != NULL) {
		buf_put_u8(out, (uint8_t)to[at - from]);
	} else if (c == '\n') {
		l->line++;
	} else {
		buf_put_u8(out, '\\');
		if (c > 0)
			buf_put_u8(out, (uint8_t)c);
	}
}

static void
lex_string(struct star_lexer *l, bool raw)
{
	int quote = lex_at(l, 0);
	bool triple = lex_at(l, 1) == quote && lex_at(l, 2) == quote;
	struct buf *out = &l->s->scratch;
	size_t at = out->len;

	l->p += triple ? 3 : 1;
	for (;;) {
		int c = lex_at(l, 0);

		if (c < 0 || (c == '\n' && !triple))
			lex_fail(l, "a text has no end");
		if (c == quote && (!triple || (lex_at(l, 1) == quote &&
		        lex_at(l, 2) == quote)))
			break;
		if (c == '\\' && !raw && lex_at(l, 1) >= 0) {
			lex_escape(l, out);
			continue;
		}
		if (c == '\\' && lex_at(l, 1) >= 0) {
			buf_put_u8(out, '\\');
			c = lex_at(l, 1);
			l->p++;
		}
		l->line += c == '\n';
		buf_put_u8(out, (uint8_t)c);
		l->p++;
	}
	l->p += triple ? 3 : 1;
	l->token = STAR_STRING;
	l->text = star_taken(l->s, at).text;
}

/* ---- words and numbers ---- */

static bool
lex_is_word(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	    (c >= '0' && c <= '9');
}

static void
lex_word(struct star_lexer *l)
{
	const char *from = l->p;

	while (lex_is_word(lex_at(l, 0)))
		l->p++;
	l->token = STAR_WORD;
	l->text = star_text(l->s, from, (size_t)(l->p - from)).text;
}

static int
lex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f'
	    ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static void
lex_number(struct star_lexer *l)
{
	int base = 10;

	l->number = 0;
	if (lex_at(l, 0) == '0' && (lex_at(l, 1) | 32) == 'x')
		base = 16;
	else if (lex_at(l, 0) == '0' && (lex_at(l, 1) | 32) == 'o')
		base = 8;
	l->p += base == 10 ? 0 : 2;
	for (; lex_digit(lex_at(l, 0)) < base; l->p++)
		if (__builtin_mul_overflow(l->number, base, &l->number) ||
		    __builtin_add_overflow(l->number,
		        lex_digit(lex_at(l, 0)), &l->number))
			lex_fail(l, "a number is too large");
	l->token = STAR_NUMBER;
}

/* ---- signs ---- */

static void
lex_sign(struct star_lexer *l)
{
	static const struct {
		char text[3];
		int token;
	} signs[] = {{"**", SIGN_POWER}, {"//", SIGN_DIVIDE},
	    {"==", SIGN_EQUAL}, {"!=", SIGN_UNEQUAL}, {"<=", SIGN_LESS},
	    {">=", SIGN_MORE}, {"<<", SIGN_LEFT}, {">>", SIGN_RIGHT},
	    {"+=", STAR_AND_ASSIGN + '+'}, {"-=", STAR_AND_ASSIGN + '-'},
	    {"*=", STAR_AND_ASSIGN + '*'}, {"%=", STAR_AND_ASSIGN + '%'},
	    {"|=", STAR_AND_ASSIGN + '|'}};
	int c = lex_at(l, 0);

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (c == signs[i].text[0] && lex_at(l, 1) == signs[i].text[1]) {
			l->p += 2;
			l->token = signs[i].token;
			return;
		}
	if (c == 0 || strchr("+-*/%=<>.,:;()[]{}|&^~", c) == NULL)
		lex_fail(l, "a sign is not Starlark's");
	l->p++;
	l->token = c;
	if (strchr("([{", c) != NULL)
		l->brackets++;
	else if (strchr(")]}", c) != NULL && l->brackets > 0)
		l->brackets--;
}

/* The last line ends, and then the file. */
static void
lex_end(struct star_lexer *l)
{
	if (l->brackets > 0)
		lex_fail(l, "a bracket is not closed");
	l->token = l->fresh ? STAR_END : STAR_NEWLINE;
	l->begin = !l->fresh;
}

static void
lex_token(struct star_lexer *l, int c, int next)
{
	if (c == '"' || c == '\'') {
		lex_string(l, false);
	} else if ((c == 'r' || c == 'b') && (next == '"' || next == '\'')) {
		l->p++;
		lex_string(l, c == 'r');
	} else if (c >= '0' && c <= '9') {
		lex_number(l);
	} else if (lex_is_word(c)) {
		lex_word(l);
	} else {
		lex_sign(l);
	}
}

void
star_lex(struct star_lexer *l)
{
	int c;

	star_step(l->s, 1);
	if (l->begin) {
		l->column = lex_indent_of_line(l);
		l->begin = false;
		l->fresh = true;
	}
	if (l->fresh && lex_indent(l))
		return;
	lex_skip(l);
	c = lex_at(l, 0);
	if (c < 0) {
		lex_end(l);
	} else if (c == '\n') {
		l->p++;
		l->line++;
		l->begin = true;
		l->token = STAR_NEWLINE;
	} else {
		l->fresh = false;
		lex_token(l, c, lex_at(l, 1));
	}
}
