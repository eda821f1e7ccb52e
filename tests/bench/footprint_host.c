/*
 * A host with many services for tests/bench/footprint.sh, without the host:
 *
 *	footprint_host fill DIR SLOTS SERVICES     a past that ends now
 *	footprint_host push SOCKET SERVICES        a slot each 10 s, until TERM
 *
 * A service has the figures of processes that memlensd takes of a group, and
 * a profile: each tenth works (30 samples on 12 stacks a slot), the others are
 * seen in each second slot.  Stacks are 8 to 20 calls deep, 60 a service.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch_client.h"
#include "store/store.h"

#define SLOT_NS (10 * NS_PER_S)
#define PERIOD_NS 10101010
#define STACKS 60

static volatile sig_atomic_t stop;

static void
on_term(int signal)
{
	(void)signal;
	stop = 1;
}

static void
must(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "footprint_host: %s\n", e->text);
	exit(1);
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t x = (a + 1) * 0x9e3779b97f4a7c15u ^
	    (b + 1) * 0xc2b2ae3d27d4eb4fu;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 29;
}

/* What memlensd says of the processes of one name; `key` and `value` are a
 * second label, or NULL. */
static const struct {
	const char *name, *unit, *key, *value;
	bool counter;
	uint8_t scale;
} metrics[] = {
#define GROUP "namedprocess_namegroup_"
    {GROUP "memory_bytes", "bytes", "memtype", "resident", false, 0},
    {GROUP "memory_bytes", "bytes", "memtype", "virtual", false, 0},
    {GROUP "memory_bytes", "bytes", "memtype", "swapped", false, 0},
    {GROUP "num_procs", "", NULL, NULL, false, 0},
    {GROUP "num_threads", "", NULL, NULL, false, 0},
    {GROUP "open_filedesc", "", NULL, NULL, false, 0},
    {GROUP "cpu_seconds_total", "seconds", "mode", "user", true, 2},
    {GROUP "cpu_seconds_total", "seconds", "mode", "system", true, 2},
    {GROUP "context_switches_total", "", "ctxswitchtype", "voluntary", true,
        0},
    {GROUP "context_switches_total", "", "ctxswitchtype", "nonvoluntary",
        true, 0},
    {GROUP "minor_page_faults_total", "", NULL, NULL, true, 0},
    {GROUP "major_page_faults_total", "", NULL, NULL, true, 0},
    {GROUP "read_bytes_total", "bytes", NULL, NULL, true, 0},
    {GROUP "write_bytes_total", "bytes", NULL, NULL, true, 0},
};

static void
put_metrics(struct batch *b, const char *service, uint64_t number,
    uint64_t slot)
{
	int64_t time_ns = (int64_t)slot * SLOT_NS + 9 * NS_PER_S;

	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		struct label labels[] = {{"groupname", service},
		    {metrics[i].key, metrics[i].value}};
		struct series_desc d = {metrics[i].counter ? SERIES_COUNTER :
		    SERIES_GAUGE, metrics[i].name, metrics[i].unit, 0,
		    metrics[i].scale, labels, metrics[i].key ? 2 : 1};
		uint32_t series = batch_series(b, &d);
		int64_t often = number % 10 == 0 || slot % 6 == number % 6;
		int64_t value = (int64_t)(mix(number * 16 + i, slot) % 200);

		if (metrics[i].counter)
			batch_add_counter(b, series, slot, time_ns,
			    often * value, (int64_t)slot * 200 + value);
		else
			batch_add_gauge(b, series, slot, time_ns,
			    (int64_t)(number + 1) * 4096 + often * value);
	}
}

/* main;NAME_7;...: calls that stacks share near the root. */
static uint32_t
put_stack(struct batch *b, const char *service, uint64_t number, uint64_t k)
{
	unsigned depth = 8 + (unsigned)(mix(number, k) % 13);
	struct label pool = {"pool", k % 3 ? "worker" : "io"};
	uint32_t node = batch_node(b, 0, batch_labels(b, &pool, 1));
	char name[96];

	for (unsigned i = 0; i < depth; i++) {
		bool kernel = i + 2 > depth;
		uint64_t branch = i < 4 ? i :
		    mix(number, k >> (4 - i % 4)) % 40;
		struct frame f = {kernel ? FRAME_KERNEL : FRAME_NATIVE, name,
		    kernel ? "[kernel]" : service, "", 0};

		snprintf(name, sizeof(name), "%s%llu_%u",
		    kernel ? "sys_call_" : service,
		    (unsigned long long)branch, i);
		if (!kernel)
			snprintf(name, sizeof(name),
			    "%s::Module%llu::handle_request_%u", service,
			    (unsigned long long)branch, i);
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static void
put_profile(struct batch *b, const char *service, uint64_t number,
    uint64_t slot)
{
	struct label label = {"service", service};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", PERIOD_NS,
	    0, &label, 1};
	uint32_t series = batch_series(b, &d);
	unsigned n = number % 10 == 0 ? 12 : (slot + number) % 2;

	batch_observe(b, series, slot, 1);
	for (unsigned i = 0; i < n; i++) {
		uint64_t r = mix(number * 64 + i, slot);
		/* few stacks are most of it */
		uint64_t k = r % STACKS * (r >> 32 & 0xff) / 256;

		batch_add_profile(b, series, slot,
		    put_stack(b, service, number, k), 1 + (int64_t)i % 4);
	}
}

static void
put_slot(struct batch *b, uint64_t slot, uint64_t services)
{
	char service[32];

	for (uint64_t i = 0; i < services; i++) {
		snprintf(service, sizeof(service), "svc-%03llu",
		    (unsigned long long)i);
		put_metrics(b, service, i, slot);
		put_profile(b, service, i, slot);
	}
}

static void
fill(const char *dir, uint64_t slots, uint64_t services)
{
	struct store_options options = {.slot_ns = SLOT_NS, .no_thread = true};
	uint64_t last = (uint64_t)(clock_wall_ns() / SLOT_NS);
	struct store_writer *w;

	must(store_writer_open(&w, dir, &options));
	for (uint64_t slot = last - slots; slot < last && !stop; slot++) {
		struct batch *b = batch_new(SLOT_NS);

		put_slot(b, slot, services);
		must(store_append(w, b));
		batch_free(b);
		must(store_tick(w, (int64_t)(slot + 1) * SLOT_NS));
	}
	must(store_writer_close(w));
}

/* Each slot when it is over; a stream, as programs of ours send. */
static void
push(const char *socket, uint64_t services)
{
	struct batch_client *client;
	struct batch *b = batch_new(SLOT_NS);
	uint64_t slot = (uint64_t)(clock_wall_ns() / SLOT_NS);

	must(batch_client_open(&client, socket, 10000));
	for (; !stop; slot++) {
		int64_t wait = (int64_t)(slot + 1) * SLOT_NS - clock_wall_ns();
		struct timespec t = {wait / NS_PER_S, wait % NS_PER_S};

		if (wait > 0)
			nanosleep(&t, NULL);
		if (stop)
			break;
		put_slot(b, slot, services);
		must(batch_client_stream(client, b));
		if (!batch_renew(b))
			exit(1);
	}
	batch_free(b);
	batch_client_close(client);
}

int
main(int argc, char **argv)
{
	struct sigaction term = {.sa_handler = on_term};

	sigaction(SIGTERM, &term, NULL);
	if (argc == 5 && strcmp(argv[1], "fill") == 0)
		fill(argv[2], strtoull(argv[3], NULL, 10),
		    strtoull(argv[4], NULL, 10));
	else if (argc == 4 && strcmp(argv[1], "push") == 0)
		push(argv[2], strtoull(argv[3], NULL, 10));
	else
		return 2;
	return 0;
}
