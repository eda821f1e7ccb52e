/*
 * Requests taken apart: paths, query strings, typed parameters.
 */
#include <stdlib.h>

#include "fcgi/server/request.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define NOW (INT64_C(1700000000) * NS_PER_S)

static struct request rq;
static char uri[32768];

static const struct err *
parse(const char *query)
{
	request_fini(&rq);
	strcpy(uri, "/x");
	return request_init(&rq, "GET", uri, NULL, query, NOW);
}

static const char *
path(const char *text, const char *prefix)
{
	request_fini(&rq);
	strcpy(uri, text);
	if (request_init(&rq, "GET", uri, prefix, "", NOW) != NULL)
		return "error";
	return rq.path;
}

static const char *
text(const char *name)
{
	const char *v = request_text(&rq, name);

	return v != NULL ? v : "(absent)";
}

TEST(paths)
{
	CHECK_STR(path("/api/v1/health", NULL), "/api/v1/health");
	CHECK_STR(path("/a%2Fb//c?x=1", NULL), "/a%2Fb//c");
	CHECK_STR(path("http://host:80/a?b", NULL), "/a");
	CHECK_STR(path("/sub/api", "/sub"), "/api");
	CHECK_STR(path("/sub/api", "/sub/"), "/api");
	CHECK_STR(path("/subapi", "/sub"), "/subapi");
	CHECK_STR(path("/kv/http://x", NULL), "/kv/http://x");
	CHECK_STR(path("*", NULL), "error");
	CHECK_STR(path("", NULL), "error");
	CHECK_STR(path("http://host", NULL), "error");
}

TEST(query_strings)
{
	CHECK_OK(parse("query=cpu%7Bservice%3D%22a%20b%22%7D&from=now-1h&e="));
	CHECK_STR(text("query"), "cpu{service=\"a b\"}");
	CHECK_STR(text("from"), "now-1h");
	CHECK_STR(text("e"), "(absent)");
	CHECK_STR(text("f"), "(absent)");
	CHECK_OK(parse("a=x+y%2Bz=1&&b&"));
	CHECK_STR(text("a"), "x y+z=1");
	CHECK_OK(parse(""));
	CHECK_OK(parse(NULL));
}

static void
refused(const char *query, int status, const char *field)
{
	const struct err *e = parse(query);

	CHECK(e != NULL);
	if (e == NULL)
		return;
	CHECK_INT(e->code, status);
	CHECK_STR(e->field, field);
}

TEST(malformed_query_strings)
{
	char big[20000];

	refused("a=1&b=2&a=3", 400, "a");
	refused("a=%zz", 400, "a");
	refused("a=%2", 400, "a");
	refused("a=b%00c", 400, "a");
	refused("=1", 400, "");
	refused("%00=1", 400, "");
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	refused(big, 414, "");
	big[0] = '\0';
	for (int i = 0; i < 70; i++)
		sprintf(big + strlen(big), "p%d=1&", i);
	refused(big, 400, "");
}

TEST(numbers)
{
	int64_t v;
	double d;

	CHECK_OK(parse("a=5&b=-1&c=x&d=&e=99999999999999999999&f= 1&g=1.5"));
	CHECK_OK(request_int(&rq, "a", 0, 9, 1, &v));
	CHECK_INT(v, 5);
	CHECK_OK(request_int(&rq, "none", 0, 9, 7, &v));
	CHECK_INT(v, 7);
	CHECK(request_int(&rq, "a", 6, 9, 7, &v) != NULL);
	CHECK(request_int(&rq, "b", 0, 9, 7, &v) != NULL);
	CHECK(request_int(&rq, "c", 0, 9, 7, &v) != NULL);
	CHECK(request_int(&rq, "d", 0, 9, 7, &v) != NULL);
	CHECK(request_int(&rq, "e", 0, INT64_MAX, 7, &v) != NULL);
	CHECK(request_int(&rq, "f", 0, 9, 7, &v) != NULL);
	CHECK_STR(request_int(&rq, "g", 0, 9, 7, &v)->field, "g");
	CHECK_OK(request_real(&rq, "g", 0, 2, 0, &d));
	CHECK(d > 1.49 && d < 1.51);
	CHECK(request_real(&rq, "g", 0, 1, 0, &d) != NULL);
	CHECK(request_real(&rq, "c", 0, 1, 0, &d) != NULL);
	CHECK_OK(parse("n=nan&i=inf&h=0x1&e=1e3"));
	CHECK(request_real(&rq, "n", 0, 1, 0, &d) != NULL);
	CHECK(request_real(&rq, "i", 0, 1, 0, &d) != NULL);
	CHECK(request_real(&rq, "h", 0, 1, 0, &d) != NULL);
	CHECK(request_real(&rq, "e", 0, 9999, 0, &d) != NULL);
}

TEST(choices)
{
	static const char *const fn[] = {"mean", "rate", NULL};
	size_t v;

	CHECK_OK(parse("fn=rate&g=max"));
	CHECK_OK(request_choice(&rq, "fn", fn, 0, &v));
	CHECK_INT(v, 1);
	CHECK_OK(request_choice(&rq, "none", fn, 0, &v));
	CHECK_INT(v, 0);
	CHECK_STR(request_choice(&rq, "g", fn, 0, &v)->text,
	    "\"max\" is none of mean, rate");
}

TEST(ranges)
{
	int64_t from, until;

	CHECK_OK(parse(""));
	CHECK_OK(request_range(&rq, &from, &until));
	CHECK_INT(from, NOW - 3600 * NS_PER_S);
	CHECK_INT(until, NOW);
	CHECK_OK(parse("until=1600000000"));
	CHECK_OK(request_range(&rq, &from, &until));
	CHECK_INT(from, INT64_C(1599996400) * NS_PER_S);
	CHECK_OK(parse("until=9223372036854775807"));
	CHECK_OK(request_range(&rq, &from, &until));
	CHECK(until == REQUEST_UNTIL_MAX && from < until);
	CHECK_OK(parse("from=now&until=now-1h"));
	CHECK_STR(request_range(&rq, &from, &until)->field, "from");
	CHECK_OK(parse("from=1&until=1"));
	CHECK_STR(request_range(&rq, &from, &until)->field, "from");
	CHECK_OK(parse("until=tomorrow"));
	CHECK_STR(request_range(&rq, &from, &until)->field, "until");
	CHECK_OK(parse("from=yesterday"));
	CHECK_INT(request_range(&rq, &from, &until)->code, 400);
}

int
main(void)
{
	RUN(paths);
	RUN(query_strings);
	RUN(malformed_query_strings);
	RUN(numbers);
	RUN(choices);
	RUN(ranges);
	request_fini(&rq);
	return test_done();
}
