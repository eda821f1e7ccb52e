/*
 * The data of the stack unwinder, shared by the BPF programs that walk
 * stacks, the daemon that fills their maps, and the symbols child that makes
 * rows of .eh_frame.
 *
 *	process ──► mappings, by address ──► table ──► region ──► index ──► row
 *	(pid)       (start, table)           (file)    (64 KiB)   (bucket)
 *
 * A row says how to find the caller's registers from its `pc` on, up to the
 * next row.  The pc is an offset in the file, so that a table serves every
 * process that maps the file, wherever, and nobody but the child needs to
 * know the file's segments.
 *
 * A file's code is cut into regions, and rows are there of those that run: one
 * that is met without them is asked for, and what was not met for longest
 * makes room.  The code of a file with few rows is one region.
 *
 * A region takes buckets + rows cells of 8 bytes behind each other, in one
 * chunk of memory: there are as many chunks as are needed.  Bucket b is for
 * offsets [base + (b << shift), base + ((b + 1) << shift)), base the region's
 * first, and says which rows can hold them, so that a search is short and
 * touches few lines:
 *
 *	 first           first + buckets
 *	 │ lo,hi │ lo,hi │ ... │ row │ row │ row │ ...
 *
 *	lo: the first row whose pc is above the bucket's first offset
 *	hi: the first row whose pc is behind the bucket
 */
#ifndef COLLECTOR_UNWIND_H
#define COLLECTOR_UNWIND_H

/* Where the kernel has its own code and unwind tables, and in there the code
 * that these know no way out of (orc.bpf.h); 0: not known. */
struct unwind_orc {
	__u64 text, text_end;
	__u64 ips, ips_end, rows;
	__u64 thunks;
};

#define UNWIND_PROCESSES 4096 /* in the map */
#define UNWIND_MAPPINGS 32768 /* of all processes together */
#define UNWIND_TABLES 4096
#define UNWIND_REGIONS 32768  /* of all files together */
#define UNWIND_REGION_SHIFT 16
#define UNWIND_REGIONS_FILE 8192 /* larger ones in a file with more */
#define UNWIND_ROWS_MAX 65536 /* of a region */
#define UNWIND_CHUNK_SHIFT 17 /* cells: 1 MiB, which holds any region */
#define UNWIND_CHUNKS 1024
#define UNWIND_MAPPING_STEPS 13 /* of a search among 4096 mappings */
#define UNWIND_SHIFT_MAX 16   /* so a bucket has at most 65536 rows ... */
#define UNWIND_ROW_STEPS 17   /* ... and a search in it so many steps */
#define UNWIND_NO_TABLE 0xffffffffu
#define UNWIND_NO_ROOM 0xfffffffeu /* a file's, for which no table is left */

/* How the CFA is found: the stack pointer of the caller after the return. */
enum unwind_kind {
	UNWIND_NONE,   /* code of no known function */
	UNWIND_SP,     /* sp + 8 cfa */
	UNWIND_BP,     /* bp + 8 cfa */
	UNWIND_PLT,    /* sp + 8, and 8 more from byte `cfa` of 16 on */
	UNWIND_AT_SP,  /* *(sp + 8 (cfa - UNWIND_CFA_ZERO)) */
	UNWIND_AT_BP,  /* *(bp + 8 (cfa - UNWIND_CFA_ZERO)) */
	UNWIND_SIGNAL, /* the kernel's signal frame is at sp */
	UNWIND_STOP,   /* the thread began here */
	UNWIND_UNSUPPORTED,
	UNWIND_GO,     /* by bp, which may lead to another stack; a leaf by
	                * sp + 8 cfa, where cfa is not 0: it may have no
	                * frame, or not yet */
	UNWIND_R10,    /* r10 + 8 cfa, which only a leaf's is known: where a
	                * function aligns its stack */
	UNWIND_DI,     /* sp + 8 cfa; the return address is in rdi, which only a
	                * leaf's is known: vfork() keeps it from its child */
	UNWIND_SP_FAR, /* sp + 8 (cfa + UNWIND_CFA_FAR): frames of 512 KiB and
	                * more, which rustc's driver has */
	UNWIND_BX,     /* rbx + 8 cfa: a leaf's rbx is known; what a caller
	                * called has saved it at its own CFA - 8 bp, or, with
	                * 0, nobody knows where */
	UNWIND_PUSHED, /* sp + 8 cfa, bp, if saved, at CFA - 16; but a signal's
	                * handler has pushed the call: what is returned to was
	                * interrupted, a leaf */
	UNWIND_ELSEWHERE, /* its caller is on another stack, no register says
	                   * which */
	UNWIND_KINDS
};

#define UNWIND_CFA_ZERO 0x8000
#define UNWIND_CFA_MAX 0xffff
#define UNWIND_CFA_FAR (UNWIND_CFA_MAX + 1)
#define UNWIND_BP_SAME 0
#define UNWIND_BP_MAX 254   /* else: the caller's bp is at CFA - 8 bp */
#define UNWIND_BP_AT_BP 255 /* it is at *bp */
#define UNWIND_BX_MAX 65536 /* from the stack pointer to rbx, of UNWIND_BX */

/* The return address is at CFA - 8, except for UNWIND_SIGNAL and _DI. */
struct unwind_row {
	__u32 pc; /* offset in the file */
	__u16 cfa;
	__u8 kind; /* enum unwind_kind */
	__u8 bp;
};

enum unwind_table_state {
	UNWIND_TABLE_PENDING, /* not there yet: frame pointers, flagged */
	UNWIND_TABLE_READY,
	UNWIND_TABLE_NONE,    /* there are no rows: frame pointers */
	UNWIND_TABLE_NO_FILE, /* of a mapping without a file, or whose file is
	                       * no program: a JIT's */
	UNWIND_TABLE_TOO_LARGE /* its rows do not fit: a guess */
};

/* A file's code: n regions of 1 << shift bytes from offset `base` on. */
struct unwind_code {
	__u32 base, n, shift;
};

struct unwind_table {
	__u32 state; /* enum unwind_table_state; set last, unset first */
	__u32 first; /* of its regions */
	struct unwind_code code;
	__u32 zero[3];
};

struct unwind_region {
	__u32 first; /* cell */
	__u32 rows;
	__u32 used;  /* when it was last used, written by BPF: unwind_tick */
	__u16 buckets;
	__u8 shift;
	__u8 state;  /* as a table's */
};

struct unwind_mapping {
	__u64 start;
	__u64 bias;  /* address - bias is the offset in the file */
	__u32 pages; /* of 4096 bytes */
	__u32 table; /* UNWIND_NO_TABLE: frame pointers */
};

struct unwind_process {
	__u64 image;    /* see unwind_image(): another one is another program */
	__u32 first, n; /* its mappings, sorted by start */
	__u32 used_s, zero;
};

/*
 * What tells one program image of a process from the next: fork() keeps it,
 * execve() changes it, and it can be read both in the kernel (mm_struct) and
 * from /proc/PID/stat.  Never 0 for a process with memory.
 */
static inline __u64
unwind_image(__u64 start_code, __u64 end_code, __u64 start_stack)
{
	return start_stack ^ (start_code << 21 | start_code >> 43) ^
	    (end_code << 42 | end_code >> 22);
}

#endif
