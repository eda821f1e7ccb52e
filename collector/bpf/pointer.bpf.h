/*
 * A pointer as a number: the verifier lets nobody reckon with pointers, but
 * turn their bytes round, and then it is none any more.
 */
#ifndef COLLECTOR_BPF_POINTER_BPF_H
#define COLLECTOR_BPF_POINTER_BPF_H

#include <bpf/bpf_helpers.h>

static __always_inline __u64
pointer_number(const void *p)
{
	__u64 n = (__u64)p;

	asm volatile("%0 = be64 %0\n\t%0 = be64 %0" : "+r"(n));
	return n;
}

#endif
