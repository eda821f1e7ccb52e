/*
 * A double of a replica of ResilientDB: goes through rounds of PBFT as the
 * real one did, and tells its statistics by functions of the same symbols.
 *
 *	resdb_replica [-fg] [-s FOLDER] ROUNDS NUMBER [PORT...]
 *
 * At SIGUSR1, or with -g at once, it replays the lines of replica NUMBER of the
 * file ROUNDS, each with the times that it took, one after the other; with -f
 * again and again.  Of each round it prints "round", then of each phase the
 * least and the most that it can have taken, in ns, by its own clock around the
 * calls, and the wall clock before and after the last one; after a pass "pass
 * N".  It listens on the ports.  SIGUSR2 silences it.  The primary is 1: it has
 * requests.
 *
 * With -s it is a server as the real one is: rounds begin where those of all
 * others do, ten a second, threads without names of their own
 * beside one that a library names, NUMBER times 8 MiB, a file of data in FOLDER
 * and a log there that grows some forty times as fast.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 1000
#define PHASES 3
#define PAUSE_NS 2000000 /* between two rounds */
#define SPIN_NS 200000   /* before a moment is there */
#define DATA_BYTES 64    /* of a round, */
#define LOG_BYTES 2560
#define WORK_NS 50000000 /* between two of a thread's turns */
#define ROUND_NS 100000000 /* of a server, to the next one's beginning */

/* A std::string of libstdc++. */
struct string {
	const char *text;
	size_t length;
	char inside[16];
};

/* Statistics of the real one: what is called is all that matters. */
void stats_record_state_time(void *stats, struct string *state)
    __asm__("_ZN5resdb5Stats15RecordStateTimeENSt7__cxx1112basic_stringIcSt"
    "11char_traitsIcESaIcEEE");
void stats_send_summary(void *stats)
    __asm__("_ZN5resdb5Stats11SendSummaryEv");

static volatile size_t summaries, recorded;
static volatile sig_atomic_t silent;

__attribute__((noinline)) void
stats_record_state_time(void *stats, struct string *state)
{
	(void)stats;
	recorded += state->length;
}

__attribute__((noinline)) void
stats_send_summary(void *stats)
{
	(void)stats;
	summaries++;
}

static void
on_signal(int signal)
{
	silent = signal == SIGUSR2;
}

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t
now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* To the microsecond where the machine lets it. */
static void
wait_until(int64_t then_ns)
{
	int64_t rest = then_ns - now_ns() - SPIN_NS;
	struct timespec t = {rest / 1000000000, rest % 1000000000};

	if (rest > 0)
		nanosleep(&t, NULL);
	while (now_ns() < then_ns)
		continue;
}

/* The clock before and after a call. */
struct moment {
	int64_t before_ns, after_ns;
};

static struct moment
come_to(const char *state)
{
	struct string s = {.length = strlen(state)};
	struct moment m;

	memcpy(s.inside, state, s.length + 1);
	s.text = s.inside;
	m.before_ns = now_ns();
	stats_record_state_time(NULL, &s);
	m.after_ns = now_ns();
	return m;
}

static struct moment
execute(void)
{
	struct moment m = {.before_ns = now_ns()};

	stats_send_summary(NULL);
	m.after_ns = now_ns();
	return m;
}

static void
go_through(const int64_t phases[PHASES], bool primary)
{
	static const char *const states[PHASES] = {"pre-prepare", "prepare",
	    "commit"};
	struct moment at[PHASES + 1], wall;
	size_t i;

	if (primary)
		come_to("request");
	for (i = 0; i < PHASES; i++) {
		at[i] = come_to(states[i]);
		wait_until(at[i].before_ns + phases[i]);
	}
	wall.before_ns = clock_ns(CLOCK_REALTIME);
	at[PHASES] = execute();
	wall.after_ns = clock_ns(CLOCK_REALTIME);
	printf("round");
	for (i = 0; i < PHASES; i++)
		printf(" %jd %jd",
		    (intmax_t)(at[i + 1].before_ns - at[i].after_ns),
		    (intmax_t)(at[i + 1].after_ns - at[i].before_ns));
	printf(" %jd %jd\n", (intmax_t)wall.before_ns,
	    (intmax_t)wall.after_ns);
	wait_until(now_ns() + PAUSE_NS);
}

/* ---- what a server has beside its rounds ---- */

struct server {
	int data, log; /* -1: none */
};

static int
open_file(const char *folder, int number, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%d_%s", folder, number, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static void
write_round(const struct server *s)
{
	static const char some[LOG_BYTES];

	if (s->data >= 0 && (write(s->data, some, DATA_BYTES) < 0 ||
	    write(s->log, some, LOG_BYTES) < 0))
		perror("a round");
}

static volatile unsigned sink;

__attribute__((noinline)) static void
spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink * 25214903 + i;
}

/* Threads are told apart by these alone. */
#define THREAD(name, amount)                                                   \
	__attribute__((noinline)) static void *name(void *arg)                 \
	{                                                                      \
		for (;;) {                                                     \
			spin(amount);                                          \
			wait_until(now_ns() + WORK_NS);                        \
		}                                                              \
		return arg;                                                    \
	}
THREAD(input_process, 300000)
THREAD(execute_message, 600000)
THREAD(serve_metrics, 100000)

static struct server
begin_server(const char *folder, int number)
{
	static void *(*const threads[])(void *) = {input_process,
	    execute_message, serve_metrics};
	size_t bytes = (size_t)number * (8u << 20);
	pthread_t t = 0;
	char *held = malloc(bytes);

	if (held != NULL)
		memset(held, number, bytes);
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		if (pthread_create(&t, NULL, threads[i], held) != 0)
			exit(1);
	pthread_setname_np(t, "civetweb-worker");
	return (struct server){open_file(folder, number, "db.data"),
	    open_file(folder, number, "server.log")};
}

static size_t
read_rounds(const char *path, int number, int64_t rounds[][PHASES])
{
	intmax_t phases[PHASES];
	FILE *f = fopen(path, "r");
	char line[256];
	size_t n = 0;
	int replica;

	if (f == NULL) {
		perror(path);
		exit(1);
	}
	while (n < ROUNDS_MAX && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%d %*s %*s %jd %jd %jd", &replica,
		    &phases[0], &phases[1], &phases[2]) != 4 ||
		    replica != number)
			continue;
		for (size_t i = 0; i < PHASES; i++)
			rounds[n][i] = phases[i];
		n++;
	}
	fclose(f);
	return n;
}

static void
listen_on(const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

	a.sin_port = htons((uint16_t)atoi(port));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(fd, 8) != 0) {
		perror(port);
		exit(1);
	}
}

static _Noreturn void
replay(const struct server *server, int64_t rounds[][PHASES], size_t n,
    bool primary, bool for_ever)
{
	for (size_t passes = 1;; passes++) {
		for (size_t i = 0; i < n; i++) {
			while (silent)
				pause();
			if (server->data >= 0)
				wait_until((now_ns() / ROUND_NS + 1) *
				    ROUND_NS);
			go_through(rounds[i], primary);
			write_round(server);
		}
		silent = !for_ever;
		printf("pass %zu\n", passes);
	}
}

int
main(int argc, char **argv)
{
	static int64_t rounds[ROUNDS_MAX][PHASES];
	struct server server = {-1, -1};
	const char *folder = NULL;
	bool for_ever = false, at_once = false;
	int i, number, option;
	size_t n;

	while ((option = getopt(argc, argv, "fgs:")) != -1) {
		if (option == 'f')
			for_ever = true;
		else if (option == 'g')
			at_once = true;
		else if (option == 's')
			folder = optarg;
	}
	argv += optind - 1;
	argc -= optind - 1;
	if (argc < 3) {
		fprintf(stderr, "resdb_replica [-fg] [-s FOLDER] ROUNDS "
		    "NUMBER [PORT...]\n");
		return 2;
	}
	number = atoi(argv[2]);
	n = read_rounds(argv[1], number, rounds);
	if (n == 0) {
		fprintf(stderr, "%s: no rounds of %s\n", argv[1], argv[2]);
		return 1;
	}
	for (i = 3; i < argc; i++)
		listen_on(argv[i]);
	if (folder != NULL)
		server = begin_server(folder, number);
	silent = !at_once;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	replay(&server, rounds, n, number == 1, for_ever);
}
