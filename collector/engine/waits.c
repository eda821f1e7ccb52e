/*
 * A table of threads by their numbers.  What was told of a thread is what its
 * sums were at the last border; what had stacks is taken off, and may be ahead
 * of the sums: then it is taken off the next time.
 */
#include "collector/engine/waits.h"

#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "collector/bpf/unwind.h"
#include "collector/bpf/wait_futex.h"
#include "collector/bpf/wait_time.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/engine/thread_time.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"

#define BUCKETS 4096
#define STACKS_BYTES (8u << 20) /* of waits that go on, all together */
#define DRIFT_NS (5 * NS_PER_MS)
#define POLLS_GAP_NS (10 * (uint64_t)NS_PER_MS) /* a look for deadlocks */
#define POLLS_NEAR_NS 500000 /* two clocks' readings of one beginning */
#define HEAD offsetof(struct sample_event, frames)

struct waiter {
	struct waiter *next;
	struct sample_event *stack; /* of the wait that began at its time_ns,
	                             * the head and frames; or NULL */
	size_t stack_size;
	struct thread_slot slot;
	struct wait_sums *last; /* of one that died behind the slot, or NULL */
	/* The wait that began at since_ns is told up to the slot's end, by the
	 * sweep: events that come behind it say no more of it. */
	uint64_t since_ns;
	/* Polls that signals have ended, one right after the other: how long
	 * all of them were, when the last one ended, and when the one began
	 * that goes on where they did (0: not known yet). */
	uint64_t polled_ns, polled_end_ns, polled_on_ns;
	uint64_t number;
	uint64_t born_ns; /* not told yet; or 0 */
	uint32_t pid, tid, exec_id;
	uint64_t start_ns;
	uint64_t sweep; /* the last one that saw it */
	uint64_t heard; /* that one, as its last event came, or was held */
	uint64_t named_ns; /* when it had this name: */
	char comm[EVENT_COMM];
	char was[EVENT_COMM]; /* until behind the open slot's end; or "" */
	bool met; /* born_ns is known */
	struct resolve_owner owner;
};

struct waits {
	struct waiter *buckets[BUCKETS];
	size_t n;
	size_t stacks_bytes;
	uint64_t sweep;
	struct thread_slot_range slot; /* the open one */
	int64_t began_ns;   /* threads are watched since then */
	int64_t stopped_ns; /* 0: not */
	const char *mark;   /* of what has no stack */
	uint64_t lost;      /* events, until the slot's beginning */
	int64_t marked_ns;  /* when it was chosen: the engine's clock */
	struct thread_time *time;
};

struct waits *
waits_new(int64_t slot_ns)
{
	struct waits *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->slot.slot_ns = slot_ns;
	w->mark = "[below threshold]";
	w->time = thread_time_new();
	if (w->time != NULL)
		return w;
	free(w);
	return NULL;
}

static void
waiter_drop_stack(struct waits *w, struct waiter *x)
{
	w->stacks_bytes -= x->stack_size;
	free(x->stack);
	x->stack = NULL;
	x->stack_size = 0;
}

static void
waiter_free(struct waits *w, struct waiter **at)
{
	struct waiter *x = *at;

	if (x == NULL)
		return;
	*at = x->next;
	waiter_drop_stack(w, x);
	free(x->last);
	free(x);
	w->n--;
}

void
waits_free(struct waits *w)
{
	size_t i;

	if (w == NULL)
		return;
	for (i = 0; i < BUCKETS; i++)
		while (w->buckets[i] != NULL)
			waiter_free(w, &w->buckets[i]);
	thread_time_free(w->time);
	free(w);
}

size_t
waits_threads(const struct waits *w)
{
	return w->n;
}

static struct waiter **
waiter_place(struct waits *w, uint64_t number)
{
	struct waiter **at = &w->buckets[number % BUCKETS];

	while (*at != NULL && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

/* The thread that an event is of, made when new; NULL: there is no room. */
static struct waiter *
waiter_of(struct waits *w, const struct sample_event *e)
{
	struct waiter **at = waiter_place(w, e->wait.thread), *x = *at;

	if (x == NULL && w->n < WAITS_THREADS_MAX) {
		x = *at = calloc(1, sizeof(*x));
		w->n += x != NULL;
		if (x != NULL)
			x->sweep = w->sweep;
	}
	if (x == NULL)
		return NULL;
	x->heard = w->sweep;
	x->number = e->wait.thread;
	x->pid = e->pid;
	x->tid = e->tid;
	x->start_ns = e->start_ns;
	/* What waited in the ring is older than the sweep. */
	if (e->comm[0] != '\0' && e->time_ns >= x->named_ns) {
		x->exec_id = e->exec_id;
		x->named_ns = e->time_ns;
		memcpy(x->comm, e->comm, sizeof(x->comm));
	}
	return x;
}

/* Of an event without a copy of memory. */
static size_t
waits_head_size(const struct sample_event *e)
{
	return HEAD + (e->n_kernel + (size_t)e->n_user) *
	    sizeof(e->frames[0]);
}

/* Keeps the stack for more parts of the wait that began at since_ns: without a
 * copy of memory. */
static void
waiter_keep_stack(struct waits *w, struct waiter *x,
    const struct sample_event *e, uint64_t since_ns)
{
	size_t size = waits_head_size(e);

	waiter_drop_stack(w, x);
	if (w->stacks_bytes + size > STACKS_BYTES)
		return;
	x->stack = malloc(size);
	if (x->stack == NULL)
		return;
	memcpy(x->stack, e, size);
	x->stack->flags &= (__u8)~(EVENT_COPY | EVENT_CALLER);
	x->stack->time_ns = since_ns;
	x->stack_size = size;
	w->stacks_bytes += size;
}

/* ---- parts of a wait ---- */

/* A wait, or what is to be told of it. */
struct span {
	uint64_t begin_ns, end_ns; /* of the wait; it may go on */
	uint64_t queued_ns;        /* its last part, on the run queue */
	enum wait_state reason;
	bool ends; /* at end_ns */
};

static uint64_t
span_overlap(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t from = a > c ? a : c, to = b < d ? b : d;

	return to > from ? to - from : 0;
}

/* Adds the time from a to b of a wait to the stack of `e`. */
static void
waiter_add(struct engine *s, struct waiter *x, const struct span *wait,
    uint64_t a, uint64_t b, const struct sample_event *e, size_t size)
{
	static struct sample_event part; /* large: it may have a copy */

	memcpy(&part, e, size < sizeof(part) ? size : sizeof(part));
	part.value = b - a;
	if (part.time_ns < b)
		part.time_ns = b;
	part.wait.reason = (__u8)wait->reason;
	part.wait.ended = wait->ends && b == wait->end_ns;
	part.wait.queued_ns = span_overlap(a, b,
	    wait->end_ns - wait->queued_ns, wait->end_ns);
	if (wait->reason == WAIT_POLL)
		part.wait.address = LATCH_ADDRESS;
	thread_slot_show(&x->slot, wait->reason, part.value -
	    part.wait.queued_ns);
	thread_slot_show(&x->slot, WAIT_RUN_QUEUE, part.wait.queued_ns);
	resolve_event(s, &part, size);
}

/* What of it is in the open slot.  What was before that is told, with a stack
 * or without: the sums are. */
static void
waiter_tell(struct engine *s, struct waiter *x, const struct span *wait,
    const struct sample_event *e, size_t size)
{
	const struct waits *w = s->waits;
	uint64_t from = wait->begin_ns, to = wait->end_ns;

	if (to > (uint64_t)w->slot.end_ns)
		to = (uint64_t)w->slot.end_ns;
	if (from < (uint64_t)w->slot.begin_ns)
		from = (uint64_t)w->slot.begin_ns;
	if (from < to)
		waiter_add(s, x, wait, from, to, e, size);
	else if (wait->end_ns <= (uint64_t)w->slot.begin_ns)
		s->profiles[e->type].now.late++;
}

/* ---- events ---- */

/* Later slots' part of an event waits for them.  Where there is not room for
 * all, copies of memory go first, and then the shortest waits. */
static void
waits_hold(struct engine *s, const struct sample_event *e, size_t size)
{
	static struct sample_event part;
	unsigned pressure = border_pressure(&s->border);
	const struct engine_profile *p = &s->profiles[s->waits_pace.type];

	if (pressure > 0) {
		size = waits_head_size(e);
		memcpy(&part, e, size);
		part.flags &= (__u8)~(EVENT_COPY | EVENT_CALLER);
		e = &part;
	}
	if ((pressure > 0 &&
	    e->value >> pressure < (uint64_t)p->waits.threshold_ns) ||
	    !border_hold(&s->border, e, size))
		s->profiles[e->type].now.held_full++;
}

static void
waits_died(struct engine *s, struct waiter *x, const struct sample_event *e,
    size_t size);

static void
waits_named(struct engine *s, struct waiter *x, const struct sample_event *e,
    size_t size);

/*
 * A backend of PostgreSQL waits for a lock with a poll that its look for
 * deadlocks cuts, or another signal: who gives the lock back has had it wait in
 * all of them.
 */
static void
waiter_polled(struct waiter *x, const struct span *wait, bool interrupted)
{
	bool on = wait->begin_ns - x->polled_end_ns < POLLS_GAP_NS &&
	    x->polled_on_ns == 0;

	if (wait->begin_ns < x->polled_end_ns)
		return; /* it is known, and comes again for another slot */
	if (!interrupted) {
		if (x->polled_on_ns == 0)
			x->polled_on_ns = wait->begin_ns;
		return;
	}
	x->polled_ns = (on ? x->polled_ns : 0) + wait->end_ns -
	    wait->begin_ns;
	x->polled_end_ns = wait->end_ns;
	x->polled_on_ns = 0;
}

static void
waits_ended(struct engine *s, struct waiter *x, const struct sample_event *e,
    size_t size)
{
	const struct span wait = {e->time_ns - e->value, e->time_ns,
	    e->wait.queued_ns, e->wait.reason, true};

	if (e->wait.reason >= WAIT_STATES || e->wait.reason == WAIT_ON_CPU)
		return;
	if (wait.reason == WAIT_POLL && e->wait.part == WAIT_WHOLE)
		waiter_polled(x, &wait, e->wait.operation != 0);
	if (x->since_ns == wait.begin_ns &&
	    wait.begin_ns < (uint64_t)s->waits->slot.end_ns &&
	    x->sweep == s->waits->sweep)
		; /* the sweep has told it */
	else if (e->wait.part == WAIT_WHOLE)
		waiter_tell(s, x, &wait, e, size);
	else if (x->stack != NULL && x->stack->time_ns == wait.begin_ns)
		waiter_tell(s, x, &wait, x->stack, x->stack_size);
	if (wait.end_ns > (uint64_t)s->waits->slot.end_ns)
		waits_hold(s, e, size);
}

/* For how long it had polled right before the poll that began then. */
static uint64_t
waiter_polled_before(const struct waiter *x, uint64_t begin_ns)
{
	uint64_t from_ns = x->polled_on_ns;

	if (begin_ns + POLLS_NEAR_NS < x->polled_end_ns)
		return 0;
	return (from_ns == 0 && begin_ns < x->polled_end_ns + POLLS_GAP_NS) ||
	    (begin_ns + POLLS_NEAR_NS > from_ns &&
	    begin_ns < from_ns + POLLS_NEAR_NS) ? x->polled_ns : 0;
}

/* Who ended a wait: in the slot in which that was. */
static void
waits_woken(struct engine *s, const struct sample_event *e, size_t size)
{
	static struct sample_event all;
	struct waiter *x = *waiter_place(s->waits, e->wait.thread);

	if (e->time_ns > (uint64_t)s->waits->slot.end_ns) {
		waits_hold(s, e, size);
		return;
	}
	if (x != NULL && e->wait.address == LATCH_ADDRESS) {
		memcpy(&all, e, size < sizeof(all) ? size : sizeof(all));
		all.value += waiter_polled_before(x, e->time_ns - e->value);
		e = &all;
	}
	if (s->locks != NULL)
		resolve_event(s, e, size);
}

void
waits_event(struct engine *s, const struct sample_event *e, size_t size)
{
	struct waits *w = s->waits;
	struct waiter *x;

	if (w != NULL && e->wait.part == WAIT_WOKEN) {
		waits_woken(s, e, size);
		return;
	}
	x = w != NULL ? waiter_of(w, e) : NULL;
	if (x == NULL)
		return;
	switch (e->wait.part) {
	case WAIT_WHOLE:
	case WAIT_ENDED:
		waits_ended(s, x, e, size);
		break;
	case WAIT_BEGUN:
		waiter_keep_stack(w, x, e, e->time_ns - e->value);
		break;
	case WAIT_DIED:
		waits_died(s, x, e, size);
		break;
	case WAIT_NAMED:
		waits_named(s, x, e, size);
		break;
	default:
		break;
	}
}

/* Slots follow each other in the steps that the probe makes, as long as the
 * wall clock is about there. */
void
waits_begin(struct waits *w, int64_t end_ns, int64_t now_ns)
{
	int64_t part_ns = w->slot.slot_ns / 8, next_ns, off_ns;
	int64_t may_ns = part_ns < DRIFT_NS ? part_ns : DRIFT_NS;

	w->slot.begin_ns = w->slot.end_ns == 0 ? end_ns - w->slot.slot_ns :
	    w->slot.end_ns < now_ns ? w->slot.end_ns : now_ns;
	next_ns = w->slot.begin_ns + w->slot.slot_ns;
	off_ns = end_ns - next_ns;
	w->slot.end_ns = (off_ns > -may_ns && off_ns < may_ns) ||
	    end_ns <= w->slot.begin_ns ? next_ns : end_ns;
	w->sweep++;
}

void
waits_end(struct waits *w, int64_t end_ns)
{
	if (end_ns - w->slot.end_ns > w->slot.slot_ns / 2 ||
	    w->slot.end_ns - end_ns > w->slot.slot_ns / 2)
		w->slot.end_ns = end_ns > w->slot.begin_ns ? end_ns :
		    w->slot.begin_ns;
}

void
waits_watch(struct waits *w, int64_t now_ns)
{
	w->began_ns = now_ns;
}

void
waits_stop(struct waits *w, int64_t now_ns)
{
	w->stopped_ns = now_ns;
}

int64_t
waits_end_ns(const struct waits *w)
{
	return w->slot.end_ns;
}

/* ---- the sweep ---- */

/* As is told of it for the first time. */
static void
waiter_is_born(struct waiter *x, const struct wait_sums *sums)
{
	if (!x->met)
		x->born_ns = sums->born_ns;
	x->met = true;
}

/* Since when a thread that waits on is on the run queue: its last moments, as
 * far as it was told until now. */
static uint64_t
waiter_woken_ns(const struct wait_swept *r)
{
	uint64_t wait_ns = r->now_ns - r->thread.since_ns;

	return r->thread.state == WAIT_RUN_QUEUE ||
	    r->event.wait.queued_ns > wait_ns ? r->thread.since_ns :
	    r->now_ns - r->event.wait.queued_ns;
}

/* The thread has not changed its state since before the slot's end, or it
 * says itself how its sums were there. */
static void
waiter_sum(const struct waits *w, struct waiter *x,
    const struct wait_swept *r)
{
	const struct wait_slots slots = {
	    (uint64_t)(w->slot.end_ns - w->slot.slot_ns),
	    (uint64_t)w->slot.slot_ns};
	uint64_t end_ns = (uint64_t)w->slot.end_ns, woken_ns;
	struct wait_thread t = r->thread;

	if (end_ns > r->now_ns)
		end_ns = r->now_ns;
	if (w->stopped_ns != 0 && end_ns > (uint64_t)w->stopped_ns)
		end_ns = (uint64_t)w->stopped_ns;
	woken_ns = end_ns;
	if (t.state == WAIT_ON_CPU)
		wait_settle(&t, r->run_delay, &slots);
	else if (waiter_woken_ns(r) < end_ns)
		woken_ns = waiter_woken_ns(r);
	wait_add(&t, t.state, t.since_ns, woken_ns, &slots);
	wait_add(&t, WAIT_RUN_QUEUE, woken_ns, end_ns, &slots);
	thread_slot_choose(&x->slot, &w->slot, &t.sums);
	waiter_is_born(x, &t.sums);
}

/* No rows are lacking, but the copy has ended before the stack. */
static void
waiter_judge(struct sample_event *e)
{
	if ((e->flags & EVENT_PENDING) == 0 || e->table != UNWIND_NO_TABLE)
		return;
	e->flags &= (__u8)~EVENT_PENDING;
	e->flags |= EVENT_TRUNCATED;
}

/* The stack that the sweep has sent, or that is kept; NULL: neither. */
static const struct sample_event *
waiter_stack(struct engine *s, struct waiter *x, const struct wait_swept *r,
    size_t *size)
{
	static struct sample_event walked;
	*size = r->size - offsetof(struct wait_swept, event);
	if (*size > HEAD) {
		const struct sample_event *e = &r->event;

		if ((e->flags & EVENT_COPY) != 0 && s->tables != NULL &&
		    second_walk_now(s, e, *size, &walked)) {
			e = &walked;
			waiter_judge(&walked);
		}
		waiter_keep_stack(s->waits, x, e, r->thread.since_ns);
	}
	if (x->stack == NULL || x->stack->time_ns != r->thread.since_ns)
		return NULL;
	*size = x->stack_size;
	return x->stack;
}

static uint64_t
waits_threshold(const struct engine_profile *p, bool idle)
{
	return (uint64_t)(idle ? p->waits.idle_ns : p->waits.threshold_ns);
}

/* Its wait goes on: what of it is in the slot, if it is a long one.  Nobody
 * knows yet what will end it: for who has waited for a latch it may be one. */
static void
waiter_goes_on(struct engine *s, struct waiter *x,
    const struct wait_swept *r)
{
	const struct engine_profile *p = &s->profiles[r->event.type];
	struct span wait = {.begin_ns = r->thread.since_ns,
	    .end_ns = r->now_ns, .reason = r->thread.state};
	struct sample_event e;
	size_t size;
	const struct sample_event *stack = waiter_stack(s, x, r, &size);

	if (s->waits->stopped_ns != 0)
		wait.end_ns = (uint64_t)s->waits->stopped_ns;
	if (wait.begin_ns >= (uint64_t)s->waits->slot.end_ns)
		return;
	wait.queued_ns = span_overlap(wait.begin_ns, wait.end_ns,
	    waiter_woken_ns(r), r->now_ns);
	x->since_ns = wait.begin_ns;
	if (wait.end_ns - wait.begin_ns < waits_threshold(p,
	    wait_is_idle(wait.reason, r->thread.latches)))
		return; /* its first part stays without a stack */
	memcpy(&e, &r->event, HEAD);
	/* It lies in the slot, whenever it is read. */
	if (stack != NULL)
		waiter_tell(s, x, &wait, stack, size);
	else
		waiter_tell(s, x, &wait, &e, HEAD);
}

/* It runs again, and says so when it leaves: what of its wait is in the slot
 * is told now. */
static void
waiter_has_come(struct engine *s, struct waiter *x,
    const struct wait_swept *r)
{
	const struct wait_thread *t = &r->thread;
	const struct engine_profile *p = &s->profiles[r->event.type];
	struct span wait = {.begin_ns = t->left_ns, .end_ns = t->since_ns,
	    .reason = t->reason, .ends = true};

	wait.queued_ns = wait_queued(t->reason, t->since_ns - t->left_ns,
	    r->run_delay, t->run_delay);
	if (x->stack != NULL && x->stack->time_ns == t->left_ns &&
	    t->since_ns - t->left_ns >= waits_threshold(p,
	        wait_is_idle(t->reason, t->latched))) {
		x->since_ns = t->left_ns;
		waiter_tell(s, x, &wait, x->stack, x->stack_size);
	}
}

void
waits_swept(struct engine *s, const struct wait_swept *r)
{
	struct waits *w = s->waits;
	struct waiter *x;

	if (w == NULL || r->thread.number == 0 ||
	    r->thread.state >= WAIT_STATES ||
	    r->event.type >= s->n_profiles ||
	    (x = waiter_of(w, &r->event)) == NULL)
		return;
	waiter_sum(w, x, r);
	x->sweep = w->sweep;
	if (r->thread.state != WAIT_ON_CPU)
		waiter_goes_on(s, x, r);
	else if (r->thread.told && r->thread.left_ns != 0)
		waiter_has_come(s, x, r);
}

/* ---- the end of the slot ---- */

static void
waiter_close(struct engine *s, struct waiter *x, uint8_t type)
{
	int64_t rest[WAIT_STATES], below[WAIT_STATES];
	struct sample_event e = {.pid = x->pid, .tid = x->tid,
	    .start_ns = x->start_ns, .exec_id = x->exec_id, .type = type,
	    .flags = EVENT_WAIT, .period = 1,
	    .time_ns = (uint64_t)s->waits->slot.end_ns};

	memcpy(e.comm, x->was[0] != '\0' ? x->was : x->comm, sizeof(e.comm));
	x->was[0] = '\0';
	thread_slot_close(&x->slot, rest, below);
	resolve_thread(s, &e, below, s->waits->mark, &x->owner);
	thread_time_add(s->waits->time, x->owner.service, rest);
	if (x->born_ns != 0 &&
	    x->born_ns <= (uint64_t)s->waits->slot.end_ns) {
		thread_time_count(s->waits->time, x->owner.service, 1, 0);
		x->born_ns = 0;
	}
}

/* The last that is told of it. */
static void
waiter_close_last(struct engine *s, struct waiter *x, uint8_t type)
{
	waiter_close(s, x, type);
	thread_time_count(s->waits->time, x->owner.service,
	    x->born_ns != 0, 1);
}

/* Tells what is of the slot; true when there is no more. */
static bool
waiter_end(struct engine *s, struct waiter *x, const struct wait_sums *last,
    uint8_t type)
{
	bool ends = thread_slot_is_last(&s->waits->slot, last);

	thread_slot_choose(&x->slot, &s->waits->slot, last);
	waiter_is_born(x, last);
	if (ends)
		waiter_close_last(s, x, type);
	else
		waiter_close(s, x, type);
	return ends;
}

/* Events that were lost, and the mark that says so of the slot's. */
static uint64_t
waits_choose_mark(struct engine *s, uint8_t type)
{
	struct waits *w = s->waits;
	const struct account_profile *now = &s->profiles[type].now;
	uint64_t lost = now->held_full, counts[COUNT_COUNTERS];

	if (s->sampler == NULL)
		return 0; /* a test's events */
	w->marked_ns = s->now_ns;
	sampler_counts(s->sampler, type, counts);
	lost += counts[COUNT_RING_FULL];
	w->mark = sampler_waits_lack(sampler_waits(s->sampler)) ||
	    lost > w->lost ? "[below threshold, or no stack]" :
	    "[below threshold]";
	return lost;
}

/* What it did until then in the open slot is the old name's, which the event
 * has. */
static void
waits_named(struct engine *s, struct waiter *x, const struct sample_event *e,
    size_t size)
{
	const struct waits *w = s->waits;
	int64_t rest[WAIT_STATES], below[WAIT_STATES];
	struct wait_sums until;

	if (size < HEAD + sizeof(until) ||
	    e->time_ns <= (uint64_t)w->slot.begin_ns)
		return; /* its slot is told */
	if (e->time_ns > (uint64_t)w->slot.end_ns) {
		if (x->was[0] == '\0')
			memcpy(x->was, e->comm, sizeof(x->was));
		if (!border_hold(&s->border, e, size))
			s->profiles[e->type].now.held_full++;
		return;
	}
	memcpy(&until, e->frames, sizeof(until));
	thread_slot_part(&x->slot, &until, rest, below);
	resolve_thread(s, e, below, w->mark, &x->owner);
	thread_time_add(w->time, x->owner.service, rest);
}

/* Its process may be gone later: what is known of it now stays. */
static void
waits_died(struct engine *s, struct waiter *x, const struct sample_event *e,
    size_t size)
{
	static const int64_t nothing[WAIT_STATES];
	struct waits *w = s->waits;
	struct wait_sums last;
	bool ends;

	if (size < HEAD + sizeof(last))
		return;
	memcpy(&last, e->frames, sizeof(last));
	ends = thread_slot_is_last(&w->slot, &last);
	if (ends)
		last.at_ns = 0;
	/* Of which pool it was may be known only as the slot is over. */
	if ((!ends || (w->n < WAITS_THREADS_MAX / 2 &&
	    resolve_waits_for_entry(s, e))) &&
	    (x->last = malloc(sizeof(last))) != NULL) {
		*x->last = last;
		resolve_thread(s, e, nothing, w->mark, &x->owner);
		x->owner.known = true;
		return;
	}
	/* All of it, also where there is no room. */
	last.at_ns = 0;
	if (w->marked_ns != s->now_ns)
		waits_choose_mark(s, e->type);
	waiter_end(s, x, &last, e->type);
	waiter_free(w, waiter_place(w, x->number));
}

/* The number of the type that takes waits. */
static uint8_t
waits_type(const struct engine *s)
{
	size_t i = 0;

	while (i < s->n_profiles && (s->profiles[i].row == NULL ||
	    s->profiles[i].row->waits == NULL))
		i++;
	return (uint8_t)i;
}

/* True when no more is to be told of the thread. */
static bool
waiter_end_slot(struct engine *s, struct waiter *x, uint8_t type)
{
	const struct waits *w = s->waits;

	if (x->last != NULL)
		return waiter_end(s, x, x->last, type);
	if (x->sweep == w->sweep)
		waiter_close(s, x, type);
	if (x->sweep + 2 >= w->sweep || x->heard + 2 >= w->sweep)
		return false;
	/* It has ended, and we were not told. */
	waiter_close_last(s, x, type);
	return true;
}

void
waits_close_slot(struct engine *s, uint64_t slot, struct batch *b)
{
	struct waits *w = s->waits;
	uint8_t type = waits_type(s);
	uint64_t lost = waits_choose_mark(s, type);
	struct waiter **at;
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		for (at = &w->buckets[i]; *at != NULL;) {
			if (waiter_end_slot(s, *at, type))
				waiter_free(w, at);
			else
				at = &(*at)->next;
		}
	}
	w->lost = lost;
	waits_mend_reasons(s, type);
	thread_time_put(w->time, b, slot, account_time(s, slot));
	account_put_watched(s, type, slot, b, (int64_t[2]){w->began_ns,
	    w->stopped_ns != 0 ? w->stopped_ns : INT64_MAX});
}

struct thread_time *
waits_time(struct waits *w)
{
	return w->time;
}
