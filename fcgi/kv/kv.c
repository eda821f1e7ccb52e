/*
 * Paths, bodies and answers of the key-value interface.
 */
#include "fcgi/kv/kv.h"

#include <json-c/json.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "store/base/err.h"
#include "store/base/text.h"

#define KV_JSON_DEPTH 32

#define KV_PLAIN                                                               \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

bool
kv_is_plain(const char *key)
{
	return key[strspn(key, KV_PLAIN)] == '\0';
}

bool
kv_is_ascii(const char *key)
{
	while (*key > 0)
		key++;
	return *key == '\0';
}

const char *
kv_unsent(const char *key)
{
	for (; *key != '\0'; key++)
		if ((unsigned char)*key <= ' ' || *key == 0x7f ||
		    strchr("/?#", *key) != NULL)
			return key;
	return NULL;
}

void
kv_put_path(struct buf *out, const char *key, enum kv_reads reads)
{
	buf_printf(out, "/v1/transactions/");
	for (; *key != '\0'; key++) {
		if (reads == KV_RAW || strchr(KV_PLAIN, *key) != NULL)
			buf_put_u8(out, (uint8_t)*key);
		else
			buf_printf(out, "%%%02X", (unsigned char)*key);
	}
	buf_put_u8(out, '\0');
}

void
kv_put_body(struct buf *out, const char *key, const char *value, size_t n)
{
	struct writer w = writer_of(out);

	writer_open(&w, '{');
	writer_key_str(&w, "id", key);
	writer_key(&w, "value");
	writer_strn(&w, value, n);
	writer_close(&w, '}');
}

struct json_object *
kv_parse(const struct buf *body)
{
	struct json_tokener *t = json_tokener_new_ex(KV_JSON_DEPTH);
	struct json_object *o;
	const char *text = (const char *)body->data;
	size_t end, n = body->len;

	if (t == NULL)
		return NULL;
	if (!writer_utf8_valid(text, n)) {
		json_tokener_free(t);
		return NULL;
	}
	while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL && text[n - 1])
		n--;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(t, text, (int)n);
	end = json_tokener_get_parse_end(t);
	if (json_tokener_get_error(t) != json_tokener_success || end != n) {
		json_object_put(o);
		o = NULL;
	}
	json_tokener_free(t);
	return o;
}

const struct err *
kv_value(const struct kv_answer *answer, struct buf *out)
{
	struct json_object *body, *value;
	const struct err *e = NULL;
	const char *text;
	size_t n;

	if (answer->status != 200)
		return err_new(ERR_REQUEST, 502, "the target answers %d",
		    answer->status);
	if (answer->body.len == 0)
		return err_field(ERR_REQUEST, 404, "key", "no such key");
	body = kv_parse(&answer->body);
	if (body == NULL)
		return err_new(ERR_REQUEST, 502,
		    "the target's answer is not JSON");
	if (!json_object_is_type(body, json_type_object) ||
	    !json_object_object_get_ex(body, "value", &value)) {
		json_object_put(body);
		return err_new(ERR_REQUEST, 502,
		    "the stored body has no member \"value\"");
	}
	text = json_object_to_json_string_length(value,
	    JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
	if (text == NULL) {
		text = "null";
		n = 4;
	}
	if (writer_utf8_valid(text, n))
		buf_put(out, text, n);
	else /* the escape of half a surrogate */
		e = err_new(ERR_REQUEST, 502, "the value is not Unicode");
	json_object_put(body);
	if (e != NULL)
		return e;
	return out->failed ? err_nomem() : NULL;
}

/* The code point at s, which is well-formed. */
static uint32_t
kv_code(const char *s, size_t len)
{
	static const uint8_t bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (uint8_t)s[0] & bits[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((uint8_t)s[i] & 0x3fu);
	return code;
}

/* Of two texts that are not the same. */
static void
kv_put_difference(struct buf *why, const char *is, size_t n_is,
    const char *sent, size_t n_sent)
{
	size_t at = 1, a = text_utf8(is, n_is), b = text_utf8(sent, n_sent);

	while (a != 0 && a == b && memcmp(is, sent, a) == 0) {
		is += a, n_is -= a;
		sent += b, n_sent -= b;
		a = text_utf8(is, n_is);
		b = text_utf8(sent, n_sent);
		at++;
	}
	buf_printf(why, "its character %zu is ", at);
	if (a != 0)
		buf_printf(why, "U+%04X", (unsigned)kv_code(is, a));
	else
		buf_printf(why, "missing");
	if (b != 0)
		buf_printf(why, ", sent was U+%04X",
		    (unsigned)kv_code(sent, b));
	else
		buf_printf(why, ", sent were %zu characters", at - 1);
}

bool
kv_is_text(const struct buf *json, const char *text, size_t n,
    struct buf *why)
{
	struct json_object *value = kv_parse(json);
	bool is_text = json_object_is_type(value, json_type_string), same;
	const char *is = is_text ? json_object_get_string(value) : "";
	size_t n_is = is_text
	    ? (size_t)json_object_get_string_len(value) : 0;

	same = is_text && n_is == n && memcmp(is, text, n) == 0;
	if (!is_text)
		buf_printf(why, "it is no text");
	else if (!same)
		kv_put_difference(why, is, n_is, text, n);
	json_object_put(value);
	return same;
}
