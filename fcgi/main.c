/*
 * memlens-fcgi: options, the socket, and the two things that run then: a
 * parent (prefork.c) and workers (serve.c).
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fcgi/child/sandbox.h"
#include "fcgi/kv/fault.h"
#include "fcgi/kv/turn.h"
#include "fcgi/listen.h"
#include "fcgi/prefork.h"
#include "fcgi/server/draw.h"
#include "fcgi/server/serve.h"
#include "fcgi/server/settings.h"
#include "fcgi/server/version.h"
#include "fcgi/site.h"
#include "store/base/err.h"
#include "store/base/heap.h"
#include "store/base/log.h"

#define STORE_DIR "/var/lib/memlens"

enum { EXIT_USAGE = 2 };

struct options {
	const char *store_dir, *socket_path, *config;
	unsigned long workers;
	unsigned long max_requests;
	enum pool pool;
	bool check;
	int socket;
	int turns; /* of the pool: turn.h */
	struct settings settings;
};

static const struct option long_options[] = {
    {"store", required_argument, NULL, 's'},
    {"listen", required_argument, NULL, 'l'},
    {"workers", required_argument, NULL, 'j'},
    {"pool", required_argument, NULL, 'p'},
    {"config", required_argument, NULL, 'c'},
    {"max-requests", required_argument, NULL, 'm'},
    {"check", no_argument, NULL, 'n'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: memlens-fcgi [-hnV] [-c FILE] [-j N] [-l SOCKET] [-m N] [-p POOL]\n"
    "                    [-s DIR]\n"
    "Answers the HTTP interface of MemLens over FastCGI.\n\n"
    "  -c, --config FILE     configuration; without it the defaults hold\n"
    "  -h, --help            this text\n"
    "  -j, --workers N       processes (default 2; 1 for health)\n"
    "  -l, --listen SOCKET   path of a unix socket; else descriptor 0\n"
    "  -m, --max-requests N  replace a worker after N requests\n"
    "  -n, --check           check options and configuration, then exit\n"
    "  -p, --pool POOL       query (default), health, ingest, playground, all\n"
    "  -s, --store DIR       the store (default " STORE_DIR ")\n"
    "  -V, --version         print the version\n\n"
    "Example: memlens-fcgi -s /var/lib/memlens -l /run/memlens/query.sock "
    "-j 4\n";

static bool
parse_number(const char *text, unsigned long min, unsigned long max,
    unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' && *text != '-' &&
	    *value >= min && *value <= max;
}

/* -1: go on; else the exit status. */
static int
take_option(struct options *o, int option)
{
	switch (option) {
	case 's':
		o->store_dir = optarg;
		return -1;
	case 'l':
		o->socket_path = optarg;
		return -1;
	case 'c':
		o->config = optarg;
		return -1;
	case 'j':
		if (parse_number(optarg, 1, PREFORK_MAX, &o->workers))
			return -1;
		log_err("-j takes a number from 1 to %d", PREFORK_MAX);
		return EXIT_USAGE;
	case 'm':
		if (parse_number(optarg, 0, 1000000000, &o->max_requests))
			return -1;
		log_err("-m takes a number from 0 to 1000000000");
		return EXIT_USAGE;
	case 'p':
		if (route_pool_parse(optarg, &o->pool))
			return -1;
		log_err("-p takes query, health, ingest, playground "
		    "or all");
		return EXIT_USAGE;
	case 'n':
		o->check = true;
		return -1;
	case 'h':
		fputs(usage, stdout);
		return 0;
	case 'V':
		puts("memlens-fcgi " MEMLENS_VERSION);
		return 0;
	default:
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
}

static int
parse_options(struct options *o, int argc, char **argv)
{
	int option, status;

	while ((option = getopt_long(argc, argv, "s:l:j:p:c:m:nhV",
	    long_options, NULL)) != -1)
		if ((status = take_option(o, option)) >= 0)
			return status;
	if (optind < argc) {
		log_err("unexpected argument \"%s\"", argv[optind]);
		return EXIT_USAGE;
	}
	if (o->pool == POOL_PLAYGROUND && o->workers > 2) {
		log_err("the playground has at most two processes: one for "
		    "keys, one for a test of minutes");
		return EXIT_USAGE;
	}
	if (o->workers == 0)
		o->workers = o->pool == POOL_HEALTH ? 1 : 2;
	return -1;
}

static void
limit_memory(int64_t bytes)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit r = {(rlim_t)bytes, (rlim_t)bytes};

	if (bytes > 0 && setrlimit(RLIMIT_DATA, &r) < 0)
		log_warn("cannot limit memory: %s", strerror(errno));
#else
	(void)bytes;
#endif
}

/* The playground's workers talk to one port, all others to none. */
static uint16_t
target_port(const struct options *o)
{
	const char *target = o->settings.kv_target;
	const char *colon = target ? strrchr(target, ':') : NULL;
	unsigned long port;

	if ((o->pool != POOL_PLAYGROUND && o->pool != POOL_ALL) ||
	    colon == NULL || !parse_number(colon + 1, 1, 65535, &port))
		return 0;
	return (uint16_t)port;
}

/* Pictures are queries: no other pool starts a program. */
static const char *
draw_program(const struct options *o)
{
	return o->pool == POOL_QUERY || o->pool == POOL_ALL ? o->settings.draw
							    : NULL;
}

static int
run_worker(void *arg, unsigned number)
{
	const struct options *o = arg;
	struct draw draw;
	struct serve_options serve = {&site, o->socket, o->store_dir,
	    &o->settings, &draw, o->pool, (long)o->max_requests, number,
	    (unsigned)o->workers, o->turns, -1};

	if (o->pool == POOL_PLAYGROUND || o->pool == POOL_ALL)
		serve.fault = fault_stand_by(&o->settings);
	draw_init(&draw, draw_program(o));
	limit_memory(o->settings.memory_bytes);
	if (sandbox_enter(target_port(o), draw_program(o)) == 0 && number == 1)
		log_warn("no Landlock: workers are held by their user's rights "
		    "alone");
	return serve_run(&serve);
}

static bool
reload(void *arg)
{
	struct options *o = arg;
	struct settings fresh;
	const struct err *e = settings_load(&fresh, o->config);

	if (e != NULL) {
		log_err("%s; the old configuration stays", e->text);
		settings_free(&fresh);
		return false;
	}
	settings_free(&o->settings);
	o->settings = fresh;
	log_info("configuration read again");
	return true;
}

static const struct err *
open_socket(struct options *o)
{
	if (o->socket_path != NULL)
		return listen_unix(o->socket_path, &o->socket);
	o->socket = STDIN_FILENO;
	if (!listen_is_socket(o->socket))
		return err_new(ERR_ERRNO, ENOTSOCK, "descriptor %d is no "
		    "listening socket, and there is no -l", o->socket);
	return NULL;
}

static int
run(struct options *o)
{
	const struct err *e = settings_load(&o->settings, o->config);
	int status;

	if (e == NULL && o->check) {
		puts("configuration OK");
		settings_free(&o->settings);
		return 0;
	}
	if (e != NULL || (e = open_socket(o)) != NULL) {
		log_err("%s", e->text);
		settings_free(&o->settings);
		return 1;
	}
	if (draw_program(o) != NULL && access(draw_program(o), X_OK) < 0)
		log_warn("%s: %s: no PNG and no picture of a graph",
		    draw_program(o), strerror(errno));
	o->turns = turn_open();
	status = prefork_run((unsigned)o->workers, run_worker, reload, o);
	if (o->socket_path != NULL)
		unlink(o->socket_path);
	settings_free(&o->settings);
	return status;
}

int
main(int argc, char **argv)
{
	struct options o = {.store_dir = STORE_DIR};
	int status;

	log_init("memlens-fcgi", LOG_L_INFO);
	/* A large answer needs some ten megabytes for milliseconds: to give
	 * them back to the kernel and fault them in again took a third of its
	 * time. */
	heap_keep_all();
	status = parse_options(&o, argc, argv);
	return status >= 0 ? status : run(&o);
}
