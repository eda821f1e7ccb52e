/*
 * The way to the walker's arrays, with files in place of the kernel's: what is
 * written is there, also over the border of two parts, and stays there when
 * nobody has used a part for long and it is mapped no more.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/probe/sampler_unwind.h"
#include "tests/unit/test.h"

#define CHUNK_BYTES (sizeof(uint64_t) << UNWIND_CHUNK_SHIFT)
#define PART_CELLS (SAMPLER_PART_BYTES / sizeof(uint64_t))

static struct sampler_unwind u;
static const struct unwind_kernel *k = &u.kernel;
static struct unwind_mapping mappings[UNWIND_MAPPINGS], back[UNWIND_MAPPINGS];

static int
file(size_t bytes)
{
	int fd = memfd_create("array", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	return fd;
}

static void
begin(void)
{
	static uint32_t generation, tick;
	const struct sampler_unwind_maps maps = {.arrays = {
	    [UNWIND_ARRAY_MAPPINGS] = file(sizeof(mappings)),
	    [UNWIND_ARRAY_TABLES] = file(UNWIND_TABLES *
	    sizeof(struct unwind_table)),
	    [UNWIND_ARRAY_REGIONS] = file(UNWIND_REGIONS *
	    sizeof(struct unwind_region))}, .processes = -1, .chunks = -1,
	    .generation = &generation, .tick = &tick};

	sampler_unwind_init(&u, &maps, 2);
	for (u.n = 0; u.n < 2; u.n++)
		u.chunks[u.n] = file(CHUNK_BYTES);
}

static void
end(void)
{
	sampler_unwind_fini(&u);
	CHECK_INT(u.n_parts, 0);
	for (size_t i = 0; i < UNWIND_ARRAYS; i++)
		if (i != UNWIND_ARRAY_CELLS)
			close(u.arrays[i]);
}

static void
rest(void)
{
	for (int i = 0; i < SAMPLER_RELEASES; i++)
		k->release(k->arg);
}

static bool
same(uint32_t first, size_t n)
{
	memset(back, 0xff, sizeof(back));
	return k->read(k->arg, UNWIND_ARRAY_MAPPINGS, first, back, n) &&
	    memcmp(back, mappings + first, n * sizeof(back[0])) == 0;
}

TEST(arrays)
{
	size_t n = SAMPLER_PART_BYTES / sizeof(mappings[0]); /* and a bit */
	struct unwind_region g = {.first = 7, .rows = 9};

	begin();
	for (size_t i = 0; i < UNWIND_MAPPINGS; i++)
		mappings[i].start = i + 1;
	CHECK(k->write(k->arg, UNWIND_ARRAY_MAPPINGS, (uint32_t)n,
	    &mappings[n], 1));
	CHECK_INT(u.n_parts, 2);
	CHECK(same((uint32_t)n, 1));
	CHECK(k->write(k->arg, UNWIND_ARRAY_MAPPINGS, 0, mappings,
	    UNWIND_MAPPINGS));
	CHECK_INT(u.n_parts, SAMPLER_ARRAY_PARTS);
	CHECK(same(0, UNWIND_MAPPINGS));
	CHECK(pread(u.arrays[UNWIND_ARRAY_MAPPINGS], back, sizeof(back), 0) ==
	    (ssize_t)sizeof(back));
	CHECK(memcmp(back, mappings, sizeof(back)) == 0);
	CHECK(k->write(k->arg, UNWIND_ARRAY_REGIONS, UNWIND_REGIONS - 1, &g,
	    1));
	memset(&g, 0, sizeof(g));
	CHECK(k->read(k->arg, UNWIND_ARRAY_REGIONS, UNWIND_REGIONS - 1, &g,
	    1));
	CHECK_INT(g.rows, 9);
	end();
}

TEST(what_rests_is_not_mapped)
{
	begin();
	CHECK(k->write(k->arg, UNWIND_ARRAY_MAPPINGS, 0, mappings,
	    UNWIND_MAPPINGS));
	rest();
	CHECK_INT(u.n_parts, SAMPLER_ARRAY_PARTS);
	CHECK(same(0, 1));
	rest();
	CHECK_INT(u.n_parts, 1); /* that was read meanwhile */
	rest();
	CHECK_INT(u.n_parts, 0);
	CHECK(same(0, UNWIND_MAPPINGS));
	end();
}

TEST(cells)
{
	uint32_t all = 2 << UNWIND_CHUNK_SHIFT, first = PART_CELLS - 3;
	const uint64_t six[] = {1, 2, 3, 4, 5, 6};

	begin();
	CHECK(k->write(k->arg, UNWIND_ARRAY_CELLS, first, six, 6));
	CHECK(k->write(k->arg, UNWIND_ARRAY_CELLS, all - 6, six, 6));
	CHECK_INT(u.n_parts, 3);
	rest();
	rest();
	CHECK_INT(u.n_parts, 0);
	for (uint32_t i = 0; i < 6; i++)
		CHECK(*k->cell(k->arg, first + i) == six[i] &&
		    *k->cell(k->arg, all - 6 + i) == six[i]);
	CHECK(k->cell(k->arg, all) == NULL);
	CHECK(!k->write(k->arg, UNWIND_ARRAY_CELLS, all, six, 1));
	end();
}

int
main(void)
{
	RUN(arrays);
	RUN(what_rests_is_not_mapped);
	RUN(cells);
	return test_done();
}
