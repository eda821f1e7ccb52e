/*
 * Loading, attaching and sweeping of the probe of waits.
 */
#include "collector/probe/sampler_waits.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "wait.skel.h"
#pragma GCC diagnostic pop

#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

struct sampler_waits {
	struct wait_bpf *bpf;
	enum waits_stacks stacks;
	bool both; /* interrupts, or wait_exit while it is attached */
	/* What was read of a record that has not come whole yet. */
	uint64_t room[(64 << 10) / 8];
};

/* Maps that the sampler has, too, are the sampler's; what is read only and
 * what the daemon sets are this object's. */
static int
waits_share(struct wait_bpf *bpf, const struct bpf_object *maps)
{
	struct bpf_map *map, *theirs;
	const char *name;
	int r = 0;

	bpf_object__for_each_map(map, bpf->obj) {
		if (map == bpf->maps.rodata || map == bpf->maps.data_wait)
			continue;
		name = map == bpf->maps.data ? ".data" : bpf_map__name(map);
		theirs = bpf_object__find_map_by_name(maps, name);
		if (r == 0 && theirs != NULL)
			r = bpf_map__reuse_fd(map, bpf_map__fd(theirs));
	}
	return r;
}

/* Older kernels do not know such rings. */
static void
waits_leave_out_bells(struct wait_bpf *bpf)
{
	bpf_map__set_autocreate(bpf->maps.wait_bells, false);
}

/* Does it go from one way to the other by itself? */
static bool
waits_have_both(const struct waits_options *o, enum waits_stacks stacks)
{
	return o->stacks == WAITS_AUTO && stacks == WAITS_INTERRUPT &&
	    libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;
}

/* Of the kernel, for BPF programs. */
static bool
waits_know_function(const char *name)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool known = kernel != NULL &&
	    btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) > 0;

	btf__free(kernel);
	return known;
}

static void
waits_configure(struct wait_bpf *bpf, size_t type,
    const struct waits_options *o, enum waits_stacks stacks,
    const struct bpf_object *maps)
{
	struct bpf_map *map;

	bpf->rodata->profile_type = (uint8_t)type;
	bpf->rodata->kernel_stacks = o->kernel;
	bpf->rodata->eh_frame = o->eh_frame;
	bpf->rodata->wait_slot_ns = (uint64_t)o->slot_ns;
	bpf->rodata->wait_by_leaving = stacks == WAITS_LEAVE;
	bpf->rodata->wait_by_interrupt = stacks == WAITS_INTERRUPT;
	bpf->rodata->wait_began_ns = (uint64_t)clock_mono_ns();
	bpf->rodata->wait_casts = waits_know_function("bpf_rdonly_cast");
	bpf->data_wait->wait_threshold_ns = (uint64_t)o->threshold_ns;
	bpf->data_wait->wait_idle_ns = (uint64_t)o->idle_ns;
	map = bpf_object__find_map_by_name(maps, "ring");
	bpf->rodata->ring_wake_bytes = bpf_map__max_entries(map) / 4;
	bpf->rodata->ring_share_bytes = bpf_map__max_entries(map) / 2;
	if (stacks == WAITS_INTERRUPT)
		bpf_map__set_max_entries(bpf->maps.wait_bells,
		    (uint32_t)libbpf_num_possible_cpus());
	else
		waits_leave_out_bells(bpf);
	bpf_program__set_autoload(bpf->progs.wait_back,
	    stacks == WAITS_INTERRUPT);
	bpf_program__set_autoload(bpf->progs.wait_exit,
	    stacks == WAITS_BACK || waits_have_both(o, stacks));
	/* Not before it is the cheaper one. */
	bpf_program__set_autoattach(bpf->progs.wait_exit,
	    stacks == WAITS_BACK);
	bpf_program__set_autoload(bpf->progs.wait_return,
	    stacks == WAITS_SCHEDULE);
}

/* One for each CPU; 0 or a negative errno. */
static int
waits_add_bells(struct wait_bpf *bpf)
{
	const struct bpf_map *bells = bpf->maps.wait_bells;
	uint32_t i, n = bpf_map__max_entries(bells);
	int fd, r = 0;

	for (i = 0; i < n && r == 0 && bpf->rodata->wait_by_interrupt; i++) {
		fd = bpf_map_create(BPF_MAP_TYPE_USER_RINGBUF, "wait_bell",
		    0, 0, WAIT_BELL_BYTES, NULL);
		if (fd < 0)
			return -errno;
		if (bpf_map_update_elem(bpf_map__fd(bells), &i, &fd,
		    BPF_ANY) != 0)
			r = -errno;
		close(fd);
	}
	return r;
}

/* 0 or a negative errno. */
static int
waits_try(struct sampler_waits *w, size_t type, const struct waits_options *o,
    enum waits_stacks stacks, const struct bpf_object *maps)
{
	struct wait_bpf *bpf = wait_bpf__open();
	int r;

	if (bpf == NULL)
		return -errno;
	waits_configure(bpf, type, o, stacks, maps);
	r = waits_share(bpf, maps);
	if (r == 0)
		r = wait_bpf__load(bpf);
	if (r == 0)
		r = waits_add_bells(bpf);
	if (r == 0)
		r = wait_bpf__attach(bpf);
	if (r != 0) {
		wait_bpf__destroy(bpf);
		return r;
	}
	w->bpf = bpf;
	w->stacks = stacks;
	w->both = waits_have_both(o, stacks);
	return 0;
}

const struct err *
sampler_waits_open(struct sampler_waits **out, size_t type,
    const struct waits_options *o, const struct bpf_object *maps)
{
	struct sampler_waits *w = calloc(1, sizeof(*w));
	enum waits_stacks way;
	int r = -EOPNOTSUPP;

	*out = w;
	if (w == NULL)
		return err_nomem();
	for (way = WAITS_INTERRUPT; r != 0 && way <= WAITS_LEAVE; way++)
		if (o->stacks == WAITS_AUTO || o->stacks == way)
			r = waits_try(w, type, o, way, maps);
	if (r == 0)
		return NULL;
	free(w);
	*out = NULL;
	return err_new(ERR_BPF, -r, "loading the BPF programs of waits: %s",
	    strerror(-r));
}

void
sampler_waits_close(struct sampler_waits *w)
{
	if (w == NULL)
		return;
	wait_bpf__destroy(w->bpf);
	free(w);
}

const struct bpf_object *
sampler_waits_object(const struct sampler_waits *w)
{
	return w->bpf->obj;
}

/* The iterator is not attached to anything that runs. */
void
sampler_waits_stop(struct sampler_waits *w)
{
	struct bpf_link **links[] = {&w->bpf->links.wait_switch,
	    &w->bpf->links.wait_back, &w->bpf->links.wait_exit,
	    &w->bpf->links.wait_return, &w->bpf->links.wait_fork,
	    &w->bpf->links.wait_rename};
	size_t i;

	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
	w->both = false;
}

bool
sampler_waits_lack(const struct sampler_waits *w)
{
	return w->stacks > WAITS_BACK;
}

void
sampler_waits_set_threshold(struct sampler_waits *w, int64_t ns,
    int64_t idle_ns)
{
	w->bpf->data_wait->wait_idle_ns = (uint64_t)idle_ns;
	w->bpf->data_wait->wait_threshold_ns = (uint64_t)ns;
}

/* Measured in a virtual machine, where an interrupt goes through the host. */
#define BELL_NS 8000
#define EXIT_NS 30

void
sampler_waits_choose(struct sampler_waits *w, uint64_t switches,
    uint64_t stacks)
{
	uint64_t bells_ns = stacks * BELL_NS, exits_ns = switches * EXIT_NS;
	struct bpf_link **link = &w->bpf->links.wait_exit;

	if (!w->both)
		return;
	if (*link == NULL && bells_ns > exits_ns * 2) {
		*link = bpf_program__attach(w->bpf->progs.wait_exit);
		w->bpf->data_wait->wait_rings = *link == NULL;
	} else if (*link != NULL && bells_ns * 2 < exits_ns) {
		w->bpf->data_wait->wait_rings = true;
		bpf_link__destroy(*link);
		*link = NULL;
	}
}

void
sampler_waits_set_begin(struct sampler_waits *w, int64_t begin_ns)
{
	struct wait_bpf__data_wait *d = w->bpf->data_wait;
	int64_t seen_ns = d->wait_offset_seen_ns;

	d->wait_begin_ns = (uint64_t)begin_ns;
	d->wait_offset_seen_ns = WAIT_NO_OFFSET;
	if (seen_ns != WAIT_NO_OFFSET)
		d->wait_offset_ns = seen_ns;
}

void
sampler_waits_ends(struct sampler_waits *w, waits_end_fn *fn, void *arg)
{
	int fd = bpf_map__fd(w->bpf->maps.wait_ends);
	struct wait_end end;
	__u64 number;

	while (bpf_map_get_next_key(fd, NULL, &number) == 0 &&
	    bpf_map_lookup_elem(fd, &number, &end) == 0) {
		fn(arg, (const void *)&end, sizeof(end));
		if (bpf_map_delete_elem(fd, &number) != 0)
			break;
	}
}

/* Is there a whole record at the beginning of n bytes? */
static bool
waits_whole(const char *p, size_t n)
{
	const struct wait_swept *r = (const void *)p;
	size_t head = offsetof(struct wait_swept, event) +
	    offsetof(struct sample_event, frames);

	return n >= head && r->size >= head && r->size <= n;
}

/* Hands over the whole records of n bytes and moves what is left to the
 * beginning; returns its size. */
static size_t
waits_hand_over(struct sampler_waits *w, size_t n, waits_sweep_fn *fn,
    void *arg)
{
	char *room = (char *)w->room;
	size_t at = 0;

	while (waits_whole(room + at, n - at)) {
		const struct wait_swept *r = (const void *)(room + at);

		fn(arg, r);
		at += r->size;
	}
	memmove(room, room + at, n - at);
	return n - at;
}

const struct err *
sampler_waits_sweep(struct sampler_waits *w, int64_t end_ns,
    waits_sweep_fn *fn, void *arg)
{
	int fd = bpf_iter_create(bpf_link__fd(w->bpf->links.wait_sweep));
	size_t n = 0;
	ssize_t r = 1;

	if (fd < 0)
		return err_errno("reading all threads");
	w->bpf->data_wait->wait_sweep_ns = (uint64_t)end_ns;
	while (r > 0 && n < sizeof(w->room)) {
		r = read(fd, (char *)w->room + n, sizeof(w->room) - n);
		if (r > 0)
			n = waits_hand_over(w, n + (size_t)r, fn, arg);
		else if (r < 0 && errno == EAGAIN)
			r = 1; /* it has looked at many: there are more */
	}
	close(fd);
	return r < 0 ? err_errno("reading all threads") : NULL;
}
