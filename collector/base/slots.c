/*
 * The arithmetic of slots.h: wall clock and monotonic clock side by side, since
 * only their difference tells a jump from time that passed.
 */
#include "collector/base/slots.h"

#define JUMP_MIN_NS INT64_C(500000000)

static uint64_t
slots_of(const struct slots *s, int64_t wall_ns)
{
	return wall_ns < 0 ? 0 : (uint64_t)(wall_ns / s->slot_ns);
}

void
slots_init(struct slots *s, int64_t slot_ns, int64_t wall_ns, int64_t mono_ns)
{
	*s = (struct slots){.slot_ns = slot_ns};
	s->grace_ns = slot_ns / 4;
	if (s->grace_ns > SLOTS_GRACE_MAX_NS)
		s->grace_ns = SLOTS_GRACE_MAX_NS;
	s->wall_ns = wall_ns;
	s->mono_ns = mono_ns;
	s->open = slots_of(s, wall_ns);
}

enum slots_jump
slots_update(struct slots *s, int64_t wall_ns, int64_t mono_ns)
{
	/* What the wall clock moved beyond the time that really passed. */
	int64_t jump = (wall_ns - s->wall_ns) - (mono_ns - s->mono_ns);
	uint64_t present = slots_of(s, wall_ns);

	s->wall_ns = wall_ns;
	s->mono_ns = mono_ns;
	if (jump > JUMP_MIN_NS) {
		s->leave = present > s->open;
		return SLOTS_FORWARD;
	}
	if (jump >= -JUMP_MIN_NS)
		return SLOTS_STEADY;
	if (s->open - present <= SLOTS_BACK_MAX || present > s->open)
		return SLOTS_BACK;
	s->leave = true;
	return SLOTS_RESET;
}

bool
slots_next(struct slots *s, uint64_t *slot)
{
	uint64_t present = slots_of(s, s->wall_ns);
	uint64_t over = slots_of(s, s->wall_ns -
	    (s->hurry ? 0 : s->grace_ns));

	if (!s->leave && s->open >= over)
		return s->hurry = false;
	*slot = s->open++;
	if (s->leave || over - *slot > SLOTS_LAG_MAX) {
		if (present > s->open)
			s->skipped += present - s->open;
		s->open = present;
	}
	s->leave = false;
	return true;
}

void
slots_hurry(struct slots *s)
{
	s->hurry = true;
}

int64_t
slots_due_ns(const struct slots *s)
{
	return (int64_t)(s->open + 1) * s->slot_ns + s->grace_ns;
}

int64_t
slots_period(int64_t wall_ns, int64_t slot_ns, int64_t interval_ns)
{
	return wall_ns / interval_ns + wall_ns / slot_ns;
}
