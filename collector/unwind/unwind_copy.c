/*
 * unwind_step.h as the BPF programs have it, with the maps read from here.
 */
#include "collector/unwind/unwind_copy.h"

#include <string.h>

#define UNWIND_INLINE static inline
#define unwind_read_user(to, n, address) copy_read(to, n, address)

/* What the step reads: one walk at a time. */
static struct {
	const struct unwind_kernel *kernel;
	const struct unwind_copy_list *list;
	const __u64 *words; /* of the stack from sp on */
	uint64_t sp, bytes;
	struct unwind_table table;
	struct unwind_region region;
	uint32_t chunk; /* that is searched: its first cell */
	bool ended; /* the copy, before the stack */
} copy;

static int
copy_read(void *to, size_t n, uint64_t at)
{
	if (at < copy.sp || at - copy.sp > copy.bytes ||
	    n > copy.bytes - (at - copy.sp)) {
		copy.ended = true;
		return -1;
	}
	memcpy(to, (const char *)copy.words + (at - copy.sp), n);
	return 0;
}

#include "collector/bpf/unwind_step.h"

static inline const struct unwind_mapping *
unwind_mapping(__u32 i)
{
	return i < copy.list->n ? &copy.list->mappings[i] : NULL;
}

static inline const struct unwind_table *
unwind_table(__u32 i)
{
	const struct unwind_kernel *k = copy.kernel;

	return i < UNWIND_TABLES && k->read(k->arg, UNWIND_ARRAY_TABLES, i,
	    &copy.table, 1) ? &copy.table : NULL;
}

static inline struct unwind_region *
unwind_region(__u32 i)
{
	const struct unwind_kernel *k = copy.kernel;

	if (i >= UNWIND_REGIONS || !k->read(k->arg, UNWIND_ARRAY_REGIONS, i,
	    &copy.region, 1))
		return NULL;
	copy.region.used = copy.list->tick; /* it is met */
	k->write(k->arg, UNWIND_ARRAY_REGIONS, i, &copy.region, 1);
	return &copy.region;
}

static inline const void *
unwind_chunk(__u32 i)
{
	copy.chunk = i << UNWIND_CHUNK_SHIFT;
	return &copy.chunk;
}

static inline const __u64 *
unwind_cell(const void *chunk, __u32 i)
{
	const struct unwind_kernel *k = copy.kernel;

	if (i >= 1u << UNWIND_CHUNK_SHIFT)
		return NULL;
	return (const void *)k->cell(k->arg, *(const uint32_t *)chunk + i);
}

/* Return probes are not known here: their address is no code. */
static inline __u64
unwind_original(struct unwind_state *s)
{
	(void)s;
	return 0;
}

static void
copy_begin(struct unwind_state *s, const struct sample_event *e, size_t size)
{
	const struct event_copy *c = (const void *)&e->frames[e->n_kernel +
	    e->n_user];

	copy.words = c->words;
	copy.sp = c->sp;
	copy.bytes = (uint64_t)((const char *)e + size -
	    (const char *)c->words);
	copy.ended = false;
	memset(s, 0, offsetof(struct unwind_state, keepers));
	s->tick = copy.list->tick;
	s->sp = c->sp;
	s->bp = c->bp;
	s->di = c->di;
	s->bx = c->bx;
	s->n = copy.list->n;
	s->is_caller = (e->flags & EVENT_CALLER) != 0;
	s->bottom = s->is_caller ? 0 : c->sp;
	s->depth = (__u32)e->lacks;
	/* unwind_noted() the other way round. */
	s->ip = event_frame(e, e->lacks) - (s->depth > 0 && !s->is_caller);
}

static void
copy_note(struct unwind_state *s, struct sample_event *out)
{
	out->frames[out->n_kernel + event_place(s->depth)] =
	    unwind_noted(s, s->depth);
	s->depth++;
}

enum unwind_copy_end
unwind_copy_walk(const struct unwind_kernel *kernel,
    const struct unwind_copy_list *list, const struct sample_event *e,
    size_t size, struct sample_event *out)
{
	static struct unwind_state s;
	int over;

	copy.kernel = kernel;
	copy.list = list;
	copy_begin(&s, e, size);
	memcpy(out, e, offsetof(struct sample_event, frames) +
	    (e->n_kernel + (size_t)e->lacks) * sizeof(e->frames[0]));
	do
		copy_note(&s, out);
	while (!(over = unwind_step(&s)) && !s.pending &&
	    s.depth < EVENT_DEPTH);
	out->depth = (__u16)s.depth;
	out->n_user = s.depth < EVENT_MAX_USER ? (__u16)s.depth :
	    EVENT_MAX_USER;
	out->flags &= (__u8)~(EVENT_COPY | EVENT_CALLER);
	if (s.pending) {
		out->lacks = (__u8)event_place(s.lacking.frame);
		out->table = s.lacking.table;
		out->offset = s.lacking.offset;
		return UNWIND_COPY_LACKS;
	}
	if (copy.ended)
		return UNWIND_COPY_SHORT;
	out->flags &= (__u8)~EVENT_PENDING;
	out->flags |= EVENT_EH_FRAME;
	out->error = s.error;
	if (!over)
		out->flags |= EVENT_TRUNCATED;
	return UNWIND_COPY_DONE;
}
