/*
 * Regions of code whose rows are in the kernel, and which of them make room,
 * against a naive model: which were met when, and whose cells are whose.
 */
#include <fcntl.h>
#include <linux/types.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/elf/elf.h"
#include "collector/symbols/symbols.h"
#include "collector/unwind/chunks.h"
#include "collector/unwind/unwind_regions.h"
#include "store/base/clock.h"
#include "tests/unit/test.h"

#define CHUNKS 2
#define CELLS (1u << UNWIND_CHUNK_SHIFT)
#define FILES 6
#define EACH 40 /* regions of a file */
#define BASE 0x3000u
#define S NS_PER_S

static struct {
	uint64_t cells[CHUNKS * CELLS];
	struct unwind_region regions[UNWIND_REGIONS];
	uint32_t chunks, allowed, tick;
} k;

static bool
fake_add(void *arg)
{
	(void)arg;
	if (k.chunks == k.allowed)
		return false;
	k.chunks++;
	return true;
}

static void
fake_tick(void *arg, uint32_t tick)
{
	(void)arg;
	k.tick = tick;
}

static bool
fake_write(void *arg, enum unwind_array which, uint32_t first, const void *p,
    size_t n)
{
	(void)arg;
	if (which == UNWIND_ARRAY_CELLS) {
		CHECK(first + n <= k.chunks * CELLS);
		CHECK(first / CELLS == (first + n - 1) / CELLS);
		memcpy(&k.cells[first], p, n * sizeof(k.cells[0]));
	} else {
		CHECK(which == UNWIND_ARRAY_REGIONS);
		CHECK(first + n <= UNWIND_REGIONS);
		memcpy(&k.regions[first], p, n * sizeof(k.regions[0]));
	}
	return true;
}

static bool
fake_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	(void)arg;
	CHECK(which == UNWIND_ARRAY_REGIONS);
	memcpy(p, &k.regions[first], n * sizeof(k.regions[0]));
	return true;
}

static struct unwind_kernel fake = {.chunks = CHUNKS, .add_chunk = fake_add,
    .set_tick = fake_tick, .write = fake_write, .read = fake_read};

static struct unwind_regions *
begin(void)
{
	memset(&k, 0, sizeof(k));
	k.allowed = CHUNKS;
	return unwind_regions_new(&fake);
}

static struct symbols_rows
described(const char *id, uint32_t regions)
{
	return (struct symbols_rows){.status = ELF_OK, .base = BASE,
	    .regions = regions, .shift = UNWIND_REGION_SHIFT, .fd = -1,
	    .code_id = (const uint8_t *)id, .code_id_len = strlen(id)};
}

/* The rows of region `at` of file `file`: so many, told apart by their CFA. */
static bool
load(struct unwind_regions *r, struct code *c, uint32_t file, uint32_t at,
    uint32_t n, int64_t now_ns)
{
	struct unwind_row *rows = calloc(n + 1, sizeof(*rows));
	struct symbols_rows a = described("", EACH);
	uint32_t low = BASE + (at << UNWIND_REGION_SHIFT), i;
	bool ok;

	for (i = 0; i < n; i++)
		rows[i] = (struct unwind_row){low + i, (__u16)(100 * file +
		    at), UNWIND_SP, 0};
	a.n = n;
	a.fd = memfd_create("rows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(write(a.fd, rows, n * sizeof(*rows)) ==
	    (ssize_t)(n * sizeof(*rows)));
	fcntl(a.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	ok = regions_load(r, c, low + 7, &a, now_ns);
	close(a.fd);
	free(rows);
	return ok;
}

static bool
is_ready(const struct code *c, uint32_t at)
{
	return k.regions[regions_table(c).first + at].state ==
	    UNWIND_TABLE_READY;
}

static void
meet(const struct code *c, uint32_t at)
{
	k.regions[regions_table(c).first + at].used = k.tick;
}

TEST(rows_come_by_regions)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("id", EACH);
	struct code *c = regions_get(r, &a, S);
	struct unwind_table t = regions_table(c);

	CHECK_INT(t.state, UNWIND_TABLE_READY);
	CHECK_INT(t.code.n, EACH);
	CHECK(regions_lack(c, BASE + 3) && !regions_lack(c, BASE - 1));
	CHECK(!regions_lack(c, BASE + (EACH << UNWIND_REGION_SHIFT)));
	CHECK_INT(k.chunks, 0); /* no code, no memory */
	CHECK(load(r, c, 1, 2, 500, S));
	CHECK_INT(k.chunks, 1);
	CHECK(is_ready(c, 2) && !is_ready(c, 1));
	CHECK(!regions_lack(c, BASE + (2 << UNWIND_REGION_SHIFT)));
	/* One without functions needs no cells, and is not asked for again. */
	CHECK(load(r, c, 1, 3, 0, S));
	CHECK(is_ready(c, 3));
	regions_refuse(r, c, BASE);
	CHECK_INT(k.regions[t.first].state, UNWIND_TABLE_TOO_LARGE);
	CHECK(!regions_lack(c, BASE));
	regions_drop(r, c, S);
	unwind_regions_free(r);
}

TEST(one_build_id_one_set_of_regions)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("same", EACH), b = described("other",
	    EACH), none = described("", EACH), less = described("same", 3);
	struct code *x = regions_get(r, &a, S), *y = regions_get(r, &a, S);
	struct unwind_regions_stats stats;

	CHECK(x == y);
	CHECK(regions_get(r, &b, S) != x);
	CHECK(regions_get(r, &less, S) != x); /* of another shape */
	CHECK(regions_get(r, &none, S) != regions_get(r, &none, S));
	load(r, x, 1, 1, 100, S);
	regions_drop(r, x, S);
	CHECK(is_ready(y, 1));
	regions_drop(r, y, S);
	unwind_regions_stats(r, &stats);
	CHECK_INT(stats.loaded, 0);
	CHECK_INT(stats.rows, 0);
	unwind_regions_free(r);
}

TEST(nonsense_is_refused)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("id", EACH);
	struct code *c;

	a.regions = UNWIND_REGIONS_FILE + 1;
	CHECK(regions_get(r, &a, S) == NULL);
	a.regions = 0;
	CHECK(regions_get(r, &a, S) == NULL);
	a = described("id", EACH);
	a.shift = 5;
	CHECK(regions_get(r, &a, S) == NULL);
	a.shift = 31; /* ends behind what an offset can say */
	CHECK(regions_get(r, &a, S) == NULL);
	a = described("id", EACH);
	c = regions_get(r, &a, S);
	a.n = 10;
	a.fd = -1;
	CHECK(!regions_load(r, c, BASE, &a, S));
	CHECK(!is_ready(c, 0));
	unwind_regions_free(r);
}

/* A compiler of more code than there is room for, and a small program beside
 * it: what is met stays, seconds do not count. */
TEST(what_is_met_stays)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("large", EACH), b =
	    described("small", 1);
	struct code *large = regions_get(r, &a, S);
	struct code *small = regions_get(r, &b, S);
	struct unwind_regions_stats stats;
	uint32_t at = 0, i;
	int64_t now;

	load(r, small, 2, 0, 2000, S);
	for (i = 0; i < 400; i++, at = (at + 7) % EACH) {
		now = (100 + i) * S;
		unwind_regions_tick(r);
		meet(small, 0);
		load(r, large, 1, at, 20000, now);
		CHECK(is_ready(small, 0));
	}
	unwind_regions_stats(r, &stats);
	CHECK(stats.evicted > 100);
	CHECK(stats.loaded >= 9);
	CHECK_INT(stats.cells, CHUNKS * CELLS);
	/* Nobody is met any more: time alone takes nothing away. */
	load(r, large, 1, at, 20000, now + 3600 * S);
	CHECK(is_ready(small, 0));
	unwind_regions_free(r);
}

/* What a database does again and again outlasts code that came but once, also
 * where it pauses for longer than that stays. */
TEST(what_is_met_again_outlasts_what_came_once)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("compiler", EACH), b =
	    described("flush", 1);
	struct code *large = regions_get(r, &a, S);
	struct code *flush = regions_get(r, &b, S);
	uint32_t at = 0, i, n;

	load(r, flush, 2, 0, 2000, S);
	for (i = 0; i < 60; i++, at = (at + 1) % EACH) {
		for (n = 0; n < 500; n++)
			unwind_regions_tick(r);
		load(r, large, 1, at, 20000, (100 + i) * S);
		if (i % 6 == 0 && i < 30) /* then nothing, for twice as long */
			meet(flush, 0);
		if (i == 45)
			CHECK(is_ready(flush, 0) && !is_ready(large, 24));
	}
	unwind_regions_free(r);
}

/* The kernel has no memory for more chunks: what there is is the bound. */
TEST(less_memory_than_allowed)
{
	struct unwind_regions *r = begin();
	struct symbols_rows a = described("id", EACH);
	struct code *c = regions_get(r, &a, S);
	struct unwind_regions_stats stats;
	uint32_t at;

	k.allowed = 1;
	for (at = 0; at < EACH; at++)
		load(r, c, 1, at, 8000, (3 * at + 1) * S);
	unwind_regions_stats(r, &stats);
	CHECK_INT(stats.cells_max, CELLS);
	CHECK(stats.loaded >= 10 && stats.loaded <= 14);
	CHECK(is_ready(c, EACH - 1));
	unwind_regions_free(r);
}

/* ---- the model ---- */

static uint64_t
random64(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static struct {
	struct code *codes[FILES];
	uint32_t met[FILES][EACH];  /* when; of those with rows */
	bool ready[FILES][EACH];
	uint32_t owner[CHUNKS * CELLS]; /* 100 file + at + 1; 0: nobody's */
	int64_t free_ns[CHUNKS * CELLS]; /* since when */
} m;

/* Its cells hold its rows and are nobody else's. */
static void
check_cells(uint32_t file, uint32_t at)
{
	const struct unwind_region *g =
	    &k.regions[regions_table(m.codes[file]).first + at];
	uint32_t i;

	for (i = g->first; i < g->first + g->buckets + g->rows; i++)
		CHECK_INT(m.owner[i], 100 * file + at + 1);
	for (i = 0; i < g->rows; i++) {
		const struct unwind_row *row = (const struct unwind_row *)
		    &k.cells[g->first + g->buckets + i];

		CHECK_INT(row->cfa, 100 * file + at);
	}
}

/* Buckets and rows of a region of n rows. */
static uint32_t
cells_of(uint32_t n)
{
	uint32_t span = (1u << UNWIND_REGION_SHIFT) - 1, shift = 5;

	while (shift < UNWIND_SHIFT_MAX && (span >> shift) > n / 8)
		shift++;
	return (span >> shift) + 1 + n;
}

/* When the youngest region in n cells from `first` on was met; 0: none are
 * there. */
static uint32_t
met_within(uint32_t first, uint32_t n)
{
	uint32_t met = 0, i, who;

	for (i = first; i < first + n; i++) {
		who = m.owner[i];
		if (who != 0 && m.met[(who - 1) / 100][(who - 1) % 100] > met)
			met = m.met[(who - 1) / 100][(who - 1) % 100];
	}
	return met;
}

/* What made room for so many cells was met before what lies anywhere else that
 * they could lie. */
static void
check_room(uint32_t met, uint32_t cells)
{
	uint32_t i;

	/* A place between two that begin is no better than the first one. */
	for (i = 0; i < CHUNKS * CELLS; i++)
		if ((i == 0 || m.owner[i] != m.owner[i - 1]) &&
		    i % CELLS + cells <= CELLS)
			CHECK(met_within(i, cells) >= met);
}

/* What went was met before everything that stayed, where it went by itself; its
 * cells rest. */
static void
check_gone(uint32_t file, uint32_t at, int64_t now_ns, bool for_room)
{
	uint32_t f, a, i;

	m.ready[file][at] = false;
	for (f = 0; f < FILES; f++)
		for (a = 0; a < EACH; a++)
			CHECK(for_room || !m.ready[f][a] ||
			    !is_ready(m.codes[f], a) ||
			    m.met[f][a] >= m.met[file][at]);
	for (i = 0; i < CHUNKS * CELLS; i++) {
		if (m.owner[i] != 100 * file + at + 1)
			continue;
		m.owner[i] = 0;
		m.free_ns[i] = now_ns;
	}
}

static void
check_come(uint32_t file, uint32_t at, int64_t now_ns)
{
	const struct unwind_region *g =
	    &k.regions[regions_table(m.codes[file]).first + at];
	uint32_t i;

	for (i = g->first; i < g->first + g->buckets + g->rows; i++) {
		CHECK_INT(m.owner[i], 0);
		CHECK(m.free_ns[i] == 0 || now_ns - m.free_ns[i] >= 2 * S);
		m.owner[i] = 100 * file + at + 1;
	}
	m.ready[file][at] = true;
	m.met[file][at] = g->used;
}

/* room: that was made for so many cells, or 0. */
static void
check_changes(int64_t now_ns, uint32_t room)
{
	uint32_t f, a, met = 0;

	for (f = 0; f < FILES; f++)
		for (a = 0; a < EACH; a++)
			if (!m.ready[f][a] && is_ready(m.codes[f], a))
				check_come(f, a, now_ns);
	for (f = 0; f < FILES; f++)
		for (a = 0; a < EACH; a++)
			if (m.ready[f][a] && !is_ready(m.codes[f], a) &&
			    m.met[f][a] > met)
				met = m.met[f][a];
	if (room > 0)
		check_room(met, room);
	for (f = 0; f < FILES; f++)
		for (a = 0; a < EACH; a++)
			if (m.ready[f][a] && !is_ready(m.codes[f], a))
				check_gone(f, a, now_ns, room > 0);
}

TEST(against_the_model)
{
	struct unwind_regions *r = begin();
	struct unwind_regions_stats stats;
	uint64_t seed = 88172645463325252u;
	uint32_t f, a, i, n, came = 0, rooms = 0;
	int64_t now = S;

	memset(&m, 0, sizeof(m));
	for (f = 0; f < FILES; f++) {
		char id[2] = {(char)('a' + f), 0};
		struct symbols_rows what = described(id, EACH);

		m.codes[f] = regions_get(r, &what, now);
	}
	for (i = 0; i < 3000 && test_bad < 3; i++) {
		unwind_regions_tick(r);
		f = (uint32_t)(random64(&seed) % FILES);
		/* Some are met more often than others. */
		a = (uint32_t)(random64(&seed) % (1 + random64(&seed) % EACH));
		now += (int64_t)(random64(&seed) % (uint64_t)S) / 4;
		if (m.ready[f][a]) {
			meet(m.codes[f], a);
			m.met[f][a] = k.tick;
			check_cells(f, a);
			continue;
		}
		n = 1 + (uint32_t)(random64(&seed) % 12000);
		load(r, m.codes[f], f, a, n, now);
		check_changes(now, is_ready(m.codes[f], a) ? 0 : cells_of(n));
		if (!is_ready(m.codes[f], a)) {
			rooms++;
			CHECK(!regions_have_room(r, m.codes[f], BASE +
			    (a << UNWIND_REGION_SHIFT), now));
			now += 2 * S;
			CHECK(regions_have_room(r, m.codes[f], BASE +
			    (a << UNWIND_REGION_SHIFT), now));
			load(r, m.codes[f], f, a, n, now);
			check_changes(now, 0);
		}
		came += is_ready(m.codes[f], a);
	}
	unwind_regions_stats(r, &stats);
	CHECK(came > 500);
	CHECK(rooms > 50);
	CHECK(stats.evicted > 400);
	CHECK_INT(stats.made, stats.evicted + stats.loaded);
	unwind_regions_free(r);
}

int
main(void)
{
	RUN(rows_come_by_regions);
	RUN(one_build_id_one_set_of_regions);
	RUN(nonsense_is_refused);
	RUN(what_is_met_stays);
	RUN(what_is_met_again_outlasts_what_came_once);
	RUN(less_memory_than_allowed);
	RUN(against_the_model);
	return test_done();
}
