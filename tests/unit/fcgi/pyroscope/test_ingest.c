/*
 * What surrounds a pushed profile: Pyroscope's names and times, forms, type
 * ids, and questions in its languages.
 */
#include <stdlib.h>

#include "fcgi/push/multipart.h"
#include "fcgi/pyroscope/appname.h"
#include "fcgi/pyroscope/attime.h"
#include "fcgi/pyroscope/flameql.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/model/typeid.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

/* "service|name=value|..." */
static const char *
parsed(const char *text)
{
	static char out[500];
	struct appname a;
	size_t n;

	if (appname_parse(&a, text) != NULL) {
		appname_free(&a);
		return "error";
	}
	n = (size_t)snprintf(out, sizeof(out), "%s", a.service);
	for (size_t i = 0; i < a.n_labels; i++)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "|%s=%s",
		    a.labels[i].name, a.labels[i].value);
	appname_free(&a);
	return out;
}

TEST(names)
{
	CHECK_STR(parsed("app"), "app");
	CHECK_STR(parsed("app{}"), "app");
	CHECK_STR(parsed(" foo { bar = 1 , baz = 2 } "), "foo|bar=1|baz=2");
	CHECK_STR(parsed("a.b-c_d{k=v}ignored"), "a.b-c_d|k=v");
	CHECK_STR(parsed("a{k=x=y:z/{w}"), "a|k=x=y:z/{w");
	CHECK_STR(parsed("a{otel.scope.name=c/d}"), "a|otel.scope.name=c/d");
	CHECK_STR(parsed("a{k=1,k=2}"), "a|k=2");
	CHECK_STR(parsed("a{k=v"), "a|k=v");
	CHECK_STR(parsed("a{k}"), "a");
	CHECK_STR(parsed("a{k=,l=v}"), "a|k=|l=v");
	CHECK_STR(parsed("a{profile_id=1,k=v}"), "a|k=v");
	CHECK_STR(parsed("{k=v}"), "error");
	CHECK_STR(parsed(""), "error");
	CHECK_STR(parsed("  "), "error");
}

static size_t
left_out(const char *text)
{
	struct appname a;

	CHECK_OK(appname_parse(&a, text));
	appname_free(&a);
	return a.left_out;
}

TEST(what_is_left_out_of_a_name_is_counted)
{
	CHECK_INT(left_out("a"), 0);
	CHECK_INT(left_out("a{}"), 0);
	CHECK_INT(left_out("a{ , }"), 0);
	CHECK_INT(left_out("a{k=v, l=w ,} "), 0);
	CHECK_INT(left_out("a{k=v"), 0);
	CHECK_INT(left_out("a{k=v,k=v}"), 0);
	CHECK_INT(left_out("a{k=v,k=w}"), 1);
	CHECK_INT(left_out("a{k=v}{l=w}"), 1);
	CHECK_INT(left_out("a{k=v}l"), 1);
	CHECK_INT(left_out("a{k}"), 1);
	CHECK_INT(left_out("a{k"), 1);
	CHECK_INT(left_out("a{=x,k=v}"), 1);
	CHECK_INT(left_out("a{k=v,l} m"), 2);
	CHECK_INT(left_out("a{profile_id=1,k=v}"), 1);
}

TEST(suffixes)
{
	struct appname a;

	CHECK_STR(appname_suffix("my.app.cpu")->name, "cpu");
	CHECK(appname_suffix("cpu") == NULL);
	CHECK(appname_suffix(".cpu") == NULL);
	CHECK(appname_suffix("my.app") == NULL);
	CHECK_OK(appname_parse(&a, "x.y.inuse_space{k=v}"));
	appname_cut(&a);
	CHECK_STR(a.service, "x.y");
	appname_free(&a);
}

static int64_t
seconds(const char *text)
{
	int64_t ns = -1;

	return attime_parse(text, 1000000 * NS_PER_S, &ns) == NULL
	    ? ns / NS_PER_S : -1;
}

TEST(times)
{
	CHECK_INT(seconds(""), 1000000);
	CHECK_INT(seconds("now"), 1000000);
	CHECK_INT(seconds("now-1h"), 996400);
	CHECK_INT(seconds("now-3h30m"), 987400);
	CHECK_INT(seconds("-90s"), 999910);
	CHECK_INT(seconds("now+5min"), 1000300);
	CHECK_INT(seconds("now-1d"), 913600);
	CHECK_INT(seconds("now-1week"), 395200);
	CHECK_INT(seconds("now-1zz"), 1000000);
	CHECK_INT(seconds("now-1mon"), 0); /* not before 1970 */
	/* 213504 days are 2^64 ns and some minutes */
	CHECK_INT(seconds("now-213504d"), 0);
	CHECK_INT(seconds("now-99999999999999999999y"), 0);
	CHECK_INT(seconds("now-292y292y"), 0);
	CHECK_INT(seconds("now-9223372036854775807s1s"), 0);
	CHECK_INT(seconds("now+213504d"), 7201000000);
	CHECK_INT(seconds("now+213504y"), 7201000000);
	CHECK_INT(seconds("20231114"), 1699920000);
	CHECK_INT(seconds("20239999"), 20239999);
	CHECK_INT(seconds("1700000000"), 1700000000);
	CHECK_INT(seconds("1700000000000"), 1700000000);
	CHECK_INT(seconds("1700000000000000"), 1700000000);
	CHECK_INT(seconds("1700000000000000000"), 1700000000);
	CHECK_INT(seconds("1_700_000_000"), 1700000000);
	CHECK_INT(seconds("2023-11-14T22:13:20Z"), 1700000000);
	CHECK_INT(seconds("2023-11-14"), 1699920000); /* not now less that */
	CHECK_INT(seconds("2023-11-14 nonsense"), -1);
	/* beyond what 64 bits hold, as a day and in seconds */
	CHECK_INT(seconds("60231114"), seconds("127939478400"));
	CHECK_INT(seconds("6023-11-14T00:00:00Z"), -1);
	CHECK_INT(seconds("99999999999999999999"), -1);
	CHECK_INT(seconds("yesterday"), -1);
}

TEST(forms)
{
	static const char body[] = "preamble\r\n--B\r\n"
	    "Content-Disposition: form-data; filename=\"f\"; name=\"profile\""
	    "\r\nContent-Type: x/y\r\n\r\na\r\n-b\r\n--B\r\n"
	    "content-disposition: form-data; name=\"empty\"\r\n\r\n\r\n"
	    "--B--\r\n";
	struct multipart m;
	struct multipart_part part;
	bool more;

	CHECK_OK(multipart_begin(&m, "multipart/form-data; boundary=\"B\"",
	    body, sizeof(body) - 1));
	CHECK_OK(multipart_next(&m, &part, &more));
	CHECK(more);
	CHECK_STR(part.name, "profile");
	CHECK_INT(part.n, 5);
	CHECK(memcmp(part.data, "a\r\n-b", 5) == 0);
	CHECK_OK(multipart_next(&m, &part, &more));
	CHECK(more);
	CHECK_STR(part.name, "empty");
	CHECK_INT(part.n, 0);
	CHECK_OK(multipart_next(&m, &part, &more));
	CHECK(!more);
	CHECK(multipart_begin(&m, "multipart/form-data", body, 10) != NULL);
	for (size_t n = 0; n < sizeof(body) - 1; n++) {
		/* each part of it is an error or ends well */
		char *copy = malloc(n + 1);

		memcpy(copy, body, n);
		more = multipart_begin(&m, "x; boundary=B", copy, n) == NULL;
		while (more && multipart_next(&m, &part, &more) == NULL)
			;
		free(copy);
	}
}

TEST(type_ids)
{
	static const struct {
		const char *name, *unit, *id;
	} both[] = {
	    {"cpu", "nanoseconds",
	        "process_cpu:cpu:nanoseconds:cpu:nanoseconds"},
	    {"inuse_space", "bytes", "memory:inuse_space:bytes:space:bytes"},
	    {"goroutines", "count",
	        "goroutine:goroutine:count:goroutine:count"},
	    {"mutex_duration", "nanoseconds",
	        "mutex:delay:nanoseconds:contentions:count"},
	    {"wall", "nanoseconds", "wall:wall:nanoseconds:wall:nanoseconds"},
	    {"offcpu", "nanoseconds",
	        "off_cpu:offcpu:nanoseconds:offcpu:nanoseconds"},
	    {"lock_wait", "furlongs",
	        "lock_wait:lock_wait:furlongs:lock_wait:furlongs"},
	    {"cpu_cycles", "cycles",
	        "process_cpu:cpu:cycles:cpu:cycles"},
	    {"cpu_bytes", "bytes",
	        "cpu_bytes:cpu_bytes:bytes:cpu_bytes:bytes"},
	};
	struct typeid id;
	char name[64];

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		typeid_of(&id, both[i].name, both[i].unit);
		CHECK_STR(id.text, both[i].id);
		CHECK_OK(typeid_parse(&id, both[i].id));
		typeid_name(id.group, id.type, id.unit, name, sizeof(name));
		CHECK_STR(name, both[i].name);
	}
	CHECK(typeid_parse(&id, "cpu") != NULL);
	typeid_name("exception", "total", "count", name, sizeof(name));
	CHECK_STR(name, "exception_total");
}

static const char *
selector(const char *id, const char *matchers)
{
	static char out[500];
	struct flameql q;

	if (flameql_parse_id(&q, id, matchers) != NULL)
		snprintf(out, sizeof(out), "error");
	else
		snprintf(out, sizeof(out), "%s", (char *)q.text.data);
	flameql_free(&q);
	return out;
}

TEST(selectors)
{
	CHECK_STR(selector("", ""), "{\"service\"=~\".*\"}");
	CHECK_STR(selector("", "{}"), "{\"service\"=~\".*\"}");
	CHECK_STR(selector("process_cpu:cpu:nanoseconds:cpu:nanoseconds",
	    "{service_name=\"x\", \"a.b\"=~\"c\"}"),
	    "{\"__name__\"=\"cpu\",\"service\"=\"x\",\"a.b\"=~\"c\"}");
	CHECK_STR(selector("", "{__profile_type__="
	    "\"memory:inuse_space:bytes:space:bytes\"}"),
	    "{\"__name__\"=\"inuse_space\"}");
	CHECK_STR(selector("", "{a=\"x\\\"y\"}"), "{\"a\"=\"x\\\"y\"}");
	CHECK_STR(selector("", "{a=b}"), "error");
	CHECK_STR(selector("", "{a=\"b\""), "error");
	CHECK_STR(selector("", "{a=\"b\"} x"), "error");
	CHECK_STR(selector("", "nonsense"), "error");
	CHECK_STR(selector("nonsense", "{}"), "error");
}

int
main(void)
{
	RUN(names);
	RUN(what_is_left_out_of_a_name_is_counted);
	RUN(suffixes);
	RUN(times);
	RUN(forms);
	RUN(type_ids);
	RUN(selectors);
	return test_done();
}
