/*
 * The few types and numbers of the kernel that our BPF programs use.
 *
 * Structures name only the fields that are read; CO-RE finds their places in
 * the running kernel, so no vmlinux.h of the building machine is needed and
 * a machine without BTF can build.  Numbers are part of the kernel's ABI.
 * And how one of its pointers is a number.
 */
#ifndef COLLECTOR_BPF_KERNEL_H
#define COLLECTOR_BPF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_USER_RINGBUF = 31
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_F_USER_STACK = 256,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1
};

#define PF_KTHREAD 0x00200000 /* task_struct.flags */
#define PF_IO_WORKER 0x10     /* a process's, for its io_uring */
#define TASK_STOPS 0x000c     /* task_struct.__state: stopped or traced, */
#define TASK_ENDS 0x0080      /* and its last moment */
#define O_DSYNC 0x1000        /* file.f_flags: O_SYNC has it, too */
#define VM_SHARED 0x8         /* vm_area_struct.vm_flags */
#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6
#define USER_CS 3             /* the privilege bits of cs in user mode */
#define USER32_CS 0x23        /* cs of 32-bit code on x86-64 */
#define TS_COMPAT 0x2         /* thread_info.status: in a call of 32-bit code */

/* Uretprobes: where they hide return addresses. */
struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct return_instance {
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} __attribute__((preserve_access_index));

struct uprobe_task {
	unsigned long vaddr, xol_vaddr; /* of an instruction, of its copy */
	struct return_instance *return_instances;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long start_code, end_code, start_stack;
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));

struct super_block {
	unsigned long s_magic;
} __attribute__((preserve_access_index));

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
} __attribute__((preserve_access_index));

struct file {
	unsigned int f_flags;
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
} __attribute__((preserve_access_index));

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
	struct file *fd_array[1]; /* or more */
} __attribute__((preserve_access_index));

/* What the scheduler sums of a task's time on its queues. */
struct sched_info {
	unsigned long pcount; /* times that it has come to a CPU */
	unsigned long long run_delay, last_arrival, last_queued;
} __attribute__((preserve_access_index));

struct rq {
	__u64 clock;
} __attribute__((preserve_access_index));

struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

/* A row of the kernel's unwind tables. */
struct orc_entry {
	__s16 sp_offset, bp_offset;
	unsigned int sp_reg : 4;
	unsigned int bp_reg : 4;
	unsigned int type : 3;
} __attribute__((preserve_access_index));

/* The same, until 6.3. */
struct orc_entry___older {
	unsigned int type : 2;
	unsigned int end : 1;
} __attribute__((preserve_access_index));

struct thread_info {
	__u32 status;
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

typedef struct {
	unsigned long sig[1];
} __attribute__((preserve_access_index)) sigset_t;

struct sigpending {
	sigset_t signal;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct sigpending shared_pending;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags, __state;
	void *stack; /* the kernel's */
	int pid, tgid, on_cpu, exit_state, exit_code;
	unsigned int in_iowait : 1;
	char comm[16];
	__u64 start_time;
	struct files_struct *files;
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	struct task_struct *group_leader, *real_parent;
	__u64 start_boottime;
	__u64 self_exec_id;
	struct signal_struct *signal;
	sigset_t blocked;
	struct sigpending pending;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

/* The registers with which a task entered the kernel. */
struct pt_regs {
	unsigned long r10, bp, bx, ip, sp, di, si, dx, orig_ax;
	unsigned short cs;
} __attribute__((preserve_access_index));

/* What a perf_event program gets: the interrupted registers, then the time
 * since the clock's last tick as it is set, or events since the last sample. */
struct perf_context {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
	__u64 sample_period;
	__u64 addr; /* of a fault */
};

/* What an iterator's program gets for each task. */
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL: there is none any more */
} __attribute__((preserve_access_index));

/* The verifier lets nobody reckon with pointers, but turn their bytes round,
 * and then it is none any more. */
static inline __attribute__((always_inline)) __u64
pointer_number(const void *p)
{
	__u64 n = (__u64)p;

	asm volatile("%0 = be64 %0\n\t%0 = be64 %0" : "+r"(n));
	return n;
}

#endif
