/*
 * Uprobes in a file: in every process that maps it, now or later.
 *
 * Since kernel 6.6 a link does that without CAP_SYS_ADMIN, for which the perf
 * events of older kernels ask; how a program will be attached is said before
 * it is loaded.
 */
#ifndef COLLECTOR_UPROBE_H
#define COLLECTOR_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

/* Where one is attached; all zeros: nowhere. */
struct uprobe {
	struct bpf_link *link;
	int fd; /* of a link that libbpf does not know; 0: none */
};

/* Does the kernel have such links? */
bool uprobe_has_links(void);

/* Before the program is loaded: it will be attached by a link. */
void uprobe_set_link(struct bpf_program *p);

/* Attaches it at an offset of the file; `links` as the program was told.
 * 0 or a positive errno. */
int uprobe_attach(struct uprobe *u, struct bpf_program *p, bool links,
    const char *path, uint64_t offset);
void uprobe_detach(struct uprobe *u);

/* What to say behind such an errno: "" or what is lacking, in brackets. */
const char *uprobe_hint(bool links, int code);

#endif
