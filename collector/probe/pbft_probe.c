/*
 * Loading, attaching and reading of the probe of PBFT.
 */
#include "collector/probe/pbft_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "pbft.skel.h"
#pragma GCC diagnostic pop

#include "collector/probe/bpf_log.h"
#include "collector/probe/uprobe.h"
#include "store/base/clock.h"
#include "store/base/err.h"

#define READINGS 4      /* of both clocks */
#define STEP_NS 1000000 /* by which the wall clock was set, at least */

struct pbft_probe {
	struct pbft_bpf *bpf;
	bool links; /* how it is attached: uprobe.h */
	struct uprobe probes[PBFT_FILES][PBFT_FUNCTIONS];
	struct sums sums;
};

static struct bpf_program *
pbft_program(const struct pbft_probe *p, size_t i)
{
	return i == PBFT_RECORD ? p->bpf->progs.pbft_record :
	    p->bpf->progs.pbft_summary;
}

/* How programs will be attached is said before they are loaded. */
static void
pbft_choose(struct pbft_probe *p)
{
	p->links = uprobe_has_links();
	for (size_t i = 0; p->links && i < PBFT_FUNCTIONS; i++)
		uprobe_set_link(pbft_program(p, i));
}

static const struct err *
pbft_load(struct pbft_probe *p, int64_t slot_ns)
{
	int r;

	bpf_log_begin();
	p->bpf = pbft_bpf__open();
	if (p->bpf == NULL)
		return err_new(ERR_BPF, errno, "opening the BPF programs of "
		    "PBFT: %s", strerror(errno));
	pbft_choose(p);
	p->bpf->rodata->pbft_slot_ns = (uint64_t)slot_ns;
	r = pbft_bpf__load(p->bpf);
	if (r != 0)
		return err_new(ERR_BPF, -r, "loading the BPF programs of "
		    "PBFT: %s%s", strerror(-r), r == -EPERM || r == -EACCES ?
		    " (CAP_BPF and CAP_PERFMON are needed)" : "");
	p->sums = (struct sums){p->bpf->bss->sums_cells,
	    p->bpf->bss->sums_used, &p->bpf->bss->sums_large,
	    &p->bpf->bss->sums_border, 0, false, 0};
	return NULL;
}

const struct err *
pbft_probe_open(struct pbft_probe **out, int64_t slot_ns)
{
	struct pbft_probe *p = calloc(1, sizeof(*p));
	const struct err *e = p == NULL ? err_nomem() :
	    pbft_load(p, slot_ns);

	*out = NULL;
	if (e != NULL) {
		pbft_probe_close(p);
		return e;
	}
	*p->sums.border = SUMS_NO_BORDER;
	pbft_probe_set_clock(p);
	*out = p;
	return NULL;
}

void
pbft_probe_stop(struct pbft_probe *p)
{
	p->sums.stopped = true;
	for (uint32_t file = 0; file < PBFT_FILES; file++)
		pbft_probe_detach(p, file);
}

void
pbft_probe_close(struct pbft_probe *p)
{
	if (p == NULL)
		return;
	pbft_probe_stop(p);
	pbft_bpf__destroy(p->bpf);
	free(p);
}

/* The path is that of a descriptor: the file cannot be another one by now, and
 * libbpf, which is given offsets, does not look into it. */
const struct err *
pbft_probe_attach(struct pbft_probe *p, uint32_t file, int fd,
    const uint64_t offsets[PBFT_FUNCTIONS])
{
	char path[32];
	int why;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < PBFT_FUNCTIONS; i++) {
		why = uprobe_attach(&p->probes[file][i], pbft_program(p, i),
		    p->links, path, offsets[i]);
		if (why == 0)
			continue;
		pbft_probe_detach(p, file);
		return err_new(ERR_BPF, why, "attaching to its functions: "
		    "%s%s", strerror(why), uprobe_hint(p->links, why));
	}
	return NULL;
}

void
pbft_probe_detach(struct pbft_probe *p, uint32_t file)
{
	for (size_t i = 0; i < PBFT_FUNCTIONS; i++)
		uprobe_detach(&p->probes[file][i]);
}

bool
pbft_probe_add(struct pbft_probe *p, int32_t pid, uint64_t start_ns)
{
	struct pbft_replica r = {.start_ns = start_ns};
	uint32_t tgid = (uint32_t)pid;

	return bpf_map_update_elem(bpf_map__fd(p->bpf->maps.pbft_replicas),
	    &tgid, &r, BPF_NOEXIST) == 0 || (pbft_probe_read(p, pid, &r) &&
	    pbft_probe_is(r.start_ns, start_ns));
}

bool
pbft_probe_read(const struct pbft_probe *p, int32_t pid,
    struct pbft_replica *out)
{
	uint32_t tgid = (uint32_t)pid;

	return bpf_map_lookup_elem(bpf_map__fd(p->bpf->maps.pbft_replicas),
	    &tgid, out) == 0;
}

void
pbft_probe_remove(struct pbft_probe *p, int32_t pid)
{
	uint32_t tgid = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.pbft_replicas), &tgid);
}

void
pbft_probe_each(struct pbft_probe *p, pbft_probe_fn *fn, void *arg)
{
	int map = bpf_map__fd(p->bpf->maps.pbft_replicas);
	uint32_t tgids[PBFT_REPLICAS];
	struct pbft_replica r;
	size_t n = 0;

	while (n < PBFT_REPLICAS && bpf_map_get_next_key(map, n == 0 ? NULL
	    : &tgids[n - 1], &tgids[n]) == 0)
		n++;
	for (size_t i = 0; i < n; i++)
		if (pbft_probe_read(p, (int32_t)tgids[i], &r))
			fn(arg, (int32_t)tgids[i], r.start_ns);
}

uint64_t
pbft_probe_heard(const struct pbft_probe *p)
{
	return __atomic_load_n(&p->bpf->bss->pbft_heard, __ATOMIC_ACQUIRE);
}

uint64_t
pbft_probe_strangers(const struct pbft_probe *p)
{
	return __atomic_load_n(&p->bpf->bss->pbft_strangers,
	    __ATOMIC_RELAXED);
}

/* The wall clock at 0 of CLOCK_MONOTONIC: of a few readings the one that took
 * the least time. */
static int64_t
pbft_wall_ns(void)
{
	int64_t best = INT64_MAX, wall = 0;

	for (int i = 0; i < READINGS; i++) {
		int64_t before = clock_mono_ns(), now = clock_wall_ns();
		int64_t took = clock_mono_ns() - before;

		if (took < best) {
			best = took;
			wall = now - before - took / 2;
		}
	}
	return wall;
}

/* Both clocks are slewed alike: what differs by less is our reading. */
void
pbft_probe_set_clock(struct pbft_probe *p)
{
	int64_t wall = pbft_wall_ns();
	__u64 *at = (__u64 *)&p->bpf->bss->pbft_wall_ns;
	int64_t moved = wall - (int64_t)*at;

	if (moved > STEP_NS || moved < -STEP_NS)
		__atomic_store_n(at, (__u64)wall, __ATOMIC_RELAXED);
}

void
pbft_probe_take(struct pbft_probe *p, sums_fn *fn, void *arg)
{
	sums_take_all(&p->sums, fn, arg);
}

void
pbft_probe_poll(struct pbft_probe *p, sums_fn *fn, void *arg)
{
	sums_poll(&p->sums, fn, arg);
}
