/*
 * Shared by the benchmark's plain stack walker (reference.bpf.c) and its
 * loader (reference.c).
 */
#ifndef TESTS_BENCH_REFERENCE_H
#define TESTS_BENCH_REFERENCE_H

#define REFERENCE_FRAMES 127
#define REFERENCE_ROWS (2u << 20)
#define REFERENCE_MAPPINGS 65536
#define REFERENCE_PROCESSES 4096

enum reference_error {
	REFERENCE_WHOLE,
	REFERENCE_BROKEN,
	REFERENCE_UNKNOWN, /* process */
	REFERENCE_ERRORS
};

struct reference_mapping {
	__u64 start, end, bias; /* address - bias: offset in the file */
	__u32 first, n;         /* rows */
};

struct reference_process {
	__u32 first, n; /* mappings */
};

struct reference_event {
	__u32 pid, tid, cpu, error;
	__u16 n_kernel, n_user;
	__u32 zero;
	__u64 time_ns;
	char comm[16];
	__u64 frames[2 * REFERENCE_FRAMES + 1];
};

#endif
