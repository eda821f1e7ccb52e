/*
 * Arrays are written through a mapping of just the pages concerned, so that
 * megabytes of rows cost no system call each and do not stay in our resident
 * memory.  The tables' array is small and all of it is read whenever rows
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
    [UNWIND_ARRAY_TABLES] = sizeof(struct unwind_table)};

#define TABLES_BYTES (UNWIND_TABLES * sizeof(struct unwind_table))

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

static bool
kernel_write(void *arg, enum unwind_array which, uint32_t first,
    const void *p, size_t n)
{
	const struct sampler_unwind *u = arg;
	struct window w;

	if (n == 0)
		return true;
	if (!window_open(&w, u->arrays[which], first * element[which],
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
	struct window w;

	if (which == UNWIND_ARRAY_TABLES && u->tables != MAP_FAILED) {
		memcpy(p, u->tables + first, n * sizeof(*u->tables));
		return true;
	}
	if (!window_open(&w, u->arrays[which], first * element[which],
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

void
sampler_unwind_init(struct sampler_unwind *u,
    const int arrays[UNWIND_ARRAYS], int processes,
    volatile uint32_t *generation, uint32_t cells)
{
	memcpy(u->arrays, arrays, sizeof(u->arrays));
	u->processes = processes;
	u->generation = generation;
	u->tables = mmap(NULL, cells > 0 ? TABLES_BYTES : 0, PROT_READ,
	    MAP_SHARED, arrays[UNWIND_ARRAY_TABLES], 0);
	u->kernel = (struct unwind_kernel){.arg = u, .cells = cells,
	    .write = kernel_write, .read = kernel_read,
	    .set_process = kernel_set_process,
	    .get_process = kernel_get_process};
}

void
sampler_unwind_fini(struct sampler_unwind *u)
{
	if (u->tables != NULL && u->tables != MAP_FAILED)
		munmap(u->tables, TABLES_BYTES);
	u->tables = NULL;
}
