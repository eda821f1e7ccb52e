/*
 * The probe of disks: sums histograms of block requests, by the process that
 * made them, and of what threads wait for in the kernel.
 *
 *	disk_insert    a request waits for its turn; one that does not need
 *	               to is issued without it
 *	disk_issue     it goes to the device
 *	disk_complete  it is done
 *	disk_merge     it has become a part of another one
 *	disk_sync_*    fsync and its like: as the file system sees it (ext4),
 *	               or as the system call
 *	disk_reclaim_*, disk_compact_*   looking for memory
 *
 * Nothing runs where nothing of this happens.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "collector/bpf/disk.h"

#define REQUESTS 8192 /* in flight */
#define WAITERS 4096  /* threads that sync or look for memory */
#define SUMS 16384
#define STREAMS 4096  /* of a process, a device and an operation */

#define SECTOR 512
#define BPF_NOEXIST 1
#define OP_MASK 0xff /* request.cmd_flags */
#define OP_FLUSH 2
#define OP_DISCARD 3
#define OP_PASSES 34 /* a driver's own; not in /proc/diskstats either */

#define CALL_MSYNC 26
#define CALL_FSYNC 74
#define CALL_FDATASYNC 75

struct gendisk {
	int major, first_minor;
} __attribute__((preserve_access_index));

struct request_queue {
	struct gendisk *disk;
} __attribute__((preserve_access_index));

struct request {
	struct request_queue *q;
	unsigned int cmd_flags, __data_len;
	__u64 __sector;
} __attribute__((preserve_access_index));

/* Set by the daemon at any time. */
volatile __u64 disk_border = 0;

struct disk_request {
	__u64 inserted_ns, issued_ns; /* 0: not yet */
	__u32 tgid, bytes;
	__u32 device;
	__u8 detail, zero[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS);
	__type(key, __u64); /* its address */
	__type(value, struct disk_request);
} disk_requests SEC(".maps");

struct disk_waiter {
	__u32 tid, what;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITERS);
	__type(key, struct disk_waiter);
	__type(value, __u64); /* since */
} disk_waiters SEC(".maps");

struct disk_stream {
	__u32 tgid, device, operation;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STREAMS);
	__type(key, struct disk_stream);
	__type(value, __u64); /* the sector after its last request */
} disk_streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SUMS);
	__type(key, struct disk_key);
	__type(value, struct disk_sum);
} disk_sums SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DISK_LOSTS);
	__type(key, __u32);
	__type(value, __u64);
} disk_losts SEC(".maps");

static __always_inline void
lose(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&disk_losts, &what);

	if (n != 0)
		__sync_fetch_and_add(n, 1);
}

/* ---- sums ---- */

static __always_inline void
add(struct disk_key *key, __u8 what, __u64 value)
{
	struct disk_sum first = {1, value}, *s;

	key->what = what;
	key->bucket = disk_bucket(value);
	s = bpf_map_lookup_elem(&disk_sums, key);
	if (s == 0) {
		if (bpf_map_update_elem(&disk_sums, key, &first,
		    BPF_NOEXIST) == 0)
			return;
		s = bpf_map_lookup_elem(&disk_sums, key);
	}
	if (s == 0) {
		lose(DISK_LOST_SUM);
		return;
	}
	__sync_fetch_and_add(&s->count, 1);
	__sync_fetch_and_add(&s->sum, value);
}

/* The process that runs; the kernel's threads are one. */
static __always_inline __u32
current_tgid(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	return (task->flags & PF_KTHREAD) != 0 ? 0 : task->tgid;
}

/* ---- requests ---- */

static __always_inline __u8
operation_of(unsigned int op)
{
	if (op == OP_FLUSH)
		return DISK_FLUSH;
	if (op == OP_DISCARD)
		return DISK_DISCARD;
	return (op & 1) != 0 ? DISK_WRITE : DISK_READ;
}

static __always_inline void
begin_request(struct request *rq, __u64 inserted_ns, __u64 issued_ns)
{
	struct disk_request r = {inserted_ns, issued_ns, current_tgid()};
	unsigned int op = rq->cmd_flags & OP_MASK;
	struct gendisk *disk = rq->q->disk;
	__u64 key = (__u64)rq;

	if (op >= OP_PASSES || disk == 0)
		return;
	r.device = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	r.detail = operation_of(op);
	if (bpf_map_update_elem(&disk_requests, &key, &r, 0) != 0)
		lose(DISK_LOST_REQUEST);
}

/* Where it begins, beside the one before: as they go to the device. */
static __always_inline void
follow_stream(struct request *rq, struct disk_request *r)
{
	struct disk_stream key = {r->tgid, r->device, r->detail};
	__u64 next = rq->__sector + rq->__data_len / SECTOR, *last;

	r->bytes = rq->__data_len;
	if (r->bytes == 0 || r->detail == DISK_FLUSH)
		return;
	last = bpf_map_lookup_elem(&disk_streams, &key);
	if (last == 0 || *last != rq->__sector)
		r->detail |= DISK_RANDOM;
	if (last != 0)
		*last = next;
	else
		bpf_map_update_elem(&disk_streams, &key, &next, 0);
}

SEC("tp_btf/block_rq_insert")
int
BPF_PROG(disk_insert, struct request *rq)
{
	begin_request(rq, bpf_ktime_get_ns(), 0);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int
BPF_PROG(disk_issue, struct request *rq)
{
	__u64 key = (__u64)rq, now_ns = bpf_ktime_get_ns();
	struct disk_request *r = bpf_map_lookup_elem(&disk_requests, &key);

	if (r != 0 && r->issued_ns == 0) {
		r->issued_ns = now_ns;
	} else {
		begin_request(rq, now_ns, now_ns);
		r = bpf_map_lookup_elem(&disk_requests, &key);
	}
	if (r != 0)
		follow_stream(rq, r);
	return 0;
}

static __always_inline void
add_request(const struct disk_request *r, __u64 now_ns)
{
	struct disk_key key = {.tgid = r->tgid, .device = r->device,
	    .detail = r->detail & ~DISK_RANDOM,
	    .parity = disk_parity(disk_border, now_ns)};

	add(&key, DISK_QUEUE, r->issued_ns - r->inserted_ns);
	add(&key, DISK_DEVICE, now_ns - r->issued_ns);
	if (r->bytes == 0 || key.detail == DISK_FLUSH)
		return;
	key.detail = r->detail;
	add(&key, DISK_SIZE, r->bytes);
}

/* A part of it may be done: then the rest comes later. */
SEC("tp_btf/block_rq_complete")
int
BPF_PROG(disk_complete, struct request *rq, int error, unsigned int bytes)
{
	struct disk_request *r, copy;
	__u64 key = (__u64)rq;

	r = bpf_map_lookup_elem(&disk_requests, &key);
	if (r == 0 || r->issued_ns == 0 || bytes < rq->__data_len)
		return 0;
	copy = *r;
	bpf_map_delete_elem(&disk_requests, &key);
	add_request(&copy, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_rq_merge")
int
BPF_PROG(disk_merge, struct request *rq)
{
	__u64 key = (__u64)rq;

	bpf_map_delete_elem(&disk_requests, &key);
	return 0;
}

/* ---- threads that wait in the kernel ---- */

static __always_inline void
begin_wait(__u32 what)
{
	struct disk_waiter key = {(__u32)bpf_get_current_pid_tgid(), what};
	__u64 now_ns = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&disk_waiters, &key, &now_ns, 0) != 0)
		lose(DISK_LOST_REQUEST);
}

static __always_inline void
end_wait(__u32 what, __u8 detail)
{
	struct disk_waiter waiter = {(__u32)bpf_get_current_pid_tgid(), what};
	__u64 now_ns = bpf_ktime_get_ns(), ns, *since;
	struct disk_key key = {.detail = detail};

	since = bpf_map_lookup_elem(&disk_waiters, &waiter);
	if (since == 0)
		return;
	ns = now_ns - *since;
	bpf_map_delete_elem(&disk_waiters, &waiter);
	key.tgid = current_tgid();
	key.parity = disk_parity(disk_border, now_ns);
	add(&key, what, ns);
}

static __always_inline __u8
call_of(__u64 number)
{
	return number == CALL_FSYNC ? DISK_FSYNC :
	    number == CALL_FDATASYNC ? DISK_FDATASYNC :
	    number == CALL_MSYNC ? DISK_MSYNC : DISK_OTHER_CALL;
}

/* The call that the thread is in. */
static __always_inline __u8
current_call(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pt_regs *regs;

	if ((task->flags & PF_KTHREAD) != 0)
		return DISK_OTHER_CALL;
	regs = (void *)bpf_task_pt_regs((void *)task);
	return regs->cs == USER32_CS ? DISK_OTHER_CALL :
	    call_of(regs->orig_ax);
}

SEC("tp_btf/ext4_sync_file_enter")
int
BPF_PROG(disk_sync_enter)
{
	begin_wait(DISK_SYNC);
	return 0;
}

SEC("tp_btf/ext4_sync_file_exit")
int
BPF_PROG(disk_sync_exit)
{
	end_wait(DISK_SYNC, current_call());
	return 0;
}

SEC("tp_btf/sys_enter")
int
BPF_PROG(disk_call_enter, struct pt_regs *regs, long number)
{
	if (call_of(number) != DISK_OTHER_CALL)
		begin_wait(DISK_SYNC);
	return 0;
}

SEC("tp_btf/sys_exit")
int
BPF_PROG(disk_call_exit, struct pt_regs *regs)
{
	__u8 call = call_of(regs->orig_ax);

	if (call != DISK_OTHER_CALL)
		end_wait(DISK_SYNC, call);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int
BPF_PROG(disk_reclaim_begin)
{
	begin_wait(DISK_RECLAIM);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int
BPF_PROG(disk_reclaim_end)
{
	end_wait(DISK_RECLAIM, 0);
	return 0;
}

SEC("tp_btf/mm_compaction_begin")
int
BPF_PROG(disk_compact_begin)
{
	begin_wait(DISK_COMPACT);
	return 0;
}

SEC("tp_btf/mm_compaction_end")
int
BPF_PROG(disk_compact_end)
{
	end_wait(DISK_COMPACT, 0);
	return 0;
}

char program_license[] SEC("license") = "GPL";
