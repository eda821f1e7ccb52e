/*
 * The socket, from both sides: store/batch/batch_client.c in a thread against
 * collector/ipc/intake.c in a loop; bounds, refusals, slow and rude clients.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/base/loop.h"
#include "collector/ipc/intake.h"
#include "collector/ipc/intake_parts.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/batch/batch_client.h"
#include "tests/unit/test.h"

static char path[64];

/* ---- the daemon's side ---- */

struct server {
	struct loop *loop;
	struct intake *intake;
	int taken;
	int refuse; /* with this code */
	int refuse_at; /* the batch of a push, counted from 1 */
	int checked, pushes;
};

static const struct err *
take(void *arg, struct batch *b)
{
	struct server *s = arg;

	if (s->refuse != 0)
		return err_new(ERR_LIMIT, s->refuse, "no\nroom");
	s->taken += (int)b->n_blocks;
	return NULL;
}

static const struct err *
check(void *arg, struct batch *b)
{
	struct server *s = arg;

	(void)b;
	return ++s->checked == s->refuse_at ? err_new(ERR_LIMIT, 429, "no room")
	                                    : NULL;
}

/* What the parts bring comes to the sum only together. */
static const struct err *
take_push(void *arg, const struct intake_parts *parts)
{
	struct server *s = arg;

	if (s->refuse != 0)
		return err_new(ERR_LIMIT, s->refuse, "no room");
	s->pushes++;
	for (size_t i = 0; i < parts->n; i++) {
		struct batch *b;

		CHECK_OK(intake_parts_get(parts, i, &b));
		CHECK_INT(b->more, i + 1 < parts->n);
		s->taken += (int)b->n_blocks;
		batch_free(b);
	}
	return NULL;
}

static void
server_open(struct server *s)
{
	*s = (struct server){0};
	CHECK_OK(loop_new(&s->loop));
	CHECK_OK(intake_open(&s->intake, &(struct intake_options){path, NULL,
	    s->loop, take, s, NULL, check, take_push}));
}

static void
server_close(struct server *s)
{
	intake_close(s->intake);
	loop_free(s->loop);
}

/* Runs the loop until `done`, a minute at most. */
static void
serve(struct server *s, volatile bool *done)
{
	int64_t until = clock_mono_ns() + 60 * NS_PER_S;

	while (!*done && clock_mono_ns() < until) {
		if (loop_wait(s->loop, 2 * NS_PER_MS) != NULL)
			test_bad++;
	}
}

/* ---- the client's side ---- */

static struct batch *
some_batch(void)
{
	struct batch *b = batch_new(1000);
	struct series_desc d = {SERIES_GAUGE, "g", "", 0, 0, NULL, 0};

	batch_add_gauge(b, batch_series(b, &d), 5, 5001, 77);
	return b;
}

struct client {
	volatile bool done;
	int batches;
	int push; /* so many of the first are one push */
	int codes[8]; /* of each answer: 0, or the error's code */
	char text[400];
};

static void *
client_main(void *arg)
{
	struct client *c = arg;
	struct batch_client *p = NULL;
	const struct err *e = batch_client_open(&p, path, 500);

	for (int i = 0; i < c->batches && e == NULL; i++) {
		struct batch *b = some_batch();
		const struct err *answer;

		b->more = i + 1 < c->push;
		answer = batch_client_batch(p, b);

		c->codes[i] = answer == NULL ? 0 : answer->code;
		if (answer != NULL)
			snprintf(c->text, sizeof(c->text), "%s",
			    answer->text);
		batch_free(b);
	}
	if (e != NULL)
		c->codes[0] = -1;
	batch_client_close(p);
	c->done = true;
	return NULL;
}

static void
run_client(struct server *s, struct client *c)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, client_main, c) == 0);
	serve(s, &c->done);
	pthread_join(thread, NULL);
}

static int
raw_connect(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
record_of(struct buf *record)
{
	struct batch *b = some_batch();

	CHECK_OK(batch_encode(b, record));
	batch_free(b);
}

/* What the server says to these bytes. */
static const char *
say(struct server *s, const void *bytes, size_t n)
{
	static char answer[600];
	int fd = raw_connect();
	ssize_t got;

	CHECK(send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
	for (int i = 0; i < 20; i++)
		CHECK_OK(loop_wait(s->loop, 1));
	got = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	answer[got > 0 ? got : 0] = '\0';
	close(fd);
	for (int i = 0; i < 3; i++)
		CHECK_OK(loop_wait(s->loop, 1));
	return answer;
}

/* ---- cases ---- */

TEST(batches_are_taken)
{
	struct server s;
	struct client c = {.batches = 3, .codes = {9, 9, 9}};
	struct intake_stats stats;
	struct stat st;

	server_open(&s);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0660);
	run_client(&s, &c);
	CHECK_INT(s.taken, 3);
	CHECK_INT(c.codes[0], 0);
	CHECK_INT(c.codes[2], 0);
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.taken, 3);
	CHECK_INT(stats.connections, 1);
	server_close(&s);
	CHECK(access(path, F_OK) != 0);
}

/* Clients that keep a batch; each says its names once, or all of them where
 * there are too many such clients. */
struct keepers {
	volatile bool done;
	int clients, rounds, failed;
};

static void *
keepers_main(void *arg)
{
	struct keepers *k = arg;
	struct series_desc d = {SERIES_GAUGE, "g", "", 0, 0, NULL, 0};
	struct batch_client *posts[16] = {NULL};
	struct batch *batches[16];

	for (int i = 0; i < k->clients; i++) {
		batches[i] = batch_new(1000);
		k->failed += batch_client_open(&posts[i], path, 1000) != NULL;
	}
	for (int r = 0; r < k->rounds && k->failed == 0; r++) {
		for (int i = 0; i < k->clients; i++) {
			struct batch *b = batches[i];

			batch_add_gauge(b, batch_series(b, &d), 5, 5001, 77);
			k->failed += batch_client_stream(posts[i], b) != NULL;
			k->failed += !batch_renew(b);
		}
	}
	for (int i = 0; i < k->clients; i++) {
		batch_client_close(posts[i]);
		batch_free(batches[i]);
	}
	k->done = true;
	return NULL;
}

TEST(names_go_once_over_a_connection)
{
	struct keepers k = {false, INTAKE_STREAMS_MAX + 3, 5, 0};
	struct server s;
	pthread_t thread;
	struct intake_stats stats;

	server_open(&s);
	CHECK(pthread_create(&thread, NULL, keepers_main, &k) == 0);
	for (int i = 0; i < 20 && !k.done; i++)
		serve(&s, &k.done);
	pthread_join(thread, NULL);
	CHECK_INT(k.failed, 0);
	CHECK_INT(s.taken, k.clients * k.rounds);
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.taken, k.clients * k.rounds);
	CHECK_INT(stats.connections, k.clients);
	CHECK_INT(stats.refused, 0); /* nothing was lost by being told so */
	server_close(&s);
}

TEST(the_stores_refusal_is_the_answer)
{
	struct server s;
	struct client c = {.batches = 1};

	server_open(&s);
	s.refuse = 507;
	run_client(&s, &c);
	CHECK_INT(c.codes[0], 507);
	CHECK_STR(c.text, "no\\x0aroom"); /* one line, whatever the message */
	server_close(&s);
}

TEST(a_push_of_several_batches_is_taken_whole_or_not_at_all)
{
	struct server s;
	struct client whole = {.batches = 4, .push = 3};
	struct client middle = {.batches = 4, .push = 3};
	struct client end = {.batches = 3, .push = 3};
	struct client left = {.batches = 2, .push = 3};
	struct intake_stats stats;

	server_open(&s);
	run_client(&s, &whole);
	for (int i = 0; i < 4; i++)
		CHECK_INT(whole.codes[i], 0);
	CHECK_INT(s.taken, 4);
	CHECK_INT(s.pushes, 1);
	/* the second does not fit: nothing of it, and the connection ends, so
	 * that its third is no push of its own */
	s.refuse_at = s.checked + 2;
	run_client(&s, &middle);
	CHECK_INT(middle.codes[0], 0);
	CHECK_INT(middle.codes[1], 429);
	CHECK(middle.codes[2] != 0);
	CHECK_INT(s.taken, 4);
	/* the disk is full when the last has come */
	s.refuse = 507;
	run_client(&s, &end);
	CHECK_INT(end.codes[2], 507);
	s.refuse = 0;
	/* one who dies in the middle */
	run_client(&s, &left);
	CHECK_INT(left.codes[1], 0);
	CHECK_INT(s.taken, 4);
	CHECK_INT(s.pushes, 1);
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.taken, 4);
	server_close(&s);
}

TEST(nonsense)
{
	struct buf record = {0};
	struct server s;

	server_open(&s);
	CHECK(strncmp(say(&s, "GET / HTTP/1.1\r\n\r\n", 18), "error 400 ",
	    10) == 0);
	record_of(&record);
	record.data[record.len - 1] ^= 1;
	CHECK(strncmp(say(&s, record.data, record.len), "error 400 ", 10) ==
	    0);
	record.data[5] ^= 1; /* the length, and so the header's CRC */
	CHECK(strncmp(say(&s, record.data, record.len), "error 400 ", 10) ==
	    0);
	CHECK_INT(s.taken, 0);
	buf_fini(&record);
	server_close(&s);
}

TEST(a_batch_that_is_too_large)
{
	struct buf header = {0};
	struct server s;

	server_open(&s);
	buf_put(&header, "MLB1", 4);
	buf_put_be32(&header, BATCH_MAX_BYTES + 1);
	buf_put_be32(&header, 0);
	buf_put_be32(&header, crc32c(0, header.data, 12));
	CHECK(strncmp(say(&s, header.data, header.len), "error 4", 7) == 0);
	buf_fini(&header);
	server_close(&s);
}

/* Four headers that promise 16 MiB each are more than all buffers may hold;
 * bytes that were promised and not sent end with the deadline. */
TEST(too_much_at_once)
{
	struct buf header = {0};
	struct intake_stats stats;
	struct server s;
	int fds[3];

	server_open(&s);
	buf_put(&header, "MLB1", 4);
	buf_put_be32(&header, BATCH_MAX_BYTES - 4096);
	buf_put_be32(&header, 0);
	buf_put_be32(&header, crc32c(0, header.data, 12));
	for (int i = 0; i < 3; i++) {
		fds[i] = raw_connect();
		CHECK(send(fds[i], header.data, header.len, 0) == 16);
		for (int k = 0; k < 6; k++)
			CHECK_OK(loop_wait(s.loop, 1));
	}
	CHECK(strncmp(say(&s, header.data, header.len), "error 429 ", 10) ==
	    0);
	intake_tick(s.intake, clock_mono_ns() + INTAKE_RECORD_NS);
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.timeouts, 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	server_close(&s);
	buf_fini(&header);
}

TEST(too_many_connections)
{
	int fds[INTAKE_CONNECTIONS_MAX];
	struct intake_stats stats;
	struct client c = {.batches = 1, .codes = {9}};
	struct server s;

	server_open(&s);
	for (int i = 0; i < INTAKE_CONNECTIONS_MAX; i++)
		fds[i] = raw_connect();
	for (int i = 0; i < 2 * INTAKE_CONNECTIONS_MAX; i++)
		CHECK_OK(loop_wait(s.loop, 1));
	run_client(&s, &c);
	CHECK_INT(c.codes[0], 429);
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.turned_away, 1);
	for (int i = 0; i < INTAKE_CONNECTIONS_MAX; i++)
		close(fds[i]);
	for (int i = 0; i < 4 * INTAKE_CONNECTIONS_MAX; i++)
		CHECK_OK(loop_wait(s.loop, 1));
	c = (struct client){.batches = 1, .codes = {9}};
	run_client(&s, &c);
	CHECK_INT(c.codes[0], 0);
	server_close(&s);
}

/* One byte at a time, and two records in one packet. */
TEST(odd_packets)
{
	struct buf record = {0};
	char answer[8] = "";
	struct server s;
	int fd;

	server_open(&s);
	record_of(&record);
	fd = raw_connect();
	for (size_t i = 0; i < record.len; i++) {
		CHECK(send(fd, record.data + i, 1, 0) == 1);
		CHECK_OK(loop_wait(s.loop, 1));
	}
	for (int i = 0; i < 5; i++)
		CHECK_OK(loop_wait(s.loop, 1));
	CHECK_INT(s.taken, 1);
	CHECK(recv(fd, answer, sizeof(answer), MSG_DONTWAIT) == 3);
	close(fd);
	buf_put(&record, record.data, record.len);
	CHECK(strncmp(say(&s, record.data, record.len), "ok\nok\n", 6) == 0);
	CHECK_INT(s.taken, 3);
	buf_fini(&record);
	server_close(&s);
}

TEST(the_path)
{
	struct intake *second = NULL;
	struct server s;

	server_open(&s);
	CHECK(intake_open(&second, &(struct intake_options){path, NULL,
	    s.loop, take, &s, NULL, NULL, NULL}) != NULL);
	CHECK(access(path, F_OK) == 0);
	CHECK(intake_open(&second, &(struct intake_options){path,
	    "no-such-group", s.loop, take, &s, NULL, NULL, NULL}) != NULL);
	/* a dead daemon's socket is replaced */
	server_close(&s);
	CHECK_INT(raw_connect(), -1);
	{
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
		CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
		close(fd);
	}
	server_open(&s);
	server_close(&s);
}

/* A mistyped path must not cost anybody a file. */
TEST(a_file_in_the_sockets_place_stays)
{
	struct intake *in = NULL;
	struct loop *loop = NULL;
	FILE *f = fopen(path, "w");

	CHECK(f != NULL && fputs("precious", f) >= 0 && fclose(f) == 0);
	CHECK_OK(loop_new(&loop));
	CHECK(intake_open(&in, &(struct intake_options){path, NULL, loop, take,
	    NULL, NULL, NULL, NULL}) != NULL);
	CHECK(access(path, F_OK) == 0);
	loop_free(loop);
	unlink(path);
}

/* Takes all descriptors but `spare`; gives the limit back that there was. */
static struct rlimit
starve(int spare)
{
	struct rlimit old, low;
	int fd = dup(0);

	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = (rlim_t)(fd + spare);
	close(fd);
	setrlimit(RLIMIT_NOFILE, &low);
	return old;
}

TEST(no_descriptor_left_does_not_spin)
{
	struct intake_stats stats;
	struct rlimit old;
	struct server s;
	int fd;

	server_open(&s);
	fd = raw_connect();
	old = starve(0);
	for (int i = 0; i < 20; i++)
		CHECK_OK(loop_wait(s.loop, 1));
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.starved, 1);
	CHECK_INT(stats.connections, 0);
	setrlimit(RLIMIT_NOFILE, &old);
	intake_tick(s.intake, clock_mono_ns());
	for (int i = 0; i < 5; i++)
		CHECK_OK(loop_wait(s.loop, 1));
	intake_stats(s.intake, &stats);
	CHECK_INT(stats.connections, 1);
	close(fd);
	server_close(&s);
}

/* Nobody accepts here, and nobody can come in any more: it lives all the
 * same, and asking it must not wait. */
TEST(a_full_socket_does_not_block_the_start)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), full, n = 0, fds[16];
	struct intake *in = NULL;
	struct loop *loop = NULL;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(listen(fd, 0) == 0);
	do {
		full = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		fds[n++] = full;
	} while (n < 16 && connect(full, (struct sockaddr *)&at,
	    sizeof(at)) == 0);
	CHECK(n < 16);
	CHECK_OK(loop_new(&loop));
	CHECK(intake_open(&in, &(struct intake_options){path, NULL, loop, take,
	    NULL, NULL, NULL, NULL}) != NULL);
	CHECK(access(path, F_OK) == 0);
	while (n > 0)
		close(fds[--n]);
	close(fd);
	unlink(path);
	loop_free(loop);
}

int
main(void)
{
	snprintf(path, sizeof(path), "/tmp/memlens-test-%d.sock",
	    (int)getpid());
	RUN(batches_are_taken);
	RUN(names_go_once_over_a_connection);
	RUN(the_stores_refusal_is_the_answer);
	RUN(a_push_of_several_batches_is_taken_whole_or_not_at_all);
	RUN(nonsense);
	RUN(a_batch_that_is_too_large);
	RUN(too_much_at_once);
	RUN(too_many_connections);
	RUN(odd_packets);
	RUN(the_path);
	RUN(a_file_in_the_sockets_place_stays);
	RUN(no_descriptor_left_does_not_spin);
	RUN(a_full_socket_does_not_block_the_start);
	unlink(path);
	return test_done();
}
