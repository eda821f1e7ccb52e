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

#include "collector/probe/uprobe.h"
#include "store/base/err.h"

struct sampler_allocs {
	struct alloc_bpf *bpf;
	bool links; /* how it is attached: uprobe.h */
	struct uprobe took, gave;
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
allocs_load(struct sampler_allocs *a, size_t took, size_t gave,
    const struct allocs_options *o, const struct bpf_object *maps)
{
	struct alloc_bpf *bpf = a->bpf;
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
	memcpy(bpf->rodata->weigh_more, o->more, sizeof(o->more));
	a->links = uprobe_has_links();
	if (a->links) {
		uprobe_set_link(bpf->progs.alloc_took);
		uprobe_set_link(bpf->progs.alloc_gave);
	}
	return r == 0 ? alloc_bpf__load(bpf) : r;
}

/* What is given back is told before anything is taken.  0 or a negative
 * errno. */
static int
allocs_attach(struct sampler_allocs *a, const struct allocs_options *o)
{
	int code = uprobe_attach(&a->gave, a->bpf->progs.alloc_gave, a->links,
	    o->library, o->gave);

	if (code == 0)
		code = uprobe_attach(&a->took, a->bpf->progs.alloc_took,
		    a->links, o->library, o->took);
	return -code;
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
	r = a->bpf == NULL ? -errno : allocs_load(a, took, gave, o, maps);
	if (r == 0)
		r = allocs_attach(a, o);
	if (r != 0) {
		bool links = a->links;

		sampler_allocs_close(a);
		return err_new(ERR_BPF, -r, "probes in %s: %s%s", o->library,
		    strerror(-r), uprobe_hint(links, -r));
	}
	*out = a;
	return NULL;
}

void
sampler_allocs_close(struct sampler_allocs *a)
{
	if (a == NULL)
		return;
	sampler_allocs_stop(a);
	alloc_bpf__destroy(a->bpf);
	free(a);
}

void
sampler_allocs_stop(struct sampler_allocs *a)
{
	uprobe_detach(&a->took);
	uprobe_detach(&a->gave);
}
