/*
 * Loading and attaching of the probes of the allocator's library.
 */
#include "collector/probe/sampler_allocs.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "alloc.skel.h"
#pragma GCC diagnostic pop

#include "store/base/err.h"

struct sampler_allocs {
	struct alloc_bpf *bpf;
};

/* Maps that the sampler has, too, are the sampler's. */
static int
allocs_share(struct alloc_bpf *bpf, const struct bpf_object *maps)
{
	struct bpf_map *map, *theirs;
	const char *name;
	int r = 0;

	bpf_object__for_each_map(map, bpf->obj) {
		if (map == bpf->maps.rodata)
			continue;
		name = map == bpf->maps.data ? ".data" : bpf_map__name(map);
		theirs = bpf_object__find_map_by_name(maps, name);
		if (r == 0 && theirs != NULL)
			r = bpf_map__reuse_fd(map, bpf_map__fd(theirs));
	}
	return r;
}

/* 0 or a negative errno. */
static int
allocs_load(struct alloc_bpf *bpf, size_t took, size_t gave,
    const struct allocs_options *o, const struct bpf_object *maps)
{
	const struct bpf_map *ring =
	    bpf_object__find_map_by_name(maps, "ring");
	int r = allocs_share(bpf, maps);

	bpf->rodata->profile_type = (uint8_t)took;
	bpf->rodata->gave_type = (uint8_t)gave;
	bpf->rodata->kernel_stacks = false;
	bpf->rodata->eh_frame = o->eh_frame;
	bpf->rodata->ring_wake_bytes = bpf_map__max_entries(ring) / 4;
	bpf->rodata->took_share_bytes = bpf_map__max_entries(ring) / 2;
	bpf->rodata->ring_share_bytes = bpf_map__max_entries(ring) / 4 * 3;
	return r == 0 ? alloc_bpf__load(bpf) : r;
}

/* The link is NULL where it failed: then 0 or a negative errno is in errno. */
static struct bpf_link *
allocs_attach_one(const struct bpf_program *program, const char *library,
    const char *function)
{
	LIBBPF_OPTS(bpf_uprobe_opts, o, .func_name = function);

	return bpf_program__attach_uprobe_opts(program, -1, library, 0, &o);
}

/* What was taken is known before anything is given back. */
static int
allocs_attach(struct alloc_bpf *bpf, const char *library)
{
	bpf->links.alloc_took = allocs_attach_one(bpf->progs.alloc_took,
	    library, "memlens_alloc1_took");
	if (bpf->links.alloc_took == NULL)
		return -errno;
	bpf->links.alloc_gave = allocs_attach_one(bpf->progs.alloc_gave,
	    library, "memlens_alloc1_gave");
	return bpf->links.alloc_gave == NULL ? -errno : 0;
}

const struct err *
sampler_allocs_open(struct sampler_allocs **out, size_t took, size_t gave,
    const struct allocs_options *o, const struct bpf_object *maps)
{
	struct sampler_allocs *a = calloc(1, sizeof(*a));
	int r;

	*out = NULL;
	if (a == NULL)
		return err_nomem();
	a->bpf = alloc_bpf__open();
	r = a->bpf == NULL ? -errno : allocs_load(a->bpf, took, gave, o, maps);
	if (r == 0)
		r = allocs_attach(a->bpf, o->library);
	if (r != 0) {
		sampler_allocs_close(a);
		return err_new(ERR_BPF, -r, "probes in %s: %s", o->library,
		    strerror(-r));
	}
	*out = a;
	return NULL;
}

void
sampler_allocs_close(struct sampler_allocs *a)
{
	if (a == NULL)
		return;
	alloc_bpf__destroy(a->bpf);
	free(a);
}

void
sampler_allocs_stop(struct sampler_allocs *a)
{
	alloc_bpf__detach(a->bpf);
}
