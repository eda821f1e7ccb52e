/*
 * A table of locks by process and address.  A process is in it too, with
 * address 0: its `number` counts the locks of it that have numbers.
 */
#include "collector/engine/locks.h"

#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/bpf/wait_futex.h"
#include "collector/engine/code.h"
#include "collector/engine/engine.h"
#include "collector/engine/resolve.h"
#include "collector/process/services.h"
#include "collector/symbols/locks_names.h"
#include "store/base/pattern.h"
#include "store/model/types.h"

#define ROOM (2 * LOCKS_MAX) /* in a slot, which begins with half of them */
#define SLOTS (2 * ROOM)
#define KEEP_SLOTS 360  /* that a lock is known for without a wait, */
#define DEAD_SLOTS 2    /* and one of a process that has ended */
#define LOOK_FRAMES 8   /* from the leaf on, for a lock's function */
#define OWNER_MAX 96

struct lock {
	uint64_t address, start_ns; /* of the futex, and its process */
	uint32_t pid, exec_id;
	uint32_t used;   /* the last slot that saw it */
	uint32_t data;   /* of symbols: the symbol's reference, */
	uint64_t place;  /* and what was asked */
	bool asked;      /* in this slot */
	bool operation_waits; /* a plain FUTEX_WAIT, as mutexes do */
	uint8_t kind;    /* enum lock_kind; LOCK_NONE: not judged, or none */
	uint8_t shift;   /* bytes of the futex behind the lock's beginning */
	uint32_t number; /* in its process; 0: it has none yet */
	char owner[OWNER_MAX]; /* the function seen first */
};

struct locks {
	struct pattern *busy; /* frames of who is at work */
	uint8_t types[LOCK_SERIES];
	uint32_t slot;
	uint32_t n, slots[SLOTS]; /* number + 1 */
	struct lock locks[ROOM];
};

struct locks *
locks_new(void)
{
	struct locks *l = calloc(1, sizeof(*l));

	if (l == NULL || pattern_new(&l->busy, "busy",
	    types_find("offcpu")->busy_frames, 0) == NULL)
		return l;
	locks_free(l);
	return NULL;
}

void
locks_free(struct locks *l)
{
	if (l != NULL)
		pattern_free(l->busy);
	free(l);
}

void
locks_set_type(struct locks *l, enum lock_series series, uint8_t type)
{
	l->types[series] = type;
}

uint8_t
locks_type(const struct locks *l, enum lock_series series)
{
	return l->types[series];
}

/* ---- the table ---- */

static uint32_t
locks_hash(uint32_t pid, uint64_t start_ns, uint64_t address)
{
	uint64_t h = (address ^ start_ns * 31 ^ pid) *
	    UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 40) % SLOTS;
}

static void
locks_enter(struct locks *l, uint32_t i)
{
	const struct lock *k = &l->locks[i];
	uint32_t at = locks_hash(k->pid, k->start_ns, k->address);

	while (l->slots[at] != 0)
		at = (at + 1) % SLOTS;
	l->slots[at] = i + 1;
}

/* Made when new; LOCKS_FULL: there is no room. */
static uint32_t
locks_get(struct locks *l, uint32_t pid, uint64_t start_ns, uint64_t address)
{
	uint32_t at = locks_hash(pid, start_ns, address);
	struct lock *k;

	for (; l->slots[at] != 0; at = (at + 1) % SLOTS) {
		k = &l->locks[l->slots[at] - 1];
		if (k->address == address && k->pid == pid &&
		    k->start_ns == start_ns) {
			k->used = l->slot;
			return l->slots[at] - 1;
		}
	}
	if (l->n == ROOM)
		return LOCKS_FULL;
	l->locks[l->n] = (struct lock){.address = address, .pid = pid,
	    .start_ns = start_ns, .used = l->slot};
	l->slots[at] = l->n + 1;
	return l->n++;
}

/* The lock itself: one of several futexes stands for it. */
static struct lock *
lock_whole(struct locks *l, struct lock *k)
{
	uint32_t i = k->shift == 0 ? LOCKS_FULL : locks_get(l, k->pid,
	    k->start_ns, k->address - k->shift);

	return i == LOCKS_FULL ? k : &l->locks[i];
}

static bool
lock_lives(const struct engine *s, const struct lock *k)
{
	const struct process *p = process_find(services_table(s->services),
	    (int32_t)k->pid, k->start_ns - k->start_ns % PROCESS_STEP_NS);

	return p != NULL && !p->gone;
}

/* What comes late of a process that has ended has its number still. */
static bool
lock_is_kept(const struct engine *s, const struct lock *k)
{
	uint32_t age = s->locks->slot - k->used;

	return age < DEAD_SLOTS || (age < KEEP_SLOTS &&
	    lock_lives(s, k));
}

/* What gives a lock its number lives as long as the lock. */
static void
locks_keep_numbers(const struct engine *s)
{
	struct locks *l = s->locks;
	uint32_t i, n = l->n;
	struct lock *k;

	for (i = 0; i < n; i++) {
		k = &l->locks[i];
		if (k->address == 0 || k->number == 0 || !lock_is_kept(s, k))
			continue;
		lock_whole(l, k);
		locks_get(l, k->pid, k->start_ns, 0);
	}
}

/* Those that were waited for last, as many as there are to be: all that are
 * younger than this, and `rest` of this age. */
static uint32_t
locks_oldest(const struct locks *l, uint32_t *rest)
{
	uint32_t ages[KEEP_SLOTS] = {0}, room = LOCKS_MAX, i;

	for (i = 0; i < l->n; i++)
		ages[l->slot - l->locks[i].used]++;
	for (i = 0; i < KEEP_SLOTS && ages[i] <= room; i++)
		room -= ages[i];
	*rest = room;
	return i;
}

/* Leaves out what is not to stay, by the one or the other rule. */
static void
locks_forget(struct engine *s)
{
	struct locks *l = s->locks;
	uint32_t i, n = 0, oldest, rest, age;

	for (i = 0; i < l->n; i++)
		if (lock_is_kept(s, &l->locks[i]))
			l->locks[n++] = l->locks[i];
	l->n = n;
	oldest = locks_oldest(l, &rest);
	for (i = n = 0; i < l->n; i++) {
		age = l->slot - l->locks[i].used;
		if (age > oldest || (age == oldest && rest == 0))
			continue;
		rest -= age == oldest;
		l->locks[n++] = l->locks[i];
	}
	l->n = n;
}

/* When it is half full; numbers in processes go on as long as one of their
 * locks is known. */
static void
locks_sweep(struct engine *s)
{
	struct locks *l = s->locks;
	uint32_t i;

	if (l->n < LOCKS_MAX / 2)
		return;
	locks_keep_numbers(s);
	locks_forget(s);
	memset(l->slots, 0, sizeof(l->slots));
	for (i = 0; i < l->n; i++)
		locks_enter(l, i);
}

void
locks_begin_slot(struct engine *s)
{
	struct locks *l = s->locks;

	l->slot++;
	pattern_reset(l->busy);
	locks_sweep(s);
	for (uint32_t i = 0; i < l->n; i++)
		l->locks[i].asked = false;
}

static struct frame
lock_frame(const struct engine *s, uint32_t ref)
{
	return symbols_get(s->symbols, symbols_final(s->symbols, ref));
}

/* ---- events ---- */

/*
 * Where data lies is known by the code of its file: a program's or a library's
 * data is behind its code, at the distance that the file says.  What is no
 * data of it has no symbol there.
 */
static void
lock_ask(struct engine *s, struct lock *k, const struct sample_event *e)
{
	struct maps_process *p = resolve_maps(s, e);
	const struct maps_list *list = p != NULL ? maps_process_list(p) : NULL;
	struct mapping *map = NULL;
	size_t i;

	k->asked = true;
	k->data = SYMBOLS_UNRESOLVED;
	for (i = 0; list != NULL && i < list->n; i++)
		if (list->mappings[i].start <= k->address)
			map = &list->mappings[i];
	if (map == NULL || map->kind != MAPPING_FILE)
		return;
	code_identify(s, p, map);
	if (map->file == MAPS_NO_FILE)
		return;
	k->place = k->address - map->start + map->offset;
	k->data = symbols_data(s->symbols, map->file, k->place);
	if ((k->data & SYMBOLS_UNRESOLVED) != 0)
		code_offer(s, p, map);
}

static bool
lock_may_be_in(const struct engine *s, uint32_t ref)
{
	struct frame f;

	if (!symbols_is_settled(s->symbols, ref))
		return true;
	f = lock_frame(s, ref);
	return f.kind == FRAME_NATIVE && locks_is_database(f.name);
}

bool
locks_may_be(const struct engine *s, const uint32_t *refs, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < LOOK_FRAMES; i++)
		if (lock_may_be_in(s, refs[n - 1 - i]))
			return true;
	return false;
}

uint32_t
locks_number(struct engine *s, const struct sample_event *e)
{
	bool woken = e->wait.part == WAIT_WOKEN;
	uint32_t i = locks_get(s->locks, woken ? e->wait.pid : e->pid,
	    woken ? e->wait.queued_ns : e->start_ns, e->wait.address);
	struct lock *k;

	if (i == LOCKS_FULL)
		return i;
	k = &s->locks->locks[i];
	if (woken)
		return i;
	if (k->exec_id != e->exec_id) { /* another program's */
		k->kind = LOCK_NONE;
		k->number = 0;
		k->owner[0] = '\0';
	}
	k->exec_id = e->exec_id;
	k->operation_waits = (e->wait.operation & FUTEX_OPERATION) == 0;
	if (!k->asked)
		lock_ask(s, k, e);
	return i;
}

/* ---- the end of the slot ---- */

/* A stack's place in the code. */
struct lock_look {
	enum lock_kind kind;
	uint32_t n;      /* frames up to the lock's function, with it */
	bool glibc_rwlock, glibc_condition;
	bool waits_with_bits; /* for a condition: its C library does */
};

static bool
kind_is_condition(enum lock_kind kind)
{
	return kind == LOCK_CONDITION || kind == LOCK_TIMED;
}

/* A database's lock is no other lock that it takes on the way. */
static bool
lock_is_meant(enum lock_kind kind, enum lock_kind before)
{
	return kind != LOCK_NONE && (kind != LOCK_DATABASE ||
	    before == LOCK_NONE || kind_is_condition(before));
}

/* The C library of GNU since 2.34, which has its name since then. */
static bool
lock_waits_with_bits(const struct frame *f)
{
	return strcmp(f->module, "libc.so.6") == 0 &&
	    locks_is_glibc_condition(f->name);
}

/* The mutex that a condition takes again is a mutex. */
static enum lock_kind
lock_outer(enum lock_kind kind, enum lock_kind before)
{
	return kind_is_condition(kind) && before == LOCK_MUTEX ? before : kind;
}

/* The outermost function of the table near the leaf. */
static struct lock_look
lock_look(struct engine *s, const struct aggregate_stack *stack)
{
	uint32_t i, n = stack->n - 1;
	struct lock_look look = {LOCK_NONE, n, false, false, false};
	enum lock_kind kind;

	for (i = n; i > 0 && n - i < LOOK_FRAMES; i--) {
		struct frame f = lock_frame(s, stack->frames[i - 1]);

		kind = f.kind == FRAME_NATIVE ? locks_kind_of(f.name) :
		    LOCK_NONE;
		if (!lock_is_meant(kind, look.kind))
			continue;
		look.kind = lock_outer(kind, look.kind);
		look.n = i;
		look.glibc_rwlock = look.glibc_rwlock ||
		    locks_is_glibc_rwlock(f.name);
		look.glibc_condition = look.glibc_condition ||
		    locks_is_glibc_condition(f.name);
		look.waits_with_bits = lock_waits_with_bits(&f);
	}
	return look;
}

/* Where glibc's readers and writers wait: at __wrphase_futex, or at
 * __writers_futex behind it; and those for a condition at one of its two
 * __g_signals. */
static uint8_t
lock_shift(const struct lock *k, const struct lock_look *look)
{
	uint8_t second = (k->address & 7) != 0 ? 4 : 0;

	return look->glibc_rwlock ? 8 + second :
	    look->glibc_condition && kind_is_condition(k->kind) ?
	    40 + second : 0;
}

static bool
lock_is_own(const struct frame *f)
{
	return f->kind == FRAME_NATIVE &&
	    strncmp(f->module, "libc.so", 7) != 0 &&
	    strncmp(f->module, "libc-", 5) != 0 &&
	    strncmp(f->module, "libpthread", 10) != 0 &&
	    strncmp(f->module, "libstdc++", 9) != 0 &&
	    strncmp(f->name, "std::", 5) != 0;
}

/* The function of the program's own that waits. */
static void
lock_name_owner(struct engine *s, struct lock *k,
    const struct aggregate_stack *stack, uint32_t n)
{
	snprintf(k->owner, sizeof(k->owner), "?");
	while (n-- > 0) {
		struct frame f = lock_frame(s, stack->frames[n]);

		if (!lock_is_own(&f))
			continue;
		snprintf(k->owner, sizeof(k->owner), "%s", f.name);
		return;
	}
}

static void
lock_give_number(struct engine *s, struct lock *k,
    const struct aggregate_stack *stack, uint32_t n)
{
	struct locks *l = s->locks;
	struct lock *whole = lock_whole(l, k);
	uint32_t of;

	if (whole->number == 0) {
		of = locks_get(l, k->pid, k->start_ns, 0);
		whole->number = of == LOCKS_FULL ? LOCKS_MAX :
		    ++l->locks[of].number;
		lock_name_owner(s, whole, stack, n - 1);
	}
	if (whole == k)
		return;
	k->number = whole->number;
	memcpy(k->owner, whole->owner, sizeof(k->owner));
}

static bool
kind_is_lock(enum lock_kind kind)
{
	return kind == LOCK_MUTEX || kind == LOCK_READER ||
	    kind == LOCK_WRITER || kind == LOCK_SEMAPHORE ||
	    kind == LOCK_DATABASE;
}

/* Of what its wait is.  Where the C library's own functions have no names, the
 * mutex that its condition takes again is known by how it waits. */
static enum lock_kind
lock_kind(const struct locks *l, const struct aggregate_stack *stack,
    const struct lock_look *look)
{
	uint32_t i = stack->frames[stack->n - 1];

	if (kind_is_condition(look->kind) && look->waits_with_bits &&
	    i != LOCKS_FULL && l->locks[i].operation_waits)
		return LOCK_MUTEX;
	return look->kind;
}

/* Is a statement under way, whose wait with a time limit is none for work? */
static bool
lock_is_wanted(struct engine *s, const struct aggregate_stack *stack)
{
	uint32_t i;

	for (i = 0; i + 1 < stack->n; i++)
		if (pattern_match(s->locks->busy,
		    lock_frame(s, stack->frames[i]).name))
			return true;
	return false;
}

void
locks_judge(struct engine *s, const struct aggregate_stack *stack)
{
	uint32_t i = stack->frames[stack->n - 1];
	struct lock_look look = lock_look(s, stack);
	enum lock_kind kind = lock_kind(s->locks, stack, &look);
	struct lock *k;

	if (kind == LOCK_TIMED && lock_is_wanted(s, stack))
		kind = LOCK_CONDITION;
	if (i == LOCKS_FULL ||
	    (!kind_is_lock(kind) && !kind_is_condition(kind)))
		return;
	k = &s->locks->locks[i];
	/* One that some wait for without a time limit is not for work alone. */
	if (kind != LOCK_TIMED || k->kind != LOCK_CONDITION)
		k->kind = (uint8_t)kind;
	k->shift = lock_shift(k, &look);
	if (k->number == 0)
		lock_give_number(s, k, stack, look.n);
}

static const char *
lock_class(uint8_t kind)
{
	return kind == LOCK_MUTEX ? "mutex" :
	    kind_is_condition(kind) ? "condition" :
	    kind == LOCK_SEMAPHORE ? "semaphore" :
	    kind == LOCK_DATABASE ? "database" : "rwlock";
}

static const char *
lock_reason(enum lock_kind kind)
{
	return kind == LOCK_READER ? "reader" : kind == LOCK_WRITER ?
	    "writer" : lock_class((uint8_t)kind);
}

/* By the symbol of data that it lies in; false: there is none. */
static bool
lock_put_symbol(struct engine *s, const struct lock *k, char *leaf)
{
	uint64_t behind;
	struct frame f;

	if (!k->asked || k->data == SYMBOLS_UNRESOLVED ||
	    !symbols_is_settled(s->symbols, k->data))
		return false;
	f = lock_frame(s, k->data);
	behind = k->place - f.offset;
	if (f.kind != FRAME_NATIVE || behind < k->shift)
		return false;
	behind -= k->shift;
	snprintf(leaf, LOCK_LEAF_MAX, behind == 0 ? "%s %s" :
	    "%s %s+0x%llx", lock_class(k->kind), f.name,
	    (unsigned long long)behind);
	return true;
}

static void
lock_put_leaf(struct engine *s, const struct lock *k, char *leaf)
{
	if (k->address == LATCH_ADDRESS)
		snprintf(leaf, LOCK_LEAF_MAX, "database lock");
	else if (!lock_put_symbol(s, k, leaf))
		snprintf(leaf, LOCK_LEAF_MAX, "%s #%u (%s)",
		    lock_class(k->kind), k->number, k->owner);
}

/* What a process waits for with its latch is known by who sets it alone. */
static const char *
lock_held(const struct lock *k)
{
	return k->address == LATCH_ADDRESS ? lock_class(LOCK_DATABASE) :
	    k->kind == LOCK_TIMED ? "timed condition" : lock_class(k->kind);
}

static bool
lock_is_held(const struct lock *k, const struct lock_look *look)
{
	return k->address == LATCH_ADDRESS ? look->kind == LOCK_RELEASE :
	    k->kind != LOCK_NONE;
}

bool
locks_tell(struct engine *s, const struct aggregate_stack *stack,
    bool holder, struct locks_told *out)
{
	uint32_t i = stack->frames[stack->n - 1];
	struct lock_look look = lock_look(s, stack);
	enum lock_kind kind = lock_kind(s->locks, stack, &look);
	const struct lock *k;

	out->n = look.n;
	if (i == LOCKS_FULL) {
		out->reason = lock_reason(kind);
		snprintf(out->leaf, sizeof(out->leaf), "[one lock too many]");
		return !holder && kind_is_lock(kind);
	}
	k = &s->locks->locks[i];
	if (holder ? !lock_is_held(k, &look) : !kind_is_lock(kind))
		return false;
	if (holder && look.kind != LOCK_RELEASE)
		out->n = stack->n - 1;
	out->reason = holder ? lock_held(k) : lock_reason(kind);
	lock_put_leaf(s, k, out->leaf);
	return true;
}
