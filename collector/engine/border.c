/*
 * Events that wait for their slot lie behind each other in one buffer.
 */
#include "collector/engine/border.h"

#include <string.h>

#define HELD_MAX (8u << 20)
#define WAITS_MAX (HELD_MAX / 2)

uint64_t
border_slot(const struct border *b, uint64_t mono_ns)
{
	int64_t wall_ns = (int64_t)mono_ns + b->wall_offset_ns;

	return wall_ns > 0 ? (uint64_t)(wall_ns / b->slot_ns) : 0;
}

enum border_side
border_side(const struct border *b, uint64_t mono_ns)
{
	uint64_t slot = border_slot(b, mono_ns);

	if (slot == b->open_slot)
		return BORDER_OPEN;
	return slot < b->open_slot ? BORDER_LATE : BORDER_EARLY;
}

unsigned
border_pressure(const struct border *b)
{
	size_t free_from = WAITS_MAX / 2, step = WAITS_MAX / 16;

	return b->held.len <= free_from ? 0 :
	    (unsigned)((b->held.len - free_from) / step) + 1;
}

/* In whole 8 bytes, for its alignment. */
bool
border_hold(struct border *b, const struct sample_event *e, size_t size)
{
	uint64_t n = (size + 7) & ~(size_t)7;
	size_t most = (e->flags & EVENT_WAIT) != 0 ? WAITS_MAX : HELD_MAX;

	if (b->held.len + n > most || !buf_reserve(&b->held, 8 + n)) {
		b->held.failed = false;
		return false;
	}
	buf_put(&b->held, &n, sizeof(n));
	memcpy(b->held.data + b->held.len, e, size);
	b->held.len += n;
	return true;
}

void
border_release(struct border *b, sampler_fn *fn, void *arg)
{
	struct buf old = b->held;
	size_t at = 0;
	uint64_t n;

	b->held = (struct buf){0};
	while (at < old.len) {
		memcpy(&n, old.data + at, sizeof(n));
		fn(arg, (const void *)(old.data + at + 8), n);
		at += 8 + n;
	}
	buf_fini(&old);
}

void
border_fini(struct border *b)
{
	buf_fini(&b->held);
}
