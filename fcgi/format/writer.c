/*
 * JSON and XML text with exact numbers.
 */
#include "fcgi/format/writer.h"

#include <string.h>

#include "fcgi/format/digits.h"
#include "store/base/clock.h"
#include "store/base/text.h"

#define DIGITS_MAX 40 /* of a 128-bit integer */
#define SIGNIFICANT 17
#define REPLACEMENT "\xef\xbf\xbd"

struct writer
writer_of(struct buf *out)
{
	return (struct writer){out, false};
}

static void
writer_separate(struct writer *w)
{
	if (w->comma)
		buf_put_u8(w->out, ',');
	w->comma = true;
}

void
writer_open(struct writer *w, char bracket)
{
	writer_separate(w);
	buf_put_u8(w->out, (uint8_t)bracket);
	w->comma = false;
}

void
writer_close(struct writer *w, char bracket)
{
	buf_put_u8(w->out, (uint8_t)bracket);
	w->comma = true;
}

void
writer_key(struct writer *w, const char *key)
{
	writer_separate(w);
	buf_put_u8(w->out, '"');
	buf_put(w->out, key, strlen(key));
	buf_put(w->out, "\":", 2);
	w->comma = false;
}

void
writer_key_any(struct writer *w, const char *key)
{
	writer_str(w, key);
	buf_put_u8(w->out, ':');
	w->comma = false;
}

void
writer_null(struct writer *w)
{
	writer_raw(w, "null", 4);
}

void
writer_bool(struct writer *w, bool v)
{
	writer_raw(w, v ? "true" : "false", v ? 4 : 5);
}


void
writer_raw(struct writer *w, const char *json, size_t n)
{
	writer_separate(w);
	buf_put(w->out, json, n);
}

void
writer_str(struct writer *w, const char *s)
{
	writer_strn(w, s, strlen(s));
}

bool
writer_utf8_valid(const char *s, size_t n)
{
	size_t len;

	for (; n > 0; s += len, n -= len)
		if ((len = text_utf8(s, n)) == 0)
			return false;
	return true;
}

/* Bytes that a JSON string holds as they are, from s. */
static size_t
writer_plain(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			break;
	}
	return i;
}

static void
writer_put_escape(struct buf *out, unsigned char c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c ? strchr(from, c) : NULL;

	if (at != NULL)
		buf_printf(out, "\\%c", to[at - from]);
	else
		buf_printf(out, "\\u%04x", c);
}

void
writer_strn(struct writer *w, const char *s, size_t n)
{
	uint32_t code;
	size_t len;

	writer_separate(w);
	buf_put_u8(w->out, '"');
	for (; n > 0; s += len, n -= len) {
		unsigned char c = (unsigned char)*s;

		if ((len = writer_plain(s, n)) > 0) {
			buf_put(w->out, s, len);
		} else if (c < 0x80) {
			len = 1;
			writer_put_escape(w->out, c);
		} else if ((len = text_utf8(s, n)) == 0) {
			len = 1;
			buf_put(w->out, REPLACEMENT, 3);
		} else if ((code = text_acts(s, len)) != 0) {
			buf_printf(w->out, "\\u%04x", (unsigned)code);
		} else {
			buf_put(w->out, s, len);
		}
	}
	buf_put_u8(w->out, '"');
}

/* The digits of v into text[DIGITS_MAX]; how many. */
static size_t
writer_digits(char *text, uint128 v)
{
	const uint64_t many = 1000000000000000000; /* 18 digits */
	uint64_t low;
	size_t n;

	if (v <= UINT64_MAX)
		return (size_t)(digits_put(text, (uint64_t)v) - text);
	n = writer_digits(text, v / many) + 18;
	low = (uint64_t)(v % many);
	for (size_t i = 1; i <= 18; i++, low /= 10)
		text[n - i] = (char)('0' + low % 10);
	return n;
}

static uint128
writer_magnitude(int128 v)
{
	return v < 0 ? -(uint128)v : (uint128)v;
}

void
writer_put_int(struct buf *out, int128 v)
{
	char text[DIGITS_MAX];
	size_t n = writer_digits(text, writer_magnitude(v));

	if (v < 0)
		buf_put_u8(out, '-');
	buf_put(out, text, n);
}

void
writer_int(struct writer *w, int64_t v)
{
	writer_int128(w, v);
}

/* What is below 0 or beyond 64 bits. */
static void
writer_int_any(struct writer *w, int128 v)
{
	writer_separate(w);
	writer_put_int(w->out, v);
}

/* Comma and digits in one piece: this is the inner loop of all large
 * answers. */
void
writer_int128(struct writer *w, int128 v)
{
	struct buf *b = w->out;
	char *p;

	if (v >> 63 != 0 || (b->cap - b->len <= DIGITS_U64 &&
	    !buf_reserve(b, DIGITS_U64 + 1))) {
		writer_int_any(w, v);
		return;
	}
	p = (char *)b->data + b->len;
	if (w->comma)
		*p++ = ',';
	w->comma = true;
	b->len = (size_t)(digits_put(p, (uint64_t)v) - (char *)b->data);
}

void
writer_put_grouped(struct buf *out, int128 v)
{
	char text[DIGITS_GROUPED];

	buf_put(out, text, (size_t)(digits_put_grouped(text, v) - text));
}

/* n digits, or zeros, at p; where they end. */
static char *
writer_copy(char *p, const char *digits, size_t n)
{
	return (char *)memcpy(p, digits, n) + n;
}

static char *
writer_zeros(char *p, size_t n)
{
	return (char *)memset(p, '0', n) + n;
}

/*
 * Digits with a point before the last `scale` of them; zeros are added where
 * there are too few, and dropped at the end of the fraction.
 */
static void
writer_put_point(struct buf *out, const char *digits, size_t n, int scale)
{
	size_t fraction = scale > 0 ? (size_t)scale : 0, whole;
	size_t zeros = scale < 0 && n > 0 && digits[0] != '0'
	    ? (size_t)-scale : 0;
	char *p;

	while (fraction > 0 && n > 0 && digits[n - 1] == '0') {
		n--;
		fraction--;
	}
	if (n == 0)
		fraction = 0;
	whole = n > fraction ? n - fraction : 0;
	if (!buf_reserve(out, n + fraction + zeros + 2))
		return;
	p = (char *)out->data + out->len;
	if (whole == 0)
		*p++ = '0';
	p = writer_zeros(writer_copy(p, digits, whole), zeros);
	if (fraction > 0) {
		*p++ = '.';
		p = writer_zeros(p, fraction - (n - whole));
		p = writer_copy(p, digits + whole, n - whole);
	}
	out->len = (size_t)(p - (char *)out->data);
}

void
writer_put_decimal(struct buf *out, int128 value, unsigned scale)
{
	char text[DIGITS_MAX];
	size_t n = writer_digits(text, writer_magnitude(value));

	if (value < 0)
		buf_put_u8(out, '-');
	writer_put_point(out, text, n, (int)scale);
}

void
writer_decimal(struct writer *w, int128 value, unsigned scale)
{
	writer_separate(w);
	writer_put_decimal(w->out, value, scale);
}

void
writer_seconds(struct writer *w, int64_t ns)
{
	if (ns % NS_PER_S == 0) /* as most are, and faster */
		writer_int(w, ns / NS_PER_S);
	else
		writer_decimal(w, ns, 9);
}

void
writer_key_open(struct writer *w, const char *key, char bracket)
{
	writer_key(w, key);
	writer_open(w, bracket);
}

void
writer_key_int(struct writer *w, const char *key, int64_t v)
{
	writer_key(w, key);
	writer_int(w, v);
}

void
writer_key_int128(struct writer *w, const char *key, int128 v)
{
	writer_key(w, key);
	writer_int128(w, v);
}

void
writer_key_str(struct writer *w, const char *key, const char *s)
{
	writer_key(w, key);
	writer_str(w, s);
}

void
writer_key_seconds(struct writer *w, const char *key, int64_t ns)
{
	writer_key(w, key);
	writer_seconds(w, ns);
}

/* Adds one in the last of n digits; true when a digit 1 must go before. */
static bool
writer_round_up(char *digits, size_t n)
{
	while (n > 0) {
		if (digits[n - 1] != '9') {
			digits[n - 1]++;
			return false;
		}
		digits[--n] = '0';
	}
	return true;
}

/* Long division: digits go on behind the point until it comes out even or
 * one digit more than is shown is known. */
void
writer_quotient(struct writer *w, int128 num, uint128 den, int scale)
{
	char text[DIGITS_MAX], digits[1 + DIGITS_MAX + SIGNIFICANT + 2];
	uint128 value = writer_magnitude(num), rest = value % den;
	char *d = digits + 1;
	size_t n = writer_digits(text, value / den);

	memcpy(d, text, n);
	if (d[0] == '0')
		n = 0;
	while (rest != 0 && n <= SIGNIFICANT) {
		rest *= 10;
		d[n] = (char)('0' + (int)(rest / den));
		rest %= den;
		scale++;
		if (n > 0 || d[0] != '0')
			n++;
	}
	if (value % den != 0 && n > SIGNIFICANT && scale > 0) {
		size_t cut = n - SIGNIFICANT;

		if (cut > (size_t)scale)
			cut = (size_t)scale;
		n -= cut;
		scale -= (int)cut;
		if (d[n] >= '5' && writer_round_up(d, n)) {
			*--d = '1';
			n++;
		}
	}
	writer_separate(w);
	if (num < 0 && n > 0)
		buf_put_u8(w->out, '-');
	writer_put_point(w->out, d, n, scale);
}

static const char *
writer_entity(unsigned char c)
{
	static const struct {
		unsigned char c;
		const char *entity;
	} table[] = {
	    {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"},
	    {'\'', "&#39;"}, {'\t', "&#9;"}, {'\n', "&#10;"}, {'\r', "&#13;"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].c == c)
			return table[i].entity;
	return c == 0 ? REPLACEMENT : NULL;
}

/* Bytes that XML holds as they are, from s: eight at once where none of
 * them is a control, DEL or beyond, or one of & < > " '. */
#define BYTES(c) (UINT64_C(0x0101010101010101) * (c))
#define ZERO_AMONG(v) (((v) - BYTES(1)) & ~(v) & BYTES(0x80))

static size_t
writer_plain_xml(const char *s, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; i + 8 <= n; i += 8) {
		memcpy(&w, s + i, 8);
		if (((w | (w + BYTES(1)) | (w - BYTES(0x20))) &
		        BYTES(0x80)) != 0 ||
		    (ZERO_AMONG(w ^ BYTES('&')) | ZERO_AMONG(w ^ BYTES('<')) |
		        ZERO_AMONG(w ^ BYTES('>')) |
		        ZERO_AMONG(w ^ BYTES('"')) |
		        ZERO_AMONG(w ^ BYTES('\''))) != 0)
			break;
	}
	for (; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c >= 0x7f || c == '&' || c == '<' ||
		    c == '>' || c == '"' || c == '\'')
			break;
	}
	return i;
}

void
writer_put_xml(struct buf *out, const char *s, size_t n)
{
	size_t len;

	for (; n > 0; s += len, n -= len) {
		const char *entity;

		if ((len = writer_plain_xml(s, n)) > 0) {
			buf_put(out, s, len);
			continue;
		}
		entity = writer_entity((unsigned char)*s);
		len = text_utf8(s, n);
		if (entity != NULL) {
			buf_put(out, entity, strlen(entity));
		} else if (len == 0 || text_is_none(s, len)) {
			buf_put(out, REPLACEMENT, 3);
			len = len ? len : 1;
		} else { /* also controls, most of which XML forbids */
			text_put(out, s, len);
		}
	}
}
