/*
 * Arrays are written and read through mappings, so that neither rows nor the
 * frames that are walked here cost a system call each.  All stay mapped but
 * most parts of the rows, which are megabytes and would stay resident.
 */
#include "collector/probe/sampler_unwind.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t element[UNWIND_ARRAYS] = {
    [UNWIND_ARRAY_MAPPINGS] = sizeof(struct unwind_mapping),
    [UNWIND_ARRAY_TABLES] = sizeof(struct unwind_table),
    [UNWIND_ARRAY_REGIONS] = sizeof(struct unwind_region)};

/* Elements of them. */
static const size_t whole[UNWIND_ARRAYS] = {
    [UNWIND_ARRAY_MAPPINGS] = UNWIND_MAPPINGS,
    [UNWIND_ARRAY_TABLES] = UNWIND_TABLES,
    [UNWIND_ARRAY_REGIONS] = UNWIND_REGIONS};

#define CHUNK_CELLS (1u << UNWIND_CHUNK_SHIFT)
#define PART_SHIFT (UNWIND_CHUNK_SHIFT - SAMPLER_UNWIND_PARTS)
#define PART_BYTES (sizeof(uint64_t) << PART_SHIFT)
/* 8 MiB of them stay mapped: mapping them anew for each walk took a twelfth of
 * all of our time on a busy host. */
#define PARTS_KEPT 128

/* The part of the cells that holds cell i; NULL: there is none. */
static uint64_t *
kernel_part(struct sampler_unwind *u, uint32_t i)
{
	uint32_t chunk = i >> UNWIND_CHUNK_SHIFT, part = i >> PART_SHIFT;
	void *p;

	if (chunk >= u->n)
		return NULL;
	if (u->parts[part] == NULL) {
		p = mmap(NULL, PART_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		    u->chunks[chunk], (off_t)(PART_BYTES *
		    (part % (1u << SAMPLER_UNWIND_PARTS))));
		if (p == MAP_FAILED)
			return NULL;
		u->parts[part] = p;
		u->n_parts++;
	}
	return u->parts[part];
}

static bool
kernel_write_cells(struct sampler_unwind *u, uint32_t first,
    const uint64_t *cells, size_t n)
{
	size_t at, some;
	uint64_t *part;

	for (; n > 0; first += some, cells += some, n -= some) {
		part = kernel_part(u, first);
		if (part == NULL)
			return false;
		at = first % (1u << PART_SHIFT);
		some = (1u << PART_SHIFT) - at;
		some = n < some ? n : some;
		memcpy(part + at, cells, some * sizeof(*cells));
	}
	return true;
}

static bool
kernel_write(void *arg, enum unwind_array which, uint32_t first,
    const void *p, size_t n)
{
	struct sampler_unwind *u = arg;

	if (which == UNWIND_ARRAY_CELLS)
		return kernel_write_cells(u, first, p, n);
	if (u->whole[which] != NULL)
		memcpy(u->whole[which] + first * element[which], p,
		    n * element[which]);
	return u->whole[which] != NULL;
}

static bool
kernel_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	const struct sampler_unwind *u = arg;

	if (u->whole[which] != NULL)
		memcpy(p, u->whole[which] + first * element[which],
		    n * element[which]);
	return u->whole[which] != NULL;
}

/* Programs look for the process anew from then on. */
static bool
kernel_set_process(void *arg, int32_t pid, const struct unwind_process *p)
{
	const struct sampler_unwind *u = arg;
	bool ok;

	if (p == NULL)
		ok = bpf_map_delete_elem(u->processes, &pid) == 0;
	else
		ok = bpf_map_update_elem(u->processes, &pid, p, BPF_ANY) == 0;
	if (++*u->generation == 0) /* means that nothing is known */
		++*u->generation;
	return ok;
}

static bool
kernel_get_process(void *arg, int32_t pid, struct unwind_process *p)
{
	const struct sampler_unwind *u = arg;

	return bpf_map_lookup_elem(u->processes, &pid, p) == 0;
}

static const uint64_t *
kernel_cell(void *arg, uint32_t i)
{
	const uint64_t *part = kernel_part(arg, i);

	return part != NULL ? part + i % (1u << PART_SHIFT) : NULL;
}

static void
kernel_unmap(struct sampler_unwind *u)
{
	uint32_t i;

	for (i = 0; u->n_parts > 0; i++) {
		if (u->parts[i] == NULL)
			continue;
		munmap(u->parts[i], PART_BYTES);
		u->parts[i] = NULL;
		u->n_parts--;
	}
}

/* What is mapped is resident. */
static void
kernel_release(void *arg)
{
	struct sampler_unwind *u = arg;

	if (u->n_parts > PARTS_KEPT)
		kernel_unmap(u);
}

static bool
kernel_add_chunk(void *arg)
{
	struct sampler_unwind *u = arg;
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int fd;

	if (u->n >= u->kernel.chunks)
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk",
	    sizeof(uint32_t), sizeof(uint64_t), CHUNK_CELLS, &o);
	if (fd < 0)
		return false;
	if (bpf_map_update_elem(u->outer, &u->n, &fd, BPF_ANY) != 0) {
		close(fd);
		return false;
	}
	u->chunks[u->n++] = fd;
	return true;
}

static void
kernel_set_tick(void *arg, uint32_t tick)
{
	const struct sampler_unwind *u = arg;

	*u->tick = tick;
}

/* NULL: it cannot be read or written. */
static char *
unwind_map_whole(int map, size_t bytes)
{
	void *p = bytes == 0 ? MAP_FAILED : mmap(NULL, bytes,
	    PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

	return p == MAP_FAILED ? NULL : p;
}

void
sampler_unwind_init(struct sampler_unwind *u,
    const struct sampler_unwind_maps *maps, uint32_t chunks)
{
	size_t i;

	memcpy(u->arrays, maps->arrays, sizeof(u->arrays));
	u->processes = maps->processes;
	u->outer = maps->chunks;
	u->generation = maps->generation;
	u->tick = maps->tick;
	u->n = 0;
	u->n_parts = 0;
	for (i = 0; i < UNWIND_ARRAYS; i++)
		u->whole[i] = chunks == 0 ? NULL : unwind_map_whole(
		    maps->arrays[i], whole[i] * element[i]);
	u->kernel = (struct unwind_kernel){.arg = u, .chunks = chunks,
	    .add_chunk = kernel_add_chunk, .set_tick = kernel_set_tick,
	    .cell = kernel_cell, .release = kernel_release,
	    .write = kernel_write, .read = kernel_read,
	    .set_process = kernel_set_process,
	    .get_process = kernel_get_process};
}

void
sampler_unwind_fini(struct sampler_unwind *u)
{
	size_t i;

	for (i = 0; i < UNWIND_ARRAYS; i++) {
		if (u->whole[i] != NULL)
			munmap(u->whole[i], whole[i] * element[i]);
		u->whole[i] = NULL;
	}
	kernel_unmap(u);
	while (u->n > 0)
		close(u->chunks[--u->n]);
}
