/*
 * Arrays are written and read through mappings, so that neither rows nor the
 * frames that are walked here cost a system call each.  What is mapped is
 * resident, and they are megabytes: they are mapped in parts where they are
 * used, and a part stays as long as it is.
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

#define CHUNK_CELLS (1u << UNWIND_CHUNK_SHIFT)
#define PART_CELLS (SAMPLER_PART_BYTES / (uint32_t)sizeof(uint64_t))
/* 8 MiB of them stay mapped at most: mapping them anew for each walk took a
 * twelfth of all of our time on a busy host. */
#define PARTS_KEPT 128

static char *
part_get(struct sampler_unwind *u, struct sampler_part *p, int map,
    size_t number)
{
	void *at;

	if (p->at == NULL) {
		at = mmap(NULL, SAMPLER_PART_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, map, (off_t)(number * SAMPLER_PART_BYTES));
		if (at == MAP_FAILED)
			return NULL;
		p->at = at;
		u->n_parts++;
	}
	p->used = true;
	return p->at;
}

/* The part of the cells that holds cell i; NULL: there is none. */
static uint64_t *
kernel_cells(struct sampler_unwind *u, uint32_t i)
{
	uint32_t chunk = i >> UNWIND_CHUNK_SHIFT, part = i / PART_CELLS;

	if (chunk >= u->n)
		return NULL;
	return (void *)part_get(u, &u->cells[part], u->chunks[chunk],
	    part % SAMPLER_CHUNK_PARTS);
}

static bool
kernel_write_cells(struct sampler_unwind *u, uint32_t first,
    const uint64_t *cells, size_t n)
{
	size_t at, some;
	uint64_t *part;

	for (; n > 0; first += some, cells += some, n -= some) {
		part = kernel_cells(u, first);
		if (part == NULL)
			return false;
		at = first % PART_CELLS;
		some = PART_CELLS - at;
		some = n < some ? n : some;
		memcpy(part + at, cells, some * sizeof(*cells));
	}
	return true;
}

/* Byte `at` of another array, and how many of n there are in its part. */
static char *
kernel_bytes(struct sampler_unwind *u, enum unwind_array which, size_t at,
    size_t *n)
{
	size_t number = at / SAMPLER_PART_BYTES, in = at % SAMPLER_PART_BYTES;
	char *part = NULL;

	if (u->kernel.chunks > 0)
		part = part_get(u, &u->parts[which][number], u->arrays[which],
		    number);
	if (*n > SAMPLER_PART_BYTES - in)
		*n = SAMPLER_PART_BYTES - in;
	return part != NULL ? part + in : NULL;
}

static bool
kernel_write(void *arg, enum unwind_array which, uint32_t first,
    const void *p, size_t n)
{
	struct sampler_unwind *u = arg;
	size_t at = first * element[which], left = n * element[which], some;
	const char *from = p;
	char *to;

	if (which == UNWIND_ARRAY_CELLS)
		return kernel_write_cells(u, first, p, n);
	for (; left > 0; at += some, from += some, left -= some) {
		some = left;
		if ((to = kernel_bytes(u, which, at, &some)) == NULL)
			return false;
		memcpy(to, from, some);
	}
	return true;
}

static bool
kernel_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	struct sampler_unwind *u = arg;
	size_t at = first * element[which], left = n * element[which], some;
	char *to = p, *from;

	for (; left > 0; at += some, to += some, left -= some) {
		some = left;
		if ((from = kernel_bytes(u, which, at, &some)) == NULL)
			return false;
		memcpy(to, from, some);
	}
	return true;
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
	const uint64_t *part = kernel_cells(arg, i);

	return part != NULL ? part + i % PART_CELLS : NULL;
}

/* Those that were not used since this was asked before; or all. */
static void
parts_unmap(struct sampler_unwind *u, struct sampler_part *p, size_t n,
    bool all)
{
	for (; n > 0; n--, p++) {
		if (p->at != NULL && (all || !p->used)) {
			munmap(p->at, SAMPLER_PART_BYTES);
			p->at = NULL;
			u->n_parts--;
		}
		p->used = false;
	}
}

static void
kernel_unmap(struct sampler_unwind *u, bool all)
{
	size_t i;

	for (i = 0; i < UNWIND_ARRAYS; i++)
		parts_unmap(u, u->parts[i], SAMPLER_ARRAY_PARTS, all);
	parts_unmap(u, u->cells, u->n * SAMPLER_CHUNK_PARTS, all);
	u->releases = 0;
}

static void
kernel_release(void *arg)
{
	struct sampler_unwind *u = arg;

	if (u->n_parts > PARTS_KEPT)
		kernel_unmap(u, true);
	else if (++u->releases >= SAMPLER_RELEASES)
		kernel_unmap(u, false);
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

void
sampler_unwind_init(struct sampler_unwind *u,
    const struct sampler_unwind_maps *maps, uint32_t chunks)
{
	memcpy(u->arrays, maps->arrays, sizeof(u->arrays));
	u->processes = maps->processes;
	u->outer = maps->chunks;
	u->generation = maps->generation;
	u->tick = maps->tick;
	u->n = 0;
	u->n_parts = 0;
	u->releases = 0;
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
	kernel_unmap(u, true);
	while (u->n > 0)
		close(u->chunks[--u->n]);
}
