/*
 * A double of a replica of ResilientDB: goes through rounds of PBFT as the
 * real one did, and tells its statistics by functions of the same symbols.
 *
 *	resdb_replica [-f] ROUNDS NUMBER [PORT...]
 *
 * At SIGUSR1 it replays the lines of replica NUMBER of the file ROUNDS, each
 * with the times that it took, one after the other; with -f again and again.
 * Of each round it prints "round", then of each phase the least and the most
 * that it can have taken, in ns, by its own clock around the calls; after a
 * pass "pass N".  It listens on the ports.  SIGUSR2 silences it.  The primary
 * is 1: it has requests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
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
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
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
	struct moment at[PHASES + 1];
	size_t i;

	if (primary)
		come_to("request");
	for (i = 0; i < PHASES; i++) {
		at[i] = come_to(states[i]);
		wait_until(at[i].before_ns + phases[i]);
	}
	at[PHASES] = execute();
	printf("round");
	for (i = 0; i < PHASES; i++)
		printf(" %jd %jd",
		    (intmax_t)(at[i + 1].before_ns - at[i].after_ns),
		    (intmax_t)(at[i + 1].after_ns - at[i].before_ns));
	putchar('\n');
	wait_until(now_ns() + PAUSE_NS);
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
replay(int64_t rounds[][PHASES], size_t n, bool primary, bool for_ever)
{
	for (size_t passes = 1;; passes++) {
		for (size_t i = 0; i < n; i++) {
			while (silent)
				pause();
			go_through(rounds[i], primary);
		}
		silent = !for_ever;
		printf("pass %zu\n", passes);
	}
}

int
main(int argc, char **argv)
{
	static int64_t rounds[ROUNDS_MAX][PHASES];
	bool for_ever = argc > 1 && strcmp(argv[1], "-f") == 0;
	int i, number;
	size_t n;

	argv += for_ever;
	argc -= for_ever;
	if (argc < 3) {
		fprintf(stderr,
		    "resdb_replica [-f] ROUNDS NUMBER [PORT...]\n");
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
	silent = 1;
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	replay(rounds, n, number == 1, for_ever);
}
