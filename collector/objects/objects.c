/*
 * Who holds which objects, by address; and what the open slot's stacks took.
 */
#include "collector/objects/objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/alloc/alloc.h"
#include "collector/objects/objects_private.h"
#include "collector/process/process.h"
#include "collector/symbols/frames.h"
#include "store/base/buf.h"

#define BEFORE "[before MemLens started]"
#define UNTAKEN "[its stack was not taken]"

struct objects_weight
objects_weigh(uint64_t size, uint64_t times)
{
	uint64_t bytes = alloc_bytes(size), doubled = alloc_doublings(size);
	double n, scale;

	if (bytes == 0 || bytes > ALLOC_OBJECT_MAX ||
	    doubled > ALLOC_DOUBLINGS_MAX)
		return (struct objects_weight){0};
	n = (double)bytes;
	scale = -(double)times / expm1(-n / (double)(ALLOC_MEAN << doubled));
	return (struct objects_weight){llround(n * scale),
	    llround(OBJECTS_UNIT * scale)};
}

int64_t
objects_whole(int64_t objects)
{
	return (objects + OBJECTS_UNIT / 2) / OBJECTS_UNIT;
}

int64_t
objects_drawn(int64_t objects, uint64_t number)
{
	uint64_t draw = hash64_u64(0, number) >> 32;

	return (objects + (int64_t)(draw % OBJECTS_UNIT)) / OBJECTS_UNIT;
}

/* ---- holders ---- */

static void
holder_drop_objects(struct objects *o, struct holder *h);

/* The kept stacks of a holder that is gone have no objects, and are not looked
 * at until they are dropped. */
static void
holder_free(void *arg, void *part)
{
	struct holder *h = part;

	holder_drop_objects(arg, h);
	*h->at = h->next;
	if (h->next != NULL)
		h->next->at = h->at;
	free(h);
}

static struct holder *
holder_of(struct objects *o, struct process *p)
{
	struct holder *h = p->part[PROCESS_OBJECTS];

	if (h != NULL)
		return h;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	*h = (struct holder){.p = p, .next = o->holders, .at = &o->holders,
	    .exec_id = p->exec_id, .first = OBJECTS_NONE};
	if (h->next != NULL)
		h->next->at = &h->next;
	o->holders = h;
	p->part[PROCESS_OBJECTS] = h;
	return h;
}

/* ---- objects ---- */

struct objects *
objects_new(struct processes *table)
{
	struct objects *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->table = table;
	o->free = OBJECTS_NONE;
	o->mask = 255;
	o->buckets = calloc(o->mask + 1, sizeof(*o->buckets));
	if (!kept_init(&o->kept) || o->buckets == NULL) {
		kept_fini(&o->kept);
		free(o->buckets);
		free(o);
		return NULL;
	}
	processes_serve(table, PROCESS_OBJECTS, holder_free, o);
	return o;
}

void
objects_free(struct objects *o)
{
	if (o == NULL)
		return;
	processes_serve(o->table, PROCESS_OBJECTS, NULL, NULL);
	kept_fini(&o->kept);
	buf_fini(&o->names);
	buf_fini(&o->pools);
	free(o->slot);
	free(o->buckets);
	free(o->all);
	free(o);
}

static uint32_t *
object_bucket(const struct objects *o, const struct holder *h,
    uint64_t address)
{
	return &o->buckets[hash64_u64((uintptr_t)h, address) & o->mask];
}

static uint32_t
object_find(const struct objects *o, const struct holder *h, uint64_t address)
{
	uint32_t i = *object_bucket(o, h, address);

	while (i != 0 && (o->all[i - 1].of != h ||
	    o->all[i - 1].address != address))
		i = o->all[i - 1].in_bucket;
	return i == 0 ? OBJECTS_NONE : i - 1;
}

static void
object_put(struct objects *o, uint32_t i)
{
	struct object *x = &o->all[i];
	uint32_t *bucket = object_bucket(o, x->of, x->address);

	x->in_bucket = *bucket;
	*bucket = i + 1;
}

static void
object_widen(struct objects *o)
{
	uint32_t n = (o->mask + 1) * 2, i;
	uint32_t *buckets;

	if (o->n <= o->mask)
		return;
	buckets = calloc(n, sizeof(*buckets));
	if (buckets == NULL)
		return; /* rows become longer, that is all */
	free(o->buckets);
	o->buckets = buckets;
	o->mask = n - 1;
	for (i = 0; i < o->n; i++)
		if (o->all[i].of != NULL)
			object_put(o, i);
}

/* A place in the array; OBJECTS_NONE: there is none. */
static uint32_t
object_place(struct objects *o)
{
	uint32_t i = o->free;

	if (i != OBJECTS_NONE) {
		o->free = o->all[i].in_bucket;
		return i;
	}
	if (o->n == OBJECTS_MAX ||
	    !objects_grow(&o->all, &o->cap, o->n + 1, sizeof(*o->all)))
		return OBJECTS_NONE;
	return o->n++;
}

static bool
object_add(struct objects *o, struct holder *h, const struct object *x)
{
	uint32_t i = object_place(o);

	if (i == OBJECTS_NONE)
		return false;
	o->all[i] = *x;
	o->all[i].of = h;
	o->all[i].before = OBJECTS_NONE;
	o->all[i].after = h->first;
	if (h->first != OBJECTS_NONE)
		o->all[h->first].before = i;
	h->first = i;
	object_put(o, i);
	object_widen(o);
	o->live++;
	return true;
}

static void
object_leave_bucket(struct objects *o, uint32_t i)
{
	uint32_t *at = object_bucket(o, o->all[i].of, o->all[i].address);

	while (*at != i + 1)
		at = &o->all[*at - 1].in_bucket;
	*at = o->all[i].in_bucket;
}

static void
object_leave_holder(struct objects *o, uint32_t i)
{
	struct object *x = &o->all[i];

	if (x->before != OBJECTS_NONE)
		o->all[x->before].after = x->after;
	else
		x->of->first = x->after;
	if (x->after != OBJECTS_NONE)
		o->all[x->after].before = x->before;
}

/* Takes its weight from the sums that it is in. */
static void
object_uncount(struct objects *o, const struct object *x)
{
	struct kept *k;

	if (x->stack >= STACK_LOST)
		return;
	if ((x->stack & STACK_OPEN) != 0) {
		struct objects_slot *sum = &o->slot[x->stack &
		    ~STACK_OPEN].sum;

		sum->short_bytes += x->weight.bytes;
		sum->live--;
		return;
	}
	k = &o->kept.all[x->stack];
	k->sum.bytes -= x->weight.bytes;
	k->sum.objects -= x->weight.objects;
	k->objects--;
	o->kept.dead += k->objects == 0;
}

static void
object_remove(struct objects *o, uint32_t i)
{
	struct object *x = &o->all[i];

	object_uncount(o, x);
	object_leave_bucket(o, i);
	object_leave_holder(o, i);
	x->of = NULL;
	x->in_bucket = o->free;
	o->free = i;
	o->live--;
}

static void
holder_drop_objects(struct objects *o, struct holder *h)
{
	while (h->first != OBJECTS_NONE)
		object_remove(o, h->first);
}

bool
objects_holds(struct objects *o, struct process *p)
{
	return holder_of(o, p) != NULL;
}

void
objects_sampled(struct objects *o, struct process *p, uint64_t size)
{
	struct holder *h = holder_of(o, p);
	uint64_t times = alloc_doublings(size);

	if (h != NULL && times > h->doublings && times <= ALLOC_DOUBLINGS_MAX)
		h->doublings = (uint32_t)times;
}

uint64_t
objects_mean(struct process *p)
{
	struct holder *h = p->part[PROCESS_OBJECTS];
	uint64_t mean = ALLOC_MEAN << (h != NULL ? h->doublings : 0);

	if (h != NULL)
		h->doublings = 0;
	return mean;
}

bool
objects_renewed(struct process *p)
{
	struct holder *h = p->part[PROCESS_OBJECTS];
	uint64_t is = p->read != NULL ? p->read->stat.stack_start : 0, was;

	if (h == NULL || is == 0)
		return false;
	was = h->stack_start;
	h->stack_start = is;
	return was != 0 && was != is;
}

/* A program that the process has executed since has other memory.  False: it
 * has left that one. */
static bool
holder_go_on(struct objects *o, struct holder *h, uint32_t exec_id)
{
	if (process_is_later(exec_id, h->exec_id))
		holder_drop_objects(o, h);
	else if (process_is_later(h->exec_id, exec_id))
		return false;
	if (exec_id != 0)
		h->exec_id = exec_id;
	return true;
}

bool
objects_take(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address, struct objects_weight w, uint64_t time_ns)
{
	struct holder *h = holder_of(o, p);
	uint32_t old;

	if (h == NULL)
		return false;
	if (!holder_go_on(o, h, exec_id))
		return true;
	old = object_find(o, h, address);
	if (old != OBJECTS_NONE)
		object_remove(o, old);
	return object_add(o, h, &(struct object){.address = address,
	    .time_ns = time_ns, .weight = w,
	    .stack = OBJECTS_NONE});
}

/* In the sum that it is in, too. */
static void
object_weigh_anew(struct objects *o, struct object *x, struct objects_weight w)
{
	struct kept *k;

	if (x->stack < STACK_OPEN) {
		k = &o->kept.all[x->stack];
		k->sum.bytes += w.bytes - x->weight.bytes;
		k->sum.objects += w.objects - x->weight.objects;
	}
	x->weight = w;
}

bool
objects_found(struct objects *o, struct process *p, uint64_t address,
    uint64_t size, bool lost)
{
	struct object x = {.address = address,
	    .weight = objects_weigh(size, 1),
	    .stack = lost ? STACK_LOST : STACK_BEFORE};
	struct holder *h = holder_of(o, p);
	uint32_t old;

	if (h == NULL)
		return false;
	holder_go_on(o, h, p->exec_id);
	old = object_find(o, h, address);
	if (old == OBJECTS_NONE)
		return object_add(o, h, &x);
	object_weigh_anew(o, &o->all[old], x.weight);
	return true;
}

/* The slot's sums of a stack. */
static struct slot_stack *
objects_slot_of(struct objects *o, uint32_t stack)
{
	if (!objects_grow(&o->slot, &o->cap_slot, stack + 1,
	    sizeof(*o->slot)))
		return NULL;
	for (; o->n_slot <= stack; o->n_slot++)
		o->slot[o->n_slot] = (struct slot_stack){{0}, 0, 0, 0};
	return &o->slot[stack];
}

bool
objects_placed(struct objects *o, struct process *p, uint64_t address,
    struct objects_weight w, uint64_t time_ns, uint32_t stack)
{
	struct slot_stack *s = objects_slot_of(o, stack);
	struct holder *h = p != NULL ? p->part[PROCESS_OBJECTS] : NULL;
	uint32_t i = h != NULL ? object_find(o, h, address) : OBJECTS_NONE;

	if (s == NULL)
		return false;
	s->sum.objects += w.objects;
	if (i != OBJECTS_NONE && o->all[i].time_ns == time_ns &&
	    o->all[i].stack == OBJECTS_NONE) {
		o->all[i].stack = stack | STACK_OPEN;
		s->sum.live++;
	} else if (address != 0) {
		s->sum.short_bytes += w.bytes; /* given back meanwhile */
	}
	return true;
}

bool
objects_give(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address)
{
	struct holder *h = holder_of(o, p);
	uint32_t i = OBJECTS_NONE;

	if (h != NULL && holder_go_on(o, h, exec_id))
		i = object_find(o, h, address);
	if (i == OBJECTS_NONE) {
		o->unknown++;
		return false;
	}
	object_remove(o, i);
	return true;
}

void
objects_move(struct objects *o, struct process *p, uint32_t exec_id,
    uint64_t address, enum alloc_end how)
{
	struct holder *h = holder_of(o, p);
	uint32_t i = OBJECTS_NONE;

	if (h != NULL && holder_go_on(o, h, exec_id))
		i = object_find(o, h, address);
	if (i == OBJECTS_NONE)
		return;
	if (how == ALLOC_MOVED && o->all[i].moves)
		object_remove(o, i);
	else
		o->all[i].moves = how == ALLOC_MOVES;
}

void
objects_each(struct objects *o, struct process *p, objects_fn *fn, void *arg)
{
	struct holder *h = p->part[PROCESS_OBJECTS];
	uint32_t i = h != NULL ? h->first : OBJECTS_NONE, after;

	for (; i != OBJECTS_NONE; i = after) {
		after = o->all[i].after;
		fn(arg, p, o->all[i].address);
	}
}

/* ---- the end of a slot ---- */

void
objects_sweep(struct objects *o)
{
	struct holder *h, *next;

	for (h = o->holders; h != NULL; h = next) {
		next = h->next;
		if (h->p->gone)
			process_drop(o->table, h->p, PROCESS_OBJECTS);
		else
			holder_go_on(o, h, h->p->exec_id);
	}
}

struct objects_slot
objects_slot(const struct objects *o, uint32_t stack)
{
	return stack < o->n_slot ? o->slot[stack].sum :
	    (struct objects_slot){0};
}

void
objects_keep(struct objects *o, uint32_t stack, const char *pool)
{
	struct slot_stack *s = &o->slot[stack];

	s->first = (uint32_t)(o->names.len / sizeof(uint32_t));
	s->n = 0;
	s->pool = (uint32_t)o->pools.len;
	buf_put(&o->pools, pool, strlen(pool) + 1);
}

/* A stack that is too deep, or a name too many, ends where it does. */
void
objects_keep_frame(struct objects *o, uint32_t stack, const struct frame *f)
{
	uint32_t name = kept_name(&o->kept, f);

	if (name == FRAMES_NONE || o->slot[stack].n == KEPT_FRAMES_MAX)
		return;
	buf_put(&o->names, &name, sizeof(name));
	o->slot[stack].n++;
}

/* One whose stack nobody has seen, or that was lost. */
static uint32_t
settle_mark(struct objects *o, const struct object *x)
{
	uint32_t name = kept_name(&o->kept, &(struct frame){
	    .kind = FRAME_MARK, .module = "", .build_id = "",
	    .name = x->stack == STACK_BEFORE ? BEFORE : UNTAKEN});

	return name == FRAMES_NONE ? OBJECTS_NONE :
	    kept_stack(&o->kept, x->of, "", &name, 1);
}

/* The kept stack of an object of the slot; OBJECTS_NONE: it has none, or there
 * is no room. */
static uint32_t
settle_stack(struct objects *o, const struct object *x)
{
	const struct slot_stack *s;

	if (x->stack >= STACK_LOST || o->names.failed || o->pools.failed)
		return OBJECTS_NONE;
	s = &o->slot[x->stack & ~STACK_OPEN];
	if (s->n == 0)
		return OBJECTS_NONE;
	return kept_stack(&o->kept, x->of,
	    (const char *)o->pools.data + s->pool,
	    (const uint32_t *)(const void *)o->names.data + s->first, s->n);
}

static void
settle_count(struct objects *o, struct object *x, uint32_t stack)
{
	struct kept *k = &o->kept.all[stack];

	o->kept.dead -= k->objects == 0;
	k->objects++;
	k->sum.bytes += x->weight.bytes;
	k->sum.objects += x->weight.objects;
	x->stack = stack;
}

static void
settle_move(struct objects *o)
{
	uint32_t *moved = kept_compact(&o->kept), i;

	for (i = 0; i < o->n && moved != NULL; i++)
		if (o->all[i].of != NULL)
			o->all[i].stack = moved[o->all[i].stack];
	free(moved);
}

void
objects_settle(struct objects *o, objects_lost_fn *fn, void *arg)
{
	uint32_t i, stack;

	for (i = 0; i < o->n; i++) {
		struct object *x = &o->all[i];

		if (x->of == NULL || x->stack < STACK_OPEN)
			continue;
		stack = settle_stack(o, x);
		if (stack == OBJECTS_NONE)
			stack = settle_mark(o, x);
		if (stack != OBJECTS_NONE) {
			settle_count(o, x, stack);
			continue;
		}
		fn(arg, x->of->p, x->weight);
		object_remove(o, i);
	}
	settle_move(o);
	o->n_slot = 0;
	buf_clear(&o->names);
	buf_clear(&o->pools);
}

size_t
objects_kept_count(const struct objects *o)
{
	return o->kept.n;
}

struct objects_kept
objects_kept_get(const struct objects *o, size_t i)
{
	const struct kept *k = &o->kept.all[i];

	if (k->objects == 0)
		return (struct objects_kept){0};
	return (struct objects_kept){.p = k->of->p,
	    .pool = o->kept.text + k->pool, .sum = k->sum, .n = k->n};
}

struct frame
objects_kept_frame(const struct objects *o, size_t i, uint32_t k)
{
	return frames_get(o->kept.names,
	    o->kept.numbers[o->kept.all[i].first + k]);
}

void
objects_holders(const struct objects *o, objects_holder_fn *fn, void *arg)
{
	const struct holder *h, *next;

	for (h = o->holders; h != NULL; h = next) {
		next = h->next;
		fn(arg, h->p);
	}
}

void
objects_stats(const struct objects *o, struct objects_stats *out)
{
	const struct holder *h;

	*out = (struct objects_stats){.live = o->live,
	    .kept = o->kept.n - o->kept.dead, .unknown = o->unknown};
	for (h = o->holders; h != NULL; h = h->next)
		out->holders++;
}
