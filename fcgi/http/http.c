/*
 * libcurl's multi interface, by a table of its functions.  A connection is
 * closed after its answer: targets are neighbours, and some of them do not
 * notice that an idle client has gone.
 */
#include "fcgi/http/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/http/http_curl.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define HTTP_LIBRARY "libcurl-gnutls.so.4"

struct http {
	CURLM *multi;
	char *agent, *ca;
};

/* ---- the library ---- */

static struct http_curl http_curl;

const struct err *
http_curl_load(const struct http_curl **out)
{
	static bool loaded;
	void *so;

	*out = &http_curl;
	if (loaded)
		return NULL;
	if ((so = dlopen(HTTP_LIBRARY, RTLD_NOW | RTLD_LOCAL)) == NULL)
		return err_new(ERR_CONFIG, 0, "%s", dlerror());
#define HTTP_CURL_LOAD(name)                                                   \
	if ((*(void **)&http_curl.name = dlsym(so, "curl_" #name)) == NULL)    \
		return err_new(ERR_CONFIG, 0, "%s", dlerror());
	HTTP_CURL_FUNCTIONS(HTTP_CURL_LOAD)
#undef HTTP_CURL_LOAD
	if (http_curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_nomem();
	loaded = true;
	return NULL;
}

const struct err *
http_new(struct http **out, const char *agent, const char *ca)
{
	const struct http_curl *curl;
	const struct err *e = http_curl_load(&curl);
	struct http *h;

	*out = NULL;
	if (e != NULL)
		return e;
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return err_nomem();
	h->multi = curl->multi_init();
	h->agent = strdup(agent);
	h->ca = ca != NULL ? strdup(ca) : NULL;
	if (h->multi == NULL || h->agent == NULL ||
	    (h->ca == NULL) != (ca == NULL)) {
		http_free(h);
		return err_nomem();
	}
	*out = h;
	return NULL;
}

void
http_free(struct http *h)
{
	if (h == NULL)
		return;
	http_curl.multi_cleanup(h->multi);
	free(h->agent);
	free(h->ca);
	free(h);
}

/* ---- what comes ---- */

static size_t
http_take_head(char *data, size_t size, size_t n, void *arg)
{
	struct http_answer *a = arg;

	/* an empty line ends it, but what it ends may only be a 100; fields
	 * that come behind a chunked body (trailers) have none of their own */
	if (size * n >= 5 && memcmp(data, "HTTP/", 5) == 0)
		a->head_whole = false;
	else if (n > 0 && (data[0] == '\r' || data[0] == '\n'))
		a->head_whole = true;
	a->head += size * n;
	return a->head <= HTTP_HEAD_MAX ? size * n : 0;
}

static size_t
http_take_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_answer *a = arg;

	if (size * n > a->answer_max - a->body.len)
		return 0;
	buf_put(&a->body, data, size * n);
	return a->body.failed ? 0 : size * n;
}

/* Why there is no answer, in our words where they say more. */
static void
http_explain(struct http_answer *a, CURLcode bad)
{
	const char *why = a->detail;
	char what[80];
	long os = 0;

	http_curl.easy_getinfo(a->easy, CURLINFO_OS_ERRNO, &os);
	snprintf(what, sizeof(what), "an answer over %zu bytes",
	    a->answer_max);
	if (bad == CURLE_OPERATION_TIMEDOUT)
		why = "no answer in time";
	else if (bad == CURLE_FILESIZE_EXCEEDED ||
	    (bad == CURLE_WRITE_ERROR && !a->body.failed &&
	        a->head <= HTTP_HEAD_MAX))
		why = what;
	else if (bad == CURLE_WRITE_ERROR)
		why = a->body.failed ? "out of memory"
		                     : "a header over its bounds";
	else if (bad == CURLE_PARTIAL_FILE || bad == CURLE_GOT_NOTHING)
		why = "the answer is cut short";
	else if (bad == CURLE_UNSUPPORTED_PROTOCOL ||
	    bad == CURLE_WEIRD_SERVER_REPLY)
		why = "the answer is not HTTP";
	else if (bad == CURLE_COULDNT_CONNECT && os != 0)
		why = strerror((int)os);
	else if (why[0] == '\0')
		why = http_curl.easy_strerror(bad);
	snprintf(a->why, sizeof(a->why), "%s", why);
}

static void
http_finish(struct http *h, struct http_answer *a, CURLcode bad)
{
	long status = 0;

	if (bad == CURLE_OK && !a->head_whole)
		bad = CURLE_PARTIAL_FILE; /* to libcurl that is an answer */
	http_curl.easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	a->status = (int)status;
	a->state = bad == CURLE_OK ? HTTP_DONE
	    : bad == CURLE_OPERATION_TIMEDOUT ? HTTP_LATE : HTTP_FAILED;
	if (bad != CURLE_OK)
		http_explain(a, bad);
	http_curl.multi_remove_handle(h->multi, a->easy);
}

static void
http_go_on(struct http *h)
{
	int running, left;
	CURLMsg *m;

	http_curl.multi_perform(h->multi, &running);
	while ((m = http_curl.multi_info_read(h->multi, &left)) != NULL) {
		CURLcode bad = m->data.result;
		char *a;

		if (m->msg != CURLMSG_DONE)
			continue;
		http_curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &a);
		http_finish(h, (struct http_answer *)(void *)a, bad);
	}
}

void
http_wait(struct http *h, int fd, int timeout_ms)
{
	struct curl_waitfd more = {.fd = fd, .events = CURL_WAIT_POLLIN};

	http_curl.multi_poll(h->multi, &more, fd >= 0, timeout_ms, NULL);
	http_go_on(h);
}

/* ---- a request ---- */

/* Appends to a list of curl's; false when out of memory. */
static bool
http_list(void *list, const char *prefix, const char *text)
{
	struct curl_slist **at = list, *more = NULL;
	char *line;

	if (asprintf(&line, "%s%s", prefix, text) >= 0) {
		more = http_curl.slist_append(*at, line);
		free(line);
	}
	if (more != NULL)
		*at = more;
	return more != NULL;
}

static bool
http_set_lists(struct http_answer *a, const struct http_request *rq)
{
	const struct http_place *p = rq->place;

	if (!http_list(&a->headers, "Connection: ", "close") ||
	    !http_list(&a->headers, "Expect:", "") ||
	    !http_list(&a->headers, "Accept: ", rq->accept ? rq->accept
	                                                   : "*/*") ||
	    (rq->type != NULL &&
	        !http_list(&a->headers, "Content-Type: ", rq->type)) ||
	    (p->address[0] != '\0' &&
	        !http_list(&a->resolved, "", p->address)))
		return false;
	http_curl.easy_setopt(a->easy, CURLOPT_HTTPHEADER, a->headers);
	http_curl.easy_setopt(a->easy, CURLOPT_RESOLVE, a->resolved);
	return true;
}

static void
http_set_bounds(struct http_answer *a, const struct http_request *rq)
{
	CURL *c = a->easy;

	http_curl.easy_setopt(c, CURLOPT_TIMEOUT_MS,
	    (long)((rq->timeout_ns + NS_PER_MS - 1) / NS_PER_MS));
	http_curl.easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE,
	    (curl_off_t)rq->answer_max);
	http_curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	http_curl.easy_setopt(c, CURLOPT_HTTP_VERSION,
	    (long)CURL_HTTP_VERSION_1_1);
	http_curl.easy_setopt(c, CURLOPT_PROXY, "");
	http_curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	http_curl.easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
}

/* False when out of memory; what else is wrong the transfer says. */
static bool
http_set(struct http *h, struct http_answer *a, const struct http_request *rq)
{
	const struct http_place *p = rq->place;
	CURL *c = a->easy;
	char *url;

	if (asprintf(&url, "%s%s", p->base, rq->path ? "/" : p->path) < 0)
		return false;
	http_curl.easy_setopt(c, CURLOPT_URL, url);
	free(url);
	if (rq->path != NULL) /* it would encode bytes over 0x7f of a URL */
		http_curl.easy_setopt(c, CURLOPT_REQUEST_TARGET, rq->path);
	http_curl.easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
	http_curl.easy_setopt(c, CURLOPT_USERAGENT, h->agent);
	if (p->socket[0] != '\0')
		http_curl.easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, p->socket);
	if (h->ca != NULL)
		http_curl.easy_setopt(c, CURLOPT_CAINFO, h->ca);
	if (rq->type != NULL) {
		http_curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)rq->n_body);
		http_curl.easy_setopt(c, CURLOPT_POSTFIELDS,
		    rq->body != NULL ? rq->body : "");
	}
	http_curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, http_take_head);
	http_curl.easy_setopt(c, CURLOPT_HEADERDATA, a);
	http_curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, http_take_body);
	http_curl.easy_setopt(c, CURLOPT_WRITEDATA, a);
	http_curl.easy_setopt(c, CURLOPT_PRIVATE, a);
	http_curl.easy_setopt(c, CURLOPT_ERRORBUFFER, a->detail);
	http_set_bounds(a, rq);
	return http_set_lists(a, rq);
}

void
http_start(struct http *h, const struct http_request *rq,
    struct http_answer *a)
{
	*a = (struct http_answer){.state = HTTP_BUSY,
	    .answer_max = rq->answer_max, .easy = http_curl.easy_init()};
	if (a->easy == NULL || !http_set(h, a, rq) ||
	    http_curl.multi_add_handle(h->multi, a->easy) != CURLM_OK) {
		a->state = HTTP_FAILED;
		snprintf(a->why, sizeof(a->why), "out of memory");
		return;
	}
	http_go_on(h);
}

void
http_end(struct http *h, struct http_answer *a)
{
	if (a->state == HTTP_BUSY)
		http_curl.multi_remove_handle(h->multi, a->easy);
	if (a->easy != NULL)
		http_curl.easy_cleanup(a->easy);
	http_curl.slist_free_all(a->headers);
	http_curl.slist_free_all(a->resolved);
	buf_fini(&a->body);
	*a = (struct http_answer){.state = HTTP_NONE};
}
