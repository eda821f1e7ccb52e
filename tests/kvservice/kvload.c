/*
 * kvload: an open-loop load generator for the key-value interface of
 * kvservice and ResilientDB. It prints what it did and saw as JSON; other
 * tests measure themselves against that.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvload_check.h"
#include "kvload_report.h"
#include "kvload_run.h"

struct settings {
	struct run_options run;
	const char *host;
	double port, connections, keys, value_size, scan_length, seed;
	const char *mix;
	bool no_preload;
};

enum kind { NUMBER, TEXT, SWITCH };

struct option {
	const char *name;
	enum kind kind;
	void *to;
	double min, max;
	const char *help;
};

static volatile sig_atomic_t stop;

static void
on_signal(int number)
{
	(void)number;
	stop = 1;
}

static _Noreturn void
die(const char *what, const char *why)
{
	fprintf(stderr, "kvload: %s: %s\n", what, why);
	exit(2);
}

static _Noreturn void
usage(const struct option *options, size_t n)
{
	size_t i;

	printf("usage: kvload [options]\n\n");
	for (i = 0; i < n; i++)
		printf("  --%-14s %s\n", options[i].name, options[i].help);
	printf("  --%-14s %s\n", "check", "test its own arithmetic and exit");
	exit(0);
}

static void
set_option(const struct option *o, const char *value)
{
	char *end;
	double number;

	if (o->kind == TEXT) {
		*(const char **)o->to = value;
		return;
	}
	number = strtod(value, &end);
	if (end == value || *end != '\0' || !(number >= o->min) ||
	    !(number <= o->max))
		die(o->name, "not a number in range");
	*(double *)o->to = number;
}

static void
read_argument(char **argv, int *i, const struct option *options, size_t n)
{
	const char *arg = argv[*i] + 2, *value = strchr(arg, '=');
	size_t k, size = value != NULL ? (size_t)(value - arg) : strlen(arg);

	for (k = 0; k < n; k++)
		if (strlen(options[k].name) == size &&
		    strncmp(options[k].name, arg, size) == 0)
			break;
	if (strncmp(argv[*i], "--", 2) != 0 || k == n)
		die(argv[*i], "unknown option, see --help");
	if (options[k].kind == SWITCH) {
		if (value != NULL)
			die(options[k].name, "takes no value");
		*(bool *)options[k].to = true;
		return;
	}
	if (value != NULL)
		value++;
	else if ((value = argv[++*i]) == NULL)
		die(options[k].name, "needs a value");
	set_option(&options[k], value);
}

static void
read_options(struct settings *s, char **argv)
{
	struct run_options *r = &s->run;
	struct mix *m = &r->mix;
	const struct option options[] = {
		{ "host", TEXT, &s->host, 0, 0, "IPv4 address (127.0.0.1)" },
		{ "port", NUMBER, &s->port, 1, 65535, "(18000)" },
		{ "rate", NUMBER, &r->rate, 1e-3, 1e6,
		    "requests a second (1000)" },
		{ "duration", NUMBER, &r->duration_s, 0, 1e9,
		    "seconds (60); 0 is until SIGTERM" },
		{ "mix", TEXT, &s->mix, 0, 0,
		    "weights (set=20,get=75,scan=5)" },
		{ "keys", NUMBER, &s->keys, 1, 1e9,
		    "how many there are (10000)" },
		{ "value-size", NUMBER, &s->value_size, 0, 1 << 20,
		    "bytes (512)" },
		{ "missing", NUMBER, &m->missing, 0, 1,
		    "share of gets whose key does not exist (0)" },
		{ "scan-length", NUMBER, &s->scan_length, 1, 1e6,
		    "keys in a scan (20)" },
		{ "connections", NUMBER, &s->connections, 1, 10000, "(8)" },
		{ "close", SWITCH, &m->close, 0, 0,
		    "a connection for each request, no keep-alive" },
		{ "timeout", NUMBER, &r->timeout_s, 1e-3, 3600,
		    "seconds from when a request was due (10)" },
		{ "spin", NUMBER, &r->spin_us, 0, 1e6,
		    "microseconds to poll before a request is due (0)" },
		{ "prefix", TEXT, &m->prefix, 0, 0, "of keys (key-)" },
		{ "no-preload", SWITCH, &s->no_preload, 0, 0,
		    "do not set every key first" },
		{ "seed", NUMBER, &s->seed, 0, 9e15, "of everything (1)" },
	};
	const size_t n = sizeof(options) / sizeof(options[0]);
	int i;

	for (i = 1; argv[i] != NULL; i++) {
		if (strcmp(argv[i], "--help") == 0)
			usage(options, n);
		read_argument(argv, &i, options, n);
	}
}

/* "set=20,get=75,scan=5"; what is not named has weight 0. */
static void
read_mix(const char *text, uint32_t *weight)
{
	static const char *const names[OP_COUNT] = { "set", "get", "scan" };
	uint32_t total = 0;
	char *end;

	memset(weight, 0, OP_COUNT * sizeof(*weight));
	while (*text != '\0') {
		size_t n = strcspn(text, "="), op = 0;
		unsigned long value;

		while (op < OP_COUNT && (strlen(names[op]) != n ||
		    strncmp(names[op], text, n) != 0))
			op++;
		if (op == OP_COUNT || text[n] == '\0')
			die("mix", "want set=N,get=N,scan=N");
		value = strtoul(text + n + 1, &end, 10);
		if (end == text + n + 1 || value > 1000000 ||
		    (*end != ',' && *end != '\0'))
			die("mix", "weights are 0 to 1000000");
		total += weight[op] = (uint32_t)value;
		text = *end == ',' ? end + 1 : end;
	}
	if (total == 0)
		die("mix", "all weights are 0");
}

static void
settle(struct settings *s)
{
	static const char unreserved[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	struct run_options *r = &s->run;
	struct mix *m = &r->mix;

	r->target.sin_family = AF_INET;
	r->target.sin_port = htons((uint16_t)s->port);
	if (inet_pton(AF_INET, s->host, &r->target.sin_addr) != 1)
		die(s->host, "not an IPv4 address");
	if (strlen(m->prefix) > 64 ||
	    m->prefix[strspn(m->prefix, unreserved)] != '\0')
		die("prefix", "at most 64 of letters, digits, - . _ ~");
	r->connections = (uint32_t)s->connections;
	m->keys = (uint32_t)s->keys;
	m->value_size = (size_t)s->value_size;
	m->scan_length = (uint32_t)s->scan_length;
	m->seed = (uint64_t)s->seed;
	read_mix(s->mix, m->weight);
}

/* They are taken only while the loop waits. */
static void
catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

int
main(int argc, char **argv)
{
	struct settings s = {
		.run = { .rate = 1000, .duration_s = 60, .timeout_s = 10,
		    .mix = { .prefix = "key-" } },
		.host = "127.0.0.1", .port = 18000, .connections = 8,
		.keys = 10000, .value_size = 512, .scan_length = 20,
		.seed = 1, .mix = "set=20,get=75,scan=5",
	};
	struct preload preload = { 0, 0 };
	const struct run_result *result;
	struct run *run;
	uint64_t failed;

	if (argc == 2 && strcmp(argv[1], "--check") == 0)
		return check_all() > 0;
	read_options(&s, argv);
	settle(&s);
	catch_signals();
	if ((run = run_new(&s.run)) == NULL)
		die("start", strerror(errno));
	if (!s.no_preload) {
		failed = run_preload(run, &stop, &preload.elapsed_s);
		if (failed > 0)
			die("preload", "the service did not take all keys");
		preload.count = s.run.mix.keys;
	}
	result = run_measure(run, &stop);
	report_write(stdout, &s.run, &preload, result);
	run_free(run);
	return 0;
}
