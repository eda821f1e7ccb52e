/*
 * The probe of disks: sums histograms of block requests, by the process that
 * made them, and of what threads wait for in the kernel.
 *
 *	disk_start     a request is made, by who wants it
 *	disk_insert    the same for kernels that do not tell of it: it waits for
 *	               its turn; one that does not need to is issued without it
 *	disk_issue     it goes to the device
 *	disk_complete  it is done
 *	disk_merge     it has become a part of another one
 *	disk_sync_*    fsync and its like: as the file system sees it (ext4)
 *	disk_call_*    the same as system calls: what is none, as those that a
 *	               worker of io_uring does, is ext4's still
 *	disk_reclaim_*, disk_compact_*   looking for memory
 *	disk_run_queue   a thread that was ready to run does
 *	disk_fault_user, disk_fault_kernel   a page fault begins
 *	disk_fault_major   it has ended, and had to read
 *
 * Nothing runs where nothing of this happens.  What is done for each request
 * uses tables of its own instead of the kernel's hashes: a lookup in those
 * costs some 100 ns, and there were six for each request.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "collector/bpf/disk.h"
#include "collector/bpf/queued.bpf.h"
#include "collector/bpf/sums.bpf.h"
#include "collector/bpf/wait_clock.bpf.h"

#define REQUESTS 8192 /* in flight; a power of two */
#define REQUEST_WAYS 8
#define WAITERS 4096  /* threads that sync or look for memory */
#define FAULTERS 4096 /* threads in a page fault, by their numbers */
#define STREAMS 4096  /* of a process, a device and an operation */
#define STREAM_WAYS 4

#define SECTOR 512
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
	__u64 __sector, start_time_ns;
} __attribute__((preserve_access_index));

/* Set by the daemon, the first before loading. */
const volatile bool disk_calls = 0; /* syncs are seen as system calls */
volatile __u64 disk_attached_ns = ~0ULL; /* requests of before are not ours */

struct disk_request {
	__u64 key; /* its address; 0: nobody's */
	__u64 began_ns, issued_ns; /* 0: not yet */
	__u32 tgid, device;
	__u32 bytes; /* that are done */
	__u8 detail, followed, started, zero;
} __attribute__((aligned(64))); /* a line of the cache */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REQUESTS);
	__type(key, __u32);
	__type(value, struct disk_request);
} disk_requests SEC(".maps");

struct disk_waiter {
	__u32 tid, what;
};

struct disk_wait {
	__u64 since_ns;
	__u32 detail, zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITERS);
	__type(key, struct disk_waiter);
	__type(value, struct disk_wait);
} disk_waiters SEC(".maps");

struct disk_faulter {
	__u64 since_ns;
	__u32 tid, zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FAULTERS);
	__type(key, __u32);
	__type(value, struct disk_faulter);
} disk_faulters SEC(".maps");

struct disk_stream {
	__u32 tgid, device;
	__u64 operation;
	__u64 next; /* the sector after its last request */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STREAMS);
	__type(key, __u32);
	__type(value, struct disk_stream);
} disk_streams SEC(".maps");

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

/* For all but the run queue.  Global, so that it is verified once for all who
 * call it.  0: there is no room. */
__attribute__((noinline)) int
disk_sum(__u64 tgid_device, __u32 what, __u32 detail, __u32 side, __u64 value)
{
	struct sums_key key = {.tgid = tgid_device >> 32,
	    .device = tgid_device, .what = what, .detail = detail};

	return sums_add(&key, 0, side, value);
}

static __always_inline void
add(struct sums_key *key, __u8 what, __u8 side, __u64 value)
{
	bool leaves = disk_leaves_room(what);

	key->what = what;
	if (leaves ? !sums_add(key, 1, side, value) :
	    disk_sum((__u64)key->tgid << 32 | key->device, what, key->detail,
	    side, value) == 0)
		lose(leaves ? DISK_LOST_QUEUED : DISK_LOST_SUM);
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

static __always_inline struct disk_request *
request_at(__u32 hash)
{
	__u32 i = hash & (REQUESTS - 1);

	return bpf_map_lookup_elem(&disk_requests, &i);
}

static __always_inline struct disk_request *
find_request(struct request *rq)
{
	__u64 key = pointer_number(rq);
	__u32 hash = sums_hash(key, 0), i;

	for (i = 0; i < REQUEST_WAYS; i++) {
		struct disk_request *r = request_at(hash + i);

		if (r != 0 && r->key == key)
			return r;
	}
	return 0;
}

/* Where it stands, or a free place, which begins at 0. */
static __always_inline struct disk_request *
claim_request(struct request *rq)
{
	__u64 key = pointer_number(rq);
	__u32 hash = sums_hash(key, 0), i;

	for (i = 0; i < REQUEST_WAYS; i++) {
		struct disk_request *r = request_at(hash + i);

		if (r != 0 && (r->key == key || (r->key == 0 &&
		    __sync_val_compare_and_swap(&r->key, 0, key) == 0)))
			return r;
	}
	return 0;
}

static __always_inline void
free_request(struct disk_request *r)
{
	r->began_ns = 0;
	r->issued_ns = 0;
	barrier();
	*(volatile __u64 *)&r->key = 0;
}

#define CLOCKS_NS 1000 /* two ways to ask for one clock may be apart */

/* Is it that request?  The end of one that was at this address before may
 * have been missed.  The kernel's time of its beginning may be one from behind
 * the moment at which it was told, but not from behind its issue. */
static __always_inline bool
is_request(const struct disk_request *r, const struct request *rq)
{
	return r != 0 && r->began_ns != 0 && (r->issued_ns == 0 ||
	    r->issued_ns + CLOCKS_NS >= rq->start_time_ns);
}

/* One that finds no room is missed at its end.  What was at this address and
 * went to the device has ended, without the kernel telling this probe. */
static __always_inline struct disk_request *
begin_request(struct request *rq, __u64 now_ns)
{
	unsigned int op = rq->cmd_flags & OP_MASK;
	struct gendisk *disk = rq->q->disk;
	struct disk_request *r;

	if (op >= OP_PASSES || disk == 0)
		return 0;
	r = find_request(rq);
	if (r != 0 && r->began_ns != 0 && r->issued_ns != 0)
		lose(DISK_LOST_END);
	if (r == 0 && (r = claim_request(rq)) == 0)
		return 0;
	r->began_ns = now_ns;
	r->issued_ns = 0;
	r->bytes = 0;
	r->followed = 0;
	r->started = 0;
	r->tgid = current_tgid();
	r->device = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	r->detail = operation_of(op);
	return r;
}

/* The stream, or the place of one that is forgotten for it. */
static __always_inline struct disk_stream *
stream_of(const struct disk_request *r)
{
	__u32 hash = sums_hash((__u64)r->tgid << 32 | r->device, r->detail);
	struct disk_stream *s = 0;
	__u32 i, at;

	for (i = 0; i < STREAM_WAYS; i++) {
		at = (hash + i) & (STREAMS - 1);
		s = bpf_map_lookup_elem(&disk_streams, &at);
		if (s == 0 || (s->tgid == r->tgid && s->device == r->device &&
		    s->operation == r->detail))
			return s;
	}
	at = (hash + (r->issued_ns >> 8 & (STREAM_WAYS - 1))) & (STREAMS - 1);
	return bpf_map_lookup_elem(&disk_streams, &at);
}

/* Where it begins, beside the one before: as they go to the device.  One that
 * is issued again is no other. */
static __always_inline void
follow_stream(struct request *rq, struct disk_request *r)
{
	__u32 bytes = rq->__data_len;
	struct disk_stream *s;

	if (r->followed || bytes == 0 || r->detail == DISK_FLUSH)
		return;
	r->followed = 1;
	s = stream_of(r);
	if (s == 0)
		return;
	if (s->tgid != r->tgid || s->device != r->device ||
	    s->operation != r->detail || s->next != rq->__sector) {
		s->tgid = r->tgid;
		s->device = r->device;
		s->operation = r->detail;
		r->detail |= DISK_RANDOM;
	}
	s->next = rq->__sector + bytes / SECTOR;
}

SEC("tp_btf/block_io_start")
int
BPF_PROG(disk_start, struct request *rq)
{
	struct disk_request *r = begin_request(rq, bpf_ktime_get_ns());

	if (r != 0)
		r->started = 1;
	return 0;
}

/* A request that the device did not take comes once more. */
SEC("tp_btf/block_rq_insert")
int
BPF_PROG(disk_insert, struct request *rq)
{
	struct disk_request *r = find_request(rq);

	if (!is_request(r, rq) || (r->issued_ns == 0 && !r->started))
		begin_request(rq, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_rq_issue")
int
BPF_PROG(disk_issue, struct request *rq)
{
	struct disk_request *r = find_request(rq);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!is_request(r, rq))
		r = begin_request(rq, now_ns);
	if (r == 0)
		return 0;
	r->issued_ns = now_ns;
	follow_stream(rq, r);
	return 0;
}

static __always_inline void
add_request(const struct disk_request *r, __u64 now_ns)
{
	struct sums_key key = {.tgid = r->tgid, .device = r->device,
	    .detail = r->detail & ~DISK_RANDOM};
	__u8 side = sums_side(sums_border, now_ns);

	/* Else nothing was told of it before. */
	if (r->issued_ns != r->began_ns)
		add(&key, DISK_QUEUE, side, r->issued_ns - r->began_ns);
	add(&key, DISK_DEVICE, side, now_ns - r->issued_ns);
	if (r->bytes == 0 || key.detail == DISK_FLUSH)
		return;
	key.detail = r->detail;
	add(&key, DISK_SIZE, side, r->bytes);
}

/* Of a part: then the rest comes later, and may be issued by itself. */
SEC("tp_btf/block_rq_complete")
int
BPF_PROG(disk_complete, struct request *rq, int error, unsigned int bytes)
{
	struct disk_request *r, copy;

	if ((rq->cmd_flags & OP_MASK) >= OP_PASSES)
		return 0;
	r = find_request(rq);
	if (!is_request(r, rq) || r->issued_ns == 0) {
		/* Without bytes it may never have been issued. */
		if (bytes > 0 && rq->start_time_ns > disk_attached_ns)
			lose(DISK_LOST_REQUEST);
		return 0;
	}
	r->bytes += bytes;
	if (bytes < rq->__data_len)
		return 0;
	copy = *r;
	free_request(r);
	add_request(&copy, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/block_rq_merge")
int
BPF_PROG(disk_merge, struct request *rq)
{
	struct disk_request *r = find_request(rq);

	if (r != 0)
		free_request(r);
	return 0;
}

/* ---- threads that wait in the kernel ---- */

static __always_inline void
begin_wait(__u32 what, __u8 detail)
{
	struct disk_waiter key = {(__u32)bpf_get_current_pid_tgid(), what};
	struct disk_wait wait = {bpf_ktime_get_ns(), detail, 0};

	if (bpf_map_update_elem(&disk_waiters, &key, &wait, 0) != 0)
		lose(DISK_LOST_REQUEST);
}

static __always_inline void
end_wait(__u32 what)
{
	struct disk_waiter waiter = {(__u32)bpf_get_current_pid_tgid(), what};
	__u64 now_ns = bpf_ktime_get_ns(), ns;
	struct sums_key key = {};
	struct disk_wait *wait;

	wait = bpf_map_lookup_elem(&disk_waiters, &waiter);
	if (wait == 0)
		return;
	ns = now_ns - wait->since_ns;
	key.detail = wait->detail;
	bpf_map_delete_elem(&disk_waiters, &waiter);
	key.tgid = current_tgid();
	add(&key, what, sums_side(sums_border, now_ns), ns);
}

static __always_inline __u8
call_of(__u64 number)
{
	return number == CALL_FSYNC ? DISK_FSYNC :
	    number == CALL_FDATASYNC ? DISK_FDATASYNC :
	    number == CALL_MSYNC ? DISK_MSYNC : DISK_OTHER_CALL;
}

/* A worker of io_uring is in no call, and sees no end of one. */
static __always_inline bool
is_worker(const struct task_struct *task)
{
	return (task->flags & PF_IO_WORKER) != 0;
}

/* The call that the thread is in. */
static __always_inline __u8
current_call(const struct task_struct *task)
{
	struct pt_regs *regs;

	if ((task->flags & (PF_KTHREAD | PF_IO_WORKER)) != 0)
		return DISK_OTHER_CALL;
	regs = (void *)bpf_task_pt_regs((void *)task);
	return regs->cs == USER32_CS ? DISK_OTHER_CALL :
	    call_of(regs->orig_ax);
}

/* Where calls are seen, it tells of what is none of those. */
static __always_inline bool
sync_is_call(__u8 call)
{
	return disk_calls && call != DISK_OTHER_CALL;
}

/* What a worker does for IORING_OP_FSYNC, or for a write to a file that was
 * opened for syncing. */
static __always_inline __u8
worker_call(const struct file *file, int datasync)
{
	if ((file->f_flags & O_DSYNC) != 0)
		return DISK_OTHER_CALL;
	return datasync != 0 ? DISK_FDATASYNC : DISK_FSYNC;
}

SEC("tp_btf/ext4_sync_file_enter")
int
BPF_PROG(disk_sync_enter, struct file *file, int datasync)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u8 call = current_call(task);

	if (is_worker(task))
		begin_wait(DISK_SYNC, worker_call(file, datasync));
	else if (!sync_is_call(call))
		begin_wait(DISK_SYNC, call);
	return 0;
}

SEC("tp_btf/ext4_sync_file_exit")
int
BPF_PROG(disk_sync_exit)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (!sync_is_call(current_call(task)))
		end_wait(DISK_SYNC);
	return 0;
}

SEC("tp_btf/sys_enter")
int
BPF_PROG(disk_call_enter, struct pt_regs *regs, long number)
{
	__u8 call = call_of(number);

	if (call != DISK_OTHER_CALL)
		begin_wait(DISK_SYNC, call);
	return 0;
}

SEC("tp_btf/sys_exit")
int
BPF_PROG(disk_call_exit, struct pt_regs *regs)
{
	if (call_of(regs->orig_ax) != DISK_OTHER_CALL)
		end_wait(DISK_SYNC);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int
BPF_PROG(disk_reclaim_begin)
{
	begin_wait(DISK_RECLAIM, 0);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int
BPF_PROG(disk_reclaim_end)
{
	end_wait(DISK_RECLAIM);
	return 0;
}

SEC("tp_btf/mm_compaction_begin")
int
BPF_PROG(disk_compact_begin)
{
	begin_wait(DISK_COMPACT, 0);
	return 0;
}

SEC("tp_btf/mm_compaction_end")
int
BPF_PROG(disk_compact_end)
{
	end_wait(DISK_COMPACT);
	return 0;
}

/* The run_delay of /proc/PID/schedstat has grown by the same a moment later, by
 * the same clock. */
SEC("tp_btf/sched_switch")
int
BPF_PROG(disk_run_queue, bool preempt, struct task_struct *prev,
    struct task_struct *next, unsigned int prev_state)
{
	__u64 clock = wait_clock(prev);
	struct sums_key key = {};

	if (prev->pid != 0)
		queued_leaves(prev, !preempt && (prev_state & TASK_ENDS) != 0);
	if (next->pid == 0 || next->sched_info.last_queued == 0)
		return 0;
	key.tgid = (next->flags & PF_KTHREAD) != 0 ? 0 : next->tgid;
	add(&key, DISK_RUN_QUEUE, sums_side(sums_border, bpf_ktime_get_ns()),
	    queued_comes(next, clock));
	return 0;
}

/* ---- page faults ---- */

static __always_inline struct disk_faulter *
faulter_of(__u32 tid)
{
	__u32 place = tid & (FAULTERS - 1);

	return bpf_map_lookup_elem(&disk_faulters, &place);
}

/* Nearly all of them end at once: so nothing is looked for here. */
static __always_inline void
begin_fault(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct disk_faulter *f = faulter_of(tid);

	if (f == 0)
		return;
	f->tid = tid;
	f->since_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/page_fault_user")
int
BPF_PROG(disk_fault_user)
{
	begin_fault();
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int
BPF_PROG(disk_fault_kernel)
{
	begin_fault();
	return 0;
}

/* The kernel counts it when all of it is done.  Of two threads with one place
 * one is lost. */
SEC("perf_event")
int
disk_fault_major(struct perf_context *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct disk_faulter *f = faulter_of(tid);
	__u64 now_ns = bpf_ktime_get_ns();
	struct sums_key key = {.tgid = current_tgid()};

	(void)ctx;
	if (f == 0 || f->tid != tid) {
		lose(DISK_LOST_REQUEST);
		return 0;
	}
	add(&key, DISK_FAULT, sums_side(sums_border, now_ns),
	    now_ns - f->since_ns);
	return 0;
}

char program_license[] SEC("license") = "GPL";
