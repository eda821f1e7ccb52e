/*
 * The scraper's HTTP client.  It is compiled into this test, because no
 * library holds it: answers whole, cut, chunked, endless and hostile.
 */
#include "tests/unit/test.h"

#include "collector/scrape/scrape_http.c" /* NOLINT: see above */

#include "store/base/clock.h"

#include <arpa/inet.h>
#include <pthread.h>

static struct buf body;
static int status;

static enum http_state
answer(const char *text, bool eof)
{
	struct buf in = {0};
	enum http_state state;

	buf_put(&in, text, strlen(text));
	status = 0;
	buf_clear(&body);
	state = http_answer(&in, eof, &status, &body);
	buf_put_u8(&body, 0);
	buf_fini(&in);
	return state;
}

#define BODY ((const char *)body.data)

TEST(whole_answers)
{
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
	    false), HTTP_DONE);
	CHECK_INT(status, 200);
	CHECK_STR(BODY, "abc");
	CHECK_INT(answer("HTTP/1.0 404 No\ncontent-length:0\n\n", false),
	    HTTP_DONE);
	CHECK_INT(status, 404);
	CHECK_STR(BODY, "");
	CHECK_INT(answer("HTTP/1.1 200 OK\r\n\r\nabc", false), HTTP_BUSY);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\n\r\nabc", true), HTTP_DONE);
	CHECK_STR(BODY, "abc");
}

TEST(chunks)
{
	const char *text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n3\r\nabc\r\n10;ext=1\r\n0123456789abcdef\r\n0\r\n\r\n";
	char cut[200];

	CHECK_INT(answer(text, false), HTTP_DONE);
	CHECK_STR(BODY, "abc0123456789abcdef");
	/* the last chunk's line is enough; every shorter cut is not */
	for (size_t n = 0; n + 3 <= strlen(text); n++) {
		snprintf(cut, sizeof(cut), "%.*s", (int)n, text);
		CHECK_INT(answer(cut, false), n < strlen(text) - 2 ?
		    HTTP_BUSY : HTTP_DONE);
		if (n < strlen(text) - 2)
			CHECK_INT(answer(cut, true), HTTP_FAILED);
	}
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "\r\nzz\r\n", false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n7fffffffffffffff\r\n", false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n3\r\nabcdef\r\n", false), HTTP_FAILED);
}

TEST(hostile_answers)
{
	CHECK_INT(answer("", true), HTTP_FAILED);
	CHECK_INT(answer("", false), HTTP_BUSY);
	CHECK_INT(answer("SSH-2.0-x\r\n\r\n", false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1\n\n", false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
	    true), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
	    false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n"
	    "\r\n", false), HTTP_FAILED);
	CHECK_INT(answer("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
	    false), HTTP_FAILED);
}

TEST(urls)
{
	struct http_url url;

	CHECK_OK(http_url_parse("http://127.0.0.1:18501/a?b=c", &url));
	CHECK_STR(url.host, "127.0.0.1:18501");
	CHECK_STR(url.path, "/a?b=c");
	CHECK_INT(ntohs(((struct sockaddr_in *)&url.address)->sin_port),
	    18501);
	CHECK_OK(http_url_parse("HTTP://[::1]:80", &url));
	CHECK_STR(url.path, "/");
	CHECK_INT(url.address.ss_family, AF_INET6);
	CHECK(http_url_parse("https://127.0.0.1/", &url) != NULL);
	CHECK(http_url_parse("http:///x", &url) != NULL);
	CHECK(http_url_parse("http://127.0.0.1/a b", &url) != NULL);
	CHECK(http_url_parse("http://127.0.0.1/\r\nX: y", &url) != NULL);
	CHECK(http_url_parse("http://127.0.0.1:port/", &url) != NULL);
}

/* A server that listens, and what it does with its one client. */
struct peer {
	int listening;
	const char *text; /* NULL: never answers */
	char request[400];
};

static void *
peer_main(void *arg)
{
	struct peer *p = arg;
	int fd = accept(p->listening, NULL, NULL);
	ssize_t n = recv(fd, p->request, sizeof(p->request) - 1, 0);

	p->request[n > 0 ? n : 0] = '\0';
	if (p->text != NULL)
		send(fd, p->text, strlen(p->text), MSG_NOSIGNAL);
	else
		recv(fd, &n, 1, 0); /* until the client gives up */
	close(fd);
	return NULL;
}

static void
fetch(struct peer *p, struct http_get *g, int64_t deadline_ms)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	struct http_url url;
	pthread_t thread;
	char text[100];

	p->listening = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(p->listening, (struct sockaddr *)&at, len) == 0);
	CHECK(listen(p->listening, 1) == 0);
	getsockname(p->listening, (struct sockaddr *)&at, &len);
	snprintf(text, sizeof(text), "http://127.0.0.1:%d/metrics",
	    ntohs(at.sin_port));
	CHECK_OK(http_url_parse(text, &url));
	pthread_create(&thread, NULL, peer_main, p);
	http_get_start(g, &url, clock_mono_ns() + deadline_ms * NS_PER_MS);
	while (g->state == HTTP_BUSY) {
		struct pollfd fd = {g->fd, http_get_events(g), 0};

		poll(&fd, 1, 5);
		http_get_step(g, clock_mono_ns());
	}
	pthread_join(thread, NULL);
	close(p->listening);
}

TEST(one_request)
{
	struct peer p = {-1, "HTTP/1.1 200 OK\r\n\r\nx 1\n", ""};
	struct http_get g;

	fetch(&p, &g, 60000);
	CHECK_INT(g.state, HTTP_DONE);
	CHECK_INT(g.body.len, 4);
	CHECK(strncmp(p.request, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:",
	    39) == 0);
	CHECK(strstr(p.request, "\r\n\r\n") != NULL);
	http_get_fini(&g);
}

TEST(never_answers)
{
	struct peer p = {-1, NULL, ""};
	int64_t before = clock_mono_ns();
	struct http_get g;

	fetch(&p, &g, 100);
	CHECK_INT(g.state, HTTP_FAILED);
	CHECK_STR(g.why, "no answer in time");
	CHECK(clock_mono_ns() - before >= 100 * NS_PER_MS);
	CHECK_INT(g.fd, -1);
	http_get_fini(&g);
}

TEST(nobody_there)
{
	struct http_url url;
	struct http_get g;

	CHECK_OK(http_url_parse("http://127.0.0.1:1/", &url));
	http_get_start(&g, &url, clock_mono_ns() + NS_PER_S);
	while (g.state == HTTP_BUSY)
		http_get_step(&g, clock_mono_ns());
	CHECK_INT(g.state, HTTP_FAILED);
	http_get_fini(&g);
}

int
main(void)
{
	RUN(whole_answers);
	RUN(chunks);
	RUN(hostile_answers);
	RUN(urls);
	RUN(one_request);
	RUN(never_answers);
	RUN(nobody_there);
	buf_fini(&body);
	return test_done();
}
