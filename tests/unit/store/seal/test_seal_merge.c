/*
 * A file that is merged from files holds to the byte what sealing all of it
 * at once would have made: dictionary, stacks and strips.
 */
#include <stdlib.h>
#include <unistd.h>

#include "store/base/err.h"
#include "store/file/dbfile.h"
#include "store/seal/seal.h"
#include "tests/unit/test.h"

#define SLOT INT64_C(1000000000)
#define START UINT64_C(4096)
#define PARTS 4
#define PART_SLOTS 64

struct random {
	uint64_t state;
};

static unsigned
roll(struct random *r, unsigned n)
{
	r->state = r->state * UINT64_C(6364136223846793005) + 1;
	return (unsigned)(r->state >> 33) % n;
}

/* Few names, so that frames differ in one part only, and stacks are often
 * the beginning of others, or empty. */
static uint32_t
random_stack(struct batch *b, struct random *r)
{
	static const char *const names[] = {"a", "ab", "b", "put", "run"};
	static const char *const modules[] = {"", "kv", "libc"};
	struct label labels[2] = {{"pool", names[roll(r, 5)]},
	    {"thread", names[roll(r, 5)]}};
	unsigned depth = roll(r, 7);
	uint32_t node = 0;

	if (depth > 0)
		node = batch_node(b, 0, batch_labels(b, labels, roll(r, 3)));
	for (; depth > 1; depth--) {
		struct frame f = {roll(r, 2) ? FRAME_NATIVE : FRAME_KERNEL,
		    names[roll(r, 5)], modules[roll(r, 3)],
		    roll(r, 3) ? "" : "1f", roll(r, 3)};
		char address[32];

		if (roll(r, 3) == 0) { /* called what they are, or not */
			f.kind = FRAME_ADDRESS;
			f.offset = roll(r, 40);
			snprintf(address, sizeof(address), "%s+0x%x", f.module,
			    (unsigned)f.offset + (roll(r, 5) == 0));
			f.name = address;
		}
		node = batch_node(b, node, batch_frame(b, &f));
	}
	return node;
}

static uint32_t
random_series(struct batch *b, struct random *r, enum series_kind kind)
{
	static const char *const services[] = {"kv", "shop", "web"};
	struct label l = {"service", services[roll(r, 3)]};
	struct series_desc d = {kind, kind == SERIES_FLOW ? "cpu" : "load",
	    roll(r, 2) ? "count" : "", kind == SERIES_FLOW
	        ? 10101010 + (int64_t)roll(r, 2) : 0, 0, &l, roll(r, 2)};

	return batch_series(b, &d);
}

static struct batch *
random_batch(uint64_t slot)
{
	struct random r = {slot * 77 + 5};
	struct batch *b = batch_new((uint64_t)SLOT);

	for (unsigned i = roll(&r, 12); i > 0; i--)
		batch_add_profile(b, random_series(b, &r, SERIES_FLOW), slot,
		    random_stack(b, &r), 1 + roll(&r, 30));
	batch_add_gauge(b, random_series(b, &r, SERIES_GAUGE), slot,
	    (int64_t)slot * SLOT + 5, (int64_t)roll(&r, 90) - 40);
	batch_add_histogram(b, random_series(b, &r, SERIES_HISTOGRAM), slot,
	    roll(&r, 100000), 1 + roll(&r, 4));
	if (slot % 9 == 0)
		batch_add_fact(b, (int64_t)slot * SLOT, FACT_MARK,
		    slot % 2 ? "deploy" : "kv", "said", 4);
	return b;
}

/* Seals slots [from, until) but those skipped as one file. */
static void
seal_slots(const char *path, const struct sealed_meta *meta, uint64_t from,
    uint64_t until, uint64_t skip_from, uint64_t skip_until)
{
	struct symtab syms;
	struct memspan m = {.syms = &syms};
	struct journal_names names = {0};
	struct seal_source s = {.memory = &m, .from = meta->first,
	    .until = meta->first + meta->slots, .facts = true};
	struct seal_result result;

	CHECK_OK(symtab_init_unshown(&syms));
	for (uint64_t slot = from; slot < until; slot++) {
		struct batch *b;

		if (slot >= skip_from && slot < skip_until)
			continue;
		b = random_batch(slot);
		CHECK_OK(batch_finish(b));
		CHECK_OK(memspan_add(&m, b, &names));
		batch_free(b);
	}
	unlink(path);
	CHECK_OK(seal_build(path, meta, &s, 1, &result));
	memspan_fini(&m);
	symtab_fini(&syms);
}

static struct sealed_meta
span(uint64_t first, unsigned level)
{
	return (struct sealed_meta){.slot_ns = SLOT, .first = first,
	    .slots = seg_slots(level), .top = level};
}

/* Merges the parts, without what is to be dropped. */
static void
merge_parts(const char *path, const char *parts, const struct seal_drop *drop)
{
	struct sealed_meta meta = span(START, 4);
	struct seal_source sources[PARTS] = {{0}};
	struct seal_result result;
	char part[96];

	for (unsigned i = 0; i < PARTS; i++) {
		snprintf(part, sizeof(part), "%s.%u", parts, i);
		sources[i].until = UINT64_MAX;
		sources[i].facts = true;
		sources[i].drop = drop;
		CHECK_OK(sealed_open(&sources[i].file, part));
	}
	unlink(path);
	CHECK_OK(seal_build(path, &meta, sources, PARTS, &result));
	for (unsigned i = 0; i < PARTS; i++)
		sealed_close(sources[i].file);
}

/* All records of two files, one after the other. */
static void
compare_files(const char *a, const char *b)
{
	const char *paths[2] = {a, b};
	struct dbfile *f[2] = {NULL, NULL};
	struct buf first = {0};
	struct cur key[2], value[2];
	bool found[2];
	size_t records = 0;

	sealed_stream_key(&first, SEALED_META, 0);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(dbfile_open(&f[i], paths[i], 1 << 17));
		CHECK_OK(dbfile_seek(f[i], &first, &key[i], &value[i],
		    &found[i]));
	}
	while (found[0] && found[1]) {
		size_t k = cur_left(&key[0]), v = cur_left(&value[0]);
		bool same = k == cur_left(&key[1]) && v == cur_left(&value[1]);

		same = same && memcmp(key[0].p, key[1].p, k) == 0 &&
		    memcmp(value[0].p, value[1].p, v) == 0;
		CHECK(same);
		records++;
		for (int i = 0; i < 2; i++)
			CHECK_OK(dbfile_next(f[i], &key[i], &value[i],
			    &found[i]));
	}
	CHECK(found[0] == found[1]);
	CHECK(records > 2);
	for (int i = 0; i < 2; i++)
		dbfile_close(f[i]);
	buf_fini(&first);
}

struct place {
	char dir[32], parts[48], merged[48], whole[48];
};

static void
place_init(struct place *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/memlens.XXXXXX");
	CHECK(mkdtemp(p->dir) != NULL);
	snprintf(p->parts, sizeof(p->parts), "%s/part", p->dir);
	snprintf(p->merged, sizeof(p->merged), "%s/merged", p->dir);
	snprintf(p->whole, sizeof(p->whole), "%s/whole", p->dir);
	for (unsigned i = 0; i < PARTS; i++) {
		struct sealed_meta meta = span(START + i * PART_SLOTS, 3);
		char part[64];

		snprintf(part, sizeof(part), "%s.%u", p->parts, i);
		seal_slots(part, &meta, meta.first, meta.first + PART_SLOTS,
		    0, 0);
	}
}

static void
place_fini(struct place *p)
{
	char part[64];

	for (unsigned i = 0; i < PARTS; i++) {
		snprintf(part, sizeof(part), "%s.%u", p->parts, i);
		unlink(part);
	}
	unlink(p->merged);
	unlink(p->whole);
	CHECK(rmdir(p->dir) == 0);
}

TEST(merged_files_are_what_sealing_at_once_makes)
{
	struct sealed_meta meta = span(START, 4);
	struct place p;

	place_init(&p);
	merge_parts(p.merged, p.parts, NULL);
	seal_slots(p.whole, &meta, START, START + PARTS * PART_SLOTS, 0, 0);
	compare_files(p.merged, p.whole);
	place_fini(&p);
}

TEST(what_is_dropped_leaves_no_name_behind)
{
	struct sealed_meta meta = span(START, 4);
	struct seal_drop drop = {.from = START + 30, .until = START + 225,
	    .slot_ns = SLOT};
	struct place p;

	place_init(&p);
	merge_parts(p.merged, p.parts, &drop);
	seal_slots(p.whole, &meta, START, START + PARTS * PART_SLOTS,
	    drop.from, drop.until);
	compare_files(p.merged, p.whole);
	place_fini(&p);
}

int
main(void)
{
	RUN(merged_files_are_what_sealing_at_once_makes);
	RUN(what_is_dropped_leaves_no_name_behind);
	return test_done();
}
