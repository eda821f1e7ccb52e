/*
 * A store of quiet services, and loud ones beside them, for
 * tests/bench/neighbour.sh:
 *
 *	neighbour_store DIR QUIET NEW PROGRAMS SLOTS [past]
 *
 * QUIET services have 10 stacks and four metrics in each slot.  One more
 * pushes NEW stacks a slot that nobody has seen before; and of a host that
 * compiles, PROGRAMS programs a slot end within it: of 2,000 names in turn,
 * each with five stacks and eight metrics.  The same slots of the quiet
 * services are the same bytes, whoever is beside them.
 *
 * Of more than 320 slots those before the last 320 or so are the past: all is
 * there in one slot of 60 alone, new stacks in one of 360, and of the last day
 * ten quiet services in each.  `past` writes them and ends; called once more,
 * it goes on from there.
 *
 * The last of SLOTS slots, of which a full span ends three quarters in, is
 * the last but one of its journal.  Says "ready FROM UNTIL" (Unix seconds);
 * with each line of the standard input it writes what seals that journal and
 * says so again; ends with the input.
 */
#include <unistd.h>

#include "store/store.h"
#include "workload.h"

#define SEAL 64u
#define FULL 4096u
#define NAMES_OF_PROGRAMS 2000u
#define TAIL 320u
#define SPARSE 60u
#define RARE 360u
#define DAY 8640u
#define DENSE 10u /* services of the last day */

struct loads {
	unsigned quiet, new, programs;
};

static uint32_t
series(struct batch *b, const char *service, const char *name, bool flow)
{
	struct label label = {"service", service};
	struct series_desc d = {flow ? SERIES_FLOW : SERIES_GAUGE, name,
	    flow ? "nanoseconds" : "bytes", flow ? 10101010 : 0, 0, &label, 1};

	return batch_series(b, &d);
}

static uint32_t
frame(struct batch *b, const char *name)
{
	struct frame f = {FRAME_NATIVE, name, "program", "b1", 0};

	return batch_frame(b, &f);
}

/* Below `top`: a path through names that many share, by the bits of `which`. */
static uint32_t
path(struct batch *b, uint32_t top, unsigned which, int depth)
{
	char name[64];

	for (int d = 0; d < depth; d++) {
		snprintf(name, sizeof(name), "storage::Table::step_%d_%u", d,
		    which >> d / 4 & 7);
		top = batch_node(b, top, frame(b, name));
	}
	return top;
}

static uint32_t
top_of(struct batch *b, const char *process)
{
	struct label label = {"process", process};

	return batch_node(b, 0, batch_labels(b, &label, 1));
}

static void
put_service(struct batch *b, uint64_t slot, const char *service,
    unsigned stacks, unsigned metrics)
{
	uint32_t profile = series(b, service, "cpu", true);
	uint32_t top = top_of(b, service);
	char name[32];

	for (unsigned i = 0; i < stacks; i++)
		batch_add_profile(b, profile, slot, path(b, top,
		    i * 2654435761u + (unsigned)(slot % 5) * (i % 7 == 0), 12),
		    1 + (int64_t)(i + slot) % 9);
	for (unsigned i = 0; i < metrics; i++) {
		snprintf(name, sizeof(name), "memory_%u", i);
		batch_add_gauge(b, series(b, service, name, false), slot, 0,
		    (int64_t)(slot * 7919 % 4096 + i) << 12);
	}
}

/* Stacks that were never there before: 24 deep, a third of it their own. */
static void
put_new(struct batch *b, uint64_t slot, unsigned n)
{
	uint32_t profile = series(b, "loud", "cpu", true);
	uint32_t top = top_of(b, "loud");
	char name[64];

	for (unsigned i = 0; i < n; i++) {
		uint32_t node = path(b, top, i * 2654435761u, 16);

		for (int d = 0; d < 8; d++) {
			snprintf(name, sizeof(name),
			    "query::generated::plan_%llu_%u_%d",
			    (unsigned long long)slot, i, d);
			node = batch_node(b, node, frame(b, name));
		}
		batch_add_profile(b, profile, slot, node, 1 + i % 3);
	}
}

static void
put_slot(struct store_writer *w, const struct loads *l, uint64_t slot)
{
	struct batch *b = batch_new(SLOT_NS);
	char name[32];

	for (unsigned i = 0; i < l->quiet; i++) {
		snprintf(name, sizeof(name), "quiet%u", i);
		put_service(b, slot, name, 10, 4);
	}
	for (unsigned i = 0; i < l->programs; i++) {
		snprintf(name, sizeof(name), "cc%llu", (unsigned long long)
		    (slot * l->programs + i) % NAMES_OF_PROGRAMS);
		put_service(b, slot, name, 5, 8);
	}
	if (l->new > 0)
		put_new(b, slot, l->new);
	must(store_append(w, b));
	must(store_tick(w, (int64_t)(slot + 1) * SLOT_NS + SLOT_NS / 2));
	batch_free(b);
}

/* Slots before `tail`, from where the store ends. */
static void
put_past(struct store_writer *w, const struct loads *l, uint64_t first,
    uint64_t tail)
{
	const struct loads few = {l->quiet < DENSE ? l->quiet : DENSE, 0, 0};
	const struct loads most = {l->quiet, 0, l->programs};

	for (uint64_t slot = first; slot < tail; slot++) {
		if (slot % SEAL == 0)
			must(store_tick(w, (int64_t)slot * SLOT_NS));
		if (slot % SPARSE == 0)
			put_slot(w, slot % RARE == 0 ? l : &most, slot);
		else if (slot + DAY >= tail)
			put_slot(w, &few, slot);
	}
}

/* The slot at which the directory's store ends; 0: there is none. */
static uint64_t
end_of(const char *dir)
{
	struct store_extent extent;
	struct store *s;

	if (store_open(&s, dir, 0) != NULL)
		return 0;
	store_extent(s, &extent);
	store_close(s);
	return (uint64_t)(extent.until_ns / SLOT_NS);
}

static void
say(uint64_t first, uint64_t until)
{
	printf("ready %llu %llu\n", (unsigned long long)first * 10,
	    (unsigned long long)until * 10);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct store_options options = {.slot_ns = SLOT_NS, .no_thread = true};
	struct store_writer *w;
	struct loads loads;
	uint64_t slots, slot, first, until, end;
	char line[16];

	if (argc != 6 && argc != 7)
		return 2;
	loads = (struct loads){(unsigned)atoi(argv[2]),
	    (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4])};
	slots = strtoull(argv[5], NULL, 10);
	until = slots < TAIL ? slots : TAIL;
	until = FULL * (1000 + slots / FULL) + until / 4 / SEAL * SEAL - 1;
	slot = first = until - slots;
	end = end_of(argv[1]);
	must(store_writer_open(&w, argv[1], &options));
	if (slots > TAIL) {
		slot = (until - TAIL) / SEAL * SEAL;
		put_past(w, &loads, first > end ? first : end, slot);
	}
	if (argc == 7) {
		must(store_writer_close(w));
		return 0;
	}
	do {
		for (; slot < until; slot++)
			put_slot(w, &loads, slot);
		say(first, until);
		until += 2; /* the last of the journal, and another */
	} while (fgets(line, sizeof(line), stdin) != NULL);
	must(store_writer_close(w));
	return 0;
}
