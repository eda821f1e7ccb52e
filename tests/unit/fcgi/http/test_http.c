/*
 * The HTTP client against servers that answer whole, cut, chunked, too much,
 * nonsense or never, by TCP and by a unix socket; and the URLs that it takes.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fcgi/http/http.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define BODY_MAX 1000

/* A server that listens, and what it says to its one client. */
struct peer {
	int listening;
	const char *text; /* NULL: nothing, until the client gives up */
	size_t n;
	char request[2000];
};

static struct http *h;
static char told[400]; /* "STATUS BODY", or why not */
static enum http_state state;

static void *
peer_main(void *arg)
{
	struct peer *p = arg;
	int fd = accept(p->listening, NULL, NULL);
	ssize_t n = recv(fd, p->request, sizeof(p->request) - 1, 0);

	p->request[n > 0 ? n : 0] = '\0';
	if (p->text != NULL)
		send(fd, p->text, p->n, MSG_NOSIGNAL);
	else
		recv(fd, &n, 1, 0);
	shutdown(fd, SHUT_WR);
	recv(fd, &n, 1, 0); /* unread bytes would make a reset of the end */
	close(fd);
	return NULL;
}

static void
peer_listen(struct peer *p, char *url, size_t size)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	p->listening = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(p->listening, (struct sockaddr *)&at, len) == 0);
	CHECK(listen(p->listening, 1) == 0);
	getsockname(p->listening, (struct sockaddr *)&at, &len);
	snprintf(url, size, "http://127.0.0.1:%d/metrics?a=b",
	    ntohs(at.sin_port));
}

static void
finish(struct http_answer *a)
{
	while (a->state == HTTP_BUSY)
		http_wait(h, -1, 1000);
	state = a->state;
	if (state == HTTP_DONE)
		snprintf(told, sizeof(told), "%d %.*s", a->status,
		    (int)a->body.len, a->body.len ? (char *)a->body.data : "");
	else
		snprintf(told, sizeof(told), "%s", a->why);
	http_end(h, a);
}

static const char *
ask_peer(struct peer *p, const char *url, const char *type, int64_t ms)
{
	struct http_place place;
	struct http_answer a = {.state = HTTP_NONE};
	pthread_t thread;

	CHECK_OK(http_place_parse(&place, url, true));
	pthread_create(&thread, NULL, peer_main, p);
	http_start(h, &(struct http_request){.place = &place, .type = type,
	    .body = "{}", .n_body = 2, .timeout_ns = ms * NS_PER_MS,
	    .answer_max = BODY_MAX}, &a);
	finish(&a);
	pthread_join(thread, NULL);
	close(p->listening);
	return told;
}

static const char *
ask_n(const char *text, size_t n)
{
	struct peer p = {.text = text, .n = n};
	char url[100];

	peer_listen(&p, url, sizeof(url));
	return ask_peer(&p, url, NULL, 60000);
}

static const char *
ask(const char *text)
{
	return ask_n(text, strlen(text));
}

#define H "HTTP/1.1 200 OK\r\n"
#define CHUNKED H "Transfer-Encoding: chunked\r\n\r\n"

TEST(whole_answers)
{
	CHECK_STR(ask(H "Content-Length: 3\r\n\r\nabc"), "200 abc");
	CHECK_STR(ask(H "content-length:  3 \r\n\r\nabcdef"), "200 abc");
	CHECK_STR(ask("HTTP/1.0 404 No\ncontent-length:0\n\n"), "404 ");
	CHECK_STR(ask("HTTP/1.0 404 Not Found\r\n\r\n"), "404 ");
	CHECK_STR(ask(H "\r\nto the end"), "200 to the end");
	CHECK_STR(ask("HTTP/1.1 302 Found\r\nLocation: /x\r\n"
	    "Content-Length: 0\r\n\r\n"), "302 ");
}

TEST(chunks)
{
	const char *text = CHUNKED "3\r\nabc\r\n10;ext=1\r\n"
	    "0123456789abcdef\r\n0\r\n\r\n";

	CHECK_STR(ask(text), "200 abc0123456789abcdef");
	CHECK_STR(ask(CHUNKED "3\r\nabc\r\n0\r\nSum: 1\r\nEnd: 2\r\n\r\n"),
	    "200 abc");
	CHECK_STR(ask("HTTP/1.1 100 Continue\r\n\r\n" CHUNKED
	    "3\r\nabc\r\n0\r\n\r\n"), "200 abc");
	ask("HTTP/1.1 100 Continue\r\n\r\n" H);
	CHECK_INT(state, HTTP_FAILED);
	for (size_t n = 0; n + 5 <= strlen(text); n += 3) {
		ask_n(text, n);
		CHECK_INT(state, HTTP_FAILED);
	}
	ask(CHUNKED "zz\r\n");
	CHECK_INT(state, HTTP_FAILED);
	ask(CHUNKED "-1\r\nabc\r\n");
	CHECK_INT(state, HTTP_FAILED);
	ask(CHUNKED "7fffffffffffffff\r\nabc");
	CHECK_INT(state, HTTP_FAILED);
	ask(CHUNKED "3\r\nabcdef\r\n");
	CHECK_INT(state, HTTP_FAILED);
}

TEST(hostile_answers)
{
	static const char *const bad[] = {"", "x", "\r\n\r\n",
	    "SSH-2.0-x\r\n\r\n", "HTTP/1.1\n\n", H,
	    H "Content-Length: 9\r\n\r\nabc",
	    H "Content-Length: x\r\n\r\nabc",
	    H "Content-Length: 99999999999999999999\r\n\r\n", CHUNKED};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ask(bad[i]);
		if (state != HTTP_FAILED)
			printf("# %zu: %s\n", i, told);
		CHECK_INT(state, HTTP_FAILED);
		CHECK(told[0] != '\0');
	}
	CHECK_STR(ask(H "Content-Length: 9\r\n\r\nabc"),
	    "the answer is cut short");
	CHECK_STR(ask("SSH-2.0-x\r\n\r\n"), "the answer is not HTTP");
}

TEST(every_size_is_bounded)
{
	char text[HTTP_HEAD_MAX + 2000], *end = text + sizeof(text);

	CHECK_STR(ask(H "Content-Length: 1001\r\n\r\nabc"),
	    "an answer over 1000 bytes");
	memset(text, 'a', sizeof(text));
	memcpy(text, H "\r\n", strlen(H) + 2);
	CHECK_STR(ask_n(text, 1200), "an answer over 1000 bytes");
	memcpy(text, CHUNKED "fff\r\n", strlen(CHUNKED) + 5);
	CHECK_STR(ask_n(text, 3000), "an answer over 1000 bytes");
	memset(text, 'a', sizeof(text));
	memcpy(text, H "A: ", strlen(H) + 3);
	memcpy(end - 4, "\r\n\r\n", 4);
	CHECK_STR(ask_n(text, sizeof(text)), "a header over its bounds");
}

TEST(a_request_says_what_it_must_in_one_packet)
{
	struct peer p = {.text = H "\r\n", .n = strlen(H) + 2};
	char url[100], host[100];

	peer_listen(&p, url, sizeof(url));
	snprintf(host, sizeof(host), "\r\nHost: %.*s\r\n",
	    (int)strcspn(url + 7, "/"), url + 7);
	ask_peer(&p, url, NULL, 60000);
	CHECK(strncmp(p.request, "GET /metrics?a=b HTTP/1.1\r\n", 27) == 0);
	CHECK(strstr(p.request, host) != NULL);
	CHECK(strstr(p.request, "\r\nConnection: close\r\n") != NULL);
	CHECK(strstr(p.request, "\r\nUser-Agent: test\r\n") != NULL);
	peer_listen(&p, url, sizeof(url));
	ask_peer(&p, url, "application/json", 60000);
	CHECK(strncmp(p.request, "POST ", 5) == 0);
	CHECK(strstr(p.request, "\r\nContent-Type: application/json\r\n"));
	CHECK(strstr(p.request, "\r\nContent-Length: 2\r\n") != NULL);
	CHECK(strstr(p.request, "\r\n\r\n{}") != NULL);
	CHECK(strstr(p.request, "Expect") == NULL);
}

TEST(who_never_answers_is_late)
{
	struct peer p = {.text = NULL};
	int64_t before = clock_mono_ns();
	char url[100];

	peer_listen(&p, url, sizeof(url));
	CHECK_STR(ask_peer(&p, url, NULL, 100), "no answer in time");
	CHECK_INT(state, HTTP_LATE);
	CHECK(clock_mono_ns() - before >= 99 * NS_PER_MS);
}

TEST(nobody_there)
{
	struct http_answer a = {.state = HTTP_NONE};
	struct http_place place;

	CHECK_OK(http_place_parse(&place, "http://127.0.0.1:1/", true));
	http_start(h, &(struct http_request){.place = &place,
	    .timeout_ns = 60 * NS_PER_S, .answer_max = 1}, &a);
	finish(&a);
	CHECK_STR(told, "Connection refused");
}

TEST(a_unix_socket)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct peer p = {.text = H "Content-Length: 2\r\n\r\nok"};
	char dir[] = "/tmp/http-XXXXXX", url[200];

	p.n = strlen(p.text);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/sock", dir);
	p.listening = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(p.listening, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(p.listening, 1) == 0);
	snprintf(url, sizeof(url), "unix:%s:/stats?x=1", at.sun_path);
	CHECK_STR(ask_peer(&p, url, NULL, 60000), "200 ok");
	CHECK(strncmp(p.request, "GET /stats?x=1 HTTP/1.1\r\n", 25) == 0);
	unlink(at.sun_path);
	rmdir(dir);
}

TEST(several_at_once)
{
	struct peer p[3] = {{.text = NULL}, {.text = H "\r\n1"},
	    {.text = H "\r\n2"}};
	struct http_answer a[3] = {{.state = HTTP_NONE}};
	struct http_place place[3];
	pthread_t thread[3];
	char url[100];

	for (int i = 0; i < 3; i++) {
		p[i].n = p[i].text != NULL ? strlen(p[i].text) : 0;
		peer_listen(&p[i], url, sizeof(url));
		CHECK_OK(http_place_parse(&place[i], url, true));
		pthread_create(&thread[i], NULL, peer_main, &p[i]);
		http_start(h, &(struct http_request){.place = &place[i],
		    .timeout_ns = 60 * NS_PER_S, .answer_max = 9}, &a[i]);
	}
	while (a[1].state == HTTP_BUSY || a[2].state == HTTP_BUSY)
		http_wait(h, -1, 1000);
	CHECK_INT(a[0].state, HTTP_BUSY);
	finish(&a[2]);
	CHECK_STR(told, "200 2");
	finish(&a[1]);
	CHECK_STR(told, "200 1");
	http_end(h, &a[0]); /* which is broken off */
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		close(p[i].listening);
	}
}

TEST(urls)
{
	static const char *const bad[] = {"ftp://127.0.0.1/", "http:///x",
	    "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y",
	    "http://127.0.0.1:port/", "http://u@127.0.0.1/", "unix:",
	    "unix:relative", "unix:/a:b", "127.0.0.1:80", ""};
	struct http_place p;

	CHECK_OK(http_place_parse(&p, "http://127.0.0.1:18501/a?b=c", true));
	CHECK_STR(p.name, "127.0.0.1:18501");
	CHECK_STR(p.base, "http://127.0.0.1:18501");
	CHECK_STR(p.path, "/a?b=c");
	CHECK_OK(http_place_parse(&p, "HTTP://[::1]", true));
	CHECK_STR(p.name, "[::1]:80");
	CHECK_STR(p.path, "/");
	CHECK_OK(http_place_parse(&p, "https://127.0.0.1/", true));
	CHECK_STR(p.base, "https://127.0.0.1:443");
	CHECK_OK(http_place_parse(&p, "unix:/run/kv.sock", true));
	CHECK_STR(p.socket, "/run/kv.sock");
	CHECK_STR(p.name, "/run/kv.sock");
	CHECK_STR(p.path, "/");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (http_place_parse(&p, bad[i], true) == NULL)
			printf("# accepted: %s\n", bad[i]);
		CHECK(http_place_parse(&p, bad[i], true) != NULL);
	}
	/* a name is looked up at once, or not at all */
	CHECK_OK(http_place_parse(&p, "http://localhost:7", false));
	CHECK_STR(p.address, "localhost:7:127.0.0.1");
	CHECK_OK(http_place_parse(&p, "http://[::1]:7", false));
	CHECK(http_place_parse(&p, "http://example.org", false) != NULL);
}

int
main(void)
{
	CHECK_OK(http_new(&h, "test", NULL));
	RUN(whole_answers);
	RUN(chunks);
	RUN(hostile_answers);
	RUN(every_size_is_bounded);
	RUN(a_request_says_what_it_must_in_one_packet);
	RUN(who_never_answers_is_late);
	RUN(nobody_there);
	RUN(a_unix_socket);
	RUN(several_at_once);
	RUN(urls);
	http_free(h);
	return test_done();
}
