/*
 * Both ways to attach a program to a place in a file.
 */
#include "collector/probe/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANY_PROCESS -1
#define ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI of newer headers */

/* BPF_LINK_CREATE's arguments for it. */
struct uprobe_multi {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t n, more_flags, pid, zero;
};

bool
uprobe_has_links(void)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool has = kernel != NULL && btf__find_by_name_kind(kernel,
	    "bpf_uprobe_multi_link", BTF_KIND_STRUCT) > 0;

	btf__free(kernel);
	return has;
}

void
uprobe_set_link(struct bpf_program *p)
{
	bpf_program__set_expected_attach_type(p,
	    (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
}

static int
uprobe_attach_link(struct uprobe *u, struct bpf_program *p, const char *path,
    uint64_t offset)
{
	struct uprobe_multi a = {
	    .program = (uint32_t)bpf_program__fd(p),
	    .type = ATTACH_UPROBE_MULTI, .path = (uintptr_t)path,
	    .offsets = (uintptr_t)&offset, .n = 1};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &a, sizeof(a));

	if (fd < 0)
		return errno;
	u->fd = fd;
	return 0;
}

int
uprobe_attach(struct uprobe *u, struct bpf_program *p, bool links,
    const char *path, uint64_t offset)
{
	*u = (struct uprobe){0};
	if (links)
		return uprobe_attach_link(u, p, path, offset);
	u->link = bpf_program__attach_uprobe(p, false, ANY_PROCESS, path,
	    offset);
	return u->link == NULL ? errno : 0;
}

void
uprobe_detach(struct uprobe *u)
{
	if (u->fd > 0)
		close(u->fd);
	bpf_link__destroy(u->link);
	*u = (struct uprobe){0};
}

const char *
uprobe_hint(bool links, int code)
{
	return !links && code == EACCES ?
	    " (kernels before 6.6 ask for CAP_SYS_ADMIN)" : "";
}
