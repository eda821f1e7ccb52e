/*
 * The probe of ends: with which status a watched process has ended.  The
 * kernel tells /proc no more of who has been waited for.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "collector/bpf/ends.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ENDS_MAX);
	__type(key, __u32); /* tgid: the daemon puts them in */
	__type(value, __u32);
} ends SEC(".maps");

/* The first thread, whose record is the end (process_events.h). */
SEC("tp_btf/sched_process_exit")
int
BPF_PROG(ends_exit, struct task_struct *p)
{
	__u32 tgid = p->tgid, *status;

	if (p->pid != p->tgid)
		return 0;
	status = bpf_map_lookup_elem(&ends, &tgid);
	if (status != 0)
		*status = (__u32)p->exit_code | ENDS_KNOWN;
	return 0;
}

char program_license[] SEC("license") = "GPL";
