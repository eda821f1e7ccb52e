/*
 * Query strings, typed parameters, packed bodies.
 */
#include "fcgi/server/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fcgi/format/gzip.h"
#include "fcgi/server/timespec.h"
#include "store/base/clock.h"
#include "store/base/err.h"

static int
request_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

long
request_decode(char *s, bool plus)
{
	char *to = s, *begin = s;

	for (; *s != '\0'; s++, to++) {
		int high, low;

		if (*s == '+' && plus) {
			*to = ' ';
		} else if (*s != '%') {
			*to = *s;
		} else {
			if ((high = request_hex(s[1])) < 0 ||
			    (low = request_hex(s[2])) < 0)
				return -1;
			*to = (char)(high << 4 | low);
			s += 2;
		}
	}
	*to = '\0';
	return to - begin;
}

static const struct err *
request_add(struct request *rq, char *pair)
{
	char *value = strchr(pair, '=');
	long name_len, value_len = 0;

	if (value != NULL)
		*value++ = '\0';
	name_len = request_decode(pair, true);
	if (name_len <= 0 || strlen(pair) != (size_t)name_len)
		return err_field(ERR_REQUEST, 400, "", "the query string has "
		    "a parameter whose name is empty or malformed");
	if (value != NULL)
		value_len = request_decode(value, true);
	if (value_len < 0)
		return err_field(ERR_REQUEST, 400, pair,
		    "malformed percent-encoding");
	if (value != NULL && strlen(value) != (size_t)value_len)
		return err_field(ERR_REQUEST, 400, pair, "a NUL byte");
	for (size_t i = 0; i < rq->n_params; i++)
		if (strcmp(rq->params[i].name, pair) == 0)
			return err_field(ERR_REQUEST, 400, pair,
			    "given more than once");
	if (rq->n_params == REQUEST_PARAMS_MAX)
		return err_new(ERR_REQUEST, 400, "more than %u parameters",
		    REQUEST_PARAMS_MAX);
	rq->params[rq->n_params].name = pair;
	rq->params[rq->n_params++].value = value != NULL ? value : "";
	return NULL;
}

static const struct err *
request_parse_query(struct request *rq, const char *query)
{
	const struct err *e = NULL;
	char *next, *pair;

	if (query == NULL || *query == '\0')
		return NULL;
	if (strlen(query) > REQUEST_QUERY_MAX)
		return err_new(ERR_REQUEST, 414,
		    "the query string is longer than %u bytes",
		    REQUEST_QUERY_MAX);
	next = rq->text = strdup(query);
	if (next == NULL)
		return err_nomem();
	while (e == NULL && (pair = strsep(&next, "&")) != NULL)
		if (*pair != '\0')
			e = request_add(rq, pair);
	return e;
}

/* The path of "/a?b", of "http://host/a?b", and of either below a prefix. */
static const struct err *
request_parse_path(struct request *rq, char *uri, const char *prefix)
{
	size_t n = prefix != NULL ? strlen(prefix) : 0;
	char *scheme = strstr(uri, "://");

	if (*uri != '/' && scheme != NULL) {
		uri = strchr(scheme + 3, '/');
		if (uri == NULL)
			return err_new(ERR_REQUEST, 400, "no path");
	}
	uri[strcspn(uri, "?#")] = '\0';
	if (*uri != '/')
		return err_new(ERR_REQUEST, 400, "no path");
	if (strlen(uri) > REQUEST_PATH_MAX)
		return err_new(ERR_REQUEST, 414,
		    "the path is longer than %u bytes", REQUEST_PATH_MAX);
	while (n > 0 && prefix[n - 1] == '/')
		n--;
	if (n > 0 && strncmp(uri, prefix, n) == 0 && uri[n] == '/')
		uri += n;
	rq->path = uri;
	return NULL;
}

const struct err *
request_init(struct request *rq, const char *method, char *uri,
    const char *prefix, const char *query, int64_t now_ns)
{
	const struct err *e;

	*rq = (struct request){.host = "", .origin = "", .sec_fetch_site = "",
	    .if_none_match = "", .content_type = "", .content_encoding = "",
	    .idempotency_key = "", .sent = "", .path = "", .now_ns = now_ns};
	snprintf(rq->method, sizeof(rq->method), "%s", method);
	if ((e = request_parse_path(rq, uri, prefix)) != NULL)
		return e;
	return request_parse_query(rq, query);
}

void
request_fini(struct request *rq)
{
	buf_fini(&rq->body);
	free(rq->text);
	rq->text = NULL;
	rq->n_params = 0;
}

static const char *
request_find(const struct request *rq, const char *name)
{
	for (size_t i = 0; i < rq->n_params; i++)
		if (strcmp(rq->params[i].name, name) == 0)
			return rq->params[i].value;
	return NULL;
}

const char *
request_text(const struct request *rq, const char *name)
{
	const char *value = request_find(rq, name);

	return value != NULL && *value != '\0' ? value : NULL;
}

const struct err *
request_need(const struct request *rq, const char *name, const char **value)
{
	*value = request_text(rq, name);
	if (*value == NULL)
		return err_field(ERR_REQUEST, 400, name, "is missing");
	return NULL;
}

const struct err *
request_int(const struct request *rq, const char *name, int64_t min,
    int64_t max, int64_t fallback, int64_t *value)
{
	const char *text = request_find(rq, name);
	char *end;

	*value = fallback;
	if (text == NULL)
		return NULL;
	errno = 0;
	*value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || *text == ' ' || *text == '+')
		return err_field(ERR_REQUEST, 400, name,
		    "\"%.64s\" is not a whole number", text);
	if (errno != 0 || *value < min || *value > max)
		return err_field(ERR_REQUEST, 400, name,
		    "%.64s is not in %lld to %lld", text, (long long)min,
		    (long long)max);
	return NULL;
}

const struct err *
request_real(const struct request *rq, const char *name, double min,
    double max, double fallback, double *value)
{
	const char *text = request_find(rq, name);
	char *end;

	*value = fallback;
	if (text == NULL)
		return NULL;
	*value = strtod(text, &end);
	if (end == text || *end != '\0' ||
	    strspn(text, "0123456789.-") != strlen(text))
		return err_field(ERR_REQUEST, 400, name,
		    "\"%.64s\" is not a number", text);
	if (!(*value >= min && *value <= max))
		return err_field(ERR_REQUEST, 400, name,
		    "%.64s is not in %g to %g", text, min, max);
	return NULL;
}

const struct err *
request_choice(const struct request *rq, const char *name,
    const char *const *choices, size_t fallback, size_t *value)
{
	const char *text = request_text(rq, name);
	char list[200] = "";

	*value = fallback;
	if (text == NULL)
		return NULL;
	for (size_t i = 0; choices[i] != NULL; i++) {
		size_t n = strlen(list);

		if (strcmp(choices[i], text) == 0) {
			*value = i;
			return NULL;
		}
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
		    choices[i]);
	}
	return err_field(ERR_REQUEST, 400, name, "\"%.64s\" is none of %s",
	    text, list);
}

static const struct err *
request_time(const struct request *rq, const char *name, int64_t fallback,
    int64_t *ns)
{
	const char *text = request_text(rq, name);
	const struct err *e;

	*ns = fallback;
	if (text == NULL || (e = timespec_parse(text, rq->now_ns, ns)) == NULL)
		return NULL;
	return err_field(e->domain, e->code, name, "%s", e->text);
}

static const struct err *
request_check_range(const char *from, const char *until, int64_t from_ns,
    int64_t until_ns)
{
	if (from_ns >= until_ns)
		return err_field(ERR_REQUEST, 400, from, "is not before %s",
		    until);
	return NULL;
}

const struct err *
request_range(const struct request *rq, int64_t *from_ns, int64_t *until_ns)
{
	const struct err *e;
	int64_t hour = 3600 * NS_PER_S;

	if ((e = request_time(rq, "until", rq->now_ns, until_ns)) != NULL)
		return e;
	if (*until_ns > REQUEST_UNTIL_MAX)
		*until_ns = REQUEST_UNTIL_MAX;
	if ((e = request_time(rq, "from",
	    *until_ns > hour ? *until_ns - hour : 0, from_ns)) != NULL)
		return e;
	return request_check_range("from", "until", *from_ns, *until_ns);
}

const struct err *
request_range_of(const struct request *rq, const char *from,
    const char *until, int64_t *from_ns, int64_t *until_ns)
{
	const struct err *e;

	if ((e = request_time(rq, until, *until_ns, until_ns)) != NULL ||
	    (e = request_time(rq, from, *from_ns, from_ns)) != NULL)
		return e;
	if (*until_ns > REQUEST_UNTIL_MAX)
		*until_ns = REQUEST_UNTIL_MAX;
	return request_check_range(from, until, *from_ns, *until_ns);
}

const struct err *
request_unpack(struct request *rq)
{
	struct buf plain = {0};
	const struct err *e;

	if (rq->content_encoding[0] == '\0' ||
	    strcasecmp(rq->content_encoding, "identity") == 0)
		return NULL;
	if (strcasecmp(rq->content_encoding, "gzip") != 0)
		return err_new(ERR_REQUEST, 415, "Content-Encoding \"%.40s\": "
		    "gzip and identity are known", rq->content_encoding);
	e = gzip_inflate(&plain, rq->body.data, rq->body.len,
	    REQUEST_PLAIN_MAX);
	buf_fini(&rq->body);
	rq->body = plain;
	return e;
}
