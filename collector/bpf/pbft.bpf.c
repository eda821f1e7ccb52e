/*
 * The probe of PBFT: what ResilientDB's replicas tell their own statistics.
 *
 *	pbft_record   Stats::RecordStateTime(std::string): a round has come
 *	              to the state of that name
 *	pbft_summary  Stats::SendSummary(): it is executed
 *
 * Nothing of a request is read, only the name of the state.
 *
 * A process is counted from its first call on: who it is, the daemon finds out
 * when it hears of it.
 */
#include "collector/bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include "collector/bpf/pbft.h"
#include "collector/bpf/sums.bpf.h"

#define NAME_MAX 16
#define TRIES 4 /* to take what another CPU takes, too */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PBFT_REPLICAS);
	__type(key, __u32); /* tgid: the daemon takes them out */
	__type(value, struct pbft_replica);
} pbft_replicas SEC(".maps");

const volatile __u64 pbft_slot_ns = 1;

/* The wall clock at 0 of ours: set by the daemon at any time. */
volatile __u64 pbft_wall_ns = 0;

/* Calls of processes that have no room in the table. */
__u64 pbft_strangers = 0;

/* Grows as one comes into the table by itself, before it counts anything. */
__u64 pbft_heard = 0;

static const struct pbft_replica pbft_none;

/* Several threads may come first. */
static __always_inline struct pbft_replica *
find_replica(__u64 start_ns)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct pbft_replica *r = bpf_map_lookup_elem(&pbft_replicas, &tgid);

	if (r == 0) {
		bpf_map_update_elem(&pbft_replicas, &tgid, &pbft_none,
		    BPF_NOEXIST);
		r = bpf_map_lookup_elem(&pbft_replicas, &tgid);
	}
	if (r != 0 && *(volatile __u64 *)&r->start_ns == 0) {
		__sync_fetch_and_add(&pbft_heard, 1);
		*(volatile __u64 *)&r->start_ns = start_ns;
	}
	return r;
}

/* An entry may be that of one that is gone, and had the same number. */
static __always_inline struct pbft_replica *
current_replica(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 start_ns = task->group_leader->start_boottime;
	struct pbft_replica *r = find_replica(start_ns);

	if (r != 0 && start_ns - r->start_ns < PBFT_TICK_NS)
		return r;
	__sync_fetch_and_add(&pbft_strangers, 1);
	return 0;
}

static __always_inline void
lose(struct pbft_replica *r, enum pbft_lost what, __u64 n)
{
	__sync_fetch_and_add(&r->lost[what], n);
}

static __always_inline void
give_up(struct pbft_replica *r, struct pbft_queue *q)
{
	__u32 first = q->first, end = q->end;

	if (first == end || __sync_val_compare_and_swap(&q->first, first,
	    end) != first)
		return;
	lose(r, PBFT_LOST_END, end - first);
}

static __always_inline void
enter(struct pbft_replica *r, struct pbft_queue *q, __u64 now_ns)
{
	if (q->end - q->first >= PBFT_OPEN)
		give_up(r, q);
	q->at[__sync_fetch_and_add(&q->end, 1) & (PBFT_OPEN - 1)] = now_ns;
}

/* When the round that leaves had entered; 0: nobody knows. */
static __always_inline __u64
leave(struct pbft_queue *q)
{
	__u32 first, i;

	for (i = 0; i < TRIES; i++) {
		first = q->first;
		if (first == q->end)
			return 0;
		if (__sync_val_compare_and_swap(&q->first, first,
		    first + 1) == first)
			return __sync_lock_test_and_set(
			    &q->at[first & (PBFT_OPEN - 1)], 0);
	}
	return 0;
}

/* Adds a value to the slot that it is of; 0: there is no room.  Global, so that
 * it is verified once for all who call it. */
__attribute__((noinline)) int
pbft_sum(__u32 what, __u64 now_ns, __u64 value)
{
	struct sums_key key = {.what = what};

	key.tgid = bpf_get_current_pid_tgid() >> 32;
	key.device = (now_ns + pbft_wall_ns) / pbft_slot_ns;
	return sums_add(&key, 0, sums_side(sums_border, now_ns), value);
}

/* Where two CPUs begin a slot at once one may be counted in lost alone. */
static __always_inline void
lose_sum(struct pbft_replica *r, __u64 now_ns)
{
	__u64 slot = (now_ns + pbft_wall_ns) / pbft_slot_ns;
	__u64 *at = &r->lost_slots[slot & (PBFT_LOST_SLOTS - 1)];

	if (*(volatile __u64 *)at >> 32 != (__u32)slot)
		*(volatile __u64 *)at = slot << 32;
	__sync_fetch_and_add(at, 1);
	lose(r, PBFT_LOST_SUM, 1);
}

static __always_inline void
add(struct pbft_replica *r, __u32 what, __u64 now_ns, __u64 value)
{
	if (pbft_sum(what, now_ns, value) == 0)
		lose_sum(r, now_ns);
}

static __always_inline void
end_phase(struct pbft_replica *r, __u8 what, __u64 now_ns)
{
	__u64 began_ns = leave(&r->open[what]);

	if (began_ns == 0)
		lose(r, PBFT_LOST_BEGIN, 1);
	else
		add(r, what, now_ns, now_ns > began_ns ? now_ns - began_ns : 0);
}

/* Of what has been going on for so long without a word nothing is expected
 * any more. */
static __always_inline void
begin_anew(struct pbft_replica *r, __u64 now_ns)
{
	if (now_ns - r->last_ns > PBFT_QUIET_NS) {
		give_up(r, &r->open[PBFT_TO_PREPARE]);
		give_up(r, &r->open[PBFT_TO_COMMIT]);
		give_up(r, &r->open[PBFT_TO_EXECUTE]);
	}
	r->last_ns = now_ns;
}

static __always_inline void
come_to(struct pbft_replica *r, enum pbft_state state)
{
	__u64 now_ns = bpf_ktime_get_ns();

	add(r, PBFT_WHATS + state, now_ns, 0);
	begin_anew(r, now_ns);
	if (state == PBFT_PREPARE)
		end_phase(r, PBFT_TO_PREPARE, now_ns);
	else if (state == PBFT_COMMIT)
		end_phase(r, PBFT_TO_COMMIT, now_ns);
	else if (state == PBFT_EXECUTE)
		end_phase(r, PBFT_TO_EXECUTE, now_ns);
	if (state == PBFT_PRE_PREPARE)
		enter(r, &r->open[PBFT_TO_PREPARE], now_ns);
	else if (state == PBFT_PREPARE)
		enter(r, &r->open[PBFT_TO_COMMIT], now_ns);
	else if (state == PBFT_COMMIT)
		enter(r, &r->open[PBFT_TO_EXECUTE], now_ns);
}

static __always_inline bool
is_name(const char *text, const char *name)
{
	for (__u32 i = 0; i < NAME_MAX; i++) {
		if (text[i] != name[i])
			return 0;
		if (name[i] == '\0')
			return 1;
	}
	return 0;
}

static __always_inline enum pbft_state
state_of(const char *text)
{
	return is_name(text, "request") ? PBFT_REQUEST :
	    is_name(text, "pre-prepare") ? PBFT_PRE_PREPARE :
	    is_name(text, "prepare") ? PBFT_PREPARE :
	    is_name(text, "commit") ? PBFT_COMMIT : PBFT_STATES;
}

/* A std::string by value is a reference to one, whose first word is where its
 * text is. */
SEC("uprobe")
int
pbft_record(struct pt_regs *regs)
{
	struct pbft_replica *r = current_replica();
	char text[NAME_MAX] = {0};
	enum pbft_state state;
	void *at;

	if (r == 0)
		return 0;
	state = bpf_probe_read_user(&at, sizeof(at), (void *)regs->si) == 0 &&
	    bpf_probe_read_user_str(text, sizeof(text), at) > 0 ?
	    state_of(text) : PBFT_STATES;
	if (state == PBFT_STATES)
		lose(r, PBFT_LOST_STATE, 1);
	else
		come_to(r, state);
	return 0;
}

SEC("uprobe")
int
pbft_summary(struct pt_regs *regs)
{
	struct pbft_replica *r = current_replica();

	if (r != 0)
		come_to(r, PBFT_EXECUTE);
	return 0;
}

char program_license[] SEC("license") = "GPL";
