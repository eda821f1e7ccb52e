/*
 * memlensd: collects where CPU time, memory and disk time go, and stores it.
 * See memlensd.8.
 */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/daemon.h"
#include "store/base/err.h"
#include "store/base/heap.h"
#include "store/base/log.h"

#define DEFAULT_CONFIG "/etc/memlens/memlens.conf"
#ifndef MEMLENS_VERSION
#define MEMLENS_VERSION "0.1.0"
#endif

/* Started from top to bottom, stopped from bottom to top. */
static const struct stage {
	const struct err *(*start)(struct daemon *d);
	void (*stop)(struct daemon *d);
} stages[] = {
    /* signals are blocked before any thread is made */
    {daemon_start_loop, daemon_stop_loop},
    /* a recording tells the slot length of a new store */
    {daemon_start_replay, daemon_stop_replay},
    /* files and the socket, while we may still give them to a group;
     * nobody is served before the loop runs */
    {daemon_start_record, daemon_stop_record},
    {daemon_start_intake, daemon_stop_intake},
    /* before the store makes its thread: capabilities are per thread */
    {daemon_start_privileges, NULL},
    {daemon_start_store, daemon_stop_store},
    {daemon_start_services, daemon_stop_services},
    /* stopping them stores the open slot, so the store is below */
    {daemon_start_sources, daemon_stop_sources},
    /* ready when everything is; stopping is said first */
    {daemon_start_notify, daemon_stop_notify},
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))

struct arguments {
	struct daemon_options daemon;
	bool check_only;
	bool config_given;
	int verbose;
};

static void
usage(FILE *out)
{
	fputs("usage: memlensd [-hknVv] [-f FILE] [-s DIR] [-w FILE] "
	    "[-r FILE]\n"
	    "\n"
	    "  -f, --config FILE   read FILE, not " DEFAULT_CONFIG "\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -s, --store DIR     the store, over [store] directory\n"
	    "  -w, --record FILE   append every batch to FILE too\n"
	    "  -r, --replay FILE   store the batches of FILE, then exit\n"
	    "  -k, --keep          after a replay, stay\n"
	    "  -v, --verbose       say more\n"
	    "  -h, --help          this\n"
	    "  -V, --version       the version\n"
	    "\n"
	    "EXAMPLES\n"
	    "  memlensd -n -f memlens.conf     is the file all right?\n"
	    "  memlensd -s /tmp/store -w rec   collect and record\n"
	    "  memlensd -s /tmp/again -r rec   the same store from the "
	    "recording\n", out);
}

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'f'},
    {"check", no_argument, NULL, 'n'},
    {"store", required_argument, NULL, 's'},
    {"record", required_argument, NULL, 'w'},
    {"replay", required_argument, NULL, 'r'},
    {"keep", no_argument, NULL, 'k'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Fills *a; exits by itself for -h, -V and mistakes. */
static void
parse_arguments(int argc, char **argv, struct arguments *a)
{
	int c;

	while ((c = getopt_long(argc, argv, "f:ns:w:r:kvhV", long_options,
	            NULL)) != -1) {
		switch (c) {
		case 'f':
			a->daemon.config_path = optarg;
			a->config_given = true;
			break;
		case 'n': a->check_only = true; break;
		case 's': a->daemon.store_path = optarg; break;
		case 'w': a->daemon.record_path = optarg; break;
		case 'r': a->daemon.replay_path = optarg; break;
		case 'k': a->daemon.stay = true; break;
		case 'v': a->verbose++; break;
		case 'h': usage(stdout); exit(0);
		case 'V': puts("memlensd " MEMLENS_VERSION); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind == argc)
		return;
	fprintf(stderr, "memlensd: unexpected argument \"%s\"\n",
	    argv[optind]);
	usage(stderr);
	exit(2);
}

/* Every default is compiled in: without -f, the file may be missing. */
static const struct err *
load_config(struct daemon *d, struct arguments *a)
{
	if (!a->config_given && access(DEFAULT_CONFIG, F_OK) == 0)
		a->daemon.config_path = DEFAULT_CONFIG;
	d->config = calloc(1, sizeof(*d->config));
	if (d->config == NULL)
		return err_nomem();
	return config_load(d->config, a->daemon.config_path);
}

static const struct err *
override_store(struct config *c, const char *path)
{
	if (path == NULL)
		return NULL;
	free(c->directory);
	c->directory = strdup(path);
	return c->directory == NULL ? err_nomem() : NULL;
}

/* Starts, runs and stops; what was started is stopped whatever happens. */
static const struct err *
run(struct daemon *d)
{
	const struct err *e = NULL;
	struct err kept;
	size_t started = 0;

	while (e == NULL && started < STAGES)
		e = stages[started++].start(d);
	if (e == NULL)
		e = d->replay != NULL ? daemon_run_replay(d) : daemon_run(d);
	if (e != NULL) {
		kept = *e; /* stopping may make many more */
		log_err("%s", kept.text);
	}
	while (started-- > 0) {
		if (stages[started].stop != NULL)
			stages[started].stop(d);
	}
	return e;
}

/* What a slot or the sealing of a file needed goes back to the system after
 * it, instead of staying in the gaps of three heaps. */
static void
set_allocator(void)
{
	mallopt(M_ARENA_MAX, 1);
	heap_keep_little();
}

int
main(int argc, char **argv)
{
	struct arguments a = {0};
	struct daemon d = {0};
	const struct err *e;

	set_allocator();
	parse_arguments(argc, argv, &a);
	log_init("memlensd", a.verbose ? LOG_L_DEBUG : LOG_L_INFO);
	if ((e = load_config(&d, &a)) != NULL) {
		log_err("%s", e->text);
		return 1;
	}
	d.options = a.daemon;
	if (a.check_only) {
		puts("configuration OK");
	} else {
		e = override_store(d.config, a.daemon.store_path);
		e = e != NULL ? e : run(&d);
	}
	config_free(d.config);
	free(d.config);
	return e != NULL;
}
