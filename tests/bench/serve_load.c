/*
 * Requests at a fixed rate, whatever the answers do:
 *
 *	serve_load PORT RATE SECONDS CONNECTIONS FROM UNTIL PATH [HEADER]
 *
 * PATH has %FROM% and %UNTIL%: each request gets an hour of its own within
 * [FROM, UNTIL).  A latency is counted from the time at which the request
 * was due, not from when a connection was free, so that an answer that is
 * late makes those behind it late too, as it is for people.  Prints
 * "requests N failed N p50 MS p99 MS max MS bytes N".
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOUR 3600

static struct {
	int port;
	double rate;
	unsigned long n;
	long from, until;
	const char *path, *header;
	double start;
	double *latency; /* by request; negative: it failed */
	atomic_ulong next, failed, bytes;
} load;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
sleep_until(double t)
{
	struct timespec at = {(time_t)t, (long)((t - (double)(time_t)t) * 1e9)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		;
}

static int
dial(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)load.port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval limit = {10, 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		perror("connect");
		exit(1);
	}
	return fd;
}

/* The path with the range of request i: all starts differ. */
static int
request_text(char *text, size_t size, unsigned long i)
{
	long span = load.until - load.from - HOUR;
	long from = load.from + (long)(i * 7919 % (unsigned long)span);
	const char *p = load.path;
	int n = snprintf(text, size, "GET ");

	while (*p != '\0' && (size_t)n + 24 < size) {
		if (strncmp(p, "%FROM%", 6) == 0) {
			n += snprintf(text + n, size - (size_t)n, "%ld", from);
			p += 6;
		} else if (strncmp(p, "%UNTIL%", 7) == 0) {
			n += snprintf(text + n, size - (size_t)n, "%ld",
			    from + HOUR);
			p += 7;
		} else {
			text[n++] = *p++;
		}
	}
	return n + snprintf(text + n, size - (size_t)n, " HTTP/1.1\r\n"
	    "Host: localhost\r\n%s%s\r\n", load.header,
	    *load.header != '\0' ? "\r\n" : "");
}

/* Reads one answer with a Content-Length, or none for 304.  False when it
 * is no success. */
static int
read_answer(int fd, char *buf, size_t size)
{
	size_t have = 0, body = 0, head;
	char *end = NULL, *length;
	int status;

	while (end == NULL) {
		ssize_t n = recv(fd, buf + have, size - 1 - have, 0);

		if (n <= 0)
			return 0;
		have += (size_t)n;
		buf[have] = '\0';
		end = strstr(buf, "\r\n\r\n");
	}
	head = (size_t)(end + 4 - buf);
	status = atoi(buf + 9);
	length = strcasestr(buf, "\r\nContent-Length:");
	if (length != NULL && length < end)
		body = strtoul(length + 17, NULL, 10);
	else if (status != 304)
		return 0;
	atomic_fetch_add(&load.bytes, body);
	for (size_t left = body - (have - head); left > 0;) {
		ssize_t n = recv(fd, buf, left < size ? left : size, 0);

		if (n <= 0)
			return 0;
		left -= (size_t)n;
	}
	return status == 200 || status == 304;
}

static void *
connection(void *arg)
{
	static const size_t size = 65536;
	char *buf = malloc(size), text[4096];
	int fd = dial();
	unsigned long i;

	(void)arg;
	while ((i = atomic_fetch_add(&load.next, 1)) < load.n) {
		double due = load.start + (double)i / load.rate;
		int n = request_text(text, sizeof(text), i);

		sleep_until(due);
		if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n ||
		    !read_answer(fd, buf, size)) {
			atomic_fetch_add(&load.failed, 1);
			close(fd);
			fd = dial();
		}
		load.latency[i] = now() - due;
	}
	close(fd);
	free(buf);
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int
main(int argc, char **argv)
{
	pthread_t threads[64];
	int connections;

	if (argc < 8)
		return 2;
	load.port = atoi(argv[1]);
	load.rate = atof(argv[2]);
	load.n = (unsigned long)(load.rate * atof(argv[3]));
	connections = atoi(argv[4]);
	load.from = atol(argv[5]);
	load.until = atol(argv[6]);
	load.path = argv[7];
	load.header = argc > 8 ? argv[8] : "";
	load.latency = calloc(load.n, sizeof(*load.latency));
	if (connections < 1 || connections > 64 || load.n == 0 ||
	    load.until - load.from <= HOUR || load.latency == NULL)
		return 2;
	load.start = now() + 0.2;
	for (int i = 0; i < connections; i++)
		pthread_create(&threads[i], NULL, connection, NULL);
	for (int i = 0; i < connections; i++)
		pthread_join(threads[i], NULL);
	qsort(load.latency, load.n, sizeof(*load.latency), compare);
	printf("requests %lu failed %lu p50 %.3f p99 %.3f max %.3f bytes "
	    "%lu\n", load.n, load.failed, load.latency[load.n / 2] * 1e3,
	    load.latency[load.n * 99 / 100] * 1e3,
	    load.latency[load.n - 1] * 1e3, load.bytes / load.n);
	free(load.latency);
	return 0;
}
