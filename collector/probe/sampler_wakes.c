/*
 * Loading and attaching of the probe of wakers.
 */
#include "collector/probe/sampler_wakes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "wake.skel.h"
#pragma GCC diagnostic pop

#include "collector/probe/sampler_waits.h"
#include "store/base/err.h"

struct sampler_wakes {
	struct wake_bpf *bpf;
};

/* What another object has too is that one's. */
static int
wakes_share(struct wake_bpf *bpf, const struct bpf_object *maps,
    const struct bpf_object *waits)
{
	struct bpf_map *map, *theirs;
	const char *name;
	int r = 0;

	bpf_object__for_each_map(map, bpf->obj) {
		if (map == bpf->maps.rodata || map == bpf->maps.data_wake)
			continue;
		name = map == bpf->maps.data ? ".data" : bpf_map__name(map);
		theirs = bpf_object__find_map_by_name(
		    strncmp(name, "wait_", 5) == 0 ? waits : maps, name);
		if (r == 0 && theirs != NULL)
			r = bpf_map__reuse_fd(map, bpf_map__fd(theirs));
	}
	return r;
}

/* 0 or a negative errno. */
static int
wakes_load(struct wake_bpf *bpf, size_t type, const struct waits_options *o,
    const struct bpf_object *maps, const struct bpf_object *waits)
{
	const struct bpf_map *ring =
	    bpf_object__find_map_by_name(maps, "ring");
	int r = wakes_share(bpf, maps, waits);

	bpf->rodata->profile_type = (uint8_t)type;
	bpf->rodata->kernel_stacks = false;
	bpf->rodata->eh_frame = o->eh_frame;
	bpf->rodata->ring_wake_bytes = bpf_map__max_entries(ring) / 4;
	bpf->rodata->ring_share_bytes = bpf_map__max_entries(ring) / 2;
	bpf->data_wake->wake_threshold_ns = (uint64_t)o->threshold_ns;
	if (r == 0)
		r = wake_bpf__load(bpf);
	return r == 0 ? wake_bpf__attach(bpf) : r;
}

const struct err *
sampler_wakes_open(struct sampler_wakes **out, size_t type,
    const struct waits_options *o, const struct bpf_object *maps,
    const struct bpf_object *waits)
{
	struct sampler_wakes *w = calloc(1, sizeof(*w));
	int r;

	*out = NULL;
	if (w == NULL)
		return err_nomem();
	w->bpf = wake_bpf__open();
	r = w->bpf == NULL ? -errno :
	    wakes_load(w->bpf, type, o, maps, waits);
	if (r != 0) {
		sampler_wakes_close(w);
		return err_new(ERR_BPF, -r, "loading the BPF program of "
		    "wake-ups: %s", strerror(-r));
	}
	*out = w;
	return NULL;
}

void
sampler_wakes_close(struct sampler_wakes *w)
{
	if (w == NULL)
		return;
	wake_bpf__destroy(w->bpf);
	free(w);
}

void
sampler_wakes_stop(struct sampler_wakes *w)
{
	wake_bpf__detach(w->bpf);
}

void
sampler_wakes_set_threshold(struct sampler_wakes *w, int64_t ns)
{
	w->bpf->data_wake->wake_threshold_ns = (uint64_t)ns;
}
