/*
 * One walk over a message's descriptor in each direction.  The types that
 * our messages have: strings, bytes, doubles, integers, enums, messages.
 */
#include "fcgi/format/protojson.h"

#include <ctype.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/arena.h"
#include "fcgi/format/writer.h"
#include "store/base/err.h"

/* profile_typeID is profileTypeID. */
static void
camel(const char *name, char *out, size_t size)
{
	size_t n = 0;

	for (; *name != '\0' && n + 1 < size; name++) {
		if (*name == '_' && name[1] != '\0')
			out[n++] = (char)toupper((unsigned char)*++name);
		else
			out[n++] = *name;
	}
	out[n] = '\0';
}

static size_t
type_size(const ProtobufCFieldDescriptor *f)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		return 4;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		return 8;
	}
}

/* ---- reading ---- */

static const struct err *
bad(const ProtobufCFieldDescriptor *f, const char *why)
{
	return err_field(ERR_REQUEST, 400, f->name, "%s", why);
}

static const struct err *
no_room(const struct arena *a)
{
	return a->over ? err_new(ERR_REQUEST, 413, "too large a message")
		       : err_nomem();
}

static const struct err *
take_message(struct arena *a, const ProtobufCMessageDescriptor *d,
    struct json_object *o, ProtobufCMessage **out);

static int
base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at;

	if (c == '-' || c == '_') /* the alphabet for addresses */
		return c == '-' ? 62 : 63;
	at = c != '\0' ? strchr(digits, c) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

static const struct err *
take_bytes(struct arena *a, const ProtobufCFieldDescriptor *f,
    const char *text, size_t n, ProtobufCBinaryData *to)
{
	uint32_t word = 0;
	unsigned bits = 0;

	to->len = 0;
	if ((to->data = arena_alloc(a, n / 4 * 3 + 4)) == NULL)
		return no_room(a);
	while (n > 0 && text[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return bad(f, "is not base64");
		word = word << 6 | (uint32_t)digit;
		if ((bits += 6) >= 8)
			to->data[to->len++] = (uint8_t)(word >> (bits -= 8));
	}
	return NULL;
}

static const struct err *
take_text(struct arena *a, const ProtobufCFieldDescriptor *f,
    struct json_object *o, void *to)
{
	const char *text = json_object_get_string(o);
	size_t n;
	char *copy;

	if (!json_object_is_type(o, json_type_string))
		return bad(f, "is not a string");
	n = (size_t)json_object_get_string_len(o);
	if (f->type == PROTOBUF_C_TYPE_BYTES)
		return take_bytes(a, f, text, n, to);
	if ((copy = arena_alloc(a, n + 1)) == NULL)
		return no_room(a);
	memcpy(copy, text, n + 1);
	memcpy(to, &copy, sizeof(copy));
	return NULL;
}

static const struct err *
take_number(const ProtobufCFieldDescriptor *f, struct json_object *o,
    void *to)
{
	const char *text = json_object_get_string(o);
	char *end;
	double d;
	int64_t v;

	if (f->type == PROTOBUF_C_TYPE_BOOL) {
		*(protobuf_c_boolean *)to = json_object_get_boolean(o);
		return NULL;
	}
	if (text == NULL || *text == '\0')
		return bad(f, "is not a number");
	if (f->type == PROTOBUF_C_TYPE_DOUBLE) {
		d = strtod(text, &end);
		memcpy(to, &d, sizeof(d));
		return *end == '\0' ? NULL : bad(f, "is not a number");
	}
	v = strtoll(text, &end, 10);
	if (*end != '\0') { /* 1e3, and 5.0 */
		d = strtod(text, &end);
		if (*end != '\0' || !(d > -9e18 && d < 9e18))
			return bad(f, "is not a whole number");
		v = (int64_t)d;
	}
	if (type_size(f) == 4)
		*(int32_t *)to = (int32_t)v;
	else
		memcpy(to, &v, sizeof(v));
	return NULL;
}

/* By name, or by number as the wire has it. */
static const struct err *
take_enum(const ProtobufCFieldDescriptor *f, struct json_object *o, void *to)
{
	const ProtobufCEnumDescriptor *d = f->descriptor;
	const char *text = json_object_get_string(o);
	const ProtobufCEnumValue *v = NULL;
	const struct err *e;
	int32_t number;

	if (json_object_is_type(o, json_type_string))
		v = protobuf_c_enum_descriptor_get_value_by_name(d, text);
	if (v == NULL) {
		if ((e = take_number(f, o, &number)) != NULL)
			return err_field(ERR_REQUEST, 400, f->name,
			    "\"%.60s\" is none of its values",
			    text != NULL ? text : "");
		v = protobuf_c_enum_descriptor_get_value(d, number);
	}
	if (v == NULL)
		return err_field(ERR_REQUEST, 400, f->name,
		    "%d is none of its values", number);
	number = v->value;
	memcpy(to, &number, sizeof(number));
	return NULL;
}

static const struct err *
take_value(struct arena *a, const ProtobufCFieldDescriptor *f,
    struct json_object *o, void *to)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		return take_message(a, f->descriptor, o, to);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		return take_text(a, f, o, to);
	case PROTOBUF_C_TYPE_ENUM:
		return take_enum(f, o, to);
	default:
		return take_number(f, o, to);
	}
}

static const struct err *
take_repeated(struct arena *a, const ProtobufCFieldDescriptor *f,
    struct json_object *o, char *m)
{
	const struct err *e = NULL;
	size_t n, size = type_size(f);
	char *items;

	if (!json_object_is_type(o, json_type_array))
		return bad(f, "is not a list");
	n = json_object_array_length(o);
	if ((items = arena_alloc(a, n * size + 1)) == NULL)
		return no_room(a);
	memcpy(m + f->offset, &items, sizeof(items));
	*(size_t *)(void *)(m + f->quantifier_offset) = n;
	for (size_t i = 0; i < n && e == NULL; i++)
		e = take_value(a, f, json_object_array_get_idx(o, i),
		    items + i * size);
	return e;
}

static struct json_object *
find_member(const ProtobufCFieldDescriptor *f, struct json_object *o)
{
	struct json_object *v = NULL;
	char name[64];

	camel(f->name, name, sizeof(name));
	if (json_object_object_get_ex(o, name, &v) && v != NULL)
		return v;
	json_object_object_get_ex(o, f->name, &v);
	return v;
}

static const struct err *
take_message(struct arena *a, const ProtobufCMessageDescriptor *d,
    struct json_object *o, ProtobufCMessage **out)
{
	const struct err *e = NULL;
	ProtobufCMessage *m;

	if (!json_object_is_type(o, json_type_object))
		return err_new(ERR_REQUEST, 400, "%s: not an object",
		    d->short_name);
	if ((m = arena_alloc(a, d->sizeof_message)) == NULL)
		return no_room(a);
	protobuf_c_message_init(d, m);
	*out = m;
	for (unsigned i = 0; i < d->n_fields && e == NULL; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		struct json_object *v = find_member(f, o);

		if (v == NULL)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			e = take_repeated(a, f, v, (char *)m);
		else
			e = take_value(a, f, v, (char *)m + f->offset);
	}
	return e;
}

const struct err *
protojson_parse(struct arena *a, const ProtobufCMessageDescriptor *d,
    const char *text, size_t n, ProtobufCMessage **out)
{
	struct json_tokener *t = json_tokener_new_ex(PROTOJSON_DEPTH_MAX);
	struct json_object *o;
	const struct err *e;

	if (t == NULL)
		return err_nomem();
	o = n > INT32_MAX ? NULL : json_tokener_parse_ex(t, text, (int)n);
	if (o == NULL)
		e = err_new(ERR_REQUEST, 400, "JSON: %s at byte %zu",
		    json_tokener_error_desc(json_tokener_get_error(t)),
		    json_tokener_get_parse_end(t));
	else
		e = take_message(a, d, o, out);
	json_object_put(o);
	json_tokener_free(t);
	return e;
}

/* ---- writing ---- */

static void
put_base64(struct writer *w, const ProtobufCBinaryData *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	struct buf out = {0};

	for (size_t i = 0; i < b->len; i += 3) {
		uint32_t v = (uint32_t)b->data[i] << 16;
		char four[4];

		if (i + 1 < b->len)
			v |= (uint32_t)b->data[i + 1] << 8;
		if (i + 2 < b->len)
			v |= b->data[i + 2];
		for (int k = 0; k < 4; k++)
			four[k] = digits[v >> (18 - 6 * k) & 63];
		if (i + 1 >= b->len)
			four[2] = '=';
		if (i + 2 >= b->len)
			four[3] = '=';
		buf_put(&out, four, 4);
	}
	writer_strn(w, (const char *)out.data, out.len);
	w->out->failed |= out.failed;
	buf_fini(&out);
}

/* A double as JSON has it; what is no number is null. */
static void
put_double(struct writer *w, double d)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", d);
	if (strpbrk(text, "ni") != NULL)
		writer_null(w);
	else
		writer_raw(w, text, strlen(text));
}

/* 64 bits become text, as protobuf's mapping to JSON says: numbers of
 * JavaScript have 53. */
static void
put_value(struct writer *w, const ProtobufCFieldDescriptor *f,
    const char *at)
{
	char text[24];
	double d;
	int64_t v;

	switch (f->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		protojson_put(w,
		    *(const ProtobufCMessage *const *)(const void *)at);
		return;
	case PROTOBUF_C_TYPE_STRING:
		writer_str(w, *(const char *const *)(const void *)at);
		return;
	case PROTOBUF_C_TYPE_BYTES:
		put_base64(w, (const ProtobufCBinaryData *)(const void *)at);
		return;
	case PROTOBUF_C_TYPE_DOUBLE:
		memcpy(&d, at, sizeof(d));
		put_double(w, d);
		return;
	case PROTOBUF_C_TYPE_BOOL:
		writer_bool(w,
		    *(const protobuf_c_boolean *)(const void *)at != 0);
		return;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_ENUM:
		writer_int(w, *(const int32_t *)(const void *)at);
		return;
	case PROTOBUF_C_TYPE_UINT32:
		writer_int(w, *(const uint32_t *)(const void *)at);
		return;
	default:
		memcpy(&v, at, sizeof(v));
		snprintf(text, sizeof(text),
		    f->type == PROTOBUF_C_TYPE_UINT64 ? "%llu" : "%lld",
		    (long long)v);
		writer_str(w, text);
	}
}

/* Is a field that stands alone left out, since it has its default? */
static bool
is_default(const ProtobufCFieldDescriptor *f, const char *at)
{
	static const char zeros[sizeof(ProtobufCBinaryData)];
	const char *text;

	if (f->type == PROTOBUF_C_TYPE_STRING) {
		memcpy(&text, at, sizeof(text));
		return text == NULL || *text == '\0';
	}
	return memcmp(at, zeros, type_size(f)) == 0;
}

static void
put_repeated(struct writer *w, const ProtobufCFieldDescriptor *f,
    const char *m)
{
	size_t n = *(const size_t *)(const void *)(m + f->quantifier_offset);
	const char *items;

	memcpy(&items, m + f->offset, sizeof(items));
	writer_open(w, '[');
	for (size_t i = 0; i < n; i++)
		put_value(w, f, items + i * type_size(f));
	writer_close(w, ']');
}

void
protojson_put(struct writer *w, const ProtobufCMessage *m)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	char name[64];

	writer_open(w, '{');
	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		const char *at = (const char *)m + f->offset;
		const char *count = (const char *)m + f->quantifier_offset;

		if (f->label == PROTOBUF_C_LABEL_REPEATED
		    ? *(const size_t *)(const void *)count == 0
		    : is_default(f, at))
			continue;
		camel(f->name, name, sizeof(name));
		writer_key(w, name);
		if (f->label == PROTOBUF_C_LABEL_REPEATED)
			put_repeated(w, f, (const char *)m);
		else
			put_value(w, f, at);
	}
	writer_close(w, '}');
}
