/*
 * A jump resets the hour of calm; what may go is a bucket that steady time
 * fills.
 */
#include "store/write/calm.h"

static void
calm_refill(struct calm *c, int64_t slot_ns, int64_t step_ns)
{
	/* rounded up: a clock that ticks often gets no less */
	uint64_t more = ((uint64_t)step_ns * (CALM_SLOTS / CALM_HOUR + 1) +
	    (uint64_t)slot_ns - 1) / (uint64_t)slot_ns;

	c->allowance += more;
	if (c->allowance > CALM_SLOTS)
		c->allowance = CALM_SLOTS;
}

static bool
calm_is_far(int64_t step_ns, int64_t slot_ns)
{
	return step_ns > CALM_JUMP * slot_ns || step_ns < -CALM_JUMP * slot_ns;
}

void
calm_tick(struct calm *c, int64_t slot_ns, int64_t now_ns, int64_t boot_ns,
    int64_t newest_ns)
{
	int64_t before = c->last_ns != 0 ? c->last_ns : newest_ns;
	int64_t step = now_ns - before;
	int64_t passed = c->last_ns != 0 ? boot_ns - c->boot_ns : 0;
	bool jumped = before != 0 && calm_is_far(step, slot_ns) &&
	    calm_is_far(step - passed, slot_ns);

	if (c->last_ns == 0) { /* it went on while nobody looked */
		c->since_ns = CALM_HOUR * slot_ns;
		c->allowance = CALM_SLOTS;
	}
	if (jumped) {
		c->since_ns = 0;
		c->jump_ns = step;
		c->seen = c->last_ns != 0;
	} else if (c->last_ns != 0 && step > 0) {
		c->since_ns += step;
		calm_refill(c, slot_ns, step);
	}
	c->last_ns = now_ns;
	c->boot_ns = boot_ns;
}

bool
calm_is(const struct calm *c, int64_t slot_ns)
{
	return c->since_ns >= CALM_HOUR * slot_ns;
}

bool
calm_spend(struct calm *c, uint64_t slots)
{
	if (slots > c->allowance && c->allowance < CALM_SLOTS)
		return false;
	c->allowance -= slots < c->allowance ? slots : c->allowance;
	return true;
}
