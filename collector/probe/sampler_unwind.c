/*
 * Arrays are written through a mapping of just the pages concerned, so that
 * megabytes of rows cost no system call each and do not stay in our resident
 * memory.  The regions' array is small and all of it is read whenever rows
 * have to make room: that one stays mapped.
 */
#include "collector/probe/sampler_unwind.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t element[UNWIND_ARRAYS] = {
    [UNWIND_ARRAY_CELLS] = sizeof(uint64_t),
    [UNWIND_ARRAY_MAPPINGS] = sizeof(struct unwind_mapping),
    [UNWIND_ARRAY_TABLES] = sizeof(struct unwind_table),
    [UNWIND_ARRAY_REGIONS] = sizeof(struct unwind_region)};

#define REGIONS_BYTES (UNWIND_REGIONS * sizeof(struct unwind_region))
#define CHUNK_CELLS (1u << UNWIND_CHUNK_SHIFT)

struct window {
	char *pages, *p;
	size_t size;
};

static bool
window_open(struct window *w, int fd, size_t at, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = at % page;

	w->size = skip + n;
	w->pages = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	    (off_t)(at - skip));
	if (w->pages == MAP_FAILED)
		return false;
	w->p = w->pages + skip;
	return true;
}

/* The map that element `first` is in, and its number there; -1: none. */
static int
kernel_map(const struct sampler_unwind *u, enum unwind_array which,
    uint32_t *first)
{
	uint32_t chunk = *first >> UNWIND_CHUNK_SHIFT;

	if (which != UNWIND_ARRAY_CELLS)
		return u->arrays[which];
	*first &= CHUNK_CELLS - 1;
	return chunk < u->n ? u->chunks[chunk] : -1;
}

static bool
kernel_write(void *arg, enum unwind_array which, uint32_t first,
    const void *p, size_t n)
{
	const struct sampler_unwind *u = arg;
	int map = kernel_map(u, which, &first);
	struct window w;

	if (which == UNWIND_ARRAY_REGIONS && u->regions != MAP_FAILED) {
		memcpy(u->regions + first, p, n * sizeof(*u->regions));
		return true;
	}
	if (n == 0)
		return true;
	if (!window_open(&w, map, first * element[which],
	    n * element[which]))
		return false;
	memcpy(w.p, p, n * element[which]);
	munmap(w.pages, w.size);
	return true;
}

static bool
kernel_read(void *arg, enum unwind_array which, uint32_t first, void *p,
    size_t n)
{
	const struct sampler_unwind *u = arg;
	int map = kernel_map(u, which, &first);
	struct window w;

	if (which == UNWIND_ARRAY_REGIONS && u->regions != MAP_FAILED) {
		memcpy(p, u->regions + first, n * sizeof(*u->regions));
		return true;
	}
	if (!window_open(&w, map, first * element[which],
	    n * element[which]))
		return false;
	memcpy(p, w.p, n * element[which]);
	munmap(w.pages, w.size);
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

/* Mapped only for a while: what is read of it is resident. */
static const void *
kernel_chunk(void *arg, uint32_t i)
{
	struct sampler_unwind *u = arg;
	void *p;

	if (i >= u->n || u->mapped[i] != NULL)
		return i < u->n ? u->mapped[i] : NULL;
	p = mmap(NULL, CHUNK_CELLS * sizeof(uint64_t), PROT_READ, MAP_SHARED,
	    u->chunks[i], 0);
	return u->mapped[i] = p == MAP_FAILED ? NULL : p;
}

static void
kernel_release(void *arg)
{
	struct sampler_unwind *u = arg;
	uint32_t i;

	for (i = 0; i < u->n; i++) {
		if (u->mapped[i] != NULL)
			munmap((void *)(uintptr_t)u->mapped[i],
			    CHUNK_CELLS * sizeof(uint64_t));
		u->mapped[i] = NULL;
	}
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
	u->regions = mmap(NULL, chunks > 0 ? REGIONS_BYTES : 0,
	    PROT_READ | PROT_WRITE, MAP_SHARED,
	    maps->arrays[UNWIND_ARRAY_REGIONS], 0);
	u->kernel = (struct unwind_kernel){.arg = u, .chunks = chunks,
	    .add_chunk = kernel_add_chunk, .set_tick = kernel_set_tick,
	    .chunk = kernel_chunk, .release = kernel_release,
	    .write = kernel_write, .read = kernel_read,
	    .set_process = kernel_set_process,
	    .get_process = kernel_get_process};
}

void
sampler_unwind_fini(struct sampler_unwind *u)
{
	if (u->regions != NULL && u->regions != MAP_FAILED)
		munmap(u->regions, REGIONS_BYTES);
	u->regions = NULL;
	kernel_release(u);
	while (u->n > 0)
		close(u->chunks[--u->n]);
}
