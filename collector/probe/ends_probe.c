/*
 * Loading and reading of the probe of ends.
 */
#include "collector/probe/ends_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool */
#include "ends.skel.h"
#pragma GCC diagnostic pop

#include "collector/bpf/ends.h"
#include "collector/probe/bpf_log.h"
#include "store/base/err.h"

struct ends_probe {
	struct ends_bpf *bpf;
};

const struct err *
ends_probe_open(struct ends_probe **out)
{
	struct ends_probe *p = calloc(1, sizeof(*p));
	int r;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	bpf_log_begin();
	p->bpf = ends_bpf__open_and_load();
	r = p->bpf == NULL ? -errno : ends_bpf__attach(p->bpf);
	if (r != 0) {
		ends_probe_close(p);
		return err_new(ERR_BPF, -r, "the probe of ends: %s",
		    strerror(-r));
	}
	*out = p;
	return NULL;
}

void
ends_probe_close(struct ends_probe *p)
{
	if (p == NULL)
		return;
	ends_bpf__destroy(p->bpf);
	free(p);
}

void
ends_probe_watch(struct ends_probe *p, int32_t pid)
{
	uint32_t tgid = (uint32_t)pid, status = 0;

	bpf_map_update_elem(bpf_map__fd(p->bpf->maps.ends), &tgid, &status,
	    BPF_ANY);
}

bool
ends_probe_take(struct ends_probe *p, int32_t pid, int *status)
{
	uint32_t tgid = (uint32_t)pid, value = 0;
	int fd = bpf_map__fd(p->bpf->maps.ends);

	if (bpf_map_lookup_elem(fd, &tgid, &value) != 0)
		return false;
	bpf_map_delete_elem(fd, &tgid);
	*status = (int)(value & ~ENDS_KNOWN);
	return (value & ENDS_KNOWN) != 0;
}
