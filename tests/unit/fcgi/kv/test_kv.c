/*
 * The key-value interface.
 */
#include "fcgi/kv/kv.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct buf out;

static const char *
text(void)
{
	buf_put_u8(&out, 0);
	return (const char *)out.data;
}

static const char *
path(const char *key, enum kv_reads reads)
{
	buf_clear(&out);
	kv_put_path(&out, key, reads);
	return text();
}

/* The value as JSON, or "STATUS: message". */
static const char *
value(int status, const char *body)
{
	struct kv_answer a = {.status = status};
	const struct err *e;

	buf_put(&a.body, body, strlen(body));
	buf_clear(&out);
	e = kv_value(&a, &out);
	if (e != NULL)
		buf_printf(&out, "%d: %s", e->code, e->text);
	buf_fini(&a.body);
	return text();
}

TEST(keys_are_encoded)
{
	enum kv_reads d = KV_DECODES;

	CHECK_STR(path("plain-Key_1.~", d), "/v1/transactions/plain-Key_1.~");
	CHECK_STR(path("a/b//c d?e#f%", KV_UNKNOWN),
	    "/v1/transactions/a%2Fb%2F%2Fc%20d%3Fe%23f%25");
	CHECK_STR(path("\xc3\xa9", d), "/v1/transactions/%C3%A9");
	CHECK_STR(path("a\r\nX: y", d), "/v1/transactions/a%0D%0AX%3A%20y");
	CHECK_STR(path("a%b:\xc3\xa9", KV_RAW),
	    "/v1/transactions/a%b:\xc3\xa9");
}

/* Nothing that would end a request's line, or its path, is sent raw. */
TEST(what_no_path_has)
{
	char key[] = "a?b";

	for (int c = 1; c < 256; c++) {
		key[1] = (char)c;
		CHECK_INT(kv_unsent(key) == key + 1, c <= ' ' || c == 0x7f ||
		    c == '/' || c == '?' || c == '#');
	}
	CHECK(kv_is_plain("a-Z_0.~") && !kv_is_plain("a:b") &&
	    !kv_is_plain("\xc3\xa9"));
}

TEST(bodies_are_json)
{
	buf_clear(&out);
	kv_put_body(&out, "k\"", "v\n\0w", 4);
	CHECK_STR(text(), "{\"id\":\"k\\\"\",\"value\":\"v\\n\\u0000w\"}");
}

TEST(values)
{
	CHECK_STR(value(200, "{\"id\":\"k\",\"value\":\"v/\\\"x\"}"),
	    "\"v/\\\"x\"");
	CHECK_STR(value(200, "{\"value\": 5 }\n"), "5");
	CHECK_STR(value(200, "{\"value\":{\"a\":[1,null]}}"),
	    "{\"a\":[1,null]}");
	CHECK_STR(value(200, "{\"value\":null}"), "null");
	CHECK_STR(value(200, "{\"value\":\"\"}"), "\"\"");
}

TEST(other_answers)
{
	CHECK_STR(value(200, ""), "404: no such key");
	CHECK(strncmp(value(200, "nonsense"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "{\"value\":1"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "{\"value\":1} x"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "[1]"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "{\"id\":1}"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "{\"value\":\"\xff\"}"), "502: ", 5) == 0);
	CHECK(strncmp(value(200, "{\"value\":\"\xf6\x91\x9c\x9d\"}"),
	    "502: ", 5) == 0);
	CHECK(strncmp(value(500, "get value fail"), "502: ", 5) == 0);
	CHECK(strncmp(value(404, ""), "502: ", 5) == 0);
}

/* "same", or where value and text part. */
static const char *
against(const char *json, const char *sent, size_t n)
{
	struct buf b = {0};
	bool same;

	buf_put(&b, json, strlen(json));
	buf_clear(&out);
	same = kv_is_text(&b, sent, n, &out);
	CHECK(same == (out.len == 0));
	buf_fini(&b);
	return same ? "same" : text();
}

/* However the value is escaped. */
TEST(values_are_texts)
{
	static const char all[] = "a\x7f\xef\xbb\xbf\xe2\x80\xa8\xf0\x9f"
	                          "\x97\x9d\0/";
	const char *key = "\"a\\u007f\\ufeff\\u2028\\ud83d\\udddd\\u0000\\/\"";

	CHECK_STR(against(key, all, sizeof(all) - 1), "same");
	CHECK_STR(against("\"a\x7f\xef\xbb\xbf\"", all, 5), "same");
	CHECK_STR(against("\"\"", "", 0), "same");
	CHECK_STR(against("\"a\"", all, 2),
	    "its character 2 is missing, sent was U+007F");
	CHECK_STR(against("\"a\x7f?\"", all, 5),
	    "its character 3 is U+003F, sent was U+FEFF");
	CHECK_STR(against("\"\xe2\x80\xa9\"", "\xe2\x80\xa8", 3),
	    "its character 1 is U+2029, sent was U+2028");
	CHECK_STR(against("\"ab\xf0\x9f\x97\x9d\"", "ab", 2),
	    "its character 3 is U+1F5DD, sent were 2 characters");
	CHECK_STR(against("5", "5", 1), "it is no text");
}

int
main(void)
{
	RUN(values_are_texts);
	RUN(keys_are_encoded);
	RUN(what_no_path_has);
	RUN(bodies_are_json);
	RUN(values);
	RUN(other_answers);
	buf_fini(&out);
	return test_done();
}
