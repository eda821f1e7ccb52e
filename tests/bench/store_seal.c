/*
 * Measures the memory that sealing a journal of many different stacks takes:
 * one process writes it, another, that has done nothing else, seals it.
 *
 *	store_seal fill DIR STACKS NAMES [random]
 *	store_seal seal DIR [TIME]    what is to be at this time (s since 1970)
 *	store_seal sum FILE     a checksum of a sealed file's records
 *
 * A stack is 25 calls deep, of which 20 are shared with a hundred others; the
 * last five are of NAMES functions (0: of functions of their own).  A random
 * one is 14 calls of NAMES functions deep.  Prints lines "name value unit".
 */
#include <malloc.h>
#include <sys/resource.h>

#include "store/base/clock.h"
#include "store/file/dbfile.h"
#include "store/store.h"
#include "workload.h"

#define PUSH 20000u /* stacks of one batch */
#define TRUNKS 2000u
#define SLOT0 4096u

static uint32_t
seal_frame(struct batch *b, uint64_t name)
{
	char text[64];
	struct frame f = {FRAME_NATIVE, text, "service", "b1", name};

	snprintf(text, sizeof(text), "name_of_a_function_in_a_namespace_%llu",
	    (unsigned long long)name);
	return batch_frame(b, &f);
}

struct shape {
	unsigned shared, own; /* calls of a stack */
	uint64_t names;
};

static void
seal_stack(struct batch *b, struct population *p, uint32_t series,
    uint32_t top, uint32_t i, const struct shape *shape)
{
	uint32_t node = top;

	for (unsigned k = 0; k < shape->shared; k++)
		node = batch_node(b, node, seal_frame(b,
		    1000000000u + i % TRUNKS * (k > 8) + 5000 * k));
	for (unsigned k = 0; k < shape->own; k++)
		node = batch_node(b, node, seal_frame(b, shape->names
		    ? roll(p) % shape->names : 5 * (uint64_t)i + k));
	batch_add_profile(b, series, SLOT0, node, 1 + (int64_t)(roll(p) % 9));
}

static void
run_fill(const char *dir, uint32_t stacks, const struct shape *shape)
{
	struct store_options o = {.slot_ns = SLOT_NS, .no_thread = true};
	struct population random = {.seed = 1};
	struct label service = {"service", "big"};
	struct series_desc d = {SERIES_FLOW, "cpu", "nanoseconds", 10101010,
	    0, &service, 1};
	struct store_writer *w;

	must(store_writer_open(&w, dir, &o));
	for (uint32_t i = 0; i < stacks;) {
		struct batch *b = batch_new(SLOT_NS);
		uint32_t series = batch_series(b, &d);
		uint32_t top = batch_node(b, 0, batch_labels(b, NULL, 0));

		do
			seal_stack(b, &random, series, top, i++, shape);
		while (i % PUSH != 0 && i < stacks);
		must(store_append(w, b));
		batch_free(b);
	}
	_Exit(0); /* closing might seal it */
}

static void
run_seal(const char *dir, int64_t now_ns)
{
	struct store_options o = {.slot_ns = SLOT_NS, .no_thread = true};
	struct store_writer *w;
	double cpu;
	long before;

	mallopt(M_ARENA_MAX, 1); /* as the daemon */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 512 << 10);
	must(store_writer_open(&w, dir, &o));
	before = peak_rss_kb();
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	must(store_tick(w, now_ns));
	printf("store_seal_cpu %.3f s\n",
	    seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	printf("store_seal_rss_before %.1f MB\n", (double)before / 1024);
	printf("store_seal_rss %.1f MB\n", (double)peak_rss_kb() / 1024);
	must(store_writer_close(w));
}

/* The records of a sealed file: what pages hold beside them is not defined. */
static void
run_sum(const char *path)
{
	struct buf first = {0};
	struct cur k, v;
	struct dbfile *f;
	uint32_t crc = 0;
	size_t n = 0;
	bool found;

	must(dbfile_open(&f, path, 1 << 20));
	must(dbfile_seek(f, &first, &k, &v, &found));
	for (; found; n++) {
		crc = crc32c(crc, k.p, cur_left(&k));
		crc = crc32c(crc, v.p, cur_left(&v));
		must(dbfile_next(f, &k, &v, &found));
	}
	printf("%08x %zu\n", crc, n);
	dbfile_close(f);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	bool random = argc == 6 && strcmp(argv[5], "random") == 0;
	struct shape shape = {random ? 0 : 20, random ? 14 : 5, 0};

	if (strcmp(what, "fill") == 0 && (argc == 5 || random)) {
		shape.names = strtoull(argv[4], NULL, 10);
		run_fill(argv[2], (uint32_t)strtoul(argv[3], NULL, 10),
		    &shape);
	}
	if (strcmp(what, "seal") == 0 && (argc == 3 || argc == 4))
		run_seal(argv[2], argc == 4 ?
		    strtoll(argv[3], NULL, 10) * NS_PER_S :
		    (int64_t)(SLOT0 + 4 * 64) * SLOT_NS);
	else if (strcmp(what, "sum") == 0 && argc == 3)
		run_sum(argv[2]);
	else {
		fprintf(stderr, "usage: store_seal fill|seal|sum DIR ...\n");
		return 2;
	}
	return 0;
}
