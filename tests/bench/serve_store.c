/*
 * A live store for tests/bench/serve.sh:
 *
 *	serve_store DIR POPULATION SLOTS [EVERY_MS]
 *
 * writes SLOTS slots of the reference workload, says "ready FROM UNTIL"
 * (Unix seconds), and goes on with a slot every EVERY_MS, sealing and
 * merging as the daemon does, until it is ended.
 */
#include <signal.h>
#include <unistd.h>

#include "store/store.h"
#include "workload.h"

static volatile sig_atomic_t stop;

static void
on_term(int signal)
{
	(void)signal;
	stop = 1;
}

static void
put(struct store_writer *w, struct population *p, uint64_t slot)
{
	struct batch *b = population_batch(p, slot, 1);

	must(store_append(w, b));
	must(store_tick(w, (int64_t)(slot + 1) * SLOT_NS + SLOT_NS / 2));
	batch_free(b);
}

int
main(int argc, char **argv)
{
	struct store_options options = {.slot_ns = SLOT_NS};
	struct store_writer *w;
	struct population *p;
	uint64_t slots, slot = FIRST;
	useconds_t every;

	if (argc < 4)
		return 2;
	slots = strtoull(argv[3], NULL, 10);
	every = (useconds_t)(argc > 4 ? atoi(argv[4]) : 500) * 1000;
	signal(SIGTERM, on_term);
	p = population_new(argv[2]);
	must(store_writer_open(&w, argv[1], &options));
	for (; slot < FIRST + slots && !stop; slot++) {
		put(w, p, slot);
		if (slot % 64 == 0)
			usleep(2000); /* let the other thread keep up */
	}
	printf("ready %llu %llu\n", FIRST * 10ull,
	    (unsigned long long)slot * 10);
	fflush(stdout);
	for (; !stop; slot++) {
		usleep(every);
		put(w, p, slot);
	}
	must(store_writer_close(w));
	return 0;
}
