/*
 * Requests come in as they were sent, in records of any size, whole or in
 * pieces, ordinary or not; and what is no request costs its connection alone.
 */
#include <fcgiapp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fcgi/inlet.h"
#include "store/base/buf.h"
#include "tests/unit/test.h"

enum { BEGIN = 1, ABORT = 2, PARAMS = 4, STDIN = 5 };

static uint64_t seed = 88172645463325252u;

static uint32_t
pick(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

/* ---- what a client sends ---- */

static void
put_record(struct buf *out, int type, const void *p, size_t n, size_t padding)
{
	uint8_t head[8] = {1, (uint8_t)type, 0, 1, (uint8_t)(n >> 8),
	    (uint8_t)n, (uint8_t)padding, 0};

	buf_put(out, head, sizeof(head));
	buf_put(out, p, n);
	while (padding-- > 0)
		buf_put_u8(out, 'x');
}

static void
put_begin(struct buf *out, int flags)
{
	uint8_t body[8] = {0, 1, (uint8_t)flags};

	put_record(out, BEGIN, body, sizeof(body), 0);
}

static void
put_param(struct buf *out, const char *name, const char *value, size_t padding)
{
	struct buf pair = {0};
	size_t n = strlen(value);

	buf_put_u8(&pair, (uint8_t)strlen(name));
	buf_put_be32(&pair, 1u << 31 | (uint32_t)n);
	buf_put(&pair, name, strlen(name));
	buf_put(&pair, value, n);
	put_record(out, PARAMS, pair.data, pair.len, padding);
	buf_fini(&pair);
}

static void
put_head(struct buf *out, const char *value)
{
	put_begin(out, 0);
	put_param(out, "NAME", value, 3);
	put_param(out, "OTHER", "thing", 0);
	put_record(out, PARAMS, NULL, 0, 0);
}

/* A body in records of at most `most` bytes. */
static void
put_body(struct buf *out, const uint8_t *p, size_t n, size_t most)
{
	while (n > 0) {
		size_t part = n < most ? n : 1 + pick((uint32_t)most);

		put_record(out, STDIN, p, part, pick(9));
		p += part;
		n -= part;
	}
	put_record(out, STDIN, NULL, 0, 0);
}

static void
some_body(struct buf *out, size_t n)
{
	buf_clear(out);
	while (out->len < n)
		buf_put_u8(out, (uint8_t)pick(256));
}

/* ---- the place where it comes in ---- */

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_len = sizeof(sa_family_t);
static int listening;
static struct inlet *in;
static FCGX_Request request;

static bool
begin(void)
{
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	/* a name of the kernel's choice */
	if (bind(listening, (struct sockaddr *)&address, address_len) < 0)
		return false;
	address_len = sizeof(address);
	if (getsockname(listening, (struct sockaddr *)&address,
	    &address_len) < 0 || listen(listening, 10) < 0)
		return false;
	in = inlet_new(listening);
	return in != NULL && inlet_init_request(&request);
}

static void
write_all(int fd, const uint8_t *p, size_t n)
{
	ssize_t done = 0;

	for (; n > 0 && done >= 0; p += done, n -= (size_t)done)
		done = send(fd, p, n, MSG_NOSIGNAL);
}

static int
client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK_INT(connect(fd, (struct sockaddr *)&address, address_len), 0);
	return fd;
}

/* What a process of its own sends in parts, which end at `cuts`, and then
 * reads: its status is 0 when an answer came to its end. */
static pid_t
send_apart(const struct buf *b, const size_t *cuts, size_t n_cuts)
{
	pid_t pid = fork();
	uint8_t last[16], byte;
	size_t at = 0, came = 0;
	int fd;

	if (pid != 0)
		return pid;
	fd = client();
	for (size_t i = 0; i < n_cuts; at = cuts[i++]) {
		write_all(fd, b->data + at, cuts[i] - at);
		usleep(5000);
	}
	write_all(fd, b->data + at, b->len - at);
	shutdown(fd, SHUT_WR);
	while (read(fd, &byte, 1) == 1) {
		memmove(last, last + 1, sizeof(last) - 1);
		last[sizeof(last) - 1] = byte;
		came++;
	}
	/* END_REQUEST, complete */
	_exit(came < 16 || last[0] != 1 || last[1] != 3 || last[12] != 0);
}

static bool
answered(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0;
}

static bool
has_param(const char *value)
{
	const char *name = FCGX_GetParam("NAME", request.envp);
	const char *other = FCGX_GetParam("OTHER", request.envp);

	return name != NULL && strcmp(name, value) == 0 && other != NULL &&
	    strcmp(other, "thing") == 0;
}

/* Reads in parts of at most `most` bytes, and answers. */
static void
take(struct buf *body, size_t n, size_t most)
{
	size_t got, part;

	buf_clear(body);
	do {
		part = n - body->len < most ? n - body->len : most;
		if (part < n - body->len)
			part = 1 + pick((uint32_t)most);
		buf_reserve(body, part);
		got = inlet_read(in, &request, body->data + body->len, part);
		body->len += got;
	} while (got > 0 && body->len < n);
	FCGX_PutS("Status: 200 OK\r\n\r\n", request.out);
	inlet_finish(in, &request);
}

static bool
same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	    (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* ---- the tests ---- */

/* As nginx sends them, and in any other sizes; longer heads than a page. */
TEST(requests_come_in_as_they_were_sent)
{
	static const size_t records[] = {32768, 65535, 1, 100, 8192};
	struct buf sent = {0}, body = {0}, got = {0};
	char value[10000];

	for (int i = 0; i < 60; i++) {
		size_t most = records[pick(5)];
		size_t n = pick(4) == 0 ? 0 : pick(most == 1 ? 300 : 400000);
		size_t length = pick(5) == 0 ? sizeof(value) - 1 : pick(2000);
		size_t cuts[3];
		pid_t pid;

		memset(value, 'v', length);
		value[length] = '\0';
		some_body(&body, n);
		buf_clear(&sent);
		put_head(&sent, value);
		put_body(&sent, body.data, n, most);
		cuts[0] = pick((uint32_t)sent.len);
		cuts[1] = cuts[0] + pick((uint32_t)(sent.len - cuts[0]));
		pid = send_apart(&sent, cuts, pick(3));
		CHECK(inlet_accept(in, &request));
		CHECK(has_param(value));
		take(&got, n, pick(2) ? n : 5000);
		CHECK(same(&got, &body));
		CHECK(answered(pid));
	}
	buf_fini(&sent);
	buf_fini(&body);
	buf_fini(&got);
}

/* A body that nobody reads, and one that is longer than is read. */
TEST(what_is_not_read_keeps_no_answer_back)
{
	struct buf sent = {0}, body = {0}, got = {0};

	some_body(&body, 100000);
	for (size_t n = 0; n <= 50000; n += 50000) {
		pid_t pid;

		buf_clear(&sent);
		put_head(&sent, "left");
		put_body(&sent, body.data, body.len, 32768);
		pid = send_apart(&sent, NULL, 0);
		CHECK(inlet_accept(in, &request));
		take(&got, n, 32768);
		CHECK_INT(got.len, n);
		CHECK(n == 0 || memcmp(got.data, body.data, n) == 0);
		CHECK(answered(pid));
	}
	buf_fini(&sent);
	buf_fini(&body);
	buf_fini(&got);
}

TEST(short_bodies_end_where_they_do)
{
	struct buf sent = {0}, got = {0};
	pid_t pid;

	put_head(&sent, "short");
	put_body(&sent, (const uint8_t *)"hello", 5, 100);
	pid = send_apart(&sent, NULL, 0);
	CHECK(inlet_accept(in, &request));
	take(&got, 10, 10);
	CHECK_INT(got.len, 5);
	CHECK(answered(pid));
	/* cut off in a record, and in the head of one */
	for (size_t cut = 2; cut < 20; cut += 7) {
		buf_clear(&sent);
		put_head(&sent, "cut");
		put_record(&sent, STDIN, "hello, you", 10, 0);
		put_record(&sent, STDIN, NULL, 0, 0);
		sent.len -= cut;
		pid = send_apart(&sent, NULL, 0);
		CHECK(inlet_accept(in, &request));
		take(&got, 20, 20);
		CHECK(got.len <= 10 && memcmp(got.data, "hello, you",
		    got.len) == 0);
		waitpid(pid, NULL, 0);
	}
	buf_fini(&sent);
	buf_fini(&got);
}

/* A record of another kind or of another request ends the body. */
TEST(foreign_records_end_the_body)
{
	struct buf sent = {0}, got = {0};

	for (int other = 0; other < 2; other++) {
		size_t at;
		pid_t pid;

		buf_clear(&sent);
		put_head(&sent, "foreign");
		put_record(&sent, STDIN, "hello", 5, 1);
		at = sent.len;
		put_record(&sent, other ? STDIN : ABORT, "bad", other ? 3 : 0,
		    0);
		sent.data[at + 3] = other ? 2 : 1;
		put_record(&sent, STDIN, "worse", 5, 0);
		put_record(&sent, STDIN, NULL, 0, 0);
		pid = send_apart(&sent, NULL, 0);
		CHECK(inlet_accept(in, &request));
		take(&got, 5, 5);
		CHECK_INT(got.len, 5);
		waitpid(pid, NULL, 0);
	}
	buf_fini(&sent);
	buf_fini(&got);
}

/* Flags that nginx does not set: libfcgi keeps the connection. */
TEST(kept_connections_are_libfcgis)
{
	struct buf sent = {0}, got = {0};
	int fd;

	put_begin(&sent, 1);
	put_param(&sent, "NAME", "kept", 0);
	put_param(&sent, "OTHER", "thing", 0);
	put_record(&sent, PARAMS, NULL, 0, 0);
	put_body(&sent, (const uint8_t *)"hello", 5, 100);
	fd = client();
	write_all(fd, sent.data, sent.len);
	CHECK(inlet_accept(in, &request));
	CHECK(has_param("kept"));
	take(&got, 5, 5);
	CHECK(got.len == 5 && memcmp(got.data, "hello", 5) == 0);
	close(fd);
	buf_fini(&sent);
	buf_fini(&got);
}

/* Bytes changed anywhere, names longer than what follows, connections on
 * which nothing comes: the next request is answered as ever. */
TEST(garbage_costs_its_connection_alone)
{
	struct buf sent = {0}, good = {0}, got = {0};

	put_head(&good, "good");
	put_body(&good, (const uint8_t *)"hello", 5, 100);
	for (int i = 0; i < 200; i++) {
		int bad = client(), fd;

		buf_clear(&sent);
		put_head(&sent, "bad");
		put_body(&sent, (const uint8_t *)"hello", 5, 100);
		for (uint32_t k = 1 + pick(3); k > 0; k--)
			sent.data[pick((uint32_t)sent.len)] ^=
			    (uint8_t)(1 + pick(255));
		if (i % 10 == 0) /* a name as long as it can be */
			sent.data[16 + 8] = 0x7f;
		write_all(bad, sent.data, i % 7 == 0 ? 0 : sent.len);
		shutdown(bad, SHUT_WR);
		fd = client();
		write_all(fd, good.data, good.len);
		/* some of those that were changed are requests still */
		for (bool last = false; !last && test_bad == 0;) {
			CHECK(inlet_accept(in, &request));
			last = has_param("good");
			take(&got, 5, 5);
		}
		CHECK(got.len == 5 && memcmp(got.data, "hello", 5) == 0);
		close(bad);
		close(fd);
	}
	buf_fini(&sent);
	buf_fini(&good);
	buf_fini(&got);
}

int
main(void)
{
	if (!begin()) {
		printf("not ok - a socket to listen on\n");
		return 1;
	}
	RUN(requests_come_in_as_they_were_sent);
	RUN(what_is_not_read_keeps_no_answer_back);
	RUN(short_bodies_end_where_they_do);
	RUN(foreign_records_end_the_body);
	RUN(kept_connections_are_libfcgis);
	RUN(garbage_costs_its_connection_alone);
	FCGX_Free(&request, 1);
	inlet_free(in);
	close(listening);
	return test_done();
}
